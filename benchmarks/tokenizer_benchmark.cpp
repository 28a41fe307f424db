// Speed of tokenizers on one core: encoding English text with byte-level BPE (bytes a second), and
// opening a vocabulary of 128,000 tokens. Published tokenizers are measured where ../shared has
// them, a synthetic one always.
#include <benchmark/benchmark.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "model_adapters/tokenizer.h"

namespace natsl {
namespace {

namespace fs = std::filesystem;

fs::path Shared() {
  return fs::path(__FILE__).parent_path().parent_path().parent_path() / "shared";
}

/// Words whose frequencies fall as those of a natural language do.
std::string SyntheticText(size_t bytes) {
  std::mt19937 random(7);
  std::vector<std::string> words;
  for (int i = 0; i < 20000; ++i) {
    std::string word;
    const size_t length = 2 + random() % 9;
    for (size_t c = 0; c < length; ++c) word += "etaoinshrdlucmfwyp"[random() % 18];
    words.push_back(word);
  }
  std::string text;
  std::uniform_real_distribution<double> uniform(0, 1);
  while (text.size() < bytes) {
    const double rank = std::pow(20000.0, uniform(random));
    text += words[static_cast<size_t>(rank) - 1];
    text += random() % 12 == 0 ? ", " : random() % 80 == 0 ? ".\n\n" : " ";
  }
  return text;
}

/// English of the LAMBADA set where it is there (all its texts), else synthetic words.
const std::string& Text() {
  static const std::string text = [] {
    std::string all;
    const fs::path lambada = Shared() / "data/lambada";
    if (fs::exists(lambada)) {
      for (const auto& entry : fs::recursive_directory_iterator(lambada)) {
        if (entry.path().extension() != ".jsonl") continue;
        std::ifstream lines(entry.path());
        for (std::string line; std::getline(lines, line);) {
          const core::Json json = core::Json::parse(line, nullptr, false);
          if (json.is_object() && json.contains("text"))
            all += json["text"].get<std::string>() + "\n";
        }
      }
    }
    return all.size() > 1'000'000 ? all : SyntheticText(4'000'000);
  }();
  return text;
}

/// A byte-level BPE whose merges are random pairs: as large as asked for, trained on nothing.
fs::path SyntheticTokenizer(size_t tokens) {
  const fs::path path =
      fs::temp_directory_path() / ("natsl_benchmark_tokenizer_" + std::to_string(tokens) + ".json");
  std::mt19937 random(3);
  std::vector<std::string> list;
  std::set<std::string> known;
  // The printable bytes stand for themselves; space and newline are Ġ and Ċ.
  for (char c = '!'; c <= '~'; ++c) list.emplace_back(1, c);
  list.emplace_back("Ġ");
  list.emplace_back("Ċ");
  known.insert(list.begin(), list.end());
  std::vector<std::pair<std::string, std::string>> merges;
  while (list.size() < tokens) {
    const auto pick = [&]() -> const std::string& {
      const size_t newest = list.size() < 3000 ? list.size() : 3000;
      return list[random() % newest];
    };
    const std::string left = pick(), right = pick();
    const std::string merged = left + right;
    if (merged.size() > 16 || !known.insert(merged).second) continue;
    merges.emplace_back(left, right);
    list.push_back(merged);
  }
  std::string json =
      R"({"added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel",
 "add_prefix_space": false}, "post_processor": null, "decoder": {"type": "ByteLevel"},
 "model": {"type": "BPE", "vocab": {)";
  for (size_t id = 0; id < list.size(); ++id) {
    json += (id > 0 ? ", " : "") + core::Json(list[id]).dump() + ": " + std::to_string(id);
  }
  json += "}, \"merges\": [";
  for (size_t i = 0; i < merges.size(); ++i) {
    json += (i > 0 ? ", " : "") + core::Json(merges[i].first + " " + merges[i].second).dump();
  }
  core::WriteFileAtomic(path, json + "]}}");
  return path;
}

void Encode(benchmark::State& state, const fs::path& path) {
  const auto tokenizer = model_adapters::OpenTokenizer(path);
  const std::string& text = Text();
  size_t ids = 0;
  for (auto _ : state) ids = tokenizer->Encode(text, false).size();
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
  state.counters["bytes_per_id"] = static_cast<double>(text.size()) / static_cast<double>(ids);
}

void Open(benchmark::State& state, const fs::path& path) {
  for (auto _ : state) benchmark::DoNotOptimize(model_adapters::OpenTokenizer(path));
}

int Register() {
  const auto add = [](const std::string& name, const fs::path& path) {
    benchmark::RegisterBenchmark(("encode/" + name).c_str(), Encode, path)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("open/" + name).c_str(), Open, path)
        ->Unit(benchmark::kMillisecond);
  };
  add("synthetic_128k", SyntheticTokenizer(128000));
  for (const char* file :
       {"gpt2/tokenizer.json", "llama3/tokenizer.json.gz", "qwen3/tokenizer.json.gz",
        "mistral-v1/tokenizer.json", "mistral-v1/tokenizer.model", "albert/tokenizer.json.gz"}) {
    const fs::path path = Shared() / "data/tokenizers" / file;
    if (fs::exists(path)) add(file, path);
  }
  return 0;
}

const int registered = Register();

}  // namespace
}  // namespace natsl
