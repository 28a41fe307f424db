#include "model_adapters/distributed_messages.h"

namespace natsl::model_adapters {
namespace {

void Put(core::ByteWriter& out, const SoftmaxCounts& counts) {
  out.Put(counts.chunks);
  out.Put(counts.by_head);
}

void Get(core::ByteReader& in, SoftmaxCounts& counts) {
  in.Get(counts.chunks);
  in.Get(counts.by_head);
}

void Put(core::ByteWriter& out, const std::optional<std::string>& error) {
  out.Put(static_cast<uint8_t>(error.has_value()));
  if (error) out.Put(*error);
}

void Get(core::ByteReader& in, std::optional<std::string>& error) {
  bool failed = false;
  in.Get(failed);
  error.reset();
  if (failed) in.Get(error.emplace());
}

}  // namespace

void Put(core::ByteWriter& out, const TokenScoreRequest& request) {
  out.Put(request.ids);
  out.Put(request.scored_from);
}

void Get(core::ByteReader& in, TokenScoreRequest& request) {
  in.Get(request.ids);
  in.Get(request.scored_from);
}

void Put(core::ByteWriter& out, const TokenGenerateRequest& request) {
  out.Put(request.prompt);
  out.Put(request.max_new_tokens);
  out.Put(request.eos);
  out.Put(request.sampling);
  out.Put(static_cast<uint8_t>(request.stop != nullptr));
  out.Put(request.stop_strings);
}

void Get(core::ByteReader& in, TokenGenerateRequest& request) {
  in.Get(request.prompt);
  in.Get(request.max_new_tokens);
  in.Get(request.eos);
  in.Get(request.sampling);
  bool stops = false;
  in.Get(stops);
  in.Get(request.stop_strings);
}

void Put(core::ByteWriter& out, const TokenScore& score) {
  out.Put(score.log_probs);
  out.Put(static_cast<uint8_t>(score.is_greedy));
  Put(out, score.softmax);
  Put(out, score.error);
}

void Get(core::ByteReader& in, TokenScore& score) {
  in.Get(score.log_probs);
  in.Get(score.is_greedy);
  Get(in, score.softmax);
  Get(in, score.error);
}

void Put(core::ByteWriter& out, const TokenGeneration& generation) {
  out.Put(generation.ids);
  out.Put(generation.finish);
  Put(out, generation.softmax);
  Put(out, generation.error);
}

void Get(core::ByteReader& in, TokenGeneration& generation) {
  in.Get(generation.ids);
  in.Get(generation.finish);
  Get(in, generation.softmax);
  Get(in, generation.error);
}

std::string ShortMessage(Tell tell) {
  core::ByteWriter out;
  out.Put(tell);
  return out.Take();
}

std::string ErrorMessage(const Error& error) {
  core::ByteWriter out;
  out.Put(Tell::kError);
  out.Put(error.code());
  out.Put(std::string(error.what()));
  return out.Take();
}

}  // namespace natsl::model_adapters
