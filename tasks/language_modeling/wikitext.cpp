// WikiText-2 by page: word and byte perplexity, bits per byte.
#include "tasks/language_modeling/wikitext.h"

#include <algorithm>

#include "core/cast.h"
#include "core/check.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/utf8.h"
#include "tasks/document_set.h"
#include "tasks/language_modeling/tasks.h"
#include "tasks/metrics/wikitext.h"

namespace natsl::tasks {
namespace {

/// Every non-overlapping occurrence, left to right.
std::string WithReplaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  size_t begin = 0;
  for (size_t at; (at = text.find(from, begin)) != std::string_view::npos;
       begin = at + from.size()) {
    out.append(text, begin, at - begin);
    out += to;
  }
  return out.append(text, begin);
}

bool StartsPage(std::string_view line) {
  const std::string joined = WithReplaced(WithReplaced(line, "= = =", "==="), "= =", "==");
  const std::string_view title = core::PythonStrip(joined);
  return title.starts_with("= ") && title.ends_with(" =");
}

RecordSet ReadWikitext(const DataSource& data, const std::vector<std::filesystem::path>& files) {
  const std::string name = data.Show(files.front());
  if (name.find(".raw") == std::string::npos && name.find(".tokens") == std::string::npos) {
    return data.Read(files);
  }
  RecordSet set;
  set.files = {files.front()};
  const std::string text = data.ReadText(files.front());
  set.sha256 = core::Sha256Hex(text);
  for (std::string& page : SplitWikitextPages(text)) {
    core::Json record;
    record["page"] = std::move(page);
    set.records.push_back({std::make_shared<core::Json>(std::move(record)),
                           fmt::format("{}: page {}", name, set.records.size())});
  }
  if (set.records.empty()) throw DataError("{}: the file is empty, expected articles", name);
  return set;
}

TaskCard WikitextCard() {
  TaskCard card;
  card.name = "wikitext";
  card.summary = "WikiText-2 by page; ratios are over words and bytes of the tokenised original";
  card.dataset = "wikitext";
  card.split = "test";
  card.protocol = "lm-evaluation-harness 0.4.13";
  card.version = "2.0";
  card.output_type = "loglikelihood_rolling";
  card.licence = "CC BY-SA 3.0 and GFDL";
  card.few_shot = "none: rolling requests have no context";
  const auto ratio = [](const char* name, Aggregation aggregation) {
    return MetricCard{.name = name, .aggregation = aggregation, .higher_is_better = false};
  };
  card.metrics = {ratio("word_perplexity", Aggregation::kWeightedPerplexity),
                  ratio("byte_perplexity", Aggregation::kWeightedPerplexity),
                  ratio("bits_per_byte", Aggregation::kBitsPerByte)};
  return card;
}

DatasetLayout Layout() {
  DatasetLayout layout;
  layout.dataset = "wikitext";
  layout.evaluated = {"test",
                      {"wikitext/wikitext-2-raw/wiki.test.raw", "wikitext-2-raw/wiki.test.raw",
                       "wikitext/wiki.test.raw",
                       "hub:EleutherAI/wikitext_document_level:wikitext-2-raw-v1/*test*"}};
  layout.read = ReadWikitext;
  return layout;
}

class WikitextTask final : public Task {
 public:
  WikitextTask(const DataSource& data, const TaskOptions& options) : card_(WikitextCard()) {
    TaskOptions no_shots = options;
    no_shots.few_shot.count = 0;
    set_ = LoadDocuments(card_.name, data, Layout(), no_shots);
    if (options.few_shot.count.value_or(0) > 0) {
      set_.warnings.emplace_back(
          "task wikitext: rolling perplexity has no few-shot examples; none are shown");
    }
    for (const Record& record : set_.documents) {
      const core::JsonObject object(*record.value, record.where, ErrorCode::kData);
      Page page;
      const std::string text = object.String("page");
      if (text.empty()) throw object.Wrong("page", "text");
      page.text = metrics::WikitextDetokenize(text);
      page.words = metrics::WikitextWords(text);
      page.bytes = core::Size(text);
      pages_.push_back(std::move(page));
    }
  }

  const TaskCard& Card() const override { return card_; }
  int64_t DocumentCount() const override { return core::Size(pages_); }
  std::string DataFingerprint() const override { return set_.fingerprint; }
  std::vector<std::string> Warnings() const override { return set_.warnings; }

  DocumentRequests Requests(int64_t index) const override {
    const auto at = static_cast<size_t>(index);
    DocumentRequests out;
    out.doc_id = index;
    out.id = set_.ids[at];
    out.doc = core::PythonJson(*set_.documents[at].value);
    out.target = pages_[at].text;
    out.requests.emplace_back(RollingRequest{.text = pages_[at].text, .max_length = std::nullopt});
    return out;
  }

  SampleScore Score(int64_t index, std::span<const Response> responses) const override {
    NATSL_CHECK(responses.size() == 1);
    const Page& page = pages_[static_cast<size_t>(index)];
    const double log_prob = std::get<RollingResult>(responses[0]).log_prob;
    const auto words = static_cast<double>(page.words);
    const auto bytes = static_cast<double>(page.bytes);
    SampleScore score;
    score.metrics = {{"word_perplexity", "none", {log_prob, words}},
                     {"byte_perplexity", "none", {log_prob, bytes}},
                     {"bits_per_byte", "none", {log_prob, bytes}}};
    return score;
  }

 private:
  struct Page {
    std::string text;
    int64_t words = 0;
    int64_t bytes = 0;
  };
  TaskCard card_;
  DocumentSet set_;
  std::vector<Page> pages_;
};

}  // namespace

std::vector<std::string> SplitWikitextPages(std::string_view text) {
  std::vector<std::string> pages;
  size_t page_begin = 0;
  // A page runs from its first line to before the newline in front of the next title.
  const auto close = [&](size_t end) {
    const std::string_view page = text.substr(page_begin, end - page_begin);
    if (!core::PythonStrip(page).empty()) pages.emplace_back(page);
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (StartsPage(text.substr(begin, end - begin))) {
      if (begin > 0) close(begin - 1);
      page_begin = begin;
    }
    begin = end + 1;
  }
  close(text.size());
  return pages;
}

std::vector<TaskEntry> WikitextTasks() {
  return {{.name = "wikitext",
           .card = WikitextCard,
           .load = [](const DataSource& data, const TaskOptions& options) -> std::unique_ptr<Task> {
             return std::make_unique<WikitextTask>(data, options);
           }}};
}

}  // namespace natsl::tasks
