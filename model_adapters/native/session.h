// Sequences that advance together, one token or one piece at a time.
#pragma once

#include <c10/core/InferenceMode.h>

#include <memory>

#include "model_adapters/native/network.h"

namespace natsl::model_adapters::native {

/// `network` and `choices` (may be null) outlive the session. `threads`: of every call.
std::unique_ptr<Session> MakeSession(std::shared_ptr<const Network> network, int64_t batch,
                                     int64_t batch_tokens, int threads, ChunkChoices* choices);

/// For the duration of a call: LibTorch's inference mode and the wished number of threads.
class CallGuard {
 public:
  explicit CallGuard(int threads);

 private:
  c10::InferenceMode inference_;
};

}  // namespace natsl::model_adapters::native
