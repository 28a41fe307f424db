// Generators of synthetic recall documents.
#include "tasks/synthetic/recall.h"

#include <array>
#include <set>
#include <string_view>

#include "core/error.h"

namespace natsl::tasks::synthetic {
namespace {

constexpr int64_t kKeys = 26 * 26;

constexpr std::array<std::string_view, 48> kFirstNames = {
    "Ada",   "Amir",  "Anna",  "Ben",   "Boris", "Carla", "Chen",  "Clara", "Dario", "Dora",
    "Elena", "Emil",  "Esra",  "Fay",   "Felix", "Gita",  "Greta", "Hana",  "Hugo",  "Ida",
    "Ilya",  "Ines",  "Ivan",  "Jana",  "Jonas", "Kai",   "Karim", "Lena",  "Liam",  "Lucy",
    "Mara",  "Marco", "Mei",   "Milan", "Mina",  "Nadia", "Nils",  "Nora",  "Omar",  "Oscar",
    "Petra", "Rosa",  "Ruben", "Sara",  "Tariq", "Vera",  "Yusuf", "Zoe"};
constexpr std::array<std::string_view, 48> kLastNames = {
    "Abbott", "Adler", "Amato",  "Baker", "Bauer", "Blum",   "Brandt", "Carter",  "Castro", "Cole",
    "Costa",  "Dahl",  "Diaz",   "Dunn",  "Ekman", "Evans",  "Farah",  "Fischer", "Flynn",  "Fuchs",
    "Garcia", "Grant", "Haas",   "Hill",  "Ito",   "Jansen", "Kaya",   "Keller",  "Khan",   "Kim",
    "Klein",  "Lang",  "Larsen", "Levi",  "Lopez", "Marsh",  "Meyer",  "Moreau",  "Novak",  "Okoye",
    "Park",   "Patel", "Reyes",  "Sato",  "Silva", "Stone",  "Weber",  "Yang"};

}  // namespace

AssociativeRecall MakeAssociativeRecall(int64_t pairs, int64_t queries,
                                        core::PythonRandom& random) {
  if (pairs < 1 || pairs > kKeys) {
    throw UsageError("mqar: {} pairs, expected 1 to {}", pairs, kKeys);
  }
  if (queries < 1 || queries > pairs) {
    throw UsageError("mqar: {} queries of {} pairs, expected 1 to {}", queries, pairs, pairs);
  }
  AssociativeRecall recall;
  std::vector<std::pair<std::string, std::string>> all;
  for (const int64_t key : random.Sample(kKeys, pairs)) {
    std::string name;
    name += static_cast<char>('A' + key / 26);
    name += static_cast<char>('A' + key % 26);
    all.emplace_back(name, fmt::format("{:02}", random.RandBelow(100)));
    recall.pairs += fmt::format("{}{} {}", recall.pairs.empty() ? "" : " ", all.back().first,
                                all.back().second);
  }
  for (const int64_t i : random.Sample(pairs, queries)) {
    recall.queries.push_back(all[static_cast<size_t>(i)]);
  }
  return recall;
}

Phonebook MakePhonebook(int64_t entries, core::PythonRandom& random) {
  constexpr auto kNames = static_cast<int64_t>(kFirstNames.size() * kLastNames.size());
  constexpr int64_t kNumbers = 10000;
  if (entries < 3 || entries > kNames) {
    throw UsageError("phonebook: {} entries, expected 3 to {}", entries, kNames);
  }
  const std::vector<int64_t> names = random.Sample(kNames, entries);
  const std::vector<int64_t> numbers = random.Sample(kNumbers, entries);
  const auto name = [&](int64_t i) {
    const auto at = static_cast<size_t>(names[static_cast<size_t>(i)]);
    return fmt::format("{} {}", kFirstNames[at / kLastNames.size()],
                       kLastNames[at % kLastNames.size()]);
  };
  const auto number = [&](int64_t i) {
    return fmt::format("555-{:04}", numbers[static_cast<size_t>(i)]);
  };
  Phonebook book;
  for (int64_t i = 0; i < entries; ++i) book.prompt += fmt::format("{}: {}\n", name(i), number(i));
  const std::vector<int64_t> asked = random.Sample(entries, 3);
  book.prompt += fmt::format("\n{}: {}\n{}: {}\n{}:", name(asked[0]), number(asked[0]),
                             name(asked[1]), number(asked[1]), name(asked[2]));
  book.number = number(asked[2]);
  return book;
}

}  // namespace natsl::tasks::synthetic
