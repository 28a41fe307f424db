// The 13 RULER tasks.
#include "tasks/ruler/ruler_tasks.h"

#include <algorithm>
#include <array>

#include "core/cache.h"
#include "core/cast.h"
#include "core/hash.h"
#include "core/json.h"
#include "tasks/few_shot.h"
#include "tasks/metrics/ruler.h"
#include "tasks/parameters.h"
#include "tasks/ruler/fitting.h"
#include "tasks/ruler/generators.h"
#include "tasks/ruler/qa_sets.h"
#include "tasks/ruler/text.h"

namespace natsl::tasks::ruler {
namespace {

enum class Family { kNiah, kVariableTracking, kCommonWords, kFrequentWords, kSquad, kHotpot };

struct Variant {
  const char* name;
  const char* summary;
  Family family;
  int64_t answer_tokens;
  NiahConfig niah;
};

using enum Haystack;
using enum ItemKind;
const std::array<Variant, 13> kVariants = {{
    {"niah_single_1",
     "one number in repeated noise",
     Family::kNiah,
     128,
     {kNoise, kWords, kNumbers, 1, 1, 1}},
    {"niah_single_2",
     "one number in an essay",
     Family::kNiah,
     128,
     {kEssay, kWords, kNumbers, 1, 1, 1}},
    {"niah_single_3",
     "one uuid in an essay",
     Family::kNiah,
     128,
     {kEssay, kWords, kUuids, 1, 1, 1}},
    {"niah_multikey_1",
     "one of four needles in an essay",
     Family::kNiah,
     128,
     {kEssay, kWords, kNumbers, 4, 1, 1}},
    {"niah_multikey_2",
     "one needle in a haystack of needles",
     Family::kNiah,
     128,
     {kNeedle, kWords, kNumbers, 1, 1, 1}},
    {"niah_multikey_3",
     "one uuid needle in a haystack of uuid needles",
     Family::kNiah,
     128,
     {kNeedle, kUuids, kUuids, 1, 1, 1}},
    {"niah_multivalue",
     "four values of one key in an essay",
     Family::kNiah,
     128,
     {kEssay, kWords, kNumbers, 1, 4, 1}},
    {"niah_multiquery",
     "four keys asked for in an essay",
     Family::kNiah,
     128,
     {kEssay, kWords, kNumbers, 1, 1, 4}},
    {"vt", "variables assigned along a chain of four hops", Family::kVariableTracking, 30, {}},
    {"cwe", "the ten most common words of a list", Family::kCommonWords, 120, {}},
    {"fwe", "the three most frequent words of a coded text", Family::kFrequentWords, 50, {}},
    {"qa_1", "SQuAD questions over many paragraphs", Family::kSquad, 32, {}},
    {"qa_2", "HotpotQA questions over many paragraphs", Family::kHotpot, 32, {}},
}};

bool IsQa(Family family) { return family == Family::kSquad || family == Family::kHotpot; }

TaskCard MakeCard(const Variant& variant) {
  TaskCard card;
  card.name = fmt::format("ruler_{}", variant.name);
  card.summary = fmt::format("RULER: {}", variant.summary);
  card.dataset = variant.family == Family::kSquad    ? "squad_v2"
                 : variant.family == Family::kHotpot ? "hotpotqa"
                                                     : "generated";
  card.split = "generated";
  card.protocol = "NVIDIA RULER (main of 2025-06 and later), base prompts";
  card.version = "\"current\"";
  card.output_type = "generate_until";
  card.licence = variant.family == Family::kSquad || variant.family == Family::kHotpot
                     ? "CC BY-SA 4.0"
                     : "own generator; word lists of wonderwords 2.2.0 (MIT); essay: the user's";
  card.few_shot =
      variant.family == Family::kVariableTracking || variant.family == Family::kCommonWords
          ? "one generated example in the prompt, part of the protocol"
          : "none";
  card.metrics = {{"score", "none", Aggregation::kMean, true, 100}};
  card.deviations = {
      "every sample is brought to at least 95 % of the length and never over it; the reference "
      "takes "
      "whole increments off those that come out too long (parameter fit=reference does that)"};
  if (variant.niah.haystack == kEssay && variant.family == Family::kNiah) {
    card.deviations.emplace_back(
        "sentences end at '.', '?' or '!' before a space; the reference uses NLTK's Punkt model");
    card.deviations.emplace_back(
        "the essay is the user's text, named with its hash in every report");
  }
  if (variant.family == Family::kCommonWords) {
    card.deviations.emplace_back(
        "beyond 8169 distinct words (near 128k tokens) adjective-noun pairs are added; the "
        "reference "
        "takes a larger list of its own");
  }
  return card;
}

/// What a task's samples are made from; lives as long as the generators need it.
struct Sources {
  std::optional<Words> words;
  std::optional<Essay> essay;
  QaSet qa;
};

Words RequireWords(const DataSource& data) {
  if (const auto local = data.Find({"ruler/wonderwords/nounlist.txt"})) {
    return LoadWords(local->parent_path());
  }
  const auto cached = core::UserCacheFolder() / "wonderwords-2.2.0";
  if (std::filesystem::exists(cached / "nounlist.txt")) return LoadWords(cached);
  throw DataError(
      "RULER's word lists are missing: neither {} nor {} has nounlist.txt; run scripts/setup, or "
      "unpack the lists of the PyPI package wonderwords 2.2.0 there",
      (data.root() / "ruler/wonderwords").string(), cached.string());
}

Essay RequireEssay(const DataSource& data, const std::optional<std::string>& parameter) {
  if (parameter) {
    const std::filesystem::path path(*parameter);
    return LoadEssay(path.is_absolute() || std::filesystem::exists(path) ? path
                                                                         : data.root() / path);
  }
  for (const char* name : {"ruler/essay", "ruler/essay.txt", "ruler/PaulGrahamEssays.json"}) {
    if (std::filesystem::exists(data.root() / name)) return LoadEssay(data.root() / name);
  }
  throw DataError(
      "this task hides its needles in an essay, and {} has no ruler/essay (a folder of .txt "
      "files), "
      "ruler/essay.txt or ruler/PaulGrahamEssays.json; put a text there or give "
      "@length=...:essay=PATH",
      data.root().string());
}

FittingPlan PlanFor(const Variant& variant, int64_t length, Shrink shrink) {
  FittingPlan plan;
  plan.target_length = length;
  plan.answer_tokens = variant.answer_tokens;
  plan.increment = 10;
  plan.shrink = shrink;
  if (variant.family == Family::kNiah) {
    plan.increment = variant.niah.haystack == kEssay ? 500 : length < 4096 ? 5 : 25;
  } else if (variant.family == Family::kVariableTracking && length < 4096) {
    plan.increment = 5;
  } else if (variant.family == Family::kCommonWords) {
    plan.probe = 4096;
    plan.upper_factor = 2;
    plan.floor_before_factor = true;
  }
  plan.least_upper = 2 * plan.increment;
  return plan;
}

/// The example that stands before every variable-tracking sample.
std::string MakeExample(const TokenCounter& count, Streams& streams) {
  const auto generator = MakeVariableTrackingExample();
  FittingPlan plan;
  plan.target_length = 500;
  plan.increment = 5;
  plan.least_upper = 10;
  const int64_t size = FindSize(*generator, plan, count, streams);
  const FittedSample made = MakeSamples(*generator, plan, size, 1, count, streams).front();
  return made.sample.prompt + " " + Join(made.sample.answers, " ") + "\n";
}

std::vector<FittedSample> Generate(const Variant& variant, const Sources& sources, FittingPlan plan,
                                   int64_t samples, const TokenCounter& count, uint64_t seed) {
  Streams streams(seed);
  std::unique_ptr<Generator> probe, generator;
  switch (variant.family) {
    case Family::kNiah:
      generator = MakeNiah(variant.niah, *sources.words, sources.essay ? &*sources.essay : nullptr);
      break;
    case Family::kVariableTracking: {
      const std::string example = MakeExample(count, streams);
      plan.example_tokens = count(example);
      probe = MakeVariableTracking("");
      generator = MakeVariableTracking(example);
      break;
    }
    case Family::kCommonWords:
      generator = MakeCommonWords(*sources.words, plan.target_length);
      break;
    case Family::kFrequentWords:
      return MakeFrequentWordSamples(plan, samples, count, streams);
    case Family::kSquad:
    case Family::kHotpot:
      samples = std::min(samples, core::Size(sources.qa.questions));
      generator = MakeQuestionAnswering(sources.qa);
      break;
  }
  const int64_t size = FindSize(probe ? *probe : *generator, plan, count, streams);
  return MakeSamples(*generator, plan, size, samples, count, streams);
}

/// Samples made elsewhere: RULER's own records, old (whole prompt in "input") or new (with
/// "answer_prefix"), or the harness's ("gen_prefix").
std::vector<FittedSample> Import(const DataSource& data, const std::string& path) {
  const std::filesystem::path file(path);
  std::vector<FittedSample> samples;
  for (const Record& record : data.Read(file.is_absolute() ? file : data.root() / file).records) {
    const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
    FittedSample sample;
    sample.sample.prompt = object.String("input");
    for (const char* prefix : {"answer_prefix", "gen_prefix"}) {
      if (object.Has(prefix)) sample.sample.prompt += object.String(prefix);
    }
    sample.sample.answers = object.Strings("outputs");
    if (sample.sample.answers.empty()) throw object.Wrong("outputs", "at least one answer");
    if (object.Has("length")) sample.length = object.Int("length");
    samples.push_back(std::move(sample));
  }
  return samples;
}

class RulerTask final : public Task {
 public:
  RulerTask(const Variant& variant, const DataSource& data, const TaskOptions& options)
      : card_(MakeCard(variant)), variant_(variant) {
    RefuseFewShot(card_.name, options.few_shot);
    const Parameters parameters(card_.name, options, {"length", "samples", "essay", "fit", "file"});
    target_length_ = parameters.Count("length").value_or(4096);
    const int64_t samples = std::min(parameters.Count("samples").value_or(500),
                                     options.limit.value_or(int64_t{1} << 40));
    core::Sha256 fingerprint;
    fingerprint.Update(
        fmt::format("{} length {} seed {}", card_.name, target_length_, options.seed));
    if (const auto file = parameters.Text("file")) {
      samples_ = Import(data, *file);
      if (core::Size(samples_) > samples) samples_.resize(static_cast<size_t>(samples));
      for (const FittedSample& sample : samples_) fingerprint.Update(sample.sample.prompt);
    } else {
      const std::string fit = parameters.Text("fit").value_or("bisect");
      if (fit != "bisect" && fit != "reference") {
        throw UsageError("task {}: fit is \"{}\", expected bisect or reference", card_.name, fit);
      }
      if (!options.count_tokens) {
        throw UsageError(
            "task {}: its prompts are built to a length in tokens, and this model "
            "can't count tokens; give it a tokenizer",
            card_.name);
      }
      if (variant.family == Family::kHotpot && target_length_ < 4096) {
        throw UsageError(
            "task {}: length {} can't hold a question's ten paragraphs; expected at "
            "least 4096",
            card_.name, target_length_);
      }
      Sources sources = LoadSources(data, parameters, fingerprint);
      samples_ = Generate(
          variant, sources,
          PlanFor(variant, target_length_, fit == "bisect" ? Shrink::kBisect : Shrink::kReference),
          samples, options.count_tokens, options.seed);
      fingerprint.Update(fmt::format(" fit {}", fit));
    }
    fingerprint_ = fingerprint.Hex();
  }

  const TaskCard& Card() const override { return card_; }
  int64_t DocumentCount() const override { return core::Size(samples_); }
  std::string DataFingerprint() const override { return fingerprint_; }
  std::vector<std::string> Warnings() const override { return warnings_; }

  DocumentRequests Requests(int64_t index) const override {
    const FittedSample& sample = samples_[static_cast<size_t>(index)];
    DocumentRequests out;
    out.doc_id = index;
    out.id = fmt::format("{}", index);
    core::Json doc;
    doc["index"] = index;
    doc["outputs"] = sample.sample.answers;
    doc["length"] = sample.length;
    out.doc = core::PythonJson(doc);
    out.target = core::PythonJson(core::Json(sample.sample.answers));
    GenerateRequest request;
    request.prompt = sample.sample.prompt;
    request.max_new_tokens = variant_.answer_tokens;
    out.requests.push_back(std::move(request));
    return out;
  }

  SampleScore Score(int64_t index, std::span<const Response> responses) const override {
    const FittedSample& sample = samples_[static_cast<size_t>(index)];
    const std::string prediction =
        metrics::RulerPostprocess(std::get<GenerateResult>(responses[0]).text);
    const double value = IsQa(variant_.family)
                             ? metrics::RulerMatchAny(prediction, sample.sample.answers)
                             : metrics::RulerMatchShare(prediction, sample.sample.answers);
    SampleScore score;
    score.metrics = {{"score", "none", {value}}};
    core::Json extra;
    extra["length"] = sample.length;
    extra["target_length"] = target_length_;
    score.extra_json = extra.dump();
    return score;
  }

 private:
  Sources LoadSources(const DataSource& data, const Parameters& parameters,
                      core::Sha256& fingerprint) {
    Sources sources;
    if (variant_.family == Family::kNiah || variant_.family == Family::kCommonWords) {
      sources.words = RequireWords(data);
      fingerprint.Update(sources.words->sha256);
    }
    if (variant_.family == Family::kNiah && variant_.niah.haystack == kEssay) {
      sources.essay = RequireEssay(data, parameters.Text("essay"));
      fingerprint.Update(sources.essay->sha256);
      warnings_.push_back(fmt::format(
          "{}: the haystack is {} ({} words, sha256 {}); compare only "
          "numbers of the same haystack",
          card_.name, sources.essay->source, sources.essay->words.size(), sources.essay->sha256));
    }
    if (variant_.family == Family::kSquad) sources.qa = LoadSquadSet(data);
    if (variant_.family == Family::kHotpot) sources.qa = LoadHotpotSet(data);
    if (IsQa(variant_.family)) {
      for (const std::string& document : sources.qa.documents) fingerprint.Update(document);
    }
    return sources;
  }

  TaskCard card_;
  const Variant& variant_;
  int64_t target_length_ = 0;
  std::vector<FittedSample> samples_;
  std::vector<std::string> warnings_;
  std::string fingerprint_;
};

}  // namespace

std::vector<TaskEntry> RulerTasks() {
  std::vector<TaskEntry> entries;
  for (const Variant& variant : kVariants) {
    entries.push_back(
        {MakeCard(variant).name,
         [&variant] { return MakeCard(variant); },
         [&variant](const DataSource& data, const TaskOptions& options) -> std::unique_ptr<Task> {
           return std::make_unique<RulerTask>(variant, data, options);
         },
         {"length", "samples", "essay", "fit", "file"}});
  }
  return entries;
}

}  // namespace natsl::tasks::ruler
