// Parsing of shard indices, as events: cost stays linear in the text's length.
#include "model_adapters/safetensors/index.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/limits.h"
#include "model_adapters/safetensors/header.h"

namespace natsl::model_adapters {
namespace {

class IndexEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, std::string, std::less<>> weight_map;
  bool has_weight_map = false;
  std::string problem;

  bool null() override { return NotText(); }
  bool boolean(bool) override { return NotText(); }
  bool number_integer(int64_t) override { return NotText(); }
  bool number_unsigned(uint64_t) override { return NotText(); }
  bool number_float(double, const std::string&) override { return NotText(); }
  bool binary(nlohmann::json::binary_t&) override { return NotText(); }
  bool string(std::string& value) override {
    if (depth_ == 0) return NotText();
    if (depth_ == 1 && key_ == "weight_map")
      return Stop("\"weight_map\" is a text, expected an object");
    if (depth_ != 2 || !inside_) return true;
    if (!weight_map.emplace(name_, value).second) {
      return Stop(fmt::format("\"weight_map\": \"{}\" is given twice", Printable(name_)));
    }
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ == 1 && key_ == "weight_map") {
      if (has_weight_map) return Stop("\"weight_map\" is given twice");
      has_weight_map = inside_ = true;
    } else if (inside_) {
      return NotText();
    }
    return Deeper();
  }
  bool key(std::string& value) override {
    if (depth_ == 1) key_ = value;
    if (depth_ == 2) name_ = value;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) inside_ = false;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ == 0 || inside_ || key_ == "weight_map") return NotText();
    return Deeper();
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    std::string_view reason = error.what();
    if (const size_t end = reason.find("] "); end != std::string_view::npos) {
      reason.remove_prefix(end + 2);
    }
    return Stop(fmt::format("not valid JSON near byte {}: {}", position, reason.substr(0, 200)));
  }

 private:
  bool Stop(std::string text) {
    problem = std::move(text);
    return false;
  }
  /// A value that isn't a text: wrong as the document and in weight_map, skipped elsewhere.
  bool NotText() {
    if (depth_ == 0) return Stop("the index isn't an object");
    if (inside_) {
      return Stop(fmt::format("\"weight_map\": \"{}\" isn't a text, expected a file name",
                              Printable(name_)));
    }
    if (depth_ == 1 && key_ == "weight_map") return Stop("\"weight_map\" isn't an object");
    return true;
  }
  bool Deeper() {
    if (++depth_ > limits::kMaxIndexDepth)
      return Stop(fmt::format("nested deeper than {} levels", limits::kMaxIndexDepth));
    return true;
  }

  int depth_ = 0;
  bool inside_ = false;  // of weight_map
  std::string key_, name_;
};

}  // namespace

std::map<std::string, std::string, std::less<>> ParseShardIndex(std::string_view text,
                                                                std::string_view where) {
  // The library takes a NUL for the end of the text, and would drop what follows.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw ModelError("{}: not valid JSON: a NUL at byte {}", where, nul);
  }
  IndexEvents events;
  if (!nlohmann::json::sax_parse(text, &events)) {
    throw ModelError("{}: {}", where, events.problem);
  }
  if (!events.has_weight_map || events.weight_map.empty()) {
    throw ModelError("{}: \"weight_map\" is missing or empty", where);
  }
  return std::move(events.weight_map);
}

}  // namespace natsl::model_adapters
