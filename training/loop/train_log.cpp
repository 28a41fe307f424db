// The log and its plot.
#include "training/loop/train_log.h"

#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "reports/svg_plot.h"

namespace natsl::training {
namespace {

constexpr const char* kLogFile = "train_log.jsonl";
constexpr const char* kTimingFile = "train_timing.jsonl";

/// Lines of a JSONL file whose "step" is at most `step`; "" where there is no file.
std::string LinesUpTo(const std::filesystem::path& path, int64_t step) {
  if (!std::filesystem::exists(path)) return "";
  const std::string text = core::ReadFile(path, ErrorCode::kData);
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const core::Json json = core::ParseJson(line, path.string(), ErrorCode::kData);
    if (core::JsonObject(json, path.string(), ErrorCode::kData).Int("step") <= step) {
      kept += line + "\n";
    }
  }
  return kept;
}

}  // namespace

std::string ToJson(const LogLine& line) {
  core::Json json;
  json["step"] = line.step;
  json["tokens"] = line.tokens;
  json["context"] = line.context;
  json["loss"] = line.loss;
  json["learning_rate"] = line.learning_rate;
  json["gradient_norm"] = line.gradient_norm;
  if (line.softmax_share) json["softmax_share"] = *line.softmax_share;
  return json.dump();
}

LogLine ParseLogLine(const std::string& text, const std::string& where) {
  const core::Json json = core::ParseJson(text, where, ErrorCode::kData);
  const core::JsonObject object(json, where, ErrorCode::kData);
  LogLine line;
  line.step = object.Int("step");
  line.tokens = object.Int("tokens");
  line.context = object.Int("context");
  line.loss = object.Double("loss");
  line.learning_rate = object.Double("learning_rate");
  line.gradient_norm = object.Double("gradient_norm");
  if (object.Has("softmax_share")) line.softmax_share = object.Double("softmax_share");
  return line;
}

TrainLog::TrainLog(std::filesystem::path folder, int64_t step) : folder_(std::move(folder)) {
  if (step == 0) return;
  text_ = LinesUpTo(folder_ / kLogFile, step);
  timing_ = LinesUpTo(folder_ / kTimingFile, step);
  for (size_t begin = 0; begin < text_.size();) {
    const size_t end = text_.find('\n', begin);
    lines_.push_back(ParseLogLine(text_.substr(begin, end - begin), kLogFile));
    begin = end + 1;
  }
  if (timing_.empty()) return;
  const size_t last = timing_.rfind('\n', timing_.size() - 2);  // npos: the first line
  const core::Json json =
      core::ParseJson(std::string_view(timing_).substr(last == std::string::npos ? 0 : last + 1),
                      kTimingFile, ErrorCode::kData);
  seconds_ = core::JsonObject(json, kTimingFile, ErrorCode::kData).Double("seconds");
}

void TrainLog::Add(const LogLine& line, double seconds, double tokens_per_second) {
  lines_.push_back(line);
  seconds_ = seconds;
  text_ += ToJson(line) + "\n";
  core::Json timing;
  timing["step"] = line.step;
  timing["seconds"] = seconds;
  timing["tokens_per_second"] = tokens_per_second;
  timing_ += timing.dump() + "\n";
  core::WriteFileAtomic(folder_ / kLogFile, text_);
  core::WriteFileAtomic(folder_ / kTimingFile, timing_);
}

void TrainLog::WritePlot(const std::string& title) const {
  reports::LinePlot plot;
  plot.title = title;
  plot.x.label = "steps";
  plot.y.label = "loss (nats a learned token)";
  plot.y.low = 0;
  reports::PlotSeries loss{.name = ""};
  loss.markers = false;
  for (const LogLine& line : lines_) {
    loss.points.push_back({static_cast<double>(line.step), line.loss});
  }
  // Where a longer context begins, the loss jumps.
  for (size_t i = 1; i < lines_.size(); ++i) {
    if (lines_[i].context == lines_[i - 1].context) continue;
    plot.rules.push_back({.x = static_cast<double>(lines_[i - 1].step),
                          .label = fmt::format("context {}", lines_[i].context)});
  }
  plot.series.push_back(std::move(loss));
  core::WriteFileAtomic(folder_ / "loss.svg", reports::RenderSvg(plot) + "\n");
}

}  // namespace natsl::training
