// How fast tasks read their data, build requests, tokenise them and score answers. The suite's
// budgets: HellaSwag's requests (10,042 records, made up here) in 0.5 s, reading included; at least
// 3 MB/s of them tokenised on a core, and in parallel; any metric of 10,000 generations in 1 s.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/threads.h"
#include "model_adapters/tokenizer.h"
#include "tasks/metrics/contains.h"
#include "tasks/metrics/drop.h"
#include "tasks/metrics/exact_match.h"
#include "tasks/metrics/longbench.h"
#include "tasks/metrics/ruler.h"
#include "tasks/metrics/squad.h"
#include "tasks/registry.h"

namespace natsl::tasks {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRecords = 10042;
constexpr int64_t kGenerations = 10000;

/// A data folder with a file of the published size (about 1.2 kB a record).
class HellaswagFolder {
 public:
  HellaswagFolder() {
    std::string pattern = (fs::temp_directory_path() / "natsl-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    fs::create_directories(path_ / "hellaswag");
    std::ofstream out(path_ / "hellaswag" / "hellaswag_val.jsonl");
    const std::string ending =
        "walks over to the table [substeps] and, after looking around the room for a while, picks "
        "up "
        "the bowl  that stands there and pours the dough into it.";
    for (int64_t i = 0; i < kRecords; ++i) {
      out << fmt::format(
                 R"({{"ind": {}, "activity_label": "Baking a cake", "ctx_a": "A man stands in a kitchen number {}. He mixes flour, sugar and eggs until the dough is smooth.", "ctx_b": "the man", "ctx": "A man stands in a kitchen. He mixes flour, sugar and eggs until the dough is smooth. the man", "split": "val", "split_type": "indomain", "label": {}, "endings": ["{}", "{} He smiles.", "{} [title] Then he rests.", "{} É"], "source_id": "activitynet~v_{}"}})",
                 i, i, i % 4, ending, ending, ending, ending, i)
          << '\n';
    }
  }
  ~HellaswagFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const HellaswagFolder& Folder() {
  static const HellaswagFolder folder;
  return folder;
}

int64_t BuildAll(const Task& task) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < task.DocumentCount(); ++i) {
    for (const Request& request : task.Requests(i).requests) {
      const auto& pair = std::get<LoglikelihoodRequest>(request);
      bytes += static_cast<int64_t>(pair.context.size() + pair.continuation.size());
    }
  }
  return bytes;
}

/// From the file on disk to the last request string.
void ReadAndBuild(benchmark::State& state) {
  const DataSource data(Folder().path());
  int64_t bytes = 0;
  for (auto _ : state) {
    bytes = BuildAll(*FindTask("hellaswag").load(data, {}));
  }
  state.counters["documents"] = kRecords;
  state.counters["request_bytes"] = static_cast<double>(bytes);
}

/// The strings alone, and with ten examples in front of each.
void Build(benchmark::State& state) {
  TaskOptions options;
  options.few_shot.count = state.range(0);
  options.few_shot.from = "first:100";
  const auto task = FindTask("hellaswag").load(DataSource(Folder().path()), options);
  for (auto _ : state) benchmark::DoNotOptimize(BuildAll(*task));
}

const fs::path kRepository = fs::path(__FILE__).parent_path().parent_path();
const fs::path kShared = kRepository.parent_path() / "shared" / "data";

/// Context and continuation of every request, one string each: of published records where ../shared
/// has them, else of those made up here (few different words, so tokenisers look faster than they
/// are).
const std::vector<std::string>& RequestTexts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    const fs::path data = fs::exists(kShared / "hellaswag") ? kShared : Folder().path();
    const auto task = FindTask("hellaswag").load(DataSource(data), {});
    for (int64_t i = 0; i < task->DocumentCount(); ++i) {
      for (const Request& request : task->Requests(i).requests) {
        const auto& pair = std::get<LoglikelihoodRequest>(request);
        all.push_back(pair.context + pair.continuation);
      }
    }
    return all;
  }();
  return texts;
}

/// Bytes of request strings encoded in a second, on `state.range(0)` threads (0: all).
void Tokenise(benchmark::State& state, const fs::path& tokenizer_path) {
  const auto tokenizer = model_adapters::OpenTokenizer(tokenizer_path.string());
  const std::vector<std::string>& texts = RequestTexts();
  int64_t bytes = 0;
  for (const std::string& text : texts) bytes += static_cast<int64_t>(text.size());
  for (auto _ : state) {
    core::ParallelFor(
        static_cast<int64_t>(texts.size()), static_cast<int>(state.range(0)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            benchmark::DoNotOptimize(tokenizer->Encode(texts[static_cast<size_t>(i)], false));
          }
        });
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

const std::string kSentence =
    "The lighthouse of Orm stands on a reef nine kilometres from the coast and was built from "
    "granite between 1854 and 1859, as Tobias Renn, the first keeper, liked to tell. ";
const std::vector<std::string> kAnswers = {"nine kilometres", "granite from the mainland",
                                           "Tobias Renn"};

/// A summary's length: 512 tokens are about 2 kB.
std::string Summary(int64_t sentences, int64_t number) {
  std::string text;
  for (int64_t i = 0; i < sentences; ++i) text += kSentence + std::to_string(number + i) + " ";
  return text;
}

/// 10,000 generations by one metric, on `state.range(0)` threads (0: all).
void Score(benchmark::State& state, int64_t sentences,
           const std::function<double(const std::string&)>& metric) {
  std::vector<std::string> generations;
  for (int64_t i = 0; i < kGenerations; ++i) generations.push_back(Summary(sentences, i));
  std::vector<double> values(generations.size());
  for (auto _ : state) {
    core::ParallelFor(kGenerations, static_cast<int>(state.range(0)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          const auto at = static_cast<size_t>(i);
                          values[at] = metric(generations[at]);
                        }
                      });
    benchmark::DoNotOptimize(values.data());
  }
}

void Threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1)->Arg(0)->ArgName("threads")->Unit(benchmark::kMillisecond)->UseRealTime();
}

void RegisterScores() {
  const auto add = [](const char* name, int64_t sentences,
                      const std::function<double(const std::string&)>& metric) {
    Threads(benchmark::RegisterBenchmark(
        fmt::format("Score10000/{}", name).c_str(),
        [=](benchmark::State& state) { Score(state, sentences, metric); }));
  };
  using metrics::LongBenchMetric;
  static const std::string reference = Summary(8, 7);
  static const std::vector<std::string> classes = {"Number", "Person", "City", "granite", "reef"};
  static const std::vector<metrics::DropAnswer> golds = {{"1859"}, {"Tobias Renn", "granite"}};
  const auto longbench = [](LongBenchMetric metric, std::vector<std::string> references) {
    return [metric, references = std::move(references)](const std::string& text) {
      metrics::LongBenchContext context;
      context.all_classes = classes;
      return metrics::LongBenchScore(metric, text, references, context);
    };
  };
  add("squad_v2", 2, [](const std::string& text) { return metrics::SquadV2(text, kAnswers).f1; });
  add("drop", 2, [](const std::string& text) { return metrics::DropHarness(text, golds).f1; });
  add("triviaqa_exact_match", 2,
      [](const std::string& text) { return metrics::TriviaQaExactMatch().AnyOf(text, kAnswers); });
  add("nq_open_exact_match", 2,
      [](const std::string& text) { return metrics::NqOpenExactMatch().AnyOf(text, kAnswers); });
  add("contains", 2,
      [](const std::string& text) { return metrics::ContainsAnyOf(text, kAnswers); });
  add("ruler_all", 2, [](const std::string& text) {
    return metrics::RulerMatchShare(metrics::RulerPostprocess(text), kAnswers);
  });
  add("longbench_qa_f1", 2, longbench(LongBenchMetric::kQaF1, kAnswers));
  add("longbench_rouge", 11, longbench(LongBenchMetric::kRouge, {reference}));
  add("longbench_classification", 2, longbench(LongBenchMetric::kClassification, {"granite"}));
  add("longbench_code_sim", 2, longbench(LongBenchMetric::kCodeSimilarity, {kSentence}));
}

void RegisterTokenizers() {
  const auto add = [](const std::string& name, const fs::path& path) {
    if (!fs::exists(path)) return;
    Threads(
        benchmark::RegisterBenchmark(fmt::format("Tokenise/{}", name).c_str(),
                                     [path](benchmark::State& state) { Tokenise(state, path); }));
  };
  add("sample", kRepository / "samples" / "models" / "tiny-transformer");
  for (const char* name :
       {"gpt2/tokenizer.json", "gpt-neox/20B_tokenizer.json", "llama2/tokenizer.model",
        "llama3/tokenizer.json.gz", "mistral-v1/tokenizer.json", "qwen3/tokenizer.json.gz",
        "albert/spiece.model", "albert/tokenizer.json.gz"}) {
    add(name, kShared / "tokenizers" / name);
  }
}

BENCHMARK(ReadAndBuild)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(Build)
    ->Arg(0)
    ->Arg(10)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
[[maybe_unused]] const bool registered = [] {
  RegisterTokenizers();
  RegisterScores();
  return true;
}();

}  // namespace
}  // namespace natsl::tasks
