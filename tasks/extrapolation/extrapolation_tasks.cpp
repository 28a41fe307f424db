// Length extrapolation by block of positions.
#include "tasks/extrapolation/extrapolation_tasks.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/cast.h"
#include "core/hash.h"
#include "core/json.h"
#include "tasks/few_shot.h"
#include "tasks/parameters.h"

namespace natsl::tasks::extrapolation {
namespace {

struct Corpus {
  const char* name;
  const char* summary;
  const char* licence;
  bool packed;  ///< short documents: one stream, cut into windows
  const char* text_field;
  const char* id_field;  ///< documents repeated under one id are taken once; "" none
  std::vector<std::string> candidates;
};

const std::vector<Corpus>& Corpora() {
  static const std::vector<Corpus> corpora = {
      {"pg19",
       "books",
       "Apache-2.0 (packaging), public domain (books)",
       false,
       "text",
       "",
       {"pg19/test", "pg19/test.jsonl", "pg19", "hub:emozilla/pg19:data/test-*.parquet",
        "hub:fla-hub/pg19:data/test-*.parquet"}},
      {"narrativeqa",
       "stories and film scripts",
       "Apache-2.0 (links and summaries)",
       false,
       "text",
       "id",
       {"narrativeqa/test.jsonl", "narrativeqa", "hub:deepmind/narrativeqa:data/test-*.parquet"}},
      {"codeparrot",
       "Python files, packed",
       "per file, by its repository",
       true,
       "content",
       "",
       {"codeparrot/valid.jsonl", "codeparrot", "hub:codeparrot/codeparrot-clean-valid:*.json.gz"}},
      {"text",
       "any text: the parameter text names a file or a folder of .txt files",
       "the user's",
       false,
       "text",
       "",
       {"text"}},
  };
  return corpora;
}

TaskCard MakeCard(const Corpus& corpus) {
  TaskCard card;
  card.name = fmt::format("extrapolation_{}", corpus.name);
  card.summary = fmt::format("loss by position in long windows: {}", corpus.summary);
  card.dataset = corpus.name;
  card.split = "test";
  card.protocol = "LX-1 (fixed document set, zero state at window start, real targets only)";
  card.version = "1";
  card.output_type = "loglikelihood_rolling";
  card.licence = corpus.licence;
  card.few_shot = "none";
  card.metrics = {{"perplexity", "none", Aggregation::kWeightedPerplexity, false, 1},
                  {"bits_per_byte", "none", Aggregation::kBitsPerByte, false, 1}};
  card.deviations = {
      "the papers' figures leave windows and curves open: compare curves of one definition only"};
  return card;
}

struct Document {
  std::string id;
  std::string text;
};

class ExtrapolationTask final : public Task {
 public:
  ExtrapolationTask(const Corpus& corpus, const DataSource& data, const TaskOptions& options)
      : card_(MakeCard(corpus)), packed_(corpus.packed) {
    RefuseFewShot(card_.name, options.few_shot);
    const Parameters parameters(card_.name, options,
                                {"length", "bucket", "windows", "text", "field"});
    length_ = parameters.Count("length", 2).value_or(20480);
    bucket_ = parameters.Count("bucket").value_or(length_ > 20480 ? 2048 : 1024);
    if (length_ % bucket_ != 0) {
      throw UsageError("task {}: bucket {} does not divide length {}", card_.name, bucket_,
                       length_);
    }
    windows_ = parameters.Count("windows").value_or(packed_ ? 100 : 1);
    AddMetrics();
    LoadDocuments(corpus, data, parameters);
  }

  const TaskCard& Card() const override { return card_; }
  int64_t DocumentCount() const override { return packed_ ? 1 : core::Size(documents_); }
  std::string DataFingerprint() const override { return fingerprint_; }

  DocumentRequests Requests(int64_t index) const override {
    const Document& document = documents_[static_cast<size_t>(index)];
    DocumentRequests out;
    out.doc_id = index;
    out.id = packed_ ? "stream" : document.id;
    core::Json doc;
    doc["id"] = out.id;
    doc["documents"] = packed_ ? core::Size(documents_) : 1;
    out.doc = core::PythonJson(doc);
    RollingRequest request;
    request.text = document.text;
    request.max_length = length_;
    request.whole_windows = windows_;
    if (packed_) {
      for (size_t i = 1; i < documents_.size(); ++i) request.packed.push_back(documents_[i].text);
    }
    out.requests.push_back(std::move(request));
    return out;
  }

  SampleScore Score(int64_t, std::span<const Response> responses) const override {
    const auto& result = std::get<RollingResult>(responses[0]);
    const auto buckets = static_cast<size_t>(length_ / bucket_);
    std::vector<double> sums(buckets, 0);
    for (size_t i = 0; i < result.token_log_probs.size(); ++i) {
      const auto position = static_cast<int64_t>(i) % length_;
      sums[static_cast<size_t>(position / bucket_)] +=
          static_cast<double>(result.token_log_probs[i]);
    }
    const auto windows =
        static_cast<double>(result.token_log_probs.size()) / static_cast<double>(length_);
    SampleScore score;
    score.metrics = {
        {"perplexity", "none", {result.log_prob, static_cast<double>(result.output_tokens)}},
        {"bits_per_byte", "none", {result.log_prob, static_cast<double>(result.scored_bytes)}}};
    double cumulative = 0;
    for (size_t b = 0; b < buckets; ++b) {
      const auto upto = static_cast<double>((b + 1) * static_cast<size_t>(bucket_));
      cumulative += sums[b];
      score.metrics.push_back({BucketName(static_cast<int64_t>(b)),
                               "none",
                               {sums[b], windows * static_cast<double>(bucket_)}});
      score.metrics.push_back(
          {CumulativeName(static_cast<int64_t>(b)), "none", {cumulative, windows * upto}});
      score.metrics.push_back({LossName(static_cast<int64_t>(b)),
                               "none",
                               {-sums[b], windows * static_cast<double>(bucket_)}});
    }
    return score;
  }

 private:
  /// Where bucket `b` begins, in as many digits as the last, so that reports list them in order.
  std::string Position(int64_t b) const {
    return fmt::format("{:0{}}", b * bucket_, fmt::formatted_size("{}", length_));
  }
  std::string BucketName(int64_t b) const {
    return "perplexity_" + Position(b) + "-" + Position(b + 1);
  }
  std::string CumulativeName(int64_t b) const { return "perplexity_to_" + Position(b + 1); }
  /// Mean negative log-likelihood of a token (nats).
  std::string LossName(int64_t b) const { return "loss_" + Position(b) + "-" + Position(b + 1); }

  void AddMetrics() {
    for (int64_t b = 0; b < length_ / bucket_; ++b) {
      for (const std::string& name : {BucketName(b), CumulativeName(b)}) {
        card_.metrics.push_back({name, "none", Aggregation::kWeightedPerplexity, false, 1});
      }
      card_.metrics.push_back({LossName(b), "none", Aggregation::kWeightedMean, false, 1});
    }
  }

  void LoadDocuments(const Corpus& corpus, const DataSource& data, const Parameters& parameters) {
    std::vector<std::filesystem::path> files;
    if (const auto text = parameters.Text("text")) {
      const std::filesystem::path path(*text);
      files = {path.is_absolute() || std::filesystem::exists(path) ? path : data.root() / path};
      if (!std::filesystem::exists(files[0])) {
        throw DataError("{}: no such file or folder", files[0].string());
      }
    } else {
      for (const std::string& candidate : corpus.candidates) {
        files = data.FindAll({candidate});
        if (files.empty() && std::filesystem::is_directory(data.root() / candidate)) {
          files = {data.root() / candidate};
        }
        if (!files.empty()) break;
      }
      if (files.empty()) files = data.RequireAll(corpus.name, corpus.candidates);
    }
    if (files.size() == 1 && std::filesystem::is_directory(files[0])) {
      const std::filesystem::path folder = files[0];
      files.clear();
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".txt") files.push_back(entry.path());
      }
      std::sort(files.begin(), files.end());
      if (files.empty()) throw DataError("{}: no .txt files", folder.string());
    }
    const std::string field = parameters.Text("field").value_or(corpus.text_field);
    core::Sha256 hash;
    std::set<std::string> seen;
    for (const std::filesystem::path& file : files) {
      if (file.extension() == ".txt") {
        std::string text = data.ReadText(file);
        hash.Update(text);
        documents_.push_back({file.stem().string(), std::move(text)});
        continue;
      }
      const RecordSet set = data.Read(file);
      hash.Update(set.sha256);
      for (const Record& record : set.records) {
        const core::JsonObject row(*record.value, record.where, ErrorCode::kData);
        // NarrativeQA's rows on the hub are questions, with the story below "document".
        const core::JsonObject object =
            row.Has("document") && !row.Has(field) ? row.Object("document") : row;
        std::string id = fmt::format("{}", documents_.size());
        if (*corpus.id_field != '\0' && object.Has(corpus.id_field)) {
          id = object.String(corpus.id_field);
          if (!seen.insert(id).second) continue;  // a story is repeated for each of its questions
        }
        documents_.push_back({std::move(id), object.String(field)});
      }
    }
    fingerprint_ = hash.Hex();
  }

  TaskCard card_;
  bool packed_;
  int64_t length_ = 0, bucket_ = 0, windows_ = 0;
  std::vector<Document> documents_;
  std::string fingerprint_;
};

}  // namespace

std::vector<TaskEntry> ExtrapolationTasks() {
  std::vector<TaskEntry> entries;
  for (const Corpus& corpus : Corpora()) {
    entries.push_back(
        {MakeCard(corpus).name,
         [&corpus] { return MakeCard(corpus); },
         [&corpus](const DataSource& data, const TaskOptions& options) -> std::unique_ptr<Task> {
           return std::make_unique<ExtrapolationTask>(corpus, data, options);
         },
         {"length", "bucket", "windows", "text", "field"}});
  }
  return entries;
}

}  // namespace natsl::tasks::extrapolation
