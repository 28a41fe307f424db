#include "reports/latency_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/html_page.h"
#include "reports/latency_plots.h"
#include "reports/latency_text.h"

namespace natsl::reports {
namespace {

using latency::LatencyRecord;

void Add(HtmlPage& page, const char* heading, const LatencyTable& table) {
  if (table.rows.empty()) return;
  if (*heading != '\0') page.Subheading(heading);
  HtmlTable html;
  for (size_t c = 0; c < table.header.size(); ++c) {
    // A column is numeric where every cell that says something is.
    bool numeric = true, any = false, empty = true;
    for (const auto& row : table.rows) {
      numeric &= row[c].number.has_value() || row[c].text.empty();
      any |= row[c].number.has_value();
      empty &= row[c].text.empty();
    }
    if (empty) continue;
    html.columns.push_back(HtmlColumn(table.header[c], numeric && any));
    for (size_t r = 0; r < table.rows.size(); ++r) {
      if (html.rows.size() <= r) html.rows.emplace_back();
      html.rows[r].push_back(HtmlCell(table.rows[r][c].text, table.rows[r][c].number,
                                      table.header[c] == "Labels" ? "warn" : ""));
    }
  }
  page.Table(html);
}

std::vector<std::pair<std::string, std::string>> Figures(const LatencyRecord& record) {
  std::vector<std::pair<std::string, std::string>> figures;
  const latency::Measurement* longest = nullptr;
  const latency::Measurement* decode = nullptr;
  for (const latency::Measurement& m : record.measurements) {
    if (m.variant != 0) continue;
    if (m.point.phase == latency::Phase::kPrefill &&
        (longest == nullptr || m.point.prompt > longest->point.prompt)) {
      longest = &m;
    }
    if (m.point.phase == latency::Phase::kDecode &&
        (decode == nullptr || m.point.depth > decode->point.depth)) {
      decode = &m;
    }
  }
  for (const latency::Measurement* m : {longest, decode}) {
    if (m == nullptr) continue;
    figures.emplace_back(Name(m->point) + (m == longest ? "" : ", a token"),
                         FormatNumber(m->summary.median, NumberFormat::kSeconds));
    figures.emplace_back(Name(m->point) + ", tokens a second",
                         FormatNumber(TokenRate(*m, m->summary.median), NumberFormat::kPlain));
  }
  for (const latency::SpeedUp& s : record.speed_ups) {
    if (longest != nullptr && s.point == longest->point && s.variant == 0) {
      figures.emplace_back(
          fmt::format("{} over {}", Name(s.point), VariantOf(record, s.baseline).label),
          FormatNumber(s.ratio, NumberFormat::kMultiple));
    }
  }
  return figures;
}

}  // namespace

std::string LatencyHtml(const LatencyRecord& record) {
  HtmlPage page("Latency of " + VariantOf(record, 0).model);
  for (const std::string& warning : LatencyWarnings(record)) {
    page.Note(warning.starts_with("incomplete") ? NoteKind::kBad : NoteKind::kWarning, warning);
  }
  page.Figures(Figures(record));
  page.Section("Times");
  std::vector<std::string> plots = LengthPlots(record);
  for (const auto& more : {DecodePlots(record), StepPlots(record)}) {
    plots.insert(plots.end(), more.begin(), more.end());
  }
  page.Plots(plots);
  Add(page, "", TimesTable(record));
  std::vector<std::string> definitions;
  for (const auto& [phase, definition] : PhaseDefinitions(record)) {
    definitions.push_back(phase + ": " + definition + ".");
  }
  page.List(definitions);
  const LatencyTable speed_ups = SpeedUpTable(record);
  if (!speed_ups.rows.empty()) {
    page.Section("Speed-up");
    page.Plots(SpeedUpPlots(record));
    Add(page, "Where the subject is faster, by the fits", CrossoverTable(record));
    Add(page, "At each point", speed_ups);
  }
  const LatencyTable growth = GrowthTable(record);
  if (!growth.rows.empty()) {
    page.Section("Growth");
    page.Paragraph(
        "Time = fixed + a token × L + a token squared × L², no part negative; the exponent is "
        "the slope on log axes over the longer lengths.");
    Add(page, "", growth);
  }
  page.Section("Memory");
  page.Plots(MemoryPlots(record));
  Add(page, "", MemoryTable(record));
  const LatencyTable shares = ShareTable(record);
  if (!shares.rows.empty()) {
    page.Section("Softmax share");
    page.Plots(SharePlots(record));
    Add(page, "Of the chunks of each layer and head", shares);
  }
  page.Section("Roofline");
  Add(page, "", RooflineTable(record));
  page.Section("Method and machine");
  for (const std::string& line : MethodLines(record)) page.Paragraph(line);
  LatencyTable machine{{"Machine", "Value"}, {}};
  for (const auto& [name, value] : MachineRows(record)) {
    machine.rows.push_back({{name, std::nullopt}, {value, std::nullopt}});
  }
  Add(page, "", machine);
  Add(page, "GPU", GpuTable(record));
  LatencyTable variants{
      {"Variant", "Role", "Model", "Family", "Parameters", "dtype", "Device", "Weights SHA-256"},
      {}};
  for (const latency::Variant& v : record.variants) {
    variants.rows.push_back({{v.label, {}},
                             {v.role, {}},
                             {v.model, {}},
                             {v.family, {}},
                             {fmt::format("{}", v.parameters), static_cast<double>(v.parameters)},
                             {v.dtype, {}},
                             {v.device, {}},
                             {v.weights_fingerprint.substr(0, 16), {}}});
  }
  Add(page, "Models", variants);
  std::string command = "natsl-bench";
  for (const std::string& argument : record.arguments) command += " " + argument;
  page.Details("Command", "<pre>" + EscapeHtml(command) + "</pre>");
  return page.Render(
      fmt::format("natsl-bench {}, method {}, {} to {}. Raw samples are in "
                  "latency.json.",
                  record.program_version, record.method, record.started_utc, record.ended_utc));
}

}  // namespace natsl::reports
