// Every limit on what a served model or a model process may send us, in one place.
#pragma once

#include <cstdint>

namespace natsl::model_adapters {

/// Bytes of one HTTP answer, after decompression. A vocabulary's worth of log-probs is far below.
inline constexpr int64_t kMaxAnswerBytes = int64_t{256} << 20;
/// Bytes of one line of a model process.
inline constexpr int64_t kMaxLineBytes = int64_t{64} << 20;
/// Nesting of their JSON.
inline constexpr int kMaxRemoteJsonDepth = 32;
/// Bytes of a key, from its variable or file.
inline constexpr int64_t kMaxKeyBytes = 16 << 10;
/// Bytes of a server's error message that are passed on.
inline constexpr int64_t kMaxQuotedBytes = 300;
/// A "Retry-After" beyond this is read as this.
inline constexpr int64_t kMaxRetryAfterMs = int64_t{24} * 3600 * 1000;

}  // namespace natsl::model_adapters
