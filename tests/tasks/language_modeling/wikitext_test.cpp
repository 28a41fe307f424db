// WikiText: the detokeniser's rules, the cut into pages, and the counts.
#include "tasks/language_modeling/wikitext.h"

#include <gtest/gtest.h>

#include "tasks/metrics/wikitext.h"
#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

TEST(WikitextTest, Detokenizer) {
  const std::pair<const char*, const char*> vectors[] = {
      {" = = = H = = = \n", " === H ===\n"},
      {"5 @.@ 5 @,@ 0 - @-@ x", "5.5,0 --x"},
      {" ( a ) ", " (a) "},
      {"\" q \" and ' r '", "\"q\" and 'r'"},
      {" N N N ", " 1 N 1 "},
      {"players ' own", "players' own"},
      {"don 't , ' x ' y", "don 't,' x ' y"},
      {"a 's 's b", "a's's b"},
      {"a \n \n b", "a\n\nb"},
      {"it 's ' a ' b", "it's' a ' b"},
      {"/' 5/ /' x/", "/'[0-9]/ /' x/"},
      {"20 ° C { a } [ \u00a0b ]", "20°C {a} [b]"},
      {"open ( end", "open ( end"},
      {"", ""},
      {" = Robert Boulter = \n \n Robert Boulter is an English film , television and theatre actor "
       ". "
       "He had a guest @-@ starring role ( in 2000 ) . \" Quote \" 's \n",
       " = Robert Boulter =\n\nRobert Boulter is an English film, television and theatre actor. He "
       "had a guest-starring role (in 2000). \"Quote\"'s\n"},
  };
  for (const auto& [page, text] : vectors)
    EXPECT_EQ(metrics::WikitextDetokenize(page), text) << page;
}

TEST(WikitextTest, WordsCountEmptyEdges) {
  EXPECT_EQ(metrics::WikitextWords(" = A = \n \n b "), 6);
  EXPECT_EQ(metrics::WikitextWords("a"), 1);
  EXPECT_EQ(metrics::WikitextWords(""), 1);
  EXPECT_EQ(metrics::WikitextWords("a\u2003\u00a0b"), 2);
  EXPECT_EQ(metrics::WikitextWords("a\u200bb"), 1);  // a zero-width space isn't white space
}

TEST(WikitextTest, Pages) {
  const std::string text =
      " \n = One = \n \n text \n = = Part = = \n = a formula \n = Two = \n x\n";
  const auto pages = SplitWikitextPages(text);
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0], " = One = \n \n text \n = = Part = = \n = a formula ");
  EXPECT_EQ(pages[1], " = Two = \n x\n");
  EXPECT_TRUE(SplitWikitextPages(" \n\n").empty());
  EXPECT_EQ(SplitWikitextPages("no title"), std::vector<std::string>{"no title"});
}

TEST(WikitextTest, ScoresOverTheOriginalPage) {
  testing::TemporaryFolder folder;
  folder.Write("wikitext/wikitext-2-raw/wiki.test.raw", " = A = \n \n b ");
  TaskOptions options;
  options.few_shot.count = 3;
  const auto task = FindTask("wikitext").load(DataSource(folder.path()), options);
  ASSERT_EQ(task->Warnings().size(), 1U);
  const DocumentRequests document = task->Requests(0);
  EXPECT_EQ(std::get<RollingRequest>(document.requests[0]).text, " = A =\n\nb ");
  EXPECT_EQ(document.target, " = A =\n\nb ");
  EXPECT_EQ(document.doc, "{\"page\": \" = A = \\n \\n b \"}");
  RollingResult result;
  result.log_prob = -12.5;
  const SampleScore score = task->Score(0, std::vector<Response>{result});
  ASSERT_EQ(score.metrics.size(), 3U);
  EXPECT_EQ(score.metrics[0].values, (std::vector<double>{-12.5, 6}));
  EXPECT_EQ(score.metrics[1].values, (std::vector<double>{-12.5, 13}));
  EXPECT_EQ(score.metrics[2].values, (std::vector<double>{-12.5, 13}));
}

}  // namespace
}  // namespace natsl::tasks
