// Writing the record.
#include "training/loop/card.h"

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "training/data/mixture.h"

namespace natsl::training {

bool IsDescribed(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / "CARD.md", error);
}

void WriteCard(const std::filesystem::path& folder, const TrainOptions& options,
               const CardFacts& facts) {
  core::Json json;
  json["family"] = facts.family;
  json["parameters"] = facts.parameters;
  json["options"] = core::ParseJson(IdentityJson(options), "options", ErrorCode::kInternal);
  json["tokens"] = facts.last.tokens;
  json["loss"] = facts.last.loss;
  if (facts.last.softmax_share) {
    json["softmax_share"] = *facts.last.softmax_share;
    json["softmax_share_of_heads"] = facts.softmax_share;
  }
  json["device"] = facts.device;
  json["seconds"] = facts.seconds;
  json["tokens_per_second"] = facts.tokens_per_second;
  json["peak_memory_bytes"] = facts.peak_memory_bytes;
  core::WriteFileAtomic(folder / "training.json", core::PythonJson(json, 2) + "\n");

  std::string card = fmt::format("# {}\n\n", folder.filename().string());
  card +=
      "Trained by natsl-train on documents of its own seeded generators alone (needles in RULER's "
      "wording,\nassociative recall, phonebooks, templated stories): nothing of anyone's data or "
      "weights.\n\n| | |\n|---|---|\n";
  const auto row = [&](std::string_view name, const std::string& value) {
    card += fmt::format("| {} | {} |\n", name, value);
  };
  row("family", facts.family);
  row("parameters", fmt::format("{}", facts.parameters));
  row("data", ToString(ParseMixture(options.mixture)));
  row("context lengths",
      options.curriculum.empty() ? std::to_string(options.context) : options.curriculum);
  row("steps", fmt::format("{} of {} tokens", options.steps, options.batch_tokens));
  row("tokens", fmt::format("{}", facts.last.tokens));
  row("learning rate",
      fmt::format("{:g} to {:g}, {} steps of warm-up", options.lr, options.min_lr, options.warmup));
  row("seed", fmt::format("{}", options.seed));
  row("products in", options.dtype);
  row("loss at the end", fmt::format("{:.4f} nats a learned token (mean of the last {} steps)",
                                     facts.last.loss, options.log_every));
  if (facts.last.softmax_share) {
    row("softmax share at the end", fmt::format("{:.1f} %", 100 * *facts.last.softmax_share));
  }
  row("time", fmt::format("{:.0f} s on {}", facts.seconds, facts.device));
  core::WriteFileAtomic(folder / "CARD.md", card);
}

}  // namespace natsl::training
