// Request strings and scores of each task on small records of our own, byte for byte.
#include <gtest/gtest.h>

#include "tasks/multiple_choice/hellaswag.h"
#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs PairsOf(const std::string& task, const std::string& file, const std::string& content,
              const TaskOptions& options = {}, int64_t index = 0) {
  testing::TemporaryFolder folder;
  folder.Write(file, content);
  const auto loaded = FindTask(task).load(DataSource(folder.path()), options);
  Pairs pairs;
  for (const Request& request : loaded->Requests(index).requests) {
    const auto& pair = std::get<LoglikelihoodRequest>(request);
    pairs.emplace_back(pair.context, pair.continuation);
  }
  return pairs;
}

TEST(RequestsTest, PiqaKeepsQuotesAndBackslashes) {
  const std::string context = "Question: How do you \"open\" a jar?\nAnswer:";
  EXPECT_EQ(
      PairsOf(
          "piqa", "piqa/valid.jsonl",
          R"({"goal": "How do you \"open\" a jar?", "sol1": "Twist it's lid", "sol2": "Don't \\ twist", "label": 0})"),
      (Pairs{{context, " Twist it's lid"}, {context, " Don't \\ twist"}}));
}

TEST(RequestsTest, HellaswagCleansUp) {
  const std::string context =
      "Removing ice from car: Then, the man writes over the snow covering the window. Then";
  EXPECT_EQ(
      PairsOf(
          "hellaswag", "hellaswag/hellaswag_val.jsonl",
          R"({"activity_label": "Removing ice from car", "ctx_a": "Then, the man writes over the snow  covering the window.", "ctx_b": "then", "endings": [", the man adds wax.", ", a person [substeps] board a ski lift.", ", the man puts on a [header] coat [title] Wear", "  x  "], "label": 0})"),
      (Pairs{{context, " , the man adds wax."},
             {context, " , a person board a ski lift."},
             {context, " , the man puts on a coat. Wear"},
             {context, " x"}}));
}

TEST(RequestsTest, HellaswagText) {
  EXPECT_EQ(CleanHellaswagText(" [title] x"), " x");  // stripped first, then a bracketed remark
  EXPECT_EQ(CleanHellaswagText("a [title] x"), "a. x");
  EXPECT_EQ(CleanHellaswagText("a   b    c"), "a  b  c");
  EXPECT_EQ(CleanHellaswagText("a [b\nc] d [e] f"), "a [b\nc] d f");
  EXPECT_EQ(CleanHellaswagText("[a[b] c]"), " c]");
  EXPECT_EQ(CleanHellaswagText("open [ end"), "open [ end");
  EXPECT_EQ(PythonCapitalize(""), "");
  EXPECT_EQ(PythonCapitalize("hELLO World"), "Hello world");
  EXPECT_EQ(PythonCapitalize("ßTRASSE"), "Sstrasse");
  EXPECT_EQ(PythonCapitalize("ǆAB"), "ǅab");
  EXPECT_EQ(PythonCapitalize("ﬁX"), "Fix");
  EXPECT_EQ(PythonCapitalize("ΑΣ"), "Ας");
  EXPECT_EQ(PythonCapitalize("\"É"), "\"é");
}

TEST(RequestsTest, ArcInBothLayouts) {
  const Pairs expected = {{"Question: s?\nAnswer:", " x"}, {"Question: s?\nAnswer:", " y "}};
  EXPECT_EQ(
      PairsOf(
          "arc_easy", "arc/ARC-Easy/ARC-Easy-Test.jsonl",
          R"({"id": "q", "question": {"stem": "s?", "choices": [{"text": "x", "label": "1"}, {"text": "y ", "label": "2"}]}, "answerKey": "2"})"),
      expected);
  EXPECT_EQ(
      PairsOf(
          "arc_easy", "datasets--allenai--ai2_arc/snapshots/r/ARC-Easy/test-0.jsonl",
          R"({"id": "q", "question": "s?", "choices": {"text": ["x", "y "], "label": ["1", "2"]}, "answerKey": "2"})"),
      expected);
}

TEST(RequestsTest, WinograndeScoresTheSuffixUnderBothOptions) {
  const std::string record =
      R"({"sentence": "The cup did not fit in the _ because it was big. ", "option1": "box", "option2": "bag", "answer": "2"})"
      "\n";
  EXPECT_EQ(PairsOf("winogrande", "winogrande/dev.jsonl", record),
            (Pairs{{"The cup did not fit in the box", " because it was big."},
                   {"The cup did not fit in the bag", " because it was big."}}));
  TaskOptions options;
  options.few_shot.count = 1;
  options.few_shot.from = "first:2";
  const std::string other =
      R"({"sentence": "It is _ .", "option1": "hot", "option2": "cold", "answer": "1"})"
      "\n";
  EXPECT_EQ(PairsOf("winogrande", "winogrande/dev.jsonl", record + record + other, options),
            (Pairs{{"The cup did not fit in the bag because it was big.\n\nIt is hot", " ."},
                   {"The cup did not fit in the bag because it was big.\n\nIt is cold", " ."}}));
}

TEST(RequestsTest, BoolQSocialIqaSciqOpenBookQa) {
  EXPECT_EQ(
      PairsOf("boolq", "boolq/val.jsonl",
              R"({"question": "is it", "passage": "P.", "idx": 0, "label": true})"),
      (Pairs{{"P.\nQuestion: is it?\nAnswer:", " no"}, {"P.\nQuestion: is it?\nAnswer:", " yes"}}));
  EXPECT_EQ(
      PairsOf(
          "social_iqa", "siqa/dev.jsonl",
          R"({"context": "C.", "question": "Q?", "answerA": "a", "answerB": "b", "answerC": "c", "label": "3"})"),
      (Pairs{{"Q: C. Q?\nA:", " a"}, {"Q: C. Q?\nA:", " b"}, {"Q: C. Q?\nA:", " c"}}));
  EXPECT_EQ(
      PairsOf(
          "sciq", "sciq/test.json",
          R"([{"question": "Q?", "distractor1": "1", "distractor2": "2", "distractor3": "3", "correct_answer": "4", "support": ""}])"),
      (Pairs{{"\nQuestion: Q?\nAnswer:", " 1"},
             {"\nQuestion: Q?\nAnswer:", " 2"},
             {"\nQuestion: Q?\nAnswer:", " 3"},
             {"\nQuestion: Q?\nAnswer:", " 4"}}));
  EXPECT_EQ(
      PairsOf(
          "openbookqa", "openbookqa/Main/test.jsonl",
          R"({"id": "q", "question": {"stem": "To save", "choices": [{"text": "x", "label": "A"}, {"text": "y", "label": "B"}]}, "answerKey": " B"})"),
      (Pairs{{"To save", " x"}, {"To save", " y"}}));
}

TEST(RequestsTest, LambadaSplitsAtTheLastSpaceOnly) {
  const auto pairs = [](const std::string& text) {
    return PairsOf("lambada_openai", "lambada/lambada_test.jsonl",
                   core::Json({{"text", text}}).dump());
  };
  EXPECT_EQ(pairs("He said.\n\n\"Hello\n now,\" old friend"),
            (Pairs{{"He said.\n\n\"Hello\n now,\" old", " friend"}}));
  EXPECT_EQ(pairs("two  spaces"), (Pairs{{"two ", " spaces"}}));
  EXPECT_EQ(pairs("single"), (Pairs{{"", " single"}}));
  EXPECT_EQ(pairs("no\u00a0break"), (Pairs{{"", " no\u00a0break"}}));
  TaskOptions options;
  options.few_shot.count = 1;
  options.few_shot.from = "first:1";
  EXPECT_EQ(PairsOf("lambada_openai", "lambada/lambada_test.jsonl",
                    "{\"text\": \"t0 foo\"}\n{\"text\": \"a b\"}\n", options),
            (Pairs{{"t0  foo\n\na", " b"}}));
}

TEST(ScoreTest, AccuracyByLogProbabilityAndPerCodePoint) {
  testing::TemporaryFolder folder;
  folder.Write("piqa/valid.jsonl", R"({"goal": "g", "sol1": "four", "sol2": "é", "label": 0})");
  const auto task = FindTask("piqa").load(DataSource(folder.path()), {});
  const auto score = [&](double first, double second) {
    std::vector<Response> responses(2, LoglikelihoodResult{});
    std::get<LoglikelihoodResult>(responses[0]).log_prob = first;
    std::get<LoglikelihoodResult>(responses[1]).log_prob = second;
    const SampleScore scored = task->Score(0, responses);
    return std::pair(scored.metrics.at(0).values.at(0), scored.metrics.at(1).values.at(0));
  };
  EXPECT_EQ(score(-3, -2), std::pair(0.0, 1.0));  // -3/4 against -2/1
  EXPECT_EQ(score(-9, -2), std::pair(0.0, 0.0));  // -9/4 against -2
  EXPECT_EQ(score(-2, -2), std::pair(1.0, 1.0));  // ties go to the first
  EXPECT_EQ(score(-8, -2), std::pair(0.0, 1.0));
}

}  // namespace
}  // namespace natsl::tasks
