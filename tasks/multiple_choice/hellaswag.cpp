// HellaSwag: which ending follows a description; as JSONL and as the six-line text layout.
#include "tasks/multiple_choice/hellaswag.h"

#include <unicode/locid.h>
#include <unicode/stringoptions.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "core/cast.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/utf8.h"
#include "tasks/multiple_choice/tasks.h"

namespace natsl::tasks {
namespace {

/// Every non-overlapping occurrence, left to right.
std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
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

/// Deletes \[.*?\] : from a bracket to the next closing one on the same line.
std::string WithoutBrackets(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t begin = 0;
  for (size_t open; (open = text.find('[', begin)) != std::string_view::npos;) {
    const size_t close = text.find_first_of("]\n", open);
    if (close == std::string_view::npos) break;
    const bool matches = text[close] == ']';
    out.append(text, begin, (matches ? open : open + 1) - begin);
    begin = matches ? close + 1 : open + 1;
  }
  return out.append(text, begin);
}

core::Json ConvertHellaSwag(const core::JsonObject& record) {
  core::Json columns = record.json();
  const std::string context =
      fmt::format("{}: {} {}", record.String("activity_label"), record.String("ctx_a"),
                  PythonCapitalize(record.String("ctx_b")));
  std::vector<std::string> endings = record.Strings("endings");
  for (std::string& ending : endings) ending = CleanHellaswagText(ending);
  // The published file has numbers where the hub's columns have strings of one digit.
  const core::Json& label = record.At("label");
  if (label.is_string() && label.get_ref<const std::string&>().empty()) {
    throw record.Wrong("label",
                       "0 to 3 (an empty label marks a split without labels, such as test)");
  }
  if (label.is_string()) {
    const std::string& text = label.get_ref<const std::string&>();
    if (text.size() != 1 || text[0] < '0' || text[0] > '3') throw record.Wrong("label", "0 to 3");
  }
  const int64_t gold =
      label.is_string() ? label.get_ref<const std::string&>()[0] - '0' : record.Int("label");
  if (gold < 0 || gold > 3) throw record.Wrong("label", "0 to 3");
  columns["label"] = std::to_string(gold);
  columns["query"] = CleanHellaswagText(context);
  columns["choices"] = std::move(endings);
  columns["gold"] = gold;
  return columns;
}

/// Six lines a record: the context as it is shown, the gold index, four endings.
RecordSet ReadSixLines(const DataSource& data, const std::filesystem::path& file) {
  const std::string text = data.ReadText(file);
  const std::string name = data.Show(file);
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    begin = end + 1;
  }
  while (!lines.empty() && core::PythonStrip(lines.back()).empty()) lines.pop_back();
  if (lines.empty()) throw DataError("{}: the file is empty, expected records of 6 lines", name);
  if (lines.size() % 6 != 0) {
    throw DataError(
        "{}:{}: the last record has {} lines, expected 6 (context, gold index, 4 endings)", name,
        lines.size() - lines.size() % 6 + 1, lines.size() % 6);
  }
  RecordSet set;
  set.files = {file};
  set.sha256 = core::Sha256Hex(text);
  for (size_t i = 0; i < lines.size(); i += 6) {
    const std::string_view gold = lines[i + 1];
    if (gold.size() != 1 || gold[0] < '0' || gold[0] > '3') {
      throw DataError("{}:{}: the gold index is \"{}\", expected 0 to 3", name, i + 2, gold);
    }
    core::Json columns;
    columns["query"] = lines[i];
    columns["choices"] = std::vector<std::string>(lines.begin() + static_cast<ptrdiff_t>(i) + 2,
                                                  lines.begin() + static_cast<ptrdiff_t>(i) + 6);
    columns["gold"] = gold[0] - '0';
    columns["label"] = gold;
    set.records.push_back(
        {std::make_shared<core::Json>(std::move(columns)), fmt::format("{}:{}", name, i + 1)});
  }
  return set;
}

RecordSet ReadHellaswag(const DataSource& data, const std::vector<std::filesystem::path>& files) {
  if (files.size() == 1 && files.front().string().find(".txt") != std::string::npos) {
    return ReadSixLines(data, files.front());
  }
  return ConvertRecords(data.Read(files), ConvertHellaSwag);
}

Choices RenderHellaSwag(const core::JsonObject& record) {
  Choices document;
  document.contexts = {record.String("query")};
  document.choices = record.Strings("choices");
  document.gold = record.Int("gold");
  if (document.choices.size() != 4) {
    throw DataError("{}: \"endings\" has {} entries, expected 4", record.where(),
                    document.choices.size());
  }
  document.target = record.String("label");
  return document;
}

}  // namespace

std::string CleanHellaswagText(std::string_view text) {
  const std::string titled = Replaced(core::PythonStrip(text), " [title]", ". ");
  return Replaced(WithoutBrackets(titled), "  ", " ");
}

std::string PythonCapitalize(std::string_view text) {
  if (text.empty()) return {};
  std::string out(text);
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) {
    for (char& c : out) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
    return out;
  }
  // The rest is lowered with the first character as its context: it decides on a final sigma.
  size_t end = 0;
  core::NextCodePoint(text, end);
  const auto unicode = [](std::string_view part) {
    return icu::UnicodeString::fromUTF8(
        icu::StringPiece(part.data(), core::CheckedCast<int32_t>(part.size())));
  };
  icu::UnicodeString first = unicode(text.substr(0, end));
  icu::UnicodeString lowered_first = first;
  lowered_first.toLower(icu::Locale::getRoot());
  icu::UnicodeString lowered = unicode(text);
  lowered.toLower(icu::Locale::getRoot());
  first.toTitle(nullptr, icu::Locale::getRoot(), U_TITLECASE_NO_BREAK_ADJUSTMENT);
  lowered.remove(0, lowered_first.length());
  out.clear();
  (first + lowered).toUTF8String(out);
  return out;
}

MultipleChoiceSpec HellaswagSpec() {
  MultipleChoiceSpec spec;
  spec.card =
      MultipleChoiceCard("hellaswag", "grounded common sense: which of four endings follows",
                         "hellaswag", "validation", "1.0", "MIT",
                         "train split; k + 1 drawn a document, the document itself removed", true);
  spec.card.deviations = {
      "the six-line text layout is taken as it stands: its second sentence isn't capitalised, as "
      "the "
      "protocol would do from the published JSONL"};
  spec.layout.dataset = "hellaswag";
  spec.layout.evaluated = {
      "validation",
      {"hellaswag/hellaswag_val.jsonl", "hellaswag_val.jsonl",
       "hub:Rowan/hellaswag:data/validation*", "hub:Rowan/hellaswag:validation*",
       "hellaswag/hellaswag_val_full.txt", "hellaswag_val_full.txt"}};
  spec.layout.pools = {{"train",
                        {"hellaswag/hellaswag_train.jsonl", "hellaswag_train.jsonl",
                         "hub:Rowan/hellaswag:data/train*", "hub:Rowan/hellaswag:train*"}}};
  spec.layout.read = ReadHellaswag;
  spec.layout.removes_document = true;
  spec.render = RenderHellaSwag;
  return spec;
}

}  // namespace natsl::tasks
