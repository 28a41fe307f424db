// What wrong data files lead to: one clear error each, with file, line, field, found and expected.
#include <gtest/gtest.h>

#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

struct File {
  const char* name;
  std::string content;
};

struct BadInput {
  const char* name;
  const char* task;
  std::vector<File> files;
  std::string message;  ///< the error, or its beginning where it ends in "..."
  int64_t shots = 0;
  const char* from = "";
  ErrorCode code = ErrorCode::kData;
};

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, EndsWithOneClearError) {
  const BadInput& param = GetParam();
  testing::TemporaryFolder folder;
  for (const File& file : param.files) folder.Write(file.name, file.content);
  TaskOptions options;
  options.few_shot.count = param.shots;
  options.few_shot.from = param.from;
  try {
    FindTask(param.task).load(DataSource(folder.path()), options);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), param.code);
    std::string found = error.what();
    std::string expected = param.message;
    // The folder's name differs from run to run.
    const std::string root = folder.path().string();
    for (size_t at; (at = found.find(root)) != std::string::npos;)
      found.replace(at, root.size(), "ROOT");
    if (expected.ends_with("...")) {
      expected.resize(expected.size() - 3);
      found.resize(std::min(found.size(), expected.size()));
    }
    EXPECT_EQ(found, expected);
  }
}

const std::string kPiqa = R"({"goal": "g", "sol1": "a", "sol2": "b"})"
                          "\n";
const std::string kHella =
    R"({"activity_label": "A", "ctx_a": "B", "ctx_b": "c", "endings": ["1", "2", "3", "4"], "label": )";
const std::string kArc =
    R"({"id": "q1", "question": {"stem": "s", "choices": [{"text": "x", "label": "A"}, {"text": "y", "label": "B"}]}, "answerKey": "A"})"
    "\n";
const std::string kWino = R"({"sentence": "a _ b", "option1": "x", "option2": "y", "answer": "1"})"
                          "\n";
const std::string kSiqa =
    R"({"context": "c", "question": "q", "answerA": "a", "answerB": "b", "answerC": "c"})"
    "\n";
constexpr const char* kPiqaFile = "piqa/valid.jsonl";
constexpr const char* kPiqaLabels = "piqa/valid-labels.lst";
constexpr const char* kHellaFile = "hellaswag/hellaswag_val.jsonl";
constexpr const char* kHellaText = "hellaswag/hellaswag_val_full.txt";
constexpr const char* kArcFile = "arc/ARC-Easy/ARC-Easy-Test.jsonl";
constexpr const char* kLambada = "lambada/lambada_test.jsonl";
constexpr const char* kBoolQ = "boolq/val.jsonl";
constexpr const char* kWinoFile = "winogrande/dev.jsonl";
constexpr const char* kSiqaFile = "siqa/dev.jsonl";
constexpr const char* kSiqaLabels = "siqa/dev-labels.lst";
constexpr const char* kBook = "openbookqa/Main/test.jsonl";

const BadInput kBadInputs[] = {
    {"LambadaMissing",
     "lambada_openai",
     {},
     "the data of lambada_openai is missing in ROOT; looked for lambada/lambada_test.jsonl..."},
    {"LambadaEmpty",
     "lambada_openai",
     {{kLambada, ""}},
     "lambada/lambada_test.jsonl: the file is empty, expected at least one record"},
    {"LambadaBlank",
     "lambada_openai",
     {{kLambada, "\n \n"}},
     "lambada/lambada_test.jsonl: the file is empty, expected at least one record"},
    {"LambadaNotJson",
     "lambada_openai",
     {{kLambada, "{\"text\": \"a b\"}\nhello\n"}},
     "lambada/lambada_test.jsonl:2: not valid JSON: ..."},
    {"LambadaCutLine",
     "lambada_openai",
     {{kLambada, "{\"text\": \"a b"}},
     "lambada/lambada_test.jsonl:1: not valid JSON: ..."},
    {"LambadaNoField",
     "lambada_openai",
     {{kLambada, "{\"Text\": \"a b\"}\n"}},
     "lambada/lambada_test.jsonl:1: the field \"text\" is missing"},
    {"LambadaNumber",
     "lambada_openai",
     {{kLambada, "{\"text\": 3}\n"}},
     "lambada/lambada_test.jsonl:1: \"text\" is 3 (number), expected a string"},
    {"LambadaNull",
     "lambada_openai",
     {{kLambada, "{\"text\": null}\n"}},
     "lambada/lambada_test.jsonl:1: \"text\" is null (null), expected a string"},
    {"LambadaNoText",
     "lambada_openai",
     {{kLambada, "{\"text\": \"\"}\n"}},
     "lambada/lambada_test.jsonl:1: \"text\" is \"\" (string), expected a passage of at least one "
     "word"},
    {"LambadaList",
     "lambada_openai",
     {{kLambada, "[1, 2]\n"}},
     "lambada/lambada_test.jsonl:1: [1,2] (array), expected an object"},
    {"LambadaUtf8",
     "lambada_openai",
     {{kLambada, "{\"text\": \"a \xFF\"}\n"}},
     "lambada/lambada_test.jsonl:1: not valid UTF-8 at byte 12 of the file"},
    {"LambadaSmallPool",
     "lambada_openai",
     {{kLambada, "{\"text\": \"a b\"}\n"}},
     "task lambada_openai: the few-shot pool has 1 records, expected at least 2; lower "
     "--num-fewshot or give a larger pool with --fewshot-from",
     2},
    {"StandardEmpty",
     "lambada_standard",
     {{"lambada/lambada_test_plain_text.txt", "\n"}},
     "lambada/lambada_test_plain_text.txt: the file is empty, expected lines of text"},
    {"PiqaNoLabels",
     "piqa",
     {{kPiqaFile, kPiqa}},
     "piqa/valid.jsonl: the records have no label and piqa/valid-labels.lst is missing; a split "
     "without labels (test) can't be evaluated"},
    {"PiqaFewLabels",
     "piqa",
     {{kPiqaFile, kPiqa + kPiqa}, {kPiqaLabels, "1\n"}},
     "piqa/valid-labels.lst: 1 labels, expected one for each of the 2 records of piqa/valid.jsonl"},
    {"PiqaManyLabels",
     "piqa",
     {{kPiqaFile, kPiqa}, {kPiqaLabels, "1\n0\n"}},
     "piqa/valid-labels.lst: 2 labels, expected one for each of the 1 records of piqa/valid.jsonl"},
    {"PiqaWordLabel",
     "piqa",
     {{kPiqaFile, kPiqa}, {kPiqaLabels, "two\n"}},
     "piqa/valid-labels.lst:1: the label is \"two\", expected 0 or 1"},
    {"PiqaLabelOutOfRange",
     "piqa",
     {{kPiqaFile, kPiqa + kPiqa}, {kPiqaLabels, "0\n2\n"}},
     "piqa/valid-labels.lst:2: the label is \"2\", expected 0 or 1"},
    {"PiqaBlankLabel",
     "piqa",
     {{kPiqaFile, kPiqa + kPiqa}, {kPiqaLabels, "0\n\n"}},
     "piqa/valid-labels.lst:2: the label is \"\", expected 0 or 1"},
    {"PiqaUnlabeledSplit",
     "piqa",
     {{kPiqaFile, R"({"goal": "g", "sol1": "a", "sol2": "b", "label": -1})"}},
     "piqa/valid.jsonl:1: \"label\" is -1 (number), expected 0 or 1 (-1 marks a split without "
     "labels, such as test)"},
    {"PiqaInlineLabel",
     "piqa",
     {{kPiqaFile, R"({"goal": "g", "sol1": "a", "sol2": "b", "label": 2})"}},
     "piqa/valid.jsonl:1: \"label\" is 2 (number), expected 0 or 1"},
    {"PiqaTextLabel",
     "piqa",
     {{kPiqaFile, R"({"goal": "g", "sol1": "a", "sol2": "b", "label": "two"})"}},
     "piqa/valid.jsonl:1: \"label\" is \"two\" (string), expected an integer"},
    {"PiqaNoField",
     "piqa",
     {{kPiqaFile, R"({"goal": "g", "sol1": "a"})"}, {kPiqaLabels, "0\n"}},
     "piqa/valid.jsonl:1: the field \"sol2\" is missing"},
    {"PiqaMistyped",
     "piqa",
     {{kPiqaFile, R"({"goal": "g", "sol1": ["a"], "sol2": "b"})"}, {kPiqaLabels, "0\n"}},
     "piqa/valid.jsonl:1: \"sol1\" is [\"a\"] (array), expected a string"},
    {"PiqaNoTrain",
     "piqa",
     {{kPiqaFile, kPiqa}, {kPiqaLabels, "0\n"}},
     "task piqa: few-shot examples come from the train split of piqa, which is missing in ROOT; "
     "looked for piqa/train.jsonl...",
     2},
    {"PiqaFirstTooMany",
     "piqa",
     {{kPiqaFile, kPiqa}, {kPiqaLabels, "0\n"}},
     "--fewshot-from first:1: piqa/valid.jsonl has only 1 records, and some must be left to "
     "evaluate",
     1,
     "first:1"},
    {"PiqaFirstNotANumber",
     "piqa",
     {{kPiqaFile, kPiqa}, {kPiqaLabels, "0\n"}},
     "--fewshot-from is 'first:x', expected first:N with N of at least 1",
     1,
     "first:x",
     ErrorCode::kUsage},
    {"PiqaFirstZero",
     "piqa",
     {{kPiqaFile, kPiqa}, {kPiqaLabels, "0\n"}},
     "--fewshot-from is 'first:0', expected first:N with N of at least 1",
     1,
     "first:0",
     ErrorCode::kUsage},
    {"PiqaNoPoolFile",
     "piqa",
     {{kPiqaFile, kPiqa}, {kPiqaLabels, "0\n"}},
     "--fewshot-from: no file 'pool.jsonl', neither here nor in ROOT; expected a file in the "
     "layout of piqa, or first:N",
     1,
     "pool.jsonl",
     ErrorCode::kUsage},
    {"PiqaBadPool",
     "piqa",
     {{kPiqaFile, kPiqa},
      {kPiqaLabels, "0\n"},
      {"pool.jsonl", "{\"goal\": \"g\", \"label\": 0}\n"}},
     "pool.jsonl:1: the field \"sol1\" is missing",
     1,
     "pool.jsonl"},
    {"PiqaNegativeShots",
     "piqa",
     {{kPiqaFile, kPiqa}, {kPiqaLabels, "0\n"}},
     "the number of few-shot examples is -1, expected >= 0",
     -1,
     "",
     ErrorCode::kUsage},
    {"HellaLabelOutOfRange",
     "hellaswag",
     {{kHellaFile, kHella + "4}"}},
     "hellaswag/hellaswag_val.jsonl:1: \"label\" is 4 (number), expected 0 to 3"},
    {"HellaTextLabelOutOfRange",
     "hellaswag",
     {{kHellaFile, kHella + "\"10\"}"}},
     "hellaswag/hellaswag_val.jsonl:1: \"label\" is \"10\" (string), expected 0 to 3"},
    {"HellaUnlabeledSplit",
     "hellaswag",
     {{kHellaFile, kHella + "\"\"}"}},
     "hellaswag/hellaswag_val.jsonl:1: \"label\" is \"\" (string), expected 0 to 3 (an empty label "
     "marks a split without labels, such as test)"},
    {"HellaNoLabel",
     "hellaswag",
     {{kHellaFile,
       R"({"activity_label": "A", "ctx_a": "B", "ctx_b": "c", "endings": ["1", "2", "3", "4"]})"}},
     "hellaswag/hellaswag_val.jsonl:1: the field \"label\" is missing"},
    {"HellaNoEndings",
     "hellaswag",
     {{kHellaFile,
       R"({"activity_label": "A", "ctx_a": "B", "ctx_b": "c", "endings": [], "label": 0})"}},
     "hellaswag/hellaswag_val.jsonl:1: \"endings\" has 0 entries, expected 4"},
    {"HellaThreeEndings",
     "hellaswag",
     {{kHellaFile,
       R"({"activity_label": "A", "ctx_a": "B", "ctx_b": "c", "endings": ["1", "2", "3"], "label": 0})"}},
     "hellaswag/hellaswag_val.jsonl:1: \"endings\" has 3 entries, expected 4"},
    {"HellaEndingsNumbers",
     "hellaswag",
     {{kHellaFile,
       R"({"activity_label": "A", "ctx_a": "B", "ctx_b": "c", "endings": [1, 2, 3, 4], "label": 0})"}},
     "hellaswag/hellaswag_val.jsonl:1: \"endings\" is [1,2,3,4] (array), expected a list of "
     "strings"},
    {"HellaTextCut",
     "hellaswag",
     {{kHellaText, "ctx\n0\na\nb\nc\nd\nctx\n1\na\n"}},
     "hellaswag/hellaswag_val_full.txt:7: the last record has 3 lines, expected 6 (context, gold "
     "index, 4 endings)"},
    {"HellaTextGold",
     "hellaswag",
     {{kHellaText, "ctx\n0\na\nb\nc\nd\nctx\nfour\na\nb\nc\nd\n"}},
     "hellaswag/hellaswag_val_full.txt:8: the gold index is \"four\", expected 0 to 3"},
    {"HellaTextEmpty",
     "hellaswag",
     {{kHellaText, "\n\n"}},
     "hellaswag/hellaswag_val_full.txt: the file is empty, expected records of 6 lines"},
    {"ArcKeyNotThere",
     "arc_easy",
     {{kArcFile,
       R"({"id": "q", "question": {"stem": "s", "choices": [{"text": "x", "label": "A"}, {"text": "y", "label": "B"}]}, "answerKey": "E"})"}},
     "arc/ARC-Easy/ARC-Easy-Test.jsonl:1: \"answerKey\" is \"E\" (string), expected one of A, B"},
    {"ArcUnlabeled",
     "arc_easy",
     {{kArcFile,
       R"({"id": "q", "question": {"stem": "s", "choices": [{"text": "x", "label": "A"}, {"text": "y", "label": "B"}]}, "answerKey": ""})"}},
     "arc/ARC-Easy/ARC-Easy-Test.jsonl:1: \"answerKey\" is \"\" (string), expected one of A, B (an "
     "empty key marks a split without labels)"},
    {"ArcNoKey",
     "arc_easy",
     {{kArcFile, R"({"id": "q", "question": {"stem": "s", "choices": []}})"}},
     "arc/ARC-Easy/ARC-Easy-Test.jsonl:1: the field \"answerKey\" is missing"},
    {"ArcDuplicateIds",
     "arc_easy",
     {{kArcFile, kArc + kArc}},
     "arc/ARC-Easy/ARC-Easy-Test.jsonl:2: \"id\" is \"q1\", which "
     "arc/ARC-Easy/ARC-Easy-Test.jsonl:1 has already; expected each id once"},
    {"ArcOneChoice",
     "arc_easy",
     {{kArcFile,
       R"({"id": "q", "question": {"stem": "s", "choices": [{"text": "x", "label": "A"}]}, "answerKey": "A"})"}},
     "arc/ARC-Easy/ARC-Easy-Test.jsonl:1: 1 answers to choose from, expected at least 2"},
    {"ArcChoiceWithoutText",
     "arc_easy",
     {{kArcFile,
       R"({"id": "q", "question": {"stem": "s", "choices": [{"label": "A"}]}, "answerKey": "A"})"}},
     "arc/ARC-Easy/ARC-Easy-Test.jsonl:1: \"question\": \"choices\"[0]: the field \"text\" is "
     "missing"},
    {"ArcChoicesMistyped",
     "arc_easy",
     {{kArcFile, R"({"id": "q", "question": {"stem": "s", "choices": "AB"}, "answerKey": "A"})"}},
     "arc/ARC-Easy/ARC-Easy-Test.jsonl:1: \"question\": \"choices\" is \"AB\" (string), expected a "
     "list of {text, label}"},
    {"ArcHubListsDiffer",
     "arc_easy",
     {{kArcFile,
       R"({"id": "q", "question": "s", "choices": {"text": ["a", "b"], "label": ["A"]}, "answerKey": "A"})"}},
     "arc/ARC-Easy/ARC-Easy-Test.jsonl:1: 1 labels for 2 choices, expected one each"},
    {"BookNoStem",
     "openbookqa",
     {{kBook, R"({"id": "q", "question": {"choices": []}, "answerKey": "A"})"}},
     "openbookqa/Main/test.jsonl:1: \"question\": the field \"stem\" is missing"},
    {"BookMissing",
     "openbookqa",
     {},
     "the data of openbookqa is missing in ROOT; looked for openbookqa/Main/test.jsonl..."},
    {"BoolQNoLabel",
     "boolq",
     {{kBoolQ, R"({"question": "q", "passage": "p", "idx": 0})"}},
     "boolq/val.jsonl:1: the field \"label\" is missing; a split without labels (test) can't be "
     "evaluated"},
    {"BoolQOtherRelease",
     "boolq",
     {{kBoolQ, R"({"question": "q", "title": "t", "answer": true, "passage": "p"})"}},
     "boolq/val.jsonl:1: the field \"label\" is missing but \"answer\" is there: this is the file "
     "of BoolQ's own release, whose passages lack their titles; expected SuperGLUE's val.jsonl"},
    {"BoolQUnlabeled",
     "boolq",
     {{kBoolQ, R"({"question": "q", "passage": "p", "idx": 0, "label": -1})"}},
     "boolq/val.jsonl:1: \"label\" is -1 (number), expected true, false, 0 or 1 (-1 marks a split "
     "without labels)"},
    {"BoolQWordLabel",
     "boolq",
     {{kBoolQ, R"({"question": "q", "passage": "p", "idx": 0, "label": "yes"})"}},
     "boolq/val.jsonl:1: \"label\" is \"yes\" (string), expected an integer"},
    {"BoolQDuplicateIdx",
     "boolq",
     {{kBoolQ, R"({"question": "q", "passage": "p", "idx": 5, "label": true})"
               "\n"
               R"({"question": "r", "passage": "p", "idx": 5, "label": true})"}},
     "boolq/val.jsonl:2: \"idx\" is \"5\", which boolq/val.jsonl:1 has already; expected each id "
     "once"},
    {"WinoNoGap",
     "winogrande",
     {{kWinoFile, R"({"sentence": "a b", "option1": "x", "option2": "y", "answer": "1"})"}},
     "winogrande/dev.jsonl:1: \"sentence\" is \"a b\" (string), expected a sentence with a gap "
     "'_'"},
    {"WinoAnswer",
     "winogrande",
     {{kWinoFile,
       kWino + R"({"sentence": "a _ b", "option1": "x", "option2": "y", "answer": "3"})"}},
     "winogrande/dev.jsonl:2: \"answer\" is \"3\" (string), expected 1 or 2"},
    {"WinoUnlabeled",
     "winogrande",
     {{kWinoFile, R"({"sentence": "a _ b", "option1": "x", "option2": "y", "answer": ""})"}},
     "winogrande/dev.jsonl:1: \"answer\" is \"\" (string), expected 1 or 2 (an empty answer marks "
     "a split without labels)"},
    {"WinoNoAnswers",
     "winogrande",
     {{kWinoFile, R"({"sentence": "a _ b", "option1": "x", "option2": "y"})"}},
     "winogrande/dev.jsonl: the records have no label and winogrande/dev-labels.lst is missing; a "
     "split without labels (test) can't be evaluated"},
    {"SiqaLabelOutOfRange",
     "social_iqa",
     {{kSiqaFile, kSiqa}, {kSiqaLabels, "4\n"}},
     "siqa/dev-labels.lst:1: the label is \"4\", expected 1, 2 or 3"},
    {"SiqaInlineNumber",
     "social_iqa",
     {{kSiqaFile,
       R"({"context": "c", "question": "q", "answerA": "a", "answerB": "b", "answerC": "c", "label": 1})"}},
     "siqa/dev.jsonl:1: \"label\" is 1 (number), expected a string"},
    {"SiqaNoField",
     "social_iqa",
     {{kSiqaFile, R"({"context": "c", "question": "q", "answerA": "a", "answerB": "b"})"},
      {kSiqaLabels, "1\n"}},
     "siqa/dev.jsonl:1: the field \"answerC\" is missing"},
    {"SciqEmptyList",
     "sciq",
     {{"sciq/test.json", "[]"}},
     "sciq/test.json: no record in the file, expected at least one"},
    {"SciqNoField",
     "sciq",
     {{"sciq/test.json", R"([{"question": "q"}])"}},
     "sciq/test.json: record 0: the field \"distractor3\" is missing"},
    {"SciqCut",
     "sciq",
     {{"sciq/test.json", R"([{"question": "q")"}},
     "sciq/test.json: not valid JSON: ..."},
    {"WikitextEmpty",
     "wikitext",
     {{"wikitext/wikitext-2-raw/wiki.test.raw", " \n \n"}},
     "wikitext/wikitext-2-raw/wiki.test.raw: the file is empty, expected articles"},
    {"WikitextUtf8",
     "wikitext",
     {{"wikitext/wikitext-2-raw/wiki.test.raw", " = A = \n\xC3("}},
     "wikitext/wikitext-2-raw/wiki.test.raw:2: not valid UTF-8 at byte 8 of the file"},
};

INSTANTIATE_TEST_SUITE_P(All, BadInputTest, ::testing::ValuesIn(kBadInputs),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace natsl::tasks
