// The table of results, cell by cell as the reference prints it.
#include "reports/console_table.h"

#include <gtest/gtest.h>

#include "tests/reports/run_record_example.h"

namespace natsl::reports {
namespace {

TEST(ConsoleTable, LooksAsTheReferencePrintsIt) {
  EXPECT_EQ(
      ConsoleTable(ExampleRecord()),
      "|    Tasks     |Version|Filter|n-shot|  Metric  |   |   Value   |   |    Stderr     |\n"
      "|--------------|------:|------|-----:|----------|---|----------:|---|--------------:|\n"
      "|lambada_openai|      1|none  |     0|acc       |↑  |      0.000|±  |         0.0000|\n"
      "|              |       |none  |     0|perplexity|↓  |5419850.059|±  |1442504858.8912|\n"
      "|piqa          |      1|none  |     0|acc       |↑  |      0.450|±  |         0.1141|\n"
      "|              |       |none  |     0|acc_norm  |↑  |      0.400|±  |         0.1124|\n");
}

TEST(ConsoleTable, MissingErrorsMakeTheColumnText) {
  RunRecord record;
  TaskRecord trivia, wiki;
  trivia.name = "triviaqa";
  trivia.version_json = "3.0";
  trivia.metrics = {ExampleMetric("exact_match", Number::Of(0), Number::Of(0))};
  trivia.metrics[0].filter = "remove_whitespace";
  wiki.name = "wikitext";
  wiki.version_json = "2.0";
  wiki.metrics = {
      ExampleMetric("word_perplexity", Number::Of(810068.504), Number::Missing("no formula"),
                    false),
      ExampleMetric("bits_per_byte", Number::Of(3.8224), Number::Missing("no formula"), false)};
  record.tasks = {trivia, wiki};
  EXPECT_EQ(
      ConsoleTable(record),
      "| Tasks  |Version|     Filter      |n-shot|    Metric     |   |   Value   |   |Stderr|\n"
      "|--------|------:|-----------------|-----:|---------------|---|----------:|---|------|\n"
      "|triviaqa|      3|remove_whitespace|     0|exact_match    |↑  |     0.0000|±  |     0|\n"
      "|wikitext|      2|none             |     0|bits_per_byte  |↓  |     3.8224|±  |   N/A|\n"
      "|        |       |none             |     0|word_perplexity|↓  |810068.5040|±  |   N/A|\n");
}

}  // namespace
}  // namespace natsl::reports
