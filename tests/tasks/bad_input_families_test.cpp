// What wrong data files lead to in generation tasks, RULER, LongBench, length extrapolation and
// synthetic recall.
#include <gtest/gtest.h>

#include "tests/tasks/bad_input.h"

namespace natsl::tasks {
namespace {

using testing::BadInput;
using testing::File;

class BadInputFamiliesTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputFamiliesTest, EndsWithOneClearError) { testing::ExpectBadInput(GetParam()); }

constexpr const char* kNq = "nq_open/NQ-open.dev.jsonl";
constexpr const char* kTrivia = "triviaqa/qa/web-dev.json";
constexpr const char* kDrop = "drop/drop_dataset_dev.json";
constexpr const char* kSquad = "squad/dev-v2.0.json";
constexpr const char* kSwde = "swde/validation.jsonl";
constexpr const char* kFda = "fda/validation.jsonl";
constexpr const char* kCompletion = "squad_completion/validation.jsonl";
constexpr const char* kBasedNq = "based_nq_1024/validation.jsonl";

const BadInput kGeneration[] = {
    {"NqMissingFile",
     "nq_open",
     {},
     "the data of nq_open is missing in ROOT; looked for nq_open/NQ-open.dev.jsonl, hub:..."},
    {"NqMissingColumn",
     "nq_open",
     {{kNq, "{\"answer\": [\"a\"]}\n"}},
     "nq_open/NQ-open.dev.jsonl:1: the field \"question\" is missing"},
    {"NqWrongType",
     "nq_open",
     {{kNq,
       "{\"question\": \"q\", \"answer\": [\"a\"]}\n{\"question\": 3, \"answer\": [\"a\"]}\n"}},
     "nq_open/NQ-open.dev.jsonl:2: \"question\" is 3 (number), expected a string"},
    {"NqUnlabeled",
     "nq_open",
     {{kNq, "{\"question\": \"q\"}\n"}},
     "nq_open/NQ-open.dev.jsonl:1: the field \"answer\" is missing; a split without answers (test) "
     "can't be evaluated"},
    {"NqNoAnswers",
     "nq_open",
     {{kNq, "{\"question\": \"q\", \"answer\": []}\n"}},
     "nq_open/NQ-open.dev.jsonl:1: \"answer\" is [] (array), expected at least one accepted "
     "answer"},
    {"NqEmpty",
     "nq_open",
     {{kNq, ""}},
     "nq_open/NQ-open.dev.jsonl: the file is empty, expected at least one record"},
    {"TriviaUnlabeled",
     "triviaqa",
     {{kTrivia, R"({"Data": [{"Question": "q", "QuestionId": "1"}]})"}},
     "triviaqa/qa/web-dev.json: a question has no \"Answer\"; a split without answers (test) can't "
     "be evaluated"},
    {"TriviaNoAnswers",
     "triviaqa",
     {{kTrivia, R"({"Data": [{"Question": "q", "QuestionId": "1", "Answer": {"Aliases": []}}]})"}},
     "triviaqa/qa/web-dev.json: \"answer\" is {\"aliases\":[]} (object), expected at least one "
     "accepted answer"},
    {"TriviaWrongType",
     "triviaqa",
     {{kTrivia,
       R"({"Data": [{"Question": ["q"], "QuestionId": "1", "Answer": {"Aliases": ["a"]}}]})"}},
     "triviaqa/qa/web-dev.json: \"Question\" is [\"q\"] (array), expected a string"},
    {"TriviaNoQuestions",
     "triviaqa",
     {{kTrivia, R"({"Data": []})"}},
     "triviaqa/qa/web-dev.json: no questions, expected at least one"},
    {"DropUnlabeled",
     "drop",
     {{kDrop, R"({"p": {"passage": "x", "qa_pairs": [{"question": "q"}]}})"}},
     "drop/drop_dataset_dev.json: p: the field \"answer\" is missing; a split without answers "
     "(test) can't be evaluated"},
    {"DropAllAnswersEmpty",
     "drop",
     {{kDrop,
       R"({"p": {"passage": "x", "qa_pairs": [{"question": "q", "answer": {"spans": []}}]}})"}},
     "drop: every answer is empty; a split without answers can't be evaluated"},
    {"DropNoPassage",
     "drop",
     {{kDrop, R"({"p": {"qa_pairs": [{"question": "q", "answer": {"number": "1"}}]}})"}},
     "drop/drop_dataset_dev.json: p: the field \"passage\" is missing"},
    {"DropWrongType",
     "drop",
     {{kDrop, R"({"p": {"passage": "x", "qa_pairs": {"question": "q"}}})"}},
     "drop/drop_dataset_dev.json: p: \"qa_pairs\" is {\"question\":\"q\"} (object), expected a "
     "list"},
    {"DropDuplicateIds",
     "drop",
     {{kDrop, R"({"p": {"passage": "x", "qa_pairs": [
      {"question": "q", "query_id": "7", "answer": {"number": "1"}},
      {"question": "r", "query_id": "7", "answer": {"number": "2"}}]}})"}},
     "drop/drop_dataset_dev.json: question 1: \"query_id\" is \"7\", which "
     "drop/drop_dataset_dev.json: question 0 has already; expected each id once"},
    {"SquadUnlabeled",
     "squadv2",
     {{kSquad, R"({"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [
                {"id": "1", "question": "q"}]}]}]})"}},
     "squad/dev-v2.0.json: t: the field \"answers\" is missing; a split without answers (test) "
     "can't be evaluated"},
    {"SquadDuplicateIds",
     "squadv2",
     {{kSquad, R"({"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [
                {"id": "1", "question": "q", "answers": []},
                {"id": "1", "question": "r", "answers": []}]}]}]})"}},
     "squad/dev-v2.0.json: question 1: \"id\" is \"1\", which squad/dev-v2.0.json: question 0 has "
     "already; expected each id once"},
    {"SquadNoContext",
     "squadv2",
     {{kSquad, R"({"data": [{"title": "t", "paragraphs": [{"qas": []}]}]})"}},
     "squad/dev-v2.0.json: t: the field \"context\" is missing"},
    {"SquadEmpty",
     "squadv2",
     {{kSquad, R"({"data": []})"}},
     "squad/dev-v2.0.json: no questions, expected at least one"},
    {"SwdeBlankAnswer",
     "swde",
     {{kSwde, "{\"text\": \"t\", \"value\": \"  \"}\n"}},
     "swde/validation.jsonl:1: \"value\" is \"  \" (string), expected an answer that isn't blank"},
    {"SwdeWrongType",
     "swde",
     {{kSwde, "{\"text\": 1, \"value\": \"v\"}\n"}},
     "swde/validation.jsonl:1: \"text\" is 1 (number), expected a string"},
    {"FdaUnlabeled",
     "fda",
     {{kFda, "{\"text\": \"t\"}\n"}},
     "fda/validation.jsonl:1: the field \"value\" is missing; a split without answers can't be "
     "evaluated"},
    {"CompletionMissingColumn",
     "squad_completion",
     {{kCompletion, "{\"value\": \"v\"}\n"}},
     "squad_completion/validation.jsonl:1: the field \"text\" is missing"},
    {"CompletionEmpty",
     "squad_completion",
     {{kCompletion, "\n"}},
     "squad_completion/validation.jsonl: the file is empty, expected at least one record"},
    {"BasedUnlabeled",
     "based_nq_1024",
     {{kBasedNq, "{\"context\": \"c\", \"question\": \"q\"}\n"}},
     "based_nq_1024/validation.jsonl:1: the field \"answers\" is missing; a split without answers "
     "can't be evaluated"},
    {"BasedNoAnswers",
     "based_nq_1024",
     {{kBasedNq, "{\"context\": \"c\", \"question\": \"q\", \"answers\": []}\n"}},
     "based_nq_1024/validation.jsonl:1: \"answers\" is [] (array), expected at least one answer"},
    {"BasedMissingColumn",
     "based_nq_1024",
     {{kBasedNq, "{\"question\": \"q\", \"answers\": [\"a\"]}\n"}},
     "based_nq_1024/validation.jsonl:1: the field \"context\" is missing"},
};
INSTANTIATE_TEST_SUITE_P(Generation, BadInputFamiliesTest, ::testing::ValuesIn(kGeneration),
                         [](const auto& info) { return std::string(info.param.name); });

const File kNouns = {"ruler/wonderwords/nounlist.txt", "cat\ndog\n"};
const File kAdjectives = {"ruler/wonderwords/adjectivelist.txt", "big\nold\n"};
const File kVerbs = {"ruler/wonderwords/verblist.txt", "run\nsit\n"};
constexpr const char* kHotpot = "hotpotqa/hotpot_dev_distractor_v1.json";

const BadInput kRuler[] = {
    {"NoEssay",
     "ruler_niah_single_2",
     {kNouns, kAdjectives, kVerbs},
     "this task hides its needles in an essay, and ROOT has no ruler/essay (a folder of .txt "
     "files), ruler/essay.txt or ruler/PaulGrahamEssays.json; put a text there or give "
     "@length=...:essay=PATH"},
    {"EmptyEssay",
     "ruler_niah_single_2",
     {kNouns, kAdjectives, kVerbs, {"ruler/essay.txt", " \n"}},
     "ROOT/ruler/essay.txt: empty, expected text"},
    {"EssayNotUtf8",
     "ruler_niah_single_2",
     {kNouns, kAdjectives, kVerbs, {"ruler/essay/a.txt", "caf\xE9."}},
     "ROOT/ruler/essay/a.txt: not valid UTF-8 at byte 3"},
    {"EssayWithoutText",
     "ruler_niah_single_2",
     {kNouns, kAdjectives, kVerbs, {"ruler/PaulGrahamEssays.json", "{\"body\": \"x\"}"}},
     "ROOT/ruler/PaulGrahamEssays.json: the field \"text\" is missing"},
    {"EmptyWordList",
     "ruler_cwe",
     {{"ruler/wonderwords/nounlist.txt", ""}, kAdjectives, kVerbs},
     "ROOT/ruler/wonderwords/nounlist.txt: empty, expected words"},
    {"SquadMissing",
     "ruler_qa_1",
     {},
     "the data of squad_v2 is missing in ROOT; looked for squad/dev-v2.0.json, hub:..."},
    {"SquadNoAnswers",
     "ruler_qa_1",
     {{kSquad, R"({"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [
                {"id": "1", "question": "q", "answers": []}]}]}]})"}},
     "squad/dev-v2.0.json: \"data\"[0]: \"paragraphs\"[0]: \"qas\"[0]: \"answers\" is [] (array), "
     "expected at least one answer"},
    {"SquadAllImpossible",
     "ruler_qa_1",
     {{kSquad, R"({"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [
                {"id": "1", "question": "q", "answers": [], "is_impossible": true}]}]}]})"}},
     "squad/dev-v2.0.json: no answerable question"},
    {"SquadWrongType",
     "ruler_qa_1",
     {{kSquad, R"({"data": {"title": "t"}})"}},
     "squad/dev-v2.0.json: \"data\" is {\"title\":\"t\"} (object), expected a list"},
    {"HotpotWrongContext",
     "ruler_qa_2",
     {{kHotpot, R"([{"question": "q", "answer": "a", "context": ["title"]}])"}},
     "hotpotqa/hotpot_dev_distractor_v1.json: record 0: \"context\" is [\"title\"] (array), "
     "expected a list of [title, [sentence, ...]]"},
    {"HotpotNoParagraphs",
     "ruler_qa_2",
     {{kHotpot, R"([{"question": "q", "answer": "a", "context": []}])"}},
     "hotpotqa/hotpot_dev_distractor_v1.json: record 0: \"context\" is [] (array), expected at "
     "least one paragraph"},
    {"HotpotUnlabeled",
     "ruler_qa_2",
     {{kHotpot, R"([{"question": "q", "context": [["t", ["s"]]]}])"}},
     "hotpotqa/hotpot_dev_distractor_v1.json: record 0: the field \"answer\" is missing"},
    {"HotpotTooShort",
     "ruler_qa_2",
     {},
     "task ruler_qa_2: length 1024 can't hold a question's ten paragraphs; expected at least 4096",
     0,
     "",
     ErrorCode::kUsage,
     {{"length", "1k"}}},
    {"NothingFits",
     "ruler_vt",
     {},
     "no sample fits in 100 tokens with 30 for the answer; the shortest haystack is longer: choose "
     "a larger length",
     0,
     "",
     ErrorCode::kData,
     {{"length", "100"}, {"samples", "2"}}},
    {"ImportWithoutAnswers",
     "ruler_vt",
     {{"made.jsonl", "{\"input\": \"p\", \"outputs\": []}\n"}},
     "made.jsonl:1: \"outputs\" is [] (array), expected at least one answer",
     0,
     "",
     ErrorCode::kData,
     {{"file", "made.jsonl"}}},
    {"ImportMissingColumn",
     "ruler_vt",
     {{"made.jsonl", "{\"outputs\": [\"a\"]}\n"}},
     "made.jsonl:1: the field \"input\" is missing",
     0,
     "",
     ErrorCode::kData,
     {{"file", "made.jsonl"}}},
};
INSTANTIATE_TEST_SUITE_P(Ruler, BadInputFamiliesTest, ::testing::ValuesIn(kRuler),
                         [](const auto& info) { return std::string(info.param.name); });

const std::string kRecord = R"({"input": "q", "context": "c", "answers": ["x"], "_id": "i"})"
                            "\n";
const BadInput kLong[] = {
    {"LongBenchMissing",
     "longbench_qasper",
     {},
     "the data of longbench is missing in ROOT; looked for longbench/qasper.jsonl..."},
    {"LongBenchMissingColumn",
     "longbench_qasper",
     {{"longbench/qasper.jsonl", R"({"input": "q", "answers": ["x"]})"}},
     "longbench/qasper.jsonl:1: the field \"context\" is missing"},
    {"LongBenchNoAnswers",
     "longbench_qasper",
     {{"longbench/qasper.jsonl", R"({"input": "q", "context": "c", "answers": []})"}},
     "longbench/qasper.jsonl:1: \"answers\" is [] (array), expected at least one answer"},
    {"LongBenchUnlabeled",
     "longbench_qasper",
     {{"longbench/qasper.jsonl", R"({"input": "q", "context": "c"})"}},
     "longbench/qasper.jsonl:1: the field \"answers\" is missing"},
    {"LongBenchWrongType",
     "longbench_qasper",
     {{"longbench/qasper.jsonl", R"({"input": 3, "context": "c", "answers": ["x"]})"}},
     "longbench/qasper.jsonl:1: \"input\" is 3 (number), expected a string"},
    {"LongBenchDuplicateIds",
     "longbench_qasper",
     {{"longbench/qasper.jsonl", kRecord + kRecord}},
     "longbench/qasper.jsonl:2: \"_id\" is \"i\", which longbench/qasper.jsonl:1 has already; "
     "expected each id once"},
    {"LongBenchNoClasses",
     "longbench_trec",
     {{"longbench/trec.jsonl", kRecord}},
     "longbench/trec.jsonl:1: the field \"all_classes\" is missing"},
    {"LongBenchNoParagraph",
     "longbench_passage_retrieval_en",
     {{"longbench/passage_retrieval_en.jsonl", kRecord}},
     "longbench/passage_retrieval_en.jsonl:1: \"answers\" is [\"x\"] (array), expected answers "
     "like \"Paragraph 3\" (Chinese: 段落3)"},
    {"LongBenchEmpty",
     "longbench_qasper",
     {{"longbench/qasper.jsonl", ""}},
     "longbench/qasper.jsonl: the file is empty, expected at least one record"},
    {"LongBenchENoLength",
     "longbench_e_qasper",
     {{"longbench/qasper_e.jsonl", kRecord}},
     "longbench/qasper_e.jsonl:1: the field \"length\" is missing"},
    {"ExtrapolationMissing",
     "extrapolation_pg19",
     {},
     "the data of pg19 is missing in ROOT; looked for pg19/test, pg19/test.jsonl, pg19, hub:..."},
    {"ExtrapolationNoTexts",
     "extrapolation_pg19",
     {{"pg19/readme.md", "x"}},
     "ROOT/pg19: no .txt files"},
    {"ExtrapolationMissingColumn",
     "extrapolation_codeparrot",
     {{"codeparrot/valid.jsonl", "{\"text\": \"a = 1\"}\n"}},
     "codeparrot/valid.jsonl:1: the field \"content\" is missing"},
    {"ExtrapolationWrongType",
     "extrapolation_narrativeqa",
     {{"narrativeqa/test.jsonl", "{\"id\": \"1\", \"text\": [\"a\"]}\n"}},
     "narrativeqa/test.jsonl:1: \"text\" is [\"a\"] (array), expected a string"},
    {"ExtrapolationEmpty",
     "extrapolation_narrativeqa",
     {{"narrativeqa/test.jsonl", ""}},
     "narrativeqa/test.jsonl: the file is empty, expected at least one record"},
    {"ExtrapolationNotUtf8",
     "extrapolation_pg19",
     {{"pg19/a.txt", "x\n\xFF"}},
     "pg19/a.txt:2: not valid UTF-8 at byte 2 of the file"},
    {"SyntheticTooShort",
     "mqar",
     {},
     "task mqar: length 10 is too short, 8 items don't fit",
     0,
     "",
     ErrorCode::kUsage,
     {{"length", "10"}}},
    {"SyntheticTooManyQueries",
     "mqar",
     {},
     "mqar: 9 queries of 4 pairs, expected 1 to 4",
     0,
     "",
     ErrorCode::kUsage,
     {{"pairs", "4"}, {"queries", "9"}}},
};
INSTANTIATE_TEST_SUITE_P(LongAndSynthetic, BadInputFamiliesTest, ::testing::ValuesIn(kLong),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace natsl::tasks
