// Stories from a grammar of our own: a hero, a friend, a thing with a colour, a place, and events
// that speak of them again, so that what came before helps to foresee what comes.
#include <array>

#include "core/error.h"
#include "training/data/documents.h"

namespace natsl::training {
namespace {

constexpr std::string_view kHeroes[] = {"Ada",   "Ben",  "Clara", "Dario", "Elena", "Felix",
                                        "Greta", "Hugo", "Ida",   "Jonas", "Kai",   "Lena",
                                        "Milan", "Nora", "Oscar", "Petra", "Rosa",  "Sara",
                                        "Tariq", "Vera", "Yusuf", "Zoe",   "Mara",  "Omar"};
constexpr std::string_view kAnimals[] = {"dog",  "cat",   "fox",    "goat",   "horse", "owl",
                                         "crow", "mouse", "rabbit", "turtle", "duck",  "hen"};
constexpr std::string_view kColours[] = {"red",   "blue",  "green", "yellow", "white",
                                         "black", "brown", "grey",  "orange", "purple"};
constexpr std::string_view kThings[] = {"kite", "boat",   "lamp", "drum",  "hat",  "basket",
                                        "book", "bottle", "bell", "clock", "coat", "ladder",
                                        "map",  "ball",   "box",  "wagon", "key",  "cup"};
constexpr std::string_view kPlaces[] = {"village", "harbor", "forest", "valley", "market",
                                        "castle",  "farm",   "island", "garden", "bridge",
                                        "river",   "hill",   "school", "mill",   "station"};
constexpr std::string_view kFoods[] = {"bread",    "soup", "apples",   "cheese", "honey",
                                       "cherries", "rice", "potatoes", "plums",  "cake"};
constexpr std::string_view kTimes[] = {"One morning",    "One evening",   "The next day",
                                       "After the rain", "In the summer", "Late in the winter",
                                       "On market day",  "Before noon",   "When the sun rose"};
constexpr std::string_view kFeelings[] = {"happy",   "tired", "proud", "hungry",
                                          "curious", "sad",   "brave", "calm"};
constexpr std::string_view kWeather[] = {"the wind was strong", "the sky was clear",
                                         "it began to snow",    "the rain fell softly",
                                         "the fog was thick",   "the stars were bright"};

template <size_t N>
std::string PickWord(const std::string_view (&list)[N], core::PythonRandom& random) {
  return std::string(list[static_cast<size_t>(random.RandBelow(static_cast<int64_t>(N)))]);
}

/// What a story is about.
struct Cast {
  std::string hero, friend_name, animal, colour, thing, place, food;
};

Cast DrawCast(core::PythonRandom& random) {
  Cast cast;
  cast.hero = PickWord(kHeroes, random);
  do {
    cast.friend_name = PickWord(kHeroes, random);
  } while (cast.friend_name == cast.hero);
  cast.animal = PickWord(kAnimals, random);
  cast.colour = PickWord(kColours, random);
  cast.thing = PickWord(kThings, random);
  cast.place = PickWord(kPlaces, random);
  cast.food = PickWord(kFoods, random);
  return cast;
}

std::string Event(const Cast& c, core::PythonRandom& random) {
  switch (random.RandBelow(12)) {
    case 0:
      return fmt::format("{}, {} took the {} {} to the {}.", PickWord(kTimes, random), c.hero,
                         c.colour, c.thing, c.place);
    case 1:
      return fmt::format("{} asked {} about the {} {}.", c.friend_name, c.hero, c.colour, c.thing);
    case 2:
      return fmt::format("The {} was {}, and {} gave it some {}.", c.animal,
                         PickWord(kFeelings, random), c.hero, c.food);
    case 3:
      return fmt::format("At the {} {}, so {} and {} went home.", c.place,
                         PickWord(kWeather, random), c.hero, c.friend_name);
    case 4:
      return fmt::format("{} and {} ate {} with the {}.", c.hero, c.friend_name, c.food, c.animal);
    case 5:
      return fmt::format("{}, the {} {} was gone.", PickWord(kTimes, random), c.colour, c.thing);
    case 6:
      return fmt::format("They looked for the {} {} near the {} until {} found it.", c.colour,
                         c.thing, c.place, random.RandBelow(2) == 0 ? c.hero : c.friend_name);
    case 7:
      return fmt::format("\"Where is my {}?\" said {}. \"It is at the {},\" said {}.", c.thing,
                         c.hero, c.place, c.friend_name);
    case 8:
      return fmt::format("{} felt {} and sat down beside the {}.", c.friend_name,
                         PickWord(kFeelings, random), c.animal);
    case 9:
      return fmt::format("The {} carried the {} {} back to {}.", c.animal, c.colour, c.thing,
                         c.hero);
    case 10:
      return fmt::format("That night {}, and {} thought of the {}.", PickWord(kWeather, random),
                         c.hero, c.place);
    default:
      return fmt::format("\"I would like some {},\" said {}, and {} laughed.", c.food, c.hero,
                         c.friend_name);
  }
}

}  // namespace

std::string MakeStory(int64_t sentences, core::PythonRandom& random) {
  const Cast cast = DrawCast(random);
  std::string text = fmt::format(
      "There once was a child named {}, who lived near the {} with a {}. {} had a {} {} and a "
      "friend named {}.",
      cast.hero, cast.place, cast.animal, cast.hero, cast.colour, cast.thing, cast.friend_name);
  for (int64_t i = 3; i < sentences; ++i) text += " " + Event(cast, random);
  text += fmt::format(" In the end {} was {}, and the {} {} stayed with {}.", cast.hero,
                      PickWord(kFeelings, random), cast.colour, cast.thing,
                      random.RandBelow(2) == 0 ? cast.hero : cast.friend_name);
  return text;
}

}  // namespace natsl::training
