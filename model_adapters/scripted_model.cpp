// `scripted:FILE`: answers from a JSONL file.
#include "model_adapters/scripted_model.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_map>

#include "core/cast.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"

namespace natsl::model_adapters {
namespace {

using core::JsonObject;

std::string PairKey(std::string_view context, std::string_view continuation) {
  return fmt::format("{}:{}{}", context.size(), context, continuation);
}

/// The start of a text, for an error message.
std::string Shortened(const std::string& text) {
  constexpr size_t kShown = 60;
  const std::string json =
      core::Json(text).dump(-1, ' ', false, core::Json::error_handler_t::replace);
  return json.size() <= kShown ? json : json.substr(0, kShown) + "...";
}

int64_t CountIds(const JsonObject& line, const char* key) {
  return line.Has(key) && line.At(key).is_array() ? core::Size(line.At(key)) : 0;
}

void ReadLineBase(const JsonObject& line, ResultBase& base) {
  base.context_tokens = CountIds(line, "context_ids");
  base.output_tokens = std::max(CountIds(line, "continuation_ids"), CountIds(line, "output_ids"));
  if (line.Has("dropped_ids")) base.truncated_tokens = line.Int("dropped_ids");
  if (line.Has("error")) base.error = line.String("error");
}

FinishReason ReadLineFinish(const JsonObject& line) {
  if (!line.Has("finish")) return FinishReason::kStop;
  const std::string name = line.String("finish");
  for (const FinishReason reason :
       {FinishReason::kEos, FinishReason::kStop, FinishReason::kLength}) {
    if (name == Name(reason)) return reason;
  }
  throw line.Wrong("finish", "eos, stop or length");
}

class ScriptedModel final : public LanguageModel {
 public:
  explicit ScriptedModel(const std::filesystem::path& file) {
    const std::string content = core::ReadFile(file, ErrorCode::kModel);
    info_.name = "scripted:" + file.string();
    info_.family = "scripted";
    info_.weights_fingerprint = core::Sha256Hex(content);
    info_.dtype = "none";
    info_.device = "none";
    info_.max_length = 2048;
    int64_t number = 0;
    for (size_t begin = 0; begin < content.size();) {
      size_t end = content.find('\n', begin);
      if (end == std::string::npos) end = content.size();
      ++number;
      const std::string_view text = std::string_view(content).substr(begin, end - begin);
      if (!text.empty()) ReadLine(text, fmt::format("{}:{}", file.string(), number));
      begin = end + 1;
    }
  }

  const ModelInfo& Info() const override { return info_; }
  std::optional<int64_t> CountTokens(const std::string&) const override { return std::nullopt; }

  void Loglikelihood(std::span<const LoglikelihoodRequest> requests,
                     std::span<LoglikelihoodResult> results, BatchListener& listener) override {
    Answer(requests.size(), listener, [&](size_t i) {
      const auto found = pairs_.find(PairKey(requests[i].context, requests[i].continuation));
      if (found == pairs_.end()) {
        throw ModelError("{}: has no answer to the loglikelihood of {} after {}", info_.name,
                         Shortened(requests[i].continuation), Shortened(requests[i].context));
      }
      results[i] = found->second;
      return results[i].context_tokens + results[i].output_tokens;
    });
  }

  void LoglikelihoodRolling(std::span<const RollingRequest> requests,
                            std::span<RollingResult> results, BatchListener& listener) override {
    Answer(requests.size(), listener, [&](size_t i) {
      const auto found = texts_.find(requests[i].text);
      if (found == texts_.end()) {
        throw ModelError("{}: has no answer to the loglikelihood_rolling of {}", info_.name,
                         Shortened(requests[i].text));
      }
      results[i] = found->second;
      return results[i].output_tokens;
    });
  }

  void GenerateUntil(std::span<const GenerateRequest> requests, std::span<GenerateResult> results,
                     BatchListener& listener) override {
    Answer(requests.size(), listener, [&](size_t i) {
      const auto found = generations_.find(requests[i].prompt);
      if (found == generations_.end()) {
        throw ModelError("{}: has no answer to generate_until of {}", info_.name,
                         Shortened(requests[i].prompt));
      }
      results[i] = found->second;
      return results[i].context_tokens + results[i].output_tokens;
    });
  }

 private:
  void ReadLine(std::string_view text, const std::string& where) {
    const core::Json json = core::ParseJson(text, where, ErrorCode::kModel);
    const JsonObject line(json, where, ErrorCode::kModel);
    if (line.Has("settings")) {
      const JsonObject settings = line.Object("settings");
      if (settings.Has("batch_requests")) batch_requests_ = settings.Int("batch_requests");
      if (settings.Has("batch_delay_ms")) batch_delay_ms_ = settings.Int("batch_delay_ms");
      if (settings.Has("max_length")) info_.max_length = settings.Int("max_length");
      if (batch_requests_ < 1) throw settings.Wrong("batch_requests", "at least 1");
      return;
    }
    const std::string type = line.String("type");
    const bool failed = line.Has("error");
    if (type == "loglikelihood") {
      LoglikelihoodResult result;
      ReadLineBase(line, result);
      if (!failed) {
        result.log_prob = line.Double("logprob");
        result.is_greedy = line.Bool("is_greedy");
      }
      pairs_.emplace(PairKey(line.String("context"), line.String("continuation")),
                     std::move(result));
    } else if (type == "loglikelihood_rolling") {
      RollingResult result;
      ReadLineBase(line, result);
      if (!failed) result.log_prob = line.Double("logprob");
      texts_.emplace(line.String("continuation"), std::move(result));
    } else if (type == "generate_until") {
      GenerateResult result;
      ReadLineBase(line, result);
      if (!failed) {
        result.text = line.String("output");
        result.finish = ReadLineFinish(line);
      }
      generations_.emplace(line.String("context"), std::move(result));
    } else {
      throw line.Wrong("type", "loglikelihood, loglikelihood_rolling or generate_until");
    }
  }

  /// Fixed batches in the requests' order. `answer(i)` fills result i and tells its tokens.
  template <typename Body>
  void Answer(size_t count, BatchListener& listener, const Body& answer) {
    const auto step = static_cast<size_t>(batch_requests_);
    for (size_t begin = 0; begin < count; begin += step) {
      if (listener.StopRequested()) return;
      const size_t end = std::min(count, begin + step);
      std::vector<size_t> finished;
      bool wanted = false;
      for (size_t i = begin; i < end; ++i) wanted |= listener.Wanted(i);
      if (!wanted) continue;
      int64_t tokens = 0;
      for (size_t i = begin; i < end; ++i) {
        tokens += answer(i);
        finished.push_back(i);
      }
      if (batch_delay_ms_ > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(batch_delay_ms_));
      }
      listener.OnBatch(finished, tokens);
    }
  }

  ModelInfo info_;
  std::unordered_map<std::string, LoglikelihoodResult> pairs_;
  std::unordered_map<std::string, RollingResult> texts_;
  std::unordered_map<std::string, GenerateResult> generations_;
  int64_t batch_requests_ = 16;
  int64_t batch_delay_ms_ = 0;
};

}  // namespace

std::unique_ptr<LanguageModel> OpenScriptedModel(const std::filesystem::path& file) {
  return std::make_unique<ScriptedModel>(file);
}

}  // namespace natsl::model_adapters
