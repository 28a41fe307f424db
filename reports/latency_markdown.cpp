#include "reports/latency_markdown.h"

#include <fmt/format.h>

#include "latency/record/summary.h"
#include "reports/console_table.h"
#include "reports/latency_text.h"

namespace natsl::reports {
namespace {

using latency::LatencyRecord;
using latency::Measurement;
using latency::Phase;

std::string Escaped(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

std::string Section(const char* heading, const LatencyTable& table) {
  if (table.rows.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table.rows) {
    std::vector<std::string>& cells = rows.emplace_back();
    for (const LatencyCell& cell : row) cells.push_back(Escaped(cell.text));
  }
  return fmt::format("## {}\n\n{}\n", heading, MarkdownTable(table.header, rows));
}

bool HasTokenRate(Phase phase) {
  return phase == Phase::kPrefill || phase == Phase::kDecode || phase == Phase::kEndToEnd;
}

}  // namespace

std::string LlamaBenchTable(const LatencyRecord& record) {
  std::vector<std::vector<std::string>> rows;
  for (const Measurement& m : record.measurements) {
    if (!HasTokenRate(m.point.phase)) continue;
    const latency::Variant& variant = VariantOf(record, m.variant);
    std::vector<double> rates;
    for (const double sample : m.samples) rates.push_back(TokenRate(m, sample));
    const latency::Summary summary = latency::Summarize(rates);
    rows.push_back({Escaped(variant.label + " " + variant.dtype),
                    FormatNumber(static_cast<double>(variant.weights_bytes), NumberFormat::kBytes),
                    variant.parameters >= 1'000'000'000
                        ? fmt::format("{:.2f} B", static_cast<double>(variant.parameters) * 1e-9)
                        : fmt::format("{:.2f} M", static_cast<double>(variant.parameters) * 1e-6),
                    variant.device, fmt::format("{}", record.settings.threads), Name(m.point),
                    fmt::format("{:.2f} ± {:.2f}", summary.mean, summary.deviation)});
  }
  return MarkdownTable({"model", "size", "params", "backend", "threads", "test", "t/s"}, rows);
}

std::string LatencyMarkdown(const LatencyRecord& record) {
  std::string out = fmt::format("# Latency of {}\n\n", VariantOf(record, 0).model);
  for (const std::string& warning : LatencyWarnings(record)) {
    out += fmt::format("- **{}**\n", warning);
  }
  out += "\n" + LlamaBenchTable(record) + "\n";
  out += Section("Times", TimesTable(record));
  for (const auto& [phase, definition] : PhaseDefinitions(record)) {
    out += fmt::format("- {}: {}.\n", phase, definition);
  }
  out += "\n";
  for (const std::string& line : MethodLines(record)) out += line + "\n\n";
  out += Section("Speed-up", SpeedUpTable(record));
  out += Section("Where the subject is faster, by the fits", CrossoverTable(record));
  out += Section("Growth with the prompt's length", GrowthTable(record));
  out += Section("Memory", MemoryTable(record));
  out += Section("Roofline", RooflineTable(record));
  out += Section("Chunks given to softmax attention", ShareTable(record));
  out += Section("GPU", GpuTable(record));
  LatencyTable machine{{"Machine", "Value"}, {}};
  for (const auto& [name, value] : MachineRows(record)) {
    machine.rows.push_back({{name, std::nullopt}, {value, std::nullopt}});
  }
  out += Section("Machine", machine);
  out += fmt::format("natsl-bench {}, method {}, {} to {}. Raw samples are in latency.json.\n",
                     record.program_version, record.method, record.started_utc, record.ended_utc);
  return out;
}

}  // namespace natsl::reports
