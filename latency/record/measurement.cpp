#include "latency/record/measurement.h"

#include <fmt/format.h>

#include "latency/record/lengths.h"

namespace natsl::latency {

const char* Name(Phase phase) {
  switch (phase) {
    case Phase::kPrefill:
      return "prefill";
    case Phase::kFirstToken:
      return "ttft";
    case Phase::kDecode:
      return "decode";
    case Phase::kEndToEnd:
      return "e2e";
    case Phase::kTokenize:
      return "tokenize";
    case Phase::kSample:
      return "sample";
  }
  return "?";
}

const char* Definition(Phase phase) {
  switch (phase) {
    case Phase::kPrefill:
      return "the prompt's ids enter an empty session until its state is complete; no logits";
    case Phase::kFirstToken:
      return "an empty session is made, the prompt's ids enter it, and the first new id (greedy) "
             "is "
             "on the host; tokenising is not in it";
    case Phase::kDecode:
      return "greedy tokens, one after the other, from a session that holds `depth` tokens (depth "
             "0: "
             "one token); a sample is the time of all new tokens over their number, output head "
             "and "
             "greedy choice included; making the state of that depth is not in it";
    case Phase::kEndToEnd:
      return "an empty session is made, the prompt's ids enter it, and all new ids are on the host";
    case Phase::kTokenize:
      return "a text of that many tokens becomes ids on the host";
    case Phase::kSample:
      return "after a step, the output head's log-probabilities of the whole vocabulary come to "
             "the "
             "host and the largest is found";
  }
  return "";
}

const std::vector<Phase>& AllPhases() {
  static const std::vector<Phase> all = {Phase::kPrefill,  Phase::kFirstToken, Phase::kDecode,
                                         Phase::kEndToEnd, Phase::kTokenize,   Phase::kSample};
  return all;
}

std::string Name(const Point& point) {
  std::string name;
  switch (point.phase) {
    case Phase::kPrefill:
      name = "pp" + FormatLength(point.prompt);
      break;
    case Phase::kFirstToken:
      name = "ttft" + FormatLength(point.prompt);
      break;
    case Phase::kDecode:
      name = fmt::format("tg{}@d{}", point.new_tokens, FormatLength(point.depth));
      break;
    case Phase::kEndToEnd:
      name = fmt::format("pp{}+tg{}", FormatLength(point.prompt), point.new_tokens);
      break;
    case Phase::kTokenize:
      name = "tok" + FormatLength(point.prompt);
      break;
    case Phase::kSample:
      name = "sample@d" + FormatLength(point.depth);
      break;
  }
  if (point.batch != 1) name += fmt::format("x{}", point.batch);
  return name;
}

int64_t TokensOf(const Point& point) {
  switch (point.phase) {
    case Phase::kPrefill:
    case Phase::kFirstToken:
    case Phase::kTokenize:
      return point.batch * point.prompt;
    case Phase::kDecode:
      return point.batch;  // a sample is the time of one token
    case Phase::kEndToEnd:
      return point.batch * (point.prompt + point.new_tokens);
    case Phase::kSample:
      return 0;
  }
  return 0;
}

}  // namespace natsl::latency
