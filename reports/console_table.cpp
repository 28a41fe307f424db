#include "reports/console_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/json.h"
#include "core/utf8.h"

namespace natsl::reports {
namespace {

constexpr int64_t kMinWidth = 3;

/// Digits after the point of a decimal number without trailing zeros; nothing where the text isn't
/// a plain decimal number.
std::optional<int> Decimals(const std::string& text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  const size_t point = text.find('.');
  if (point == std::string::npos) return 0;
  const size_t last = text.find_last_not_of('0');
  return static_cast<int>(last - point);
}

std::string WithDecimals(const std::string& text, int decimals) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return fmt::format("{:.{}f}", value, decimals);
}

struct Column {
  bool numeric = true;
  int decimals = 0;
  int64_t width = kMinWidth;
};

std::string Pad(const std::string& text, int64_t width, bool right) {
  const auto fill = static_cast<size_t>(std::max<int64_t>(0, width - core::CountCodePoints(text)));
  return right ? std::string(fill, ' ') + text : text + std::string(fill, ' ');
}

std::string Centre(const std::string& text, int64_t width) {
  const int64_t fill = std::max<int64_t>(0, width - core::CountCodePoints(text));
  return std::string(static_cast<size_t>(fill / 2), ' ') + text +
         std::string(static_cast<size_t>(fill - fill / 2), ' ');
}

std::string FourDecimals(const Number& number, const char* missing) {
  return number.value ? fmt::format("{:.4f}", *number.value) : missing;
}

std::vector<std::vector<std::string>> Rows(const std::string& name, const std::string& version,
                                           const std::string& shots,
                                           const std::vector<MetricRecord>& metrics) {
  std::vector<const MetricRecord*> sorted;
  for (const MetricRecord& metric : metrics) sorted.push_back(&metric);
  std::sort(sorted.begin(), sorted.end(), [](const MetricRecord* a, const MetricRecord* b) {
    return std::pair(a->name, a->filter) < std::pair(b->name, b->filter);
  });
  std::vector<std::vector<std::string>> rows;
  for (const MetricRecord* metric : sorted) {
    const bool first = rows.empty();
    rows.push_back({first ? name : "", first ? version : "", metric->filter, shots, metric->name,
                    metric->higher_is_better ? "↑" : "↓", FourDecimals(metric->value, "   N/A"),
                    "±", FourDecimals(metric->standard_error, "   N/A")});
  }
  return rows;
}

}  // namespace

std::string MarkdownTable(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows) {
  std::vector<Column> columns(header.size());
  std::vector<std::vector<std::string>> cells = rows;
  for (size_t c = 0; c < header.size(); ++c) {
    Column& column = columns[c];
    bool any = false;
    for (const auto& row : rows) {
      if (row[c].empty()) continue;
      any = true;
      const std::optional<int> decimals = Decimals(row[c]);
      if (!decimals)
        column.numeric = false;
      else
        column.decimals = std::max(column.decimals, *decimals);
    }
    column.numeric &= any;
    column.width = std::max(column.width, core::CountCodePoints(header[c]));
    for (auto& row : cells) {
      if (const std::optional<int> decimals = Decimals(row[c])) {
        row[c] = WithDecimals(row[c], column.numeric ? column.decimals : *decimals);
      }
      column.width = std::max(column.width, core::CountCodePoints(row[c]));
    }
  }
  std::string out;
  for (size_t c = 0; c < header.size(); ++c) out += "|" + Centre(header[c], columns[c].width);
  out += "|\n";
  for (const Column& column : columns) {
    const auto dashes = static_cast<size_t>(column.width - (column.numeric ? 1 : 0));
    out += "|" + std::string(dashes, '-') + (column.numeric ? ":" : "");
  }
  out += "|\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < header.size(); ++c) {
      out += "|" + Pad(cells[r][c], columns[c].width, Decimals(rows[r][c]).has_value());
    }
    out += "|\n";
  }
  return out;
}

std::string ConsoleTable(const RunRecord& record) {
  std::vector<const TaskRecord*> tasks;
  for (const TaskRecord& task : record.tasks) tasks.push_back(&task);
  std::sort(tasks.begin(), tasks.end(),
            [](const TaskRecord* a, const TaskRecord* b) { return a->name < b->name; });
  const auto header = [](const char* first) {
    return std::vector<std::string>{first, "Version", "Filter", "n-shot", "Metric",
                                    "",    "Value",   "",       "Stderr"};
  };
  std::vector<std::vector<std::string>> rows;
  for (const TaskRecord* task : tasks) {
    for (auto& row : Rows(task->name, task->version_json, fmt::format("{}", task->num_fewshot),
                          task->metrics)) {
      rows.push_back(std::move(row));
    }
  }
  std::string out = MarkdownTable(header("Tasks"), rows);
  rows.clear();
  for (const GroupRecord& group : record.groups) {
    if (!group.aggregate) continue;
    for (auto& row : Rows(group.name, "", "", group.metrics)) rows.push_back(std::move(row));
  }
  if (!rows.empty()) out += "\n" + MarkdownTable(header("Groups"), rows);
  return out;
}

}  // namespace natsl::reports
