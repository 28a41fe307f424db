// Servers of each kind, played on the test tokenizer: log p of an id is -(id + position) / 100, and
// what is generated is the prompt's ids over and over.
#pragma once

#include <string>

#include "tests/model_adapters/fake_models.h"
#include "tests/model_adapters/remote/http_server.h"

namespace natsl::model_adapters {

enum class FakeKind { kVllm, kSglang, kLlamaCpp, kLlamaCppPython, kOpenAi, kChatOnly };

/// A whole well-behaved server; its tokenizer adds BOS.
RawAnswer FakeAnswer(FakeKind kind, const SeenRequest& request);

}  // namespace natsl::model_adapters
