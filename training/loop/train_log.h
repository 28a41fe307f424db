// A run's log: one JSON line an interval, a plot of the loss, and what a card says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace natsl::training {

/// The mean over the steps since the last line. No times: the same run gives the same lines.
struct LogLine {
  int64_t step = 0;    ///< steps done
  int64_t tokens = 0;  ///< of all steps done
  int64_t context = 0;
  double loss = 0;  ///< nats a learned token
  double learning_rate = 0;
  double gradient_norm = 0;                  ///< of the last step, before clipping
  std::optional<double> softmax_share = {};  ///< NAtS-L: mean over layers and heads
};
std::string ToJson(const LogLine& line);
LogLine ParseLogLine(const std::string& json, const std::string& where);

/// train_log.jsonl, its times apart in train_timing.jsonl, and loss.svg.
class TrainLog {
 public:
  /// Takes over the lines of an earlier part of the run, up to `step`.
  TrainLog(std::filesystem::path folder, int64_t step);

  /// `seconds`: of training, calls before included; `tokens_per_second`: of this call.
  void Add(const LogLine& line, double seconds, double tokens_per_second);
  void WritePlot(const std::string& title) const;
  const std::vector<LogLine>& lines() const { return lines_; }
  /// Of the last line; 0 where there is none.
  double seconds() const { return seconds_; }

 private:
  std::filesystem::path folder_;
  std::vector<LogLine> lines_;
  std::string text_, timing_;
  double seconds_ = 0;
};

}  // namespace natsl::training
