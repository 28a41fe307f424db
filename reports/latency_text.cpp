#include "reports/latency_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "latency/record/lengths.h"

namespace natsl::reports {
namespace {

using latency::CanaryRates;
using latency::LatencyRecord;
using latency::Measurement;

LatencyCell TextCell(std::string text) { return {std::move(text), std::nullopt}; }

LatencyCell NumberCell(double value, NumberFormat format, int digits = 4) {
  return {FormatNumber(value, format, digits), value};
}

LatencyCell NumberCell(const std::optional<double>& value, NumberFormat format, int digits = 4) {
  return value ? NumberCell(*value, format, digits) : TextCell("");
}

LatencyCell Bytes(const std::optional<int64_t>& bytes) {
  return bytes ? NumberCell(static_cast<double>(*bytes), NumberFormat::kBytes) : TextCell("");
}

std::string RangeText(const std::optional<double>& low, const std::optional<double>& high,
                      NumberFormat format) {
  if (!low || !high) return "";
  return FormatNumber(*low, format, 4) + " to " + FormatNumber(*high, format, 4);
}

LatencyCell PassTokens(const Measurement& m) {
  const int64_t tokens = m.memory.pass_tokens;
  return tokens > 0 ? LatencyCell{fmt::format("{}", tokens), static_cast<double>(tokens)}
                    : TextCell("");
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "; ") + line;
  return out;
}

std::string Rates(const std::optional<CanaryRates>& before,
                  const std::optional<CanaryRates>& after) {
  const auto one = [](const std::optional<CanaryRates>& rates) {
    return rates ? fmt::format("{:.4g} GFLOP/s, {:.4g} GB/s", rates->flops_per_second * 1e-9,
                               rates->bytes_per_second * 1e-9)
                 : std::string("not measured");
  };
  return one(before) + " before; " + one(after) + " after";
}

std::string AtCanary(const std::optional<latency::GpuReading>& gpu) {
  return gpu ? fmt::format("{:.0f} MHz, {:.0f} W, {:.0f} °C", gpu->sm_mhz, gpu->watts, gpu->celsius)
             : std::string("not read");
}

}  // namespace

const latency::Variant& VariantOf(const LatencyRecord& record, int64_t index) {
  return record.variants[static_cast<size_t>(index)];
}

std::optional<double> OverallShare(const Measurement& measurement) {
  int64_t softmax = 0, chunks = 0;
  for (const latency::HeadShare& share : measurement.softmax_shares) {
    softmax += share.softmax_chunks;
    chunks += share.chunks;
  }
  if (chunks == 0) return std::nullopt;
  return static_cast<double>(softmax) / static_cast<double>(chunks);
}

double TokenRate(const Measurement& measurement, double seconds) {
  if (!(seconds > 0)) return 0;
  return static_cast<double>(TokensOf(measurement.point)) / seconds;
}

LatencyTable TimesTable(const LatencyRecord& record) {
  LatencyTable table{
      {"Test", "Variant", "Median", "95 % interval", "Min", "p90", "p99", "Max", "Cold", "Samples",
       "Stopped by", "Tokens/s", "Step p90", "Step p99", "Labels"},
      {}};
  constexpr NumberFormat kTime = NumberFormat::kSeconds;
  for (const Measurement& m : record.measurements) {
    const double rate = TokenRate(m, m.summary.median);
    table.rows.push_back(
        {TextCell(Name(m.point)),
         TextCell(VariantOf(record, m.variant).label),
         NumberCell(m.summary.median, kTime),
         TextCell(RangeText(m.summary.low, m.summary.high, kTime)),
         NumberCell(m.summary.minimum, kTime),
         NumberCell(m.summary.p90, kTime),
         NumberCell(m.summary.p99, kTime),
         NumberCell(m.summary.maximum, kTime),
         NumberCell(m.cold_seconds, kTime),
         {fmt::format("{}", m.summary.count), static_cast<double>(m.summary.count)},
         TextCell(m.stopped_because),
         rate > 0 ? NumberCell(rate, NumberFormat::kPlain) : TextCell(""),
         NumberCell(m.step_summary.p90, kTime),
         NumberCell(m.step_summary.p99, kTime),
         TextCell(Joined(m.labels))});
  }
  return table;
}

LatencyTable RooflineTable(const LatencyRecord& record) {
  LatencyTable table{{"Test", "Variant", "GFLOP", "Bytes moved", "Limit time", "Of peak compute",
                      "Of peak bandwidth", "Bound by"},
                     {}};
  for (const Measurement& m : record.measurements) {
    const latency::Roofline& roofline = m.roofline;
    if (!(roofline.flops > 0)) continue;
    const bool known = roofline.compute_share && roofline.bandwidth_share;
    table.rows.push_back(
        {TextCell(Name(m.point)), TextCell(VariantOf(record, m.variant).label),
         NumberCell(roofline.flops * 1e-9, NumberFormat::kPlain),
         NumberCell(roofline.bytes, NumberFormat::kBytes),
         NumberCell(roofline.limit_seconds, NumberFormat::kSeconds),
         NumberCell(roofline.compute_share, NumberFormat::kPercent, 3),
         NumberCell(roofline.bandwidth_share, NumberFormat::kPercent, 3),
         TextCell(!known                                                ? roofline.absent
                  : *roofline.compute_share > *roofline.bandwidth_share ? "compute"
                                                                        : "bandwidth")});
  }
  return table;
}

LatencyTable MemoryTable(const LatencyRecord& record) {
  LatencyTable table{{"Test", "Variant", "Weights", "KV", "Recurrent", "Convolution", "Activations",
                      "Peak", "State a token", "Tokens a pass", "Peak from"},
                     {}};
  for (const Measurement& m : record.measurements) {
    if (m.point.phase == latency::Phase::kTokenize) continue;
    table.rows.push_back({TextCell(Name(m.point)), TextCell(VariantOf(record, m.variant).label),
                          Bytes(m.memory.weights_bytes), Bytes(m.memory.kv_bytes),
                          Bytes(m.memory.recurrent_bytes), Bytes(m.memory.convolution_bytes),
                          Bytes(m.memory.activations_bytes), Bytes(m.memory.peak_bytes),
                          NumberCell(m.memory.state_bytes_per_token, NumberFormat::kBytes),
                          PassTokens(m), TextCell(m.memory.source)});
  }
  return table;
}

LatencyTable SpeedUpTable(const LatencyRecord& record) {
  LatencyTable table{{"Test", "Variant", "Baseline", "Speed-up", "95 % interval"}, {}};
  for (const latency::SpeedUp& s : record.speed_ups) {
    table.rows.push_back({TextCell(Name(s.point)), TextCell(VariantOf(record, s.variant).label),
                          TextCell(VariantOf(record, s.baseline).label),
                          NumberCell(s.ratio, NumberFormat::kMultiple),
                          TextCell(RangeText(s.low, s.high, NumberFormat::kMultiple))});
  }
  return table;
}

LatencyTable GrowthTable(const LatencyRecord& record) {
  LatencyTable table{{"Phase", "Batch", "Variant", "Fixed", "A token", "A token squared",
                      "Largest error", "Exponent", "95 % interval", "Lengths of the exponent"},
                     {}};
  for (const latency::LengthFit& fit : record.fits) {
    const auto part = [&](double value) {
      return fit.valid ? NumberCell(value, NumberFormat::kSeconds, 3) : TextCell("");
    };
    table.rows.push_back(
        {TextCell(Name(fit.phase)),
         {fmt::format("{}", fit.batch), static_cast<double>(fit.batch)},
         TextCell(VariantOf(record, fit.variant).label),
         part(fit.a),
         part(fit.b),
         part(fit.c),
         fit.valid ? NumberCell(fit.largest_error, NumberFormat::kPercent, 3) : TextCell(""),
         NumberCell(fit.exponent, NumberFormat::kPlain),
         TextCell(RangeText(fit.exponent_low, fit.exponent_high, NumberFormat::kPlain)),
         TextCell(fit.exponent ? fmt::format("{} from {} on", fit.exponent_points,
                                             latency::FormatLength(fit.exponent_from))
                               : "")});
  }
  return table;
}

LatencyTable CrossoverTable(const LatencyRecord& record) {
  LatencyTable table{{"Phase", "Batch", "Variant", "Baseline", "Faster"}, {}};
  for (const latency::Crossover& c : record.crossovers) {
    table.rows.push_back({TextCell(Name(c.phase)),
                          {fmt::format("{}", c.batch), static_cast<double>(c.batch)},
                          TextCell(VariantOf(record, c.variant).label),
                          TextCell(VariantOf(record, c.baseline).label),
                          TextCell(c.text)});
  }
  return table;
}

LatencyTable ShareTable(const LatencyRecord& record) {
  LatencyTable table{{"Test", "Variant", "Layer", "Share", "By head"}, {}};
  for (const Measurement& m : record.measurements) {
    std::map<int64_t, std::vector<const latency::HeadShare*>> layers;
    for (const latency::HeadShare& share : m.softmax_shares) layers[share.layer].push_back(&share);
    for (const auto& [layer, heads] : layers) {
      int64_t softmax = 0, chunks = 0;
      std::string each;
      for (const latency::HeadShare* head : heads) {
        softmax += head->softmax_chunks;
        chunks += head->chunks;
        each += fmt::format("{}{:.3f}", each.empty() ? "" : " ",
                            static_cast<double>(head->softmax_chunks) /
                                static_cast<double>(std::max<int64_t>(1, head->chunks)));
      }
      const double share =
          static_cast<double>(softmax) / static_cast<double>(std::max<int64_t>(1, chunks));
      table.rows.push_back({TextCell(Name(m.point)),
                            TextCell(VariantOf(record, m.variant).label),
                            {fmt::format("{}", layer), static_cast<double>(layer)},
                            {fmt::format("{:.3f}", share), share},
                            TextCell(each)});
    }
  }
  return table;
}

LatencyTable GpuTable(const LatencyRecord& record) {
  LatencyTable table{{"Test", "Variant", "SM clock", "Memory clock", "Power", "Temperature",
                      "Energy a token", "Throttled by"},
                     {}};
  for (const Measurement& m : record.measurements) {
    if (!m.gpu) continue;
    table.rows.push_back(
        {TextCell(Name(m.point)), TextCell(VariantOf(record, m.variant).label),
         TextCell(fmt::format("{:.0f} MHz", m.gpu->sm_mhz)),
         TextCell(fmt::format("{:.0f} MHz", m.gpu->memory_mhz)),
         TextCell(fmt::format("{:.0f} W", m.gpu->watts)),
         TextCell(fmt::format("{:.0f} °C", m.gpu->celsius)),
         TextCell(m.gpu->joules_per_token ? fmt::format("{:.3g} J", *m.gpu->joules_per_token) : ""),
         TextCell(Joined(m.gpu->throttle_reasons))});
  }
  return table;
}

std::vector<std::string> LatencyWarnings(const LatencyRecord& record) {
  std::vector<std::string> warnings;
  if (!record.complete) warnings.push_back("incomplete: " + record.incomplete_because);
  for (const std::string& label : record.labels) warnings.push_back(label);
  int64_t labelled = 0;
  for (const Measurement& m : record.measurements) labelled += m.labels.empty() ? 0 : 1;
  if (labelled > 0) {
    warnings.push_back(
        fmt::format("{} of {} points are labelled noisy or throttled: see their "
                    "labels",
                    labelled, record.measurements.size()));
  }
  return warnings;
}

std::vector<std::pair<std::string, std::string>> PhaseDefinitions(const LatencyRecord& record) {
  std::vector<std::pair<std::string, std::string>> definitions;
  for (const latency::Phase phase : latency::AllPhases()) {
    if (std::any_of(record.measurements.begin(), record.measurements.end(),
                    [&](const Measurement& m) { return m.point.phase == phase; })) {
      definitions.emplace_back(Name(phase), Definition(phase));
    }
  }
  return definitions;
}

std::vector<std::string> MethodLines(const LatencyRecord& record) {
  const latency::MethodSettings& s = record.settings;
  std::vector<std::string> lines;
  lines.push_back(
      "Every time is from the device being idle to the device being idle. The first run of a shape "
      "is its cold one; runs of the same shape follow until the medians of two windows of three "
      "agree within 5 %, and only then samples.");
  lines.push_back(fmt::format(
      "Samples stop when the median's distribution-free 95 % interval is within {:g} % of it (from "
      "{} samples on), at {} samples, or after {:g} s of one variant's samples. p90 and p99 are "
      "told where ten samples lie beyond them.",
      100 * s.interval_target, s.min_samples, s.max_samples, s.seconds_per_point));
  lines.push_back(fmt::format(
      "All variants are measured in one process, each once a round in random order (seed {}); "
      "ratios are of medians, with intervals from resampling rounds.",
      s.seed));
  lines.push_back(fmt::format(
      "The ids are {}. The state of a depth comes from {}. The roofline's operations and bytes are "
      "the model's own arithmetic (weights once a forward pass, whose tokens the memory's table "
      "tells; states read and written; activations left out) over the rates measured on this "
      "machine{}.",
      s.ids == "random" ? "random" : "of a text (SHA-256 " + s.ids.substr(0, 16) + "...)",
      s.depth_state == "synthetic" ? "growing a short real one (synthetic)" : "a real prefill",
      record.machine.device_before ? " by its device" : ""));
  return lines;
}

std::vector<std::pair<std::string, std::string>> MachineRows(const LatencyRecord& record) {
  const latency::Machine& m = record.machine;
  std::vector<std::pair<std::string, std::string>> rows = {
      {"Host", m.host},
      {"CPU", m.cpu},
      {"Cores usable", fmt::format("{}", m.cores)},
      {"Memory", FormatNumber(static_cast<double>(m.memory_bytes), NumberFormat::kBytes)},
      {"Kernel", m.kernel},
      {"Frequency governor", m.governor.empty() ? "not told" : m.governor},
      {"Clock", fmt::format("{:.0f} MHz before, {:.0f} MHz after", m.mhz_before, m.mhz_after)},
      {"Load average", fmt::format("{:.2f} before, {:.2f} after", m.load_before, m.load_after)},
      {"Host canary", Rates(m.canary_before, m.canary_after)}};
  if (m.device_before || m.device_after) {
    rows.emplace_back("Device canary", Rates(m.device_before, m.device_after));
  }
  if (m.gpu_before || m.gpu_after) {
    rows.emplace_back("GPU at its canary",
                      AtCanary(m.gpu_before) + " before; " + AtCanary(m.gpu_after) + " after");
  }
  for (const latency::GpuDescription& gpu : m.gpus) {
    const std::string clock =
        gpu.highest_sm_mhz > 0 ? fmt::format(", up to {:.0f} MHz", gpu.highest_sm_mhz) : "";
    rows.emplace_back("GPU", fmt::format("{}, {}{}, driver {}, {}", gpu.name,
                                         FormatNumber(static_cast<double>(gpu.memory_bytes),
                                                      NumberFormat::kBytes),
                                         clock, gpu.driver, gpu.uuid));
  }
  if (m.gpus.empty()) rows.emplace_back("GPU", "none: " + m.gpu_absent);
  return rows;
}

}  // namespace natsl::reports
