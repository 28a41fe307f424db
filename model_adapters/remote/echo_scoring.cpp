#include "model_adapters/remote/echo_scoring.h"

#include <algorithm>

#include "core/cast.h"
#include "core/utf8.h"
#include "model_adapters/remote/answer_json.h"

namespace natsl::model_adapters {
namespace {

using core::Json;

struct Echo {
  std::vector<std::string> tokens;
  const Json* log_probs = nullptr;
  const Json* top = nullptr;
  std::vector<int64_t> offsets;  ///< empty where the server gives none that make sense
  std::optional<int64_t> read;   ///< tokens of the prompt, as the server counts them
  int64_t made = 1;              ///< tokens made after the prompt
};

Echo Read(const Json& answer) {
  const Json& choice = FirstChoice(answer);
  if (!choice.contains("logprobs") || !choice["logprobs"].is_object()) {
    throw ModelError("the answer has no \"logprobs\" object");
  }
  const Json& lists = choice["logprobs"];
  Echo echo;
  for (const char* name : {"tokens", "token_logprobs", "top_logprobs"}) {
    if (!lists.contains(name) || !lists[name].is_array() ||
        lists[name].size() != lists["tokens"].size()) {
      throw ModelError("\"logprobs\" has no list \"{}\" of one entry a token", name);
    }
  }
  for (const Json& token : lists["tokens"]) {
    if (!token.is_string()) throw ModelError("\"tokens\" holds {}", core::Describe(token));
    echo.tokens.push_back(token.get<std::string>());
  }
  echo.log_probs = &lists["token_logprobs"];
  echo.top = &lists["top_logprobs"];
  if (lists.contains("text_offset") && lists["text_offset"].is_array() &&
      lists["text_offset"].size() == echo.tokens.size()) {
    for (const Json& offset : lists["text_offset"]) {
      const int64_t least = echo.offsets.empty() ? 0 : echo.offsets.back();
      if (!offset.is_number_integer() || offset.get<int64_t>() < least) {
        echo.offsets.clear();
        break;
      }
      echo.offsets.push_back(offset.get<int64_t>());
    }
    if (echo.offsets.size() != echo.tokens.size()) echo.offsets.clear();
  }
  if (answer.contains("usage") && answer["usage"].is_object()) {
    const Json read = answer["usage"].value("prompt_tokens", Json());
    if (read.is_number_integer()) echo.read = read.get<int64_t>();
    const Json made = answer["usage"].value("completion_tokens", Json());
    if (made.is_number_integer()) echo.made = made.get<int64_t>();
    if (echo.made < 0 || echo.made > 1) throw ModelError("the server made {} tokens", echo.made);
  }
  return echo;
}

/// The first token at or behind a place of the sent text, counted from the start of the tokens.
struct Places {
  size_t boundary = 0;
  size_t end = 0;  ///< of the prompt
};

/// By the tokens' own texts, which together hold the text that was sent.
std::optional<Places> PlacesByText(const Echo& echo, const ScoreQuery& query) {
  std::string joined;
  std::vector<size_t> starts;
  for (const std::string& token : echo.tokens) {
    starts.push_back(joined.size());
    joined += token;
  }
  starts.push_back(joined.size());
  // In front there may be a space or the start token's text, no more.
  const size_t limit = echo.tokens.empty() ? 0 : echo.tokens.front().size();
  const size_t found = joined.find(query.text);
  if (found == std::string::npos || found > limit) return std::nullopt;
  const auto place = [&](size_t at) -> std::optional<size_t> {
    const auto start = std::lower_bound(starts.begin(), starts.end(), at);
    if (start == starts.end() || *start != at) return std::nullopt;
    return static_cast<size_t>(start - starts.begin());
  };
  const auto end = place(found + query.text.size());
  if (!end) return std::nullopt;
  // A boundary of 0 is the first token, also where that has a space in front.
  const auto boundary = query.boundary == 0 ? place(found).value_or(0)
                                            : place(found + query.boundary).value_or(SIZE_MAX);
  return Places{boundary, *end};
}

/// Whether tokens [0, end) that hold whole characters are those of the text at their offsets.
bool SameAtOffsets(const Echo& echo, const std::u32string& text, int64_t shift, size_t end) {
  for (size_t i = 0; i < end; ++i) {
    std::u32string token = core::DecodeUtf8(echo.tokens[i]);
    if (token.find(U'\uFFFD') != std::u32string::npos) continue;
    int64_t at = echo.offsets[i] - shift;
    if (at < 0) {
      token.erase(0, static_cast<size_t>(std::min(-at, core::Size(token))));
      at = 0;
    }
    if (text.compare(static_cast<size_t>(std::min(at, core::Size(text))), token.size(), token) !=
        0) {
      return false;
    }
  }
  return true;
}

/// By the offsets, in code points; for tokens that hold parts of characters. A space or start token
/// in front that the sent text doesn't have moves them all.
std::optional<Places> PlacesByOffset(const Echo& echo, const ScoreQuery& query) {
  if (echo.offsets.empty()) return std::nullopt;
  const std::u32string text = core::DecodeUtf8(query.text);
  const int64_t length = core::Size(text);
  const int64_t boundary =
      core::CountCodePoints(std::string_view(query.text).substr(0, query.boundary));
  const std::string& first = echo.tokens.front();
  std::vector<int64_t> shifts = {0};
  if (first.starts_with(' ') && !query.text.starts_with(' ')) shifts = {1};
  if (!first.empty() && !query.text.starts_with(first)) {
    shifts.push_back(core::CountCodePoints(first));
  }
  const auto place = [&](int64_t at) {
    return static_cast<size_t>(std::lower_bound(echo.offsets.begin(), echo.offsets.end(), at) -
                               echo.offsets.begin());
  };
  for (const int64_t shift : shifts) {
    const size_t end = place(length + shift);
    if (end + static_cast<size_t>(echo.made) == echo.offsets.size()) {
      // What was made starts exactly where the prompt ends.
      if (end < echo.offsets.size() && echo.offsets[end] != length + shift) continue;
    } else {
      // It isn't listed (an end token): the prompt's last token must end where the prompt does.
      const std::string& last = echo.tokens.back();
      if (end != echo.offsets.size() || last.empty() ||
          echo.offsets.back() + core::CountCodePoints(last) != length + shift) {
        continue;
      }
    }
    // Every token but perhaps a start token was read from the prompt.
    const auto counted = static_cast<int64_t>(end);
    if (echo.read && *echo.read != counted && *echo.read != counted + 1) continue;
    if (!SameAtOffsets(echo, text, shift, end)) continue;
    if (query.boundary == 0) return Places{0, end};
    const size_t at = place(boundary + shift);
    const bool exact = at < end && echo.offsets[at] == boundary + shift;
    return Places{exact ? at : SIZE_MAX, end};
  }
  return std::nullopt;
}

Places FindPlaces(const Echo& echo, const ScoreQuery& query) {
  std::optional<Places> places = PlacesByText(echo, query);
  if (!places) places = PlacesByOffset(echo, query);
  if (!places) {
    throw ModelError(
        "the tokens that the server tells don't make up the text that was sent, so the "
        "continuation can't be found among them");
  }
  return *places;
}

Places ByText(const Echo& echo, const ScoreQuery& query) {
  const Places places = FindPlaces(echo, query);
  if (places.boundary == SIZE_MAX) {
    throw ModelError(
        "a token of the server crosses the boundary between context and continuation; a local "
        "tokenizer (tokenizer=FOLDER) and a server that takes token ids decide such cases");
  }
  return places;
}

/// Ids are known, text was sent: as many tokens must have been read, a start token of the server's
/// own only where ours have one.
Places ByCount(const Echo& echo, const ScoreQuery& query) {
  const Places places = FindPlaces(echo, query);
  const auto ids = core::Size(query.ids);
  const int64_t unlisted =
      query.starts_with_bos && static_cast<int64_t>(places.end) == ids - 1 ? 1 : 0;
  const int64_t listed = static_cast<int64_t>(places.end) + unlisted;
  if (listed != ids || (echo.read && *echo.read != ids)) {
    throw ModelError(
        "the server read the text as {} tokens, the local tokenizer as {}: a start token that one "
        "of them adds, or another tokenizer",
        echo.read.value_or(listed), ids);
  }
  return {static_cast<size_t>(query.scored_from - unlisted), places.end};
}

}  // namespace

TokenScore ReadEcho(const ScoreQuery& query, const Json& answer) {
  const Echo echo = Read(answer);
  Places places;
  if (!query.send_text) {
    // The ids that were sent come first, whatever was made follows.
    if (echo.tokens.size() < query.ids.size() ||
        (echo.read && *echo.read != core::Size(query.ids))) {
      throw ModelError("the server read {} tokens, expected the {} that were sent",
                       echo.read.value_or(core::Size(echo.tokens)), query.ids.size());
    }
    places = {static_cast<size_t>(query.scored_from), query.ids.size()};
  } else {
    places = query.ids.empty() ? ByText(echo, query) : ByCount(echo, query);
  }
  if (places.boundary >= places.end) throw ModelError("the server tells no token to score");
  TokenScore score;
  score.is_greedy = true;
  for (size_t at = places.boundary; at < places.end; ++at) {
    if ((*echo.log_probs)[at].is_null()) {
      throw ModelError(
          "the server gives no log-probability of its first token, which the request scores (an "
          "empty context); servers that take token ids can");
    }
    const float log_prob = ReadLogProb((*echo.log_probs)[at], "token_logprobs", at);
    score.log_probs.push_back(log_prob);
    const Json& top = (*echo.top)[at];
    if (!top.is_object() || top.empty()) {
      throw ModelError("top_logprobs {} is {}, expected an object", at, core::Describe(top));
    }
    for (const auto& [text, other] : top.items()) {
      if (!other.is_number()) {
        throw ModelError("top_logprobs {} is {}, expected numbers", at, core::Describe(top));
      }
      // Equal ones can't be told by id: the token itself is taken for the argmax.
      if (other.get<float>() > log_prob) score.is_greedy = false;
    }
  }
  return score;
}

}  // namespace natsl::model_adapters
