// Typed, range-checked access to a config.json that remembers which keys were read, so that what
// nothing reads can be told to the user.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/limits.h"

namespace natsl::model_adapters {

/// Largest single size (a width, a head count, a vocabulary) that a config may state.
constexpr int64_t kMaxSize = limits::kMaxConfigSize;
/// Largest product of sizes (elements of one weight).
constexpr int64_t kMaxProduct = limits::kMaxElements;
using limits::kMaxLayers;

/// An allowed text of a config field and what it stands for.
template <typename T>
struct Choice {
  std::string_view name;
  T value;
};

/// Views one JSON object. All getters throw Error (model) with where, key, what was found and what
/// was expected. "absent" is the class default of a key that isn't there.
class ConfigReader {
 public:
  ConfigReader(const nlohmann::ordered_json& object, std::string where);

  bool Has(std::string_view key) const;       ///< there, null or not
  bool HasValue(std::string_view key) const;  ///< there and not null
  const nlohmann::ordered_json& Raw(std::string_view key);

  int64_t Int(std::string_view key, int64_t absent, int64_t low = 1, int64_t high = kMaxSize);
  /// null gives nothing.
  std::optional<int64_t> OptionalInt(std::string_view key, std::optional<int64_t> absent,
                                     int64_t low = 1, int64_t high = kMaxSize);
  /// Finite and within [low, high].
  double Double(std::string_view key, double absent, double low, double high);
  std::optional<double> OptionalDouble(std::string_view key, std::optional<double> absent,
                                       double low, double high);
  bool Bool(std::string_view key, bool absent);
  std::string Text(std::string_view key, std::string_view absent);
  /// Whole numbers of a list; a missing key or null is `absent`.
  std::vector<int64_t> Ints(std::string_view key, const std::vector<int64_t>& absent, int64_t low,
                            int64_t high);
  std::vector<std::string> Texts(std::string_view key);

  /// One of the choices; another text is refused with the list of them.
  template <typename T>
  T Choose(std::string_view key, std::string_view absent,
           std::initializer_list<Choice<T>> choices) {
    const std::string text = Text(key, absent);
    std::vector<std::string_view> names;
    for (const Choice<T>& choice : choices) {
      if (choice.name == text) return choice.value;
      names.push_back(choice.name);
    }
    throw Unsupported(key, names);
  }

  /// The key may only be absent, null or `only`.
  void Require(std::string_view key, bool only);
  /// The key may only be absent or null.
  void RequireNull(std::string_view key, std::string_view why);

  /// Keys known to change no result.
  void Inert(std::initializer_list<std::string_view> keys);
  /// Keys that nobody read and that aren't inert, in the file's order.
  std::vector<std::string> Unread() const;

  Error Wrong(std::string_view key, std::string_view expected) const;
  Error Unsupported(std::string_view key, std::span<const std::string_view> supported) const;
  const std::string& where() const { return where_; }

 private:
  const nlohmann::ordered_json* Find(std::string_view key);

  const nlohmann::ordered_json* object_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
};

/// a*b, an Error (model) where it reaches kMaxProduct. `what` names the product.
int64_t CheckedProduct(const ConfigReader& config, std::string_view what, int64_t a, int64_t b);
/// a/b, an Error (model) unless it is whole.
int64_t CheckedQuotient(const ConfigReader& config, std::string_view a_name, int64_t a,
                        std::string_view b_name, int64_t b);
/// floor(size * ratio), at least 1, as the reference's int().
int64_t Scaled(const ConfigReader& config, std::string_view what, int64_t size, double ratio);

}  // namespace natsl::model_adapters
