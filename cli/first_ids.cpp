#include "cli/first_ids.h"

#include "core/json.h"
#include "model_adapters/request_encoding.h"

namespace natsl::cli {
namespace {

using evaluators::RequestKind;

std::vector<int32_t> Encode(const evaluators::RequestPlan& plan, evaluators::RequestSlot slot,
                            const model_adapters::Tokenizer& tokenizer,
                            model_adapters::BosPolicy bos, int64_t max_length) {
  const auto index = static_cast<size_t>(slot.index);
  if (slot.kind == RequestKind::kLoglikelihood) {
    const auto& request = plan.loglikelihood[index];
    auto pair = model_adapters::EncodePair(tokenizer, request.context, request.continuation, bos,
                                           max_length);
    pair.context.insert(pair.context.end(), pair.continuation.begin(), pair.continuation.end() - 1);
    return pair.context;
  }
  if (slot.kind == RequestKind::kGenerate) {
    const auto& request = plan.generate[index];
    return model_adapters::EncodePrompt(tokenizer, request.prompt, bos, max_length,
                                        request.max_new_tokens, request.middle_truncate_to)
        .ids;
  }
  const auto windows =
      model_adapters::EncodeRolling(tokenizer, plan.rolling[index], bos, max_length).windows;
  if (windows.empty()) return {};
  return {windows.front().ids.begin(), windows.front().ids.end() - 1};
}

}  // namespace

void FindFirstIds(const evaluators::RequestPlan& plan, const ModelOptions& options,
                  int64_t max_length, std::vector<evaluators::SelectedTask>& tasks) {
  if (!IsNative(options.model)) return;
  const auto tokenizer = OpenModelTokenizer(options);
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (plan.slots[t].empty() || plan.slots[t].front().empty()) continue;
    try {
      tasks[t].first_request_ids = Encode(plan, plan.slots[t].front().front(), *tokenizer,
                                          ToBosPolicy(options.bos), max_length);
    } catch (const Error&) {  // the request's own answer says what is wrong with it
      tasks[t].first_request_ids.clear();
    }
  }
}

std::string FirstIdsToJson(const std::vector<evaluators::SelectedTask>& tasks) {
  core::Json json = core::Json::array();
  for (const evaluators::SelectedTask& task : tasks) json.push_back(task.first_request_ids);
  return json.dump();
}

void FirstIdsFromJson(const std::string& text, std::vector<evaluators::SelectedTask>& tasks) {
  if (text.empty()) return;
  const core::Json json = core::ParseJson(text, "journal.sqlite", ErrorCode::kData);
  for (size_t t = 0; t < tasks.size() && t < json.size(); ++t) {
    tasks[t].first_request_ids = json[t].get<std::vector<int32_t>>();
  }
}

}  // namespace natsl::cli
