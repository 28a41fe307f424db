// Reading jieba's dictionary and model tables.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/utf8.h"
#include "tasks/metrics/chinese_segmenter.h"

namespace natsl::tasks::metrics {
namespace {

constexpr const char* kDictionarySha256 =
    "7197c3211ddd98962b036cdf40324d1ea2bfaa12bd028e68faa70111a88e12a8";
constexpr std::string_view kStates = "BEMS";
constexpr double kImpossible = -3.14e100;

/// The dict literal of "P = {...}" in a Python file: with double quotes it is JSON. (Not the
/// project's ordered JSON, whose objects take quadratic time for tables of 14,000 keys.)
nlohmann::json PythonTable(const std::string& text, const char* file) {
  const size_t begin = text.find('{'), end = text.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw DataError("{}: no table P = {{...}} found", file);
  }
  std::string literal = text.substr(begin, end + 1 - begin);
  for (char& byte : literal) {
    if (byte == '\'') byte = '"';
  }
  try {
    return nlohmann::json::parse(literal);
  } catch (const nlohmann::json::exception& error) {
    throw DataError("{}: not a table of numbers: {}", file, error.what());
  }
}

double Number(const nlohmann::json& value, const char* file) {
  if (!value.is_number()) throw DataError("{}: {} is not a number", file, value.dump());
  return value.get<double>();
}

/// Entry of a state in a table by state, and nothing else in the table.
const nlohmann::json& OfState(const nlohmann::json& table, char state, const char* file) {
  const std::string key(1, state);
  if (!table.is_object() || table.size() != 4 || !table.contains(key)) {
    throw DataError("{}: expected the states B, E, M, S", file);
  }
  return table.at(key);
}

std::string ReadTable(const std::filesystem::path& folder, const char* name) {
  for (const auto& path : {folder / name, folder / "finalseg" / name}) {
    if (std::filesystem::exists(path)) return core::ReadFile(path, ErrorCode::kData);
  }
  throw DataError(
      "{}: no {}. LongBench's Chinese metrics (qa_f1_zh, rouge_zh and the scores built on them) "
      "need "
      "the dictionary and tables of jieba 0.42.1: unpack the source package "
      "(pip download jieba==0.42.1 --no-deps --no-binary :all:) and copy its folder jieba/ there",
      folder.string(), name);
}

}  // namespace

ChineseSegmenter::ChineseSegmenter(const SegmenterTables& tables) : edges_(1 << 16) {
  int64_t total = 0, line_number = 0;
  for (std::string_view rest = tables.dictionary; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ++line_number;
    if (core::PythonStrip(line).empty()) continue;
    const size_t space = line.find(' ');
    int64_t frequency = 0;
    const char* const number_end = line.data() + line.size();
    const char* const number = space == std::string_view::npos ? number_end : &line[space] + 1;
    if (std::from_chars(number, number_end, frequency).ec != std::errc() || frequency < 0 ||
        !core::IsValidUtf8(line)) {
      throw DataError("dict.txt:{}: expected \"word frequency tag\"", line_number);
    }
    AddWord(line.substr(0, space), frequency);
    total += frequency;
  }
  if (total == 0) throw DataError("dict.txt: no words");
  log_total_ = std::log(static_cast<double>(total));

  const auto start = PythonTable(tables.start, "prob_start.py");
  const auto transition = PythonTable(tables.transition, "prob_trans.py");
  const auto emission = PythonTable(tables.emission, "prob_emit.py");
  for (size_t i = 0; i < 4; ++i) {
    start_[i] = Number(OfState(start, kStates[i], "prob_start.py"), "prob_start.py");
    transition_[i].fill(kImpossible);
    for (const auto& [to, value] : OfState(transition, kStates[i], "prob_trans.py").items()) {
      const size_t j = kStates.find(to);
      if (to.size() != 1 || j == std::string_view::npos) {
        throw DataError("prob_trans.py: unknown state '{}'", to);
      }
      transition_[i][j] = Number(value, "prob_trans.py");
    }
    for (const auto& [text, value] : OfState(emission, kStates[i], "prob_emit.py").items()) {
      size_t position = 0;
      const char32_t c = core::NextCodePoint(text, position);
      emission_[i][c] = Number(value, "prob_emit.py");
    }
  }
}

std::filesystem::path DefaultJiebaFolder() {
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / ".cache" / "natsl-bench" / "jieba";
}

ChineseSegmenter LoadJieba(const std::filesystem::path& folder) {
  SegmenterTables tables;
  tables.dictionary = ReadTable(folder, "dict.txt");
  if (const std::string hash = core::Sha256Hex(tables.dictionary); hash != kDictionarySha256) {
    throw DataError("{}: SHA-256 is {}, expected {} (jieba 0.42.1)", (folder / "dict.txt").string(),
                    hash, kDictionarySha256);
  }
  tables.start = ReadTable(folder, "prob_start.py");
  tables.transition = ReadTable(folder, "prob_trans.py");
  tables.emission = ReadTable(folder, "prob_emit.py");
  return ChineseSegmenter(tables);
}

const ChineseSegmenter& DefaultSegmenter() {
  static std::mutex mutex;
  static std::unique_ptr<const ChineseSegmenter> segmenter;
  const std::lock_guard lock(mutex);
  if (!segmenter) {
    segmenter = std::make_unique<const ChineseSegmenter>(LoadJieba(DefaultJiebaFolder()));
  }
  return *segmenter;
}

}  // namespace natsl::tasks::metrics
