// Needles, their keys and questions.
#include "training/data/needles.h"

#include <algorithm>
#include <array>

#include "core/cast.h"
#include "core/error.h"
#include "tasks/ruler/text.h"

namespace natsl::training {
namespace {

constexpr std::string_view kAdjectives[] = {
    "amber",    "ancient", "bashful", "bitter",  "blue",     "bold",     "brave",   "bright",
    "broken",   "busy",    "calm",    "careful", "cheerful", "clever",   "cloudy",  "cold",
    "cosmic",   "crimson", "curious", "dapper",  "dark",     "deep",     "distant", "dusty",
    "eager",    "early",   "elegant", "empty",   "faint",    "famous",   "fancy",   "fast",
    "fierce",   "foggy",   "fresh",   "frozen",  "gentle",   "giant",    "glossy",  "golden",
    "graceful", "grand",   "green",   "grumpy",  "happy",    "harsh",    "hidden",  "hollow",
    "honest",   "humble",  "hungry",  "icy",     "jolly",    "kind",     "late",    "lazy",
    "little",   "lively",  "lonely",  "loud",    "lucky",    "lunar",    "mellow",  "merry",
    "mighty",   "misty",   "modern",  "mossy",   "narrow",   "neat",     "nimble",  "noble",
    "odd",      "old",     "orange",  "patient", "plain",    "polite",   "proud",   "purple",
    "quick",    "quiet",   "rapid",   "rare",    "red",      "restless", "rough",   "round",
    "royal",    "rusty",   "salty",   "sandy",   "secret",   "shady",    "sharp",   "shiny",
    "shy",      "silent",  "silver",  "simple",  "sleepy",   "slow",     "smooth",  "snowy",
    "soft",     "solar",   "sour",    "steady",  "stormy",   "strange",  "sunny",   "sweet",
    "swift",    "tall",    "tender",  "thick",   "tidy",     "tiny",     "tough",   "vast",
    "warm",     "white",   "wild",    "windy",   "wise",     "witty",    "yellow",  "young"};
constexpr std::string_view kNouns[] = {
    "acorn",   "anchor",  "apple",   "arrow",   "badger",  "balloon", "barn",     "basket",
    "beacon",  "beaver",  "bell",    "bench",   "bird",    "blanket", "boat",     "book",
    "bottle",  "branch",  "bridge",  "bucket",  "butter",  "cabin",   "camera",   "candle",
    "canyon",  "carpet",  "castle",  "cellar",  "chair",   "cherry",  "circle",   "clock",
    "cloud",   "comet",   "copper",  "corner",  "cottage", "crater",  "creek",    "crown",
    "dancer",  "desert",  "donkey",  "door",    "dragon",  "drum",    "eagle",    "engine",
    "feather", "fence",   "field",   "finger",  "flame",   "flower",  "forest",   "fountain",
    "fox",     "garden",  "giraffe", "glacier", "glove",   "hammer",  "harbor",   "hat",
    "hedge",   "helmet",  "hill",    "honey",   "horse",   "island",  "jacket",   "jewel",
    "kettle",  "kitchen", "kite",    "ladder",  "lake",    "lamp",    "lantern",  "leaf",
    "lemon",   "letter",  "library", "lion",    "lizard",  "machine", "magnet",   "maple",
    "market",  "meadow",  "mirror",  "monkey",  "moon",    "morning", "mountain", "museum",
    "needle",  "nest",    "number",  "ocean",   "olive",   "orchard", "otter",    "owl",
    "paper",   "parrot",  "path",    "pebble",  "pencil",  "penguin", "pepper",   "piano",
    "picture", "pilot",   "planet",  "pocket",  "potato",  "puzzle",  "rabbit",   "radio",
    "raven",   "ribbon",  "river",   "rocket",  "roof",    "rope",    "saddle",   "sailor",
    "salmon",  "school",  "shadow",  "shell",   "signal",  "spider",  "spoon",    "station",
    "stone",   "summer",  "table",   "temple",  "thunder", "ticket",  "tiger",    "tower",
    "trail",   "train",   "tunnel",  "turtle",  "valley",  "village", "violin",   "wagon",
    "walnut",  "water",   "whale",   "window",  "winter",  "wolf",    "yard",     "zebra"};
constexpr std::string_view kOnsets[] = {"b",  "br", "c",  "ch", "cl", "cr", "d",  "dr", "f",
                                        "fl", "g",  "gr", "h",  "j",  "k",  "l",  "m",  "n",
                                        "p",  "pl", "pr", "r",  "s",  "sh", "sl", "st", "t",
                                        "th", "tr", "v",  "w",  "y",  "z",  "",   "sp", "sw"};
constexpr std::string_view kVowels[] = {"a", "e", "i", "o", "u", "ea", "oo", "ai", "ou", "io"};
constexpr std::string_view kCodas[] = {"",  "n",  "r",  "l",  "s",  "t",   "d",  "m",
                                       "p", "ck", "ng", "nt", "st", "ble", "ce", "ty"};

template <size_t N>
std::string_view Pick(const std::string_view (&list)[N], core::PythonRandom& random) {
  return list[static_cast<size_t>(random.RandBelow(static_cast<int64_t>(N)))];
}

/// Words of the evaluation's lists aren't ours: syllables teach keys that were never seen.
std::string MadeUpWord(core::PythonRandom& random) {
  std::string word;
  const int64_t syllables = random.RandInt(1, 3);
  for (int64_t i = 0; i < syllables; ++i) {
    word += Pick(kOnsets, random);
    word += Pick(kVowels, random);
    word += Pick(kCodas, random);
  }
  return word;
}

struct Needle {
  std::string key, value;
  std::string Sentence() const {
    return fmt::format("One of the special magic numbers for {} is: {}.", key, value);
  }
};

Needle DrawNeedle(core::PythonRandom& random) {
  Needle needle;
  needle.key = NeedleKey(random);
  needle.value = fmt::format("{}", random.RandInt(1000000, 9999999));
  return needle;
}

}  // namespace

std::string NeedleKey(core::PythonRandom& random) {
  const auto word = [&](bool adjective) -> std::string {
    if (random.RandBelow(2) == 0) return MadeUpWord(random);
    return std::string(adjective ? Pick(kAdjectives, random) : Pick(kNouns, random));
  };
  const std::string first = word(true);
  return first + "-" + word(false);
}

Document MakeNeedleDocument(Haystack haystack, int64_t size, core::PythonRandom& random) {
  const int64_t count =
      haystack == Haystack::kNeedles
          ? size
          : std::min(size, random.RandBelow(2) == 0 ? int64_t{1} : random.RandInt(2, 4));
  std::vector<Needle> needles;
  for (int64_t i = 0; i < count; ++i) needles.push_back(DrawNeedle(random));
  std::vector<std::string> lines;
  if (haystack == Haystack::kSentences) {
    lines.assign(static_cast<size_t>(size), std::string(tasks::ruler::kNoiseLine));
    std::vector<int64_t> places = random.Sample(size, count);
    std::sort(places.begin(), places.end(), std::greater<>());
    for (size_t i = 0; i < places.size(); ++i) {
      lines.insert(lines.begin() + places[i], needles[i].Sentence());
    }
  } else {
    for (const Needle& needle : needles) lines.push_back(needle.Sentence());
  }
  std::string text =
      "A special magic number is hidden within the following text. Make sure to memorize it. I "
      "will quiz you about the number afterwards.";
  for (const std::string& line : lines) text += "\n" + line;
  Document document = {{std::move(text), false}};
  for (const int64_t i : random.Sample(count, std::min<int64_t>(count, 6))) {
    const Needle& asked = needles[static_cast<size_t>(i)];
    document.push_back({fmt::format("\nWhat is the special magic number for {0} mentioned in the "
                                    "provided text? The special magic number for {0} mentioned in "
                                    "the provided text is",
                                    asked.key),
                        false});
    document.push_back({" " + asked.value, true});
    document.push_back({".", true});
  }
  return document;
}

}  // namespace natsl::training
