#include "cli/verbs/compare_latency.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/python_random.h"
#include "reports/latency_json.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;
using reports::LatencyVerdict;
using reports::PointComparison;

/// A folder that is gone when this is.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "natsl-confirm-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw UsageError("{}: cannot make a folder for --confirm", name);
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

/// Runs a command of the user's through the shell, with the points and the folder behind it.
latency::LatencyRecord Rerun(const std::string& command, const std::string& points,
                             const fs::path& folder) {
  const std::string line = fmt::format("{} --only {} --output {} --quiet 1>&2", command,
                                       Quoted(points), Quoted(folder.string()));
  std::cerr << "confirming: " << line << "\n" << std::flush;
  const int status = std::system(line.c_str());  // NOLINT: running the user's command is the task
  if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw DataError("--confirm: the command ended with status {}: {}",
                    status == -1        ? -1
                    : WIFEXITED(status) ? WEXITSTATUS(status)
                                        : 128 + WTERMSIG(status),
                    line);
  }
  return reports::ReadLatencyJson(folder);
}

/// The median of a point in a record; throws where the command didn't measure it.
double MedianOf(const latency::LatencyRecord& record, const PointComparison& point,
                const std::string& command) {
  for (const latency::Measurement& measurement : record.measurements) {
    const latency::Variant& variant = record.variants[static_cast<size_t>(measurement.variant)];
    if (measurement.point == point.point && reports::VariantKey(variant) == point.variant &&
        !measurement.samples.empty()) {
      return measurement.summary.median;
    }
  }
  throw DataError("--confirm: {} of {} was not measured by: {}", Name(point.point), point.variant,
                  command);
}

/// Points whose verdict another look could change.
std::vector<PointComparison*> Suspicious(reports::LatencyComparison& comparison) {
  std::vector<PointComparison*> points;
  for (PointComparison& point : comparison.points) {
    if (point.verdict == LatencyVerdict::kSlower || point.verdict == LatencyVerdict::kAmbiguous) {
      points.push_back(&point);
    }
  }
  return points;
}

void ConfirmAll(reports::LatencyComparison& comparison, const latency::LatencyRecord& base,
                const CompareLatencyOptions& options) {
  const std::vector<PointComparison*> points = Suspicious(comparison);
  if (points.empty()) return;
  std::set<std::string> names;
  for (const PointComparison* point : points) names.insert(Name(point->point));
  const std::string only = fmt::format("{}", fmt::join(names, ","));
  std::vector<std::vector<double>> medians[2];
  for (auto& side : medians) side.resize(points.size());
  core::PythonRandom random(options.compare.seed);
  const ScratchFolder scratch;
  for (int64_t round = 0; round < options.confirm_rounds; ++round) {
    const int64_t first = random.RandBelow(2);
    for (const int64_t side : {first, 1 - first}) {
      const std::string& command = options.confirm[static_cast<size_t>(side)];
      const latency::LatencyRecord record =
          Rerun(command, only, scratch.path() / fmt::format("{}-{}", round, side));
      const std::vector<std::string> differences = reports::Differences(base, record);
      if (!differences.empty() && !options.compare.force) {
        throw DataError("--confirm: {} is not comparable with BASE: {}", command,
                        fmt::join(differences, "; "));
      }
      for (size_t i = 0; i < points.size(); ++i) {
        medians[side][i].push_back(MedianOf(record, *points[i], command));
      }
    }
  }
  for (size_t i = 0; i < points.size(); ++i) {
    reports::Confirm(*points[i], medians[0][i], medians[1][i], options.compare);
  }
}

}  // namespace

int CompareLatencyRuns(const CompareLatencyOptions& options) {
  const latency::LatencyRecord base = reports::ReadLatencyJson(options.base);
  const latency::LatencyRecord changed = reports::ReadLatencyJson(options.changed);
  reports::LatencyComparison comparison = reports::CompareLatency(base, changed, options.compare);
  if (!options.confirm.empty()) ConfirmAll(comparison, base, options);
  const std::string page = reports::LatencyComparisonMarkdown(comparison, options.compare);
  if (!options.markdown.empty()) core::WriteFileAtomic(options.markdown, page);
  if (!options.junit.empty()) {
    core::WriteFileAtomic(options.junit, reports::LatencyComparisonJunit(comparison));
  }
  std::cout << page;
  return reports::Status(comparison);
}

}  // namespace natsl::cli
