// Little-endian fields one after the other; strings and lists with their length in front.
#include "evaluators/response_codec.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/cast.h"
#include "core/error.h"

namespace natsl::evaluators {
namespace {

static_assert(std::endian::native == std::endian::little, "stored answers are little-endian");

class Writer {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T>
  void Put(T value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void Put(const std::string& text) {
    Put(core::Size(text));
    bytes_ += text;
  }
  template <typename T>
  void Put(const std::vector<T>& values) {
    Put(core::Size(values));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <typename T>
  requires std::is_arithmetic_v<T>
  void Get(T& value) { std::memcpy(&value, Take(sizeof(T)).data(), sizeof(T)); }
  void Get(bool& value) {
    uint8_t byte = 0;
    Get(byte);
    value = byte != 0;
  }
  void Get(std::string& text) { text = Take(Length(1)); }
  template <typename T>
  void Get(std::vector<T>& values) {
    const size_t bytes = Length(sizeof(T));
    values.resize(bytes / sizeof(T));
    if (bytes > 0) std::memcpy(values.data(), Take(bytes).data(), bytes);
  }
  void End() const {
    if (!left_.empty()) throw Damaged();
  }

 private:
  static Error Damaged() {
    return DataError("a stored answer is damaged: remove it and run again");
  }
  std::string_view Take(size_t count) {
    if (count > left_.size()) throw Damaged();
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  size_t Length(size_t item) {
    int64_t count = 0;
    Get(count);
    if (count < 0 || static_cast<uint64_t>(count) > left_.size() / item) throw Damaged();
    return static_cast<size_t>(count) * item;
  }

  std::string_view left_;
};

void PutBase(Writer& out, const model_adapters::ResultBase& base) {
  out.Put(base.context_tokens);
  out.Put(base.output_tokens);
  out.Put(base.truncated_tokens);
  out.Put(static_cast<uint8_t>(base.skipped));
  out.Put(static_cast<uint8_t>(base.error.has_value()));
  if (base.error) out.Put(*base.error);
}

void GetBase(Reader& in, model_adapters::ResultBase& base) {
  in.Get(base.context_tokens);
  in.Get(base.output_tokens);
  in.Get(base.truncated_tokens);
  in.Get(base.skipped);
  bool failed = false;
  in.Get(failed);
  base.error.reset();
  if (failed) in.Get(base.error.emplace());
}

}  // namespace

std::string Encode(const model_adapters::LoglikelihoodResult& result) {
  Writer out;
  PutBase(out, result);
  out.Put(result.log_prob);
  out.Put(static_cast<uint8_t>(result.is_greedy));
  out.Put(result.token_log_probs);
  return out.Take();
}

std::string Encode(const model_adapters::RollingResult& result) {
  Writer out;
  PutBase(out, result);
  out.Put(result.log_prob);
  out.Put(result.token_log_probs);
  out.Put(result.scored_bytes);
  return out.Take();
}

std::string Encode(const model_adapters::GenerateResult& result) {
  Writer out;
  PutBase(out, result);
  out.Put(result.text);
  out.Put(result.ids);
  out.Put(static_cast<uint8_t>(result.finish));
  return out.Take();
}

void Decode(std::string_view bytes, model_adapters::LoglikelihoodResult& result) {
  Reader in(bytes);
  GetBase(in, result);
  in.Get(result.log_prob);
  in.Get(result.is_greedy);
  in.Get(result.token_log_probs);
  in.End();
}

void Decode(std::string_view bytes, model_adapters::RollingResult& result) {
  Reader in(bytes);
  GetBase(in, result);
  in.Get(result.log_prob);
  in.Get(result.token_log_probs);
  in.Get(result.scored_bytes);
  in.End();
}

void Decode(std::string_view bytes, model_adapters::GenerateResult& result) {
  Reader in(bytes);
  GetBase(in, result);
  in.Get(result.text);
  in.Get(result.ids);
  uint8_t finish = 0;
  in.Get(finish);
  if (finish > static_cast<uint8_t>(model_adapters::FinishReason::kLength)) {
    throw DataError("a stored answer is damaged: its finish reason is {}", finish);
  }
  result.finish = static_cast<model_adapters::FinishReason>(finish);
  in.End();
}

}  // namespace natsl::evaluators
