// What ranks say to each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/byte_stream.h"
#include "model_adapters/token_model.h"

namespace natsl::model_adapters {

enum class Tell : uint8_t {
  // Rank 0 to the others.
  kScore,     ///< requests, those of the rank
  kGenerate,  ///< the same
  kStop,      ///< leave the rest of the share
  kEnd,       ///< no more shares
  // The others to rank 0.
  kReady,  ///< fingerprint of the weights ("" on rank 0's host)
  kBatch,  ///< tokens, results
  kDone,   ///< the share is computed or left
  kError,  ///< code, message
  kBye,    ///< answers kEnd
};

void Put(core::ByteWriter& out, const TokenScoreRequest& request);
void Get(core::ByteReader& in, TokenScoreRequest& request);
/// `stop` itself stays behind: the reader makes it again from stop_strings.
void Put(core::ByteWriter& out, const TokenGenerateRequest& request);
void Get(core::ByteReader& in, TokenGenerateRequest& request);
void Put(core::ByteWriter& out, const TokenScore& score);
void Get(core::ByteReader& in, TokenScore& score);
void Put(core::ByteWriter& out, const TokenGeneration& generation);
void Get(core::ByteReader& in, TokenGeneration& generation);

template <typename Request>
std::string ShareMessage(Tell tell, std::span<const Request> requests,
                         const std::vector<uint8_t>& mine) {
  core::ByteWriter out;
  out.Put(tell);
  out.Put(mine);
  for (const Request& request : requests) Put(out, request);
  return out.Take();
}

std::string ShortMessage(Tell tell);
std::string ErrorMessage(const Error& error);

}  // namespace natsl::model_adapters
