// Strings to token ids, by lm-evaluation-harness's protocol.
#include "model_adapters/request_encoding.h"

#include <algorithm>

#include "core/cast.h"
#include "core/utf8.h"

namespace natsl::model_adapters {
namespace {

std::vector<TokenId> Joined(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  std::vector<TokenId> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

EncodedPair SplitPair(const Tokenizer& tokenizer, const std::string& context,
                      const std::string& continuation, BosPolicy bos) {
  EncodedPair pair;
  if (context.empty()) {
    const TokenId prefix = PrefixToken(tokenizer);
    std::vector<TokenId> ids = tokenizer.Encode(continuation, /*add_special_tokens=*/false);
    if (!ids.empty() && ids.front() == prefix) ids.erase(ids.begin());
    pair.context = {prefix};
    pair.continuation = std::move(ids);
    return pair;
  }
  // White space at the boundary belongs to the continuation: most vocabularies have " word" pieces.
  const std::string stripped(core::PythonRstrip(context));
  const std::string moved = context.substr(stripped.size()) + continuation;
  const std::vector<TokenId> whole = EncodeText(tokenizer, stripped + moved, bos);
  pair.context =
      stripped.empty() ? EncodeText(tokenizer, "", bos) : EncodeText(tokenizer, stripped, bos);
  if (pair.context.size() < whole.size()) {
    pair.continuation.assign(whole.begin() + core::Size(pair.context), whole.end());
  } else {
    const auto [shared, unused] =
        std::mismatch(pair.context.begin(), pair.context.end(), whole.begin(), whole.end());
    const auto split = std::distance(pair.context.begin(), shared);
    pair.continuation.assign(whole.begin() + split, whole.end());
    pair.context.resize(static_cast<size_t>(split));
  }
  if (pair.context.empty()) pair.context = {PrefixToken(tokenizer)};
  return pair;
}

}  // namespace

TokenId PrefixToken(const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special_tokens();
  if (special.bos) return *special.bos;
  if (special.eos) return *special.eos;
  throw ModelError(
      "the tokenizer names neither a BOS nor an EOS token, and one must stand before an empty "
      "context; expected \"bos_token\" or \"eos_token\" in tokenizer_config.json");
}

std::vector<TokenId> EncodeText(const Tokenizer& tokenizer, const std::string& text,
                                BosPolicy bos) {
  const SpecialTokens& special = tokenizer.special_tokens();
  const std::optional<TokenId> prefix = special.bos ? special.bos : special.eos;
  if (bos == BosPolicy::kNever) return tokenizer.Encode(text, false);
  if (prefix && !text.empty()) {
    const std::string prefix_text = tokenizer.Decode(std::span(&*prefix, 1), false);
    if (!prefix_text.empty() && text.starts_with(prefix_text)) return tokenizer.Encode(text, false);
  }
  std::vector<TokenId> ids = tokenizer.Encode(text, true);
  if (bos == BosPolicy::kAlways) {
    if (!special.bos) {
      throw ModelError("--bos always: the tokenizer names no BOS token (\"bos_token\")");
    }
    if (ids.empty() || ids.front() != *special.bos) ids.insert(ids.begin(), *special.bos);
  }
  return ids;
}

ContinuationTooLong::ContinuationTooLong(int64_t tokens, int64_t max_length)
    : Error(DataError("the continuation has {} tokens, expected at most the model's {}", tokens,
                      max_length)),
      excess_(tokens - max_length) {}

EncodedPair EncodePair(const Tokenizer& tokenizer, const std::string& context,
                       const std::string& continuation, BosPolicy bos, int64_t max_length) {
  EncodedPair pair = SplitPair(tokenizer, context, continuation, bos);
  if (pair.continuation.empty()) {
    throw DataError("the continuation \"{}\" has no tokens to score", continuation);
  }
  if (core::Size(pair.continuation) > max_length) {
    throw ContinuationTooLong(core::Size(pair.continuation), max_length);
  }
  const int64_t total = core::Size(pair.context) + core::Size(pair.continuation);
  pair.dropped = std::max<int64_t>(0, total - (max_length + 1));
  // At least one context id is left: the continuation has at most max_length.
  pair.context.erase(pair.context.begin(), pair.context.begin() + pair.dropped);
  return pair;
}

std::vector<TokenScoreRequest> RollingWindows(const std::vector<TokenId>& ids, TokenId prefix,
                                              int64_t max_length) {
  std::vector<TokenScoreRequest> windows;
  const std::vector<TokenId> text = Joined({prefix}, ids);  // text[i + 1] = ids[i]
  for (int64_t done = 0; done < core::Size(ids);) {
    const int64_t scored = std::min(core::Size(ids) - done, max_length);
    const int64_t end = done + scored;
    // The first window and full ones have one id of context; the last one as many as fit.
    const int64_t begin = done == 0 ? 0 : end - max_length;
    TokenScoreRequest window;
    window.ids.assign(text.begin() + begin, text.begin() + end + 1);
    window.scored_from = done - begin + 1;
    windows.push_back(std::move(window));
    done = end;
  }
  return windows;
}

WholeWindows EncodeWholeWindows(const Tokenizer& tokenizer, const RollingRequest& request,
                                BosPolicy bos, int64_t max_length) {
  WholeWindows out;
  std::vector<TokenId> before;  // what a window starts with
  const std::optional<TokenId> bos_id = tokenizer.special_tokens().bos;
  const std::vector<TokenId> empty = EncodeText(tokenizer, "", bos);
  if (bos_id && !empty.empty() && empty.front() == *bos_id) before = {*bos_id};

  std::vector<TokenId> ids = tokenizer.Encode(request.text, false);
  const bool packed = !request.packed.empty();
  if (packed) {
    const std::optional<TokenId> eos = tokenizer.special_tokens().eos;
    if (!eos) throw ModelError("packed windows need an EOS token, and the tokenizer names none");
    ids.push_back(*eos);
    for (const std::string& text : request.packed) {
      const std::vector<TokenId> more = tokenizer.Encode(text, false);
      ids.insert(ids.end(), more.begin(), more.end());
      ids.push_back(*eos);
    }
    before.clear();  // the stream's documents are apart by EOS alone
  }
  out.text_tokens = core::Size(ids);
  const int64_t taken = max_length + 1 - core::Size(before);
  const int64_t stride = packed ? max_length : taken;
  for (int64_t w = 0; w < *request.whole_windows; ++w) {
    const int64_t begin = w * stride;
    if (begin + taken > core::Size(ids)) break;
    TokenScoreRequest window;
    window.ids = Joined(before, {ids.begin() + begin, ids.begin() + begin + taken});
    window.scored_from = 1;
    out.scored_bytes += core::Size(
        tokenizer.Decode(std::span<const TokenId>(window.ids).subspan(1), /*skip=*/true));
    out.windows.push_back(std::move(window));
  }
  return out;
}

EncodedRolling EncodeRolling(const Tokenizer& tokenizer, const RollingRequest& request,
                             BosPolicy bos, int64_t max_length) {
  EncodedRolling out;
  if (request.whole_windows) {
    const int64_t window = request.max_length.value_or(max_length);
    WholeWindows whole = EncodeWholeWindows(tokenizer, request, bos, window);
    out.windows = std::move(whole.windows);
    out.scored_bytes = whole.scored_bytes;
    out.output_tokens = window * core::Size(out.windows);
    if (out.windows.empty()) out.missing = std::max<int64_t>(1, window + 1 - whole.text_tokens);
    return out;
  }
  const std::vector<TokenId> ids = EncodeText(tokenizer, request.text, bos);
  out.output_tokens = core::Size(ids);
  out.windows = RollingWindows(ids, PrefixToken(tokenizer),
                               std::min(request.max_length.value_or(max_length), max_length));
  return out;
}

EncodedPrompt EncodePrompt(const Tokenizer& tokenizer, const std::string& prompt, BosPolicy bos,
                           int64_t max_length, int64_t max_new_tokens,
                           std::optional<int64_t> middle_truncate_to) {
  if (max_new_tokens >= max_length) {
    throw DataError(
        "{} new tokens leave no room for a prompt in the model's {}; lower the number of new "
        "tokens or raise --max-length",
        max_new_tokens, max_length);
  }
  EncodedPrompt encoded;
  encoded.ids = EncodeText(tokenizer, prompt, bos);
  const int64_t room = max_length - max_new_tokens;
  if (middle_truncate_to) {
    const int64_t wanted =
        *middle_truncate_to > 0 ? *middle_truncate_to : max_length + *middle_truncate_to;
    const std::vector<TokenId> whole = std::move(encoded.ids);
    encoded.ids = whole;
    // Decoding and encoding again can give a few ids more than were kept.
    for (int64_t keep = wanted; core::Size(encoded.ids) > std::min(wanted, room) && keep > 1;) {
      const auto half = static_cast<size_t>(std::min(keep, core::Size(whole)) / 2);
      const std::span<const TokenId> all = whole;
      encoded.ids = EncodeText(
          tokenizer,
          tokenizer.Decode(all.first(half), true) + tokenizer.Decode(all.last(half), true), bos);
      if (core::Size(encoded.ids) <= room) break;
      keep = std::min(keep, core::Size(whole)) - (core::Size(encoded.ids) - room);
    }
    encoded.dropped = std::max<int64_t>(0, core::Size(whole) - core::Size(encoded.ids));
  }
  if (const int64_t excess = core::Size(encoded.ids) - room; excess > 0) {
    encoded.ids.erase(encoded.ids.begin(), encoded.ids.begin() + excess);
    encoded.dropped += excess;
  }
  if (encoded.ids.empty()) encoded.ids = {PrefixToken(tokenizer)};
  return encoded;
}

bool MeetsStop(const Tokenizer& tokenizer, std::span<const TokenId> ids,
               const std::vector<std::string>& stops) {
  size_t longest = 0;
  for (const std::string& stop : stops) {
    // Every text holds the empty string: the reference stops after one token, and cuts nothing.
    if (stop.empty()) return true;
    longest = std::max(longest, stop.size());
  }
  // Only the last ids are decoded unless they hold one: a string of n bytes lies within the last
  // n + a few ids.
  const size_t tail = std::min(ids.size(), longest + 8);
  std::string text = tokenizer.Decode(ids.last(tail), true);
  if (!CutAtStops(text, stops)) return false;
  if (tail == ids.size()) return true;
  text = tokenizer.Decode(ids, true);
  return CutAtStops(text, stops);
}

bool CutAtStops(std::string& text, const std::vector<std::string>& stops) {
  bool cut = false;
  for (const std::string& stop : stops) {
    if (stop.empty()) continue;
    if (const size_t at = text.find(stop); at != std::string::npos) {
      text.resize(at);
      cut = true;
    }
  }
  return cut;
}

}  // namespace natsl::model_adapters
