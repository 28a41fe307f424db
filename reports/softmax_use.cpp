#include "reports/softmax_use.h"

#include <fmt/format.h>

namespace natsl::reports {
namespace {

// Sums are doubles: exact for any number that is counted, and defined for any that a file claims.
Number Share(double softmax, double chunks) {
  if (chunks == 0) return Number::Missing("no sequence completes a chunk of 64 tokens");
  return Number::Of(softmax / chunks);
}

double Softmax(const SoftmaxUse::Layer& layer) {
  double sum = 0;
  for (const int64_t count : layer.softmax_chunks) sum += static_cast<double>(count);
  return sum;
}

double Chunks(const SoftmaxUse& use, const SoftmaxUse::Layer& layer) {
  return static_cast<double>(use.chunks) * static_cast<double>(layer.softmax_chunks.size());
}

std::string Text(const Number& share) {
  return share.value ? fmt::format("{:.1f} %", 100 * *share.value) : share.reason;
}

}  // namespace

Number SoftmaxShare(const SoftmaxUse& use) {
  if (!use.reason.empty()) return Number::Missing(use.reason);
  double softmax = 0, chunks = 0;
  for (const SoftmaxUse::Layer& layer : use.layers) {
    softmax += Softmax(layer);
    chunks += Chunks(use, layer);
  }
  return Share(softmax, chunks);
}

Number SoftmaxShare(const SoftmaxUse& use, const SoftmaxUse::Layer& layer) {
  return Share(Softmax(layer), Chunks(use, layer));
}

std::string SoftmaxShareText(const SoftmaxUse& use) { return Text(SoftmaxShare(use)); }

std::vector<std::pair<std::string, std::string>> SoftmaxRows(const SoftmaxUse& use) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (!use.known()) return rows;
  const Number all = SoftmaxShare(use);
  rows.emplace_back("softmax share (NAtS-L)",
                    all.value ? fmt::format("{} of {} chunks", Text(all), use.chunks) : Text(all));
  if (!all.value) return rows;
  for (const SoftmaxUse::Layer& layer : use.layers) {
    std::string heads;
    for (const int64_t softmax : layer.softmax_chunks) {
      heads += (heads.empty() ? "" : ", ") +
               Text(Share(static_cast<double>(softmax), static_cast<double>(use.chunks)));
    }
    rows.emplace_back(fmt::format("softmax share, layer {}", layer.layer),
                      fmt::format("{} (heads: {})", Text(SoftmaxShare(use, layer)), heads));
  }
  return rows;
}

}  // namespace natsl::reports
