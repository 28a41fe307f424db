// Little-endian fields one after the other; strings and lists with their length in front.
#include "evaluators/response_codec.h"

#include <bit>

#include "core/byte_stream.h"

namespace natsl::evaluators {
namespace {

using core::ByteReader;
using core::ByteWriter;

static_assert(std::endian::native == std::endian::little, "stored answers are little-endian");

constexpr const char* kWhat = "a stored answer";

void PutBase(ByteWriter& out, const model_adapters::ResultBase& base) {
  out.Put(base.context_tokens);
  out.Put(base.output_tokens);
  out.Put(base.truncated_tokens);
  out.Put(static_cast<uint8_t>(base.skipped));
  out.Put(static_cast<uint8_t>(base.error.has_value()));
  if (base.error) out.Put(*base.error);
}

void GetBase(ByteReader& in, model_adapters::ResultBase& base) {
  in.Get(base.context_tokens);
  in.Get(base.output_tokens);
  in.Get(base.truncated_tokens);
  in.Get(base.skipped);
  bool failed = false;
  in.Get(failed);
  base.error.reset();
  if (failed) in.Get(base.error.emplace());
}

/// The end of an answer. What NAtS-L heads chose stands only in answers that tell it: those of
/// other models, and of versions before, end without.
std::string Finish(ByteWriter& out, const model_adapters::ResultBase& base) {
  if (!base.softmax.by_head.empty()) {
    out.Put(base.softmax.chunks);
    out.Put(base.softmax.by_head);
  }
  return out.Take();
}

void GetEnd(ByteReader& in, model_adapters::ResultBase& base) {
  base.softmax = {};
  if (in.AtEnd()) return;
  in.Get(base.softmax.chunks);
  in.Get(base.softmax.by_head);
  for (const int32_t count : base.softmax.by_head) {
    if (count < 0 || count > base.softmax.chunks) {
      throw DataError("{} is damaged: {} softmax chunks of {}", kWhat, count, base.softmax.chunks);
    }
  }
  in.End();
}

}  // namespace

std::string Encode(const model_adapters::LoglikelihoodResult& result) {
  ByteWriter out;
  PutBase(out, result);
  out.Put(result.log_prob);
  out.Put(static_cast<uint8_t>(result.is_greedy));
  out.Put(result.token_log_probs);
  return Finish(out, result);
}

std::string Encode(const model_adapters::RollingResult& result) {
  ByteWriter out;
  PutBase(out, result);
  out.Put(result.log_prob);
  out.Put(result.token_log_probs);
  out.Put(result.scored_bytes);
  return Finish(out, result);
}

std::string Encode(const model_adapters::GenerateResult& result) {
  ByteWriter out;
  PutBase(out, result);
  out.Put(result.text);
  out.Put(result.ids);
  out.Put(static_cast<uint8_t>(result.finish));
  return Finish(out, result);
}

void Decode(std::string_view bytes, model_adapters::LoglikelihoodResult& result) {
  ByteReader in(bytes, kWhat);
  GetBase(in, result);
  in.Get(result.log_prob);
  in.Get(result.is_greedy);
  in.Get(result.token_log_probs);
  GetEnd(in, result);
}

void Decode(std::string_view bytes, model_adapters::RollingResult& result) {
  ByteReader in(bytes, kWhat);
  GetBase(in, result);
  in.Get(result.log_prob);
  in.Get(result.token_log_probs);
  in.Get(result.scored_bytes);
  GetEnd(in, result);
}

void Decode(std::string_view bytes, model_adapters::GenerateResult& result) {
  ByteReader in(bytes, kWhat);
  GetBase(in, result);
  in.Get(result.text);
  in.Get(result.ids);
  uint8_t finish = 0;
  in.Get(finish);
  if (finish > static_cast<uint8_t>(model_adapters::FinishReason::kLength)) {
    throw DataError("a stored answer is damaged: its finish reason is {}", finish);
  }
  result.finish = static_cast<model_adapters::FinishReason>(finish);
  GetEnd(in, result);
}

}  // namespace natsl::evaluators
