// Generators of synthetic recall documents.
#include "tasks/synthetic/recall.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "core/error.h"

namespace natsl::tasks::synthetic {
namespace {

constexpr int64_t kTwoLetters = 26 * 26, kThreeLetters = 26 * 26 * 26;

std::string Letters(int64_t number, int count, char first) {
  std::string text(static_cast<size_t>(count), first);
  for (size_t i = text.size(); i-- > 0; number /= 26)
    text[i] = static_cast<char>(first + number % 26);
  return text;
}

/// `count` distinct places of [0, places), sorted; place i is drawn with weight 1 / (i + 1).
std::vector<int64_t> SpreadPlaces(int64_t places, int64_t count, core::PythonRandom& random) {
  std::vector<double> cumulative;
  double sum = 0;
  for (int64_t i = 0; i < places; ++i)
    cumulative.push_back(sum += 1.0 / static_cast<double>(i + 1));
  std::set<int64_t> chosen;
  while (static_cast<int64_t>(chosen.size()) < count) {
    const double at = random.Random() * sum;
    const auto place = std::upper_bound(cumulative.begin(), cumulative.end() - 1, at);
    chosen.insert(place - cumulative.begin());
  }
  return {chosen.begin(), chosen.end()};
}

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

AssociativeRecall MakeAssociativeRecall(int64_t pairs, int64_t queries, core::PythonRandom& random,
                                        int64_t filler) {
  if (pairs < 1 || pairs > kThreeLetters) {
    throw UsageError("mqar: {} pairs, expected 1 to {}", pairs, kThreeLetters);
  }
  if (queries < 1 || queries > pairs) {
    throw UsageError("mqar: {} queries of {} pairs, expected 1 to {}", queries, pairs, pairs);
  }
  const bool two = pairs <= kTwoLetters;
  AssociativeRecall recall;
  std::vector<std::pair<std::string, std::string>> all;
  for (const int64_t key : random.Sample(two ? kTwoLetters : kThreeLetters, pairs)) {
    all.emplace_back(Letters(key, two ? 2 : 3, 'A'), fmt::format("{:02}", random.RandBelow(100)));
    recall.pairs += fmt::format("{}{} {}", recall.pairs.empty() ? "" : " ", all.back().first,
                                all.back().second);
  }
  for (const int64_t i : random.Sample(pairs, queries)) {
    const auto& [key, value] = all[static_cast<size_t>(i)];
    recall.queries.push_back({"", key, value});
  }
  if (filler == 0) return recall;
  const std::vector<int64_t> places = SpreadPlaces(filler + queries, queries, random);
  int64_t used = 0;
  for (size_t q = 0; q < recall.queries.size(); ++q) {
    // The last query comes after all filler, so that the text has its length.
    const int64_t before =
        q + 1 < recall.queries.size() ? places[q] - static_cast<int64_t>(q) : filler;
    for (; used < before; ++used) {
      recall.queries[q].filler += Letters(random.RandBelow(kTwoLetters), 2, 'a') + " " +
                                  Letters(random.RandBelow(kTwoLetters), 2, 'a') + " ";
    }
  }
  return recall;
}

Phonebook MakePhonebook(int64_t entries, core::PythonRandom& random) {
  constexpr auto kNames = static_cast<int64_t>(kFirstNames.size() * kLastNames.size());
  constexpr int64_t kNumbers = 10000;
  if (entries < 3 || entries > kNumbers) {
    throw UsageError("phonebook: {} entries, expected 3 to {}", entries, kNumbers);
  }
  const bool initials = entries > kNames;
  const std::vector<int64_t> names = random.Sample(initials ? 26 * kNames : kNames, entries);
  const std::vector<int64_t> numbers = random.Sample(kNumbers, entries);
  const auto name = [&](int64_t i) {
    const int64_t drawn = names[static_cast<size_t>(i)];
    const auto at = static_cast<size_t>(drawn % kNames);
    const std::string initial =
        initials ? fmt::format(" {}.", static_cast<char>('A' + drawn / kNames)) : "";
    return fmt::format("{}{} {}", kFirstNames[at / kLastNames.size()], initial,
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
