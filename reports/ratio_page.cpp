#include "reports/ratio_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "core/error.h"
#include "reports/console_table.h"
#include "reports/runs_shape.h"
#include "reports/svg_plot.h"

namespace natsl::reports {
namespace {

/// Mean and range over seeds.
struct Spread {
  double mean = 0, low = 0, high = 0;
};
using RunValue = std::function<std::optional<double>(const RatioRun&)>;

std::optional<Spread> SpreadOf(const RatioArm& arm, const RunValue& value) {
  std::vector<double> values;
  for (const RatioRun& run : arm.runs) {
    if (const auto found = value(run)) values.push_back(*found);
  }
  if (values.empty()) return {};
  Spread spread;
  for (const double v : values) spread.mean += v / static_cast<double>(values.size());
  const auto [low, high] = std::ranges::minmax(values);
  spread.low = low;
  spread.high = high;
  return spread;
}

double MeanShare(const RatioArm& arm) {
  double sum = 0;
  for (const RatioRun& run : arm.runs) sum += run.share / static_cast<double>(arm.runs.size());
  return sum;
}

RunValue Score(const std::string& task) {
  return [task](const RatioRun& run) -> std::optional<double> {
    const auto found = run.scores.find(task);
    if (found == run.scores.end()) return {};
    return found->second;
  };
}

/// Mean of all scores at lengths that `wanted` accepts.
RunValue MeanScore(const std::function<bool(int64_t)>& wanted) {
  return [wanted](const RatioRun& run) -> std::optional<double> {
    double sum = 0;
    int64_t count = 0;
    for (const auto& [task, score] : run.scores) {
      const auto length = SplitLength(task).length;
      if (!length || !wanted(*length)) continue;
      sum += score;
      ++count;
    }
    if (count == 0) return {};
    return sum / static_cast<double>(count);
  };
}

/// Language-model loss over the positions up to `most`.
RunValue LossUpTo(int64_t most) {
  return [most](const RatioRun& run) -> std::optional<double> {
    double sum = 0;
    int64_t before = 0;
    for (const auto& [end, loss] : run.loss_by_end) {
      if (end > most) break;
      sum += loss * static_cast<double>(end - before);
      before = end;
    }
    if (before == 0) return {};
    return sum / static_cast<double>(before);
  };
}

PlotSeries SeriesOf(const RatioStudy& study, const std::string& name, const RunValue& value) {
  PlotSeries series{.name = name};
  std::vector<const RatioArm*> arms;
  for (const RatioArm& arm : study.arms) {
    if (!arm.learned) arms.push_back(&arm);
  }
  std::ranges::sort(arms, {}, [](const RatioArm* arm) { return MeanShare(*arm); });
  for (const RatioArm* arm : arms) {
    if (const auto spread = SpreadOf(*arm, value)) {
      series.points.push_back({.x = MeanShare(*arm),
                               .y = spread->mean,
                               .low = spread->low,
                               .high = spread->high,
                               .tip = arm->name});
    }
  }
  return series;
}

PlotSeries LearnedSeries(const RatioStudy& study, const std::string& name, const RunValue& value) {
  PlotSeries series{.name = name, .line = false};
  for (const RatioArm& arm : study.arms) {
    if (!arm.learned) continue;
    if (const auto spread = SpreadOf(arm, value)) {
      series.points.push_back({.x = MeanShare(arm),
                               .y = spread->mean,
                               .low = spread->low,
                               .high = spread->high,
                               .tip = arm.name});
    }
  }
  return series;
}

PlotAxis ShareAxis() {
  return {.label = "softmax share", .format = NumberFormat::kPercent, .low = 0, .high = 1};
}

std::string PlotOf(const RatioStudy& study, const std::string& title, const PlotAxis& y,
                   const std::vector<std::pair<std::string, RunValue>>& values) {
  LinePlot plot;
  plot.title = title;
  plot.x = ShareAxis();
  plot.y = y;
  for (const auto& [name, value] : values) {
    plot.series.push_back(SeriesOf(study, name, value));
    PlotSeries learned = LearnedSeries(study, "NAtS-L, " + name, value);
    if (!learned.points.empty()) plot.series.push_back(std::move(learned));
  }
  return RenderSvg(plot);
}

std::string StatePlot(const RatioStudy& study) {
  LinePlot plot;
  plot.title =
      fmt::format("state of one sequence at {} tokens",
                  FormatNumber(static_cast<double>(study.state_length), NumberFormat::kTokens));
  plot.x = ShareAxis();
  plot.y = {.label = "bytes", .format = NumberFormat::kBytes, .low = 0};
  PlotSeries kv{.name = "keys and values"}, fixed{.name = "recurrent states, convolutions"};
  std::vector<const RatioArm*> arms;
  for (const RatioArm& arm : study.arms) arms.push_back(&arm);
  std::ranges::sort(arms, {}, [](const RatioArm* arm) { return MeanShare(*arm); });
  for (const RatioArm* arm : arms) {
    kv.points.push_back(
        {.x = MeanShare(*arm), .y = static_cast<double>(arm->kv_bytes), .tip = arm->name});
    fixed.points.push_back(
        {.x = MeanShare(*arm), .y = static_cast<double>(arm->fixed_bytes), .tip = arm->name});
  }
  plot.series = {std::move(kv), std::move(fixed)};
  return RenderSvg(plot);
}

const RatioArm* FindArm(const RatioStudy& study, const std::string& name) {
  const auto found = std::ranges::find(study.arms, name, &RatioArm::name);
  return found == study.arms.end() ? nullptr : &*found;
}

std::string Text(const std::optional<Spread>& spread, int digits) {
  if (!spread) return "";
  return fmt::format("{0:.{3}f} ({1:.{3}f} to {2:.{3}f})", spread->mean, spread->low, spread->high,
                     digits);
}

/// The needle task that has the most lengths.
std::string NeedleTask(const RatioStudy& study) {
  for (const RatioArm& arm : study.arms) {
    for (const auto& [task, score] : arm.runs.front().scores) {
      const std::string base = SplitLength(task).base;
      if (base.find("niah") != std::string::npos) return base;
    }
  }
  return "";
}

enum class Verdict { kHolds, kFails, kUndecided };

/// A claim is decided only where every seed says the same.
Verdict Decide(bool holds, bool fails) {
  if (holds) return Verdict::kHolds;
  return fails ? Verdict::kFails : Verdict::kUndecided;
}

const char* Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return "holds";
    case Verdict::kFails:
      return "does not hold here";
    case Verdict::kUndecided:
      break;
  }
  return "undecided";
}

/// From here on a model counts as one that has learned recall or needles.
constexpr double kLearned = 0.5;

std::string Claims(const RatioStudy& study) {
  const auto within = MeanScore([&](int64_t length) { return length <= study.trained_length; });
  std::string text;
  const auto claim = [&](Verdict verdict, const std::string& name, const std::string& evidence) {
    text += fmt::format("- **{}: {}.** {}\n", name, Name(verdict), evidence);
  };
  const RatioArm* linear = FindArm(study, "linear");
  const RatioArm* rich = FindArm(study, "3:1");
  if (linear != nullptr && rich != nullptr) {
    const auto low = SpreadOf(*linear, within), high = SpreadOf(*rich, within);
    if (low && high) {
      claim(
          Decide(high->low > low->high, high->high < low->low), "Recall rises with softmax share",
          fmt::format("Mean recall up to the trained length: linear {}, 3:1 {} (range over seeds; "
                      "undecided where the ranges overlap).",
                      Text(low, 3), Text(high, 3)));
    }
    const auto loss = LossUpTo(study.trained_length);
    double least = 1e30, most = -1e30, least_high = 1e30, most_low = -1e30;
    for (const RatioArm& arm : study.arms) {
      if (const auto spread = SpreadOf(arm, loss)) {
        least = std::min(least, spread->mean);
        most = std::max(most, spread->mean);
        least_high = std::min(least_high, spread->high);
        most_low = std::max(most_low, spread->low);
      }
    }
    if (most >= least) {
      claim(
          Decide(most - least < 0.03 * least, most_low - least_high >= 0.03 * least_high),
          "Language-model loss hardly changes",
          fmt::format("Mean loss a token over all arms: {:.4f} to {:.4f}, {:.1f} % apart (hardly: "
                      "less than 3 %).",
                      least, most, 100 * (most - least) / least));
    }
  }
  const std::string needle = NeedleTask(study);
  if (linear != nullptr && !needle.empty()) {
    std::optional<Spread> inside, outside;
    int64_t inside_length = 0, outside_length = 0;
    for (const auto& [task, score] : linear->runs.front().scores) {
      const NameAndLength split = SplitLength(task);
      if (split.base != needle || !split.length) continue;
      if (*split.length <= study.trained_length && *split.length > inside_length) {
        inside_length = *split.length;
        inside = SpreadOf(*linear, Score(task));
      }
      if (*split.length > study.trained_length && *split.length > outside_length) {
        outside_length = *split.length;
        outside = SpreadOf(*linear, Score(task));
      }
    }
    if (inside && outside) {
      const bool learned = inside->low >= kLearned;
      claim(
          Decide(learned && outside->high < 0.5 * inside->low,
                 learned && outside->low >= 0.5 * inside->high),
          "Pure linear models lose needles beyond the trained length",
          fmt::format("{}: {} at {} tokens, {} at {} (the claim asks for at least 0.5 inside with "
                      "every seed, and less than half of it outside).",
                      needle, Text(inside, 3), inside_length, Text(outside, 3), outside_length));
    }
  }
  for (const RatioArm& arm : study.arms) {
    if (!arm.learned) continue;
    const auto share = SpreadOf(arm, [](const RatioRun& run) { return std::optional(run.share); });
    const auto recall = SpreadOf(arm, within);
    const bool learned = recall && recall->low >= kLearned;
    claim(
        Decide(learned && share->high < 0.5, share->low >= 0.5),
        "NAtS-L's share settles below 50 %",
        fmt::format("Learned share of chunks: {}, recall {} (a small share says nothing of a model "
                    "that has not learned recall).",
                    Text(share, 3), Text(recall, 3)));
  }
  return text;
}

std::string Tables(const RatioStudy& study) {
  std::set<std::string> tasks;
  for (const RatioArm& arm : study.arms) {
    for (const RatioRun& run : arm.runs) {
      for (const auto& [task, score] : run.scores) tasks.insert(task);
    }
  }
  std::vector<std::vector<std::string>> rows;
  for (const RatioArm& arm : study.arms) {
    rows.push_back(
        {arm.name, fmt::format("{}", arm.parameters), fmt::format("{}", arm.runs.size()),
         Text(SpreadOf(arm, [](const RatioRun& run) { return std::optional(run.share); }), 3),
         Text(SpreadOf(arm, [](const RatioRun& run) { return std::optional(run.train_loss); }), 3),
         Text(SpreadOf(arm, LossUpTo(study.trained_length)), 4),
         FormatNumber(static_cast<double>(arm.kv_bytes), NumberFormat::kBytes),
         FormatNumber(static_cast<double>(arm.fixed_bytes), NumberFormat::kBytes)});
  }
  std::string text = MarkdownTable({"Arm", "Parameters", "Seeds", "Softmax share", "Training loss",
                                    "Story loss", "KV bytes", "Other state"},
                                   rows);
  std::vector<std::string> header = {"Arm"};
  std::vector<std::string> ordered(tasks.begin(), tasks.end());
  std::ranges::sort(ordered, {}, [](const std::string& task) {
    const NameAndLength split = SplitLength(task);
    return std::pair(split.base, split.length.value_or(0));
  });
  header.insert(header.end(), ordered.begin(), ordered.end());
  rows.clear();
  for (const RatioArm& arm : study.arms) {
    rows.push_back({arm.name});
    for (const std::string& task : ordered) {
      rows.back().push_back(Text(SpreadOf(arm, Score(task)), 2));
    }
  }
  return text + "\n" + MarkdownTable(header, rows);
}

}  // namespace

RatioPage MakeRatioPage(const RatioStudy& study, const std::string& folder) {
  for (const RatioArm& arm : study.arms) {
    if (arm.runs.empty()) throw DataError("study: {} has no runs", arm.name);
  }
  RatioPage page;
  const auto within = MeanScore([&](int64_t length) { return length <= study.trained_length; });
  const auto beyond = MeanScore([&](int64_t length) { return length > study.trained_length; });
  page.plots["recall.svg"] =
      PlotOf(study, "recall against softmax share", {.label = "mean score", .low = 0, .high = 1},
             {{"up to the trained length", within}, {"beyond it", beyond}});
  page.plots["loss.svg"] =
      PlotOf(study, "language-model loss against softmax share", {.label = "nats a token"},
             {{"stories", LossUpTo(study.trained_length)}});
  page.plots["state.svg"] = StatePlot(study);
  page.markdown = "# Softmax share: numbers\n\nWritten by natsl-bench study ratio.\n\n" +
                  ("## Claims, checked\n\n" + Claims(study)) + "\n## Plots\n\n";
  for (const auto& [file, svg] : page.plots) {
    page.markdown += fmt::format("![{}]({}/{})\n\n", file.substr(0, file.find('.')), folder, file);
  }
  page.markdown += "## Numbers\n\nMeans over seeds, in brackets their range.\n\n" + Tables(study);
  return page;
}

}  // namespace natsl::reports
