// The tables of tasks and groups, and how names are resolved.
#include "tasks/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tasks/nearest_names.h"
#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

std::vector<std::string> NamesOf(const std::string& list) {
  std::vector<std::string> names;
  for (const TaskChoice& choice : ResolveTasks(list)) names.push_back(choice.name);
  return names;
}

std::string ErrorOf(const std::string& list) {
  try {
    ResolveTasks(list);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(RegistryTest, CardsAreComplete) {
  std::set<std::string> names;
  for (const TaskEntry& task : Tasks()) {
    SCOPED_TRACE(task.name);
    EXPECT_TRUE(names.insert(task.name).second);
    const TaskCard card = task.card();
    EXPECT_EQ(card.name, task.name);
    for (const std::string* field :
         {&card.summary, &card.dataset, &card.split, &card.protocol, &card.version,
          &card.output_type, &card.licence, &card.few_shot}) {
      EXPECT_FALSE(field->empty());
    }
    EXPECT_FALSE(card.metrics.empty());
    EXPECT_TRUE(core::Json::accept(card.version)) << card.version;
  }
}

TEST(RegistryTest, GroupsHaveKnownMembersAndColumns) {
  std::set<std::string> names;
  for (const GroupEntry& group : Groups()) {
    SCOPED_TRACE(group.name);
    EXPECT_TRUE(names.insert(group.name).second);
    EXPECT_FALSE(group.summary.empty());
    for (const std::string& member : group.tasks) EXPECT_NO_THROW(FindTask(member));
    for (const GroupColumn& column : group.columns) {
      EXPECT_NE(std::find(group.tasks.begin(), group.tasks.end(), column.task), group.tasks.end());
      const TaskCard card = FindTask(column.task).card();
      EXPECT_TRUE(std::any_of(card.metrics.begin(), card.metrics.end(),
                              [&](const MetricCard& m) { return m.name == column.metric; }));
    }
  }
}

TEST(RegistryTest, ResolvesNamesGroupsAndWildcardsOnce) {
  EXPECT_EQ(NamesOf("piqa, hellaswag,piqa"), (std::vector<std::string>{"piqa", "hellaswag"}));
  EXPECT_EQ(NamesOf("arc_*"), (std::vector<std::string>{"arc_easy", "arc_challenge"}));
  EXPECT_EQ(NamesOf("lambada_*,piqa,commonsense"),
            (std::vector<std::string>{"lambada_openai", "lambada_standard", "piqa", "wikitext",
                                      "hellaswag", "winogrande", "arc_easy", "arc_challenge",
                                      "social_iqa", "boolq", "openbookqa"}));
}

TEST(RegistryTest, UnknownNamesSuggestTheNearest) {
  EXPECT_EQ(
      ErrorOf("hellaswga"),
      "unknown task 'hellaswga', did you mean hellaswag?; `natsl-bench list tasks` names all");
  EXPECT_TRUE(ErrorOf("lambada").starts_with(
      "unknown task 'lambada', did you mean lambada_openai, lambada_standard"));
  EXPECT_TRUE(
      ErrorOf("piqa,arc_eesy").starts_with("unknown task 'arc_eesy', did you mean arc_easy"));
  EXPECT_EQ(ErrorOf("zzzzzzzzzzzzzz"),
            "unknown task 'zzzzzzzzzzzzzz'; `natsl-bench list tasks` names all");
  EXPECT_EQ(ErrorOf("zz*"), "no task matches 'zz*'; `natsl-bench list tasks` names all");
  EXPECT_EQ(ErrorOf(" , "), "no task is named; `natsl-bench list tasks` names all");
  EXPECT_EQ(ErrorOf("piqa@4096"), "task 'piqa' takes no parameters, found '@4096'");
}

TEST(NearestNamesTest, EditDistance) {
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("piqa", "pqia"), 1);
  EXPECT_EQ(EditDistance("same", "same"), 0);
}

/// A report would count examples that nobody was shown.
TEST(Registry, TasksWithoutExamplesRefuseThem) {
  TaskOptions options;
  options.few_shot.count = 2;
  const DataSource data(testing::SamplesFolder());
  for (const char* name : {"mqar", "phonebook", "ruler_vt", "ruler_niah_single_1",
                           "longbench_qasper", "extrapolation_pg19", "fda", "squad_completion"}) {
    try {
      FindTask(name).load(data, options);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage) << name;
      EXPECT_NE(std::string(error.what()).find("no few-shot examples"), std::string::npos)
          << error.what();
    }
  }
}

/// Every task of these folders runs on the documents the repository ships.
class SampleDataTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SampleDataTest, LoadsWithFewShotExamplesAndScores) {
  TaskOptions options;
  const bool rolling = std::string(GetParam()) == "wikitext";
  if (!rolling) {
    options.few_shot.count = 2;
    options.few_shot.from = "first:4";
  }
  const DataSource data(testing::SamplesFolder());
  const auto all = FindTask(GetParam()).load(data, {});
  const auto task = FindTask(GetParam()).load(data, options);
  EXPECT_GE(all->DocumentCount(), 12);
  EXPECT_EQ(task->DocumentCount(), all->DocumentCount() - (rolling ? 0 : 4));
  EXPECT_EQ(task->DataFingerprint().size(), 64U);
  EXPECT_EQ(task->DataFingerprint(), all->DataFingerprint());
  for (int64_t i = 0; i < task->DocumentCount(); ++i) {
    const DocumentRequests document = task->Requests(i);
    EXPECT_EQ(document.doc_id, i);
    EXPECT_TRUE(core::Json::accept(document.doc));
    ASSERT_FALSE(document.requests.empty());
    std::vector<Response> responses;
    for (const Request& request : document.requests) {
      if (const auto* pair = std::get_if<LoglikelihoodRequest>(&request)) {
        // Two examples and the question: two delimiters at least.
        const size_t first = pair->context.find("\n\n");
        ASSERT_NE(first, std::string::npos);
        EXPECT_NE(pair->context.find("\n\n", first + 2), std::string::npos);
        EXPECT_TRUE(pair->continuation.starts_with(' '));
        responses.emplace_back(LoglikelihoodResult{});
      } else {
        responses.emplace_back(RollingResult{});
      }
    }
    const SampleScore score = task->Score(i, responses);
    ASSERT_EQ(score.metrics.size(), task->Card().metrics.size());
    for (size_t m = 0; m < score.metrics.size(); ++m) {
      EXPECT_EQ(score.metrics[m].name, task->Card().metrics[m].name);
      EXPECT_FALSE(score.metrics[m].values.empty());
    }
  }
}

class SampleGroupTest : public ::testing::TestWithParam<GroupEntry> {};

/// Every member of every group loads from the documents the repository ships, asks and scores.
TEST_P(SampleGroupTest, EveryMemberRunsOnTheSamples) {
  const DataSource data(testing::SamplesFolder());
  TaskOptions options;
  options.limit = 2;
  options.count_tokens = [](const std::string& text) {
    return static_cast<int64_t>(text.size() / 4);
  };
  std::vector<std::string> skipped;
  for (const TaskChoice& choice : ResolveTasks(GetParam().name)) {
    SCOPED_TRACE(choice.name);
    std::unique_ptr<Task> task;
    try {
      task = choice.entry->load(data, options);
    } catch (const Error& error) {
      const std::string message = error.what();
      // Word tables that scripts/setup fetches and that may be absent.
      const bool tables = message.find("jieba") != std::string::npos ||
                          message.find("word lists are missing") != std::string::npos;
      EXPECT_TRUE(tables) << message;
      skipped.push_back(choice.name);
      continue;
    }
    ASSERT_GE(task->DocumentCount(), 1);
    EXPECT_FALSE(task->DataFingerprint().empty());
    const DocumentRequests document = task->Requests(0);
    ASSERT_FALSE(document.requests.empty());
    std::vector<Response> responses;
    for (const Request& request : document.requests) {
      if (std::holds_alternative<LoglikelihoodRequest>(request)) {
        responses.emplace_back(LoglikelihoodResult{});
      } else if (std::holds_alternative<RollingRequest>(request)) {
        responses.emplace_back(RollingResult{});
      } else {
        GenerateResult generated;
        generated.text = document.target;
        responses.emplace_back(std::move(generated));
      }
    }
    EXPECT_FALSE(task->Score(0, responses).metrics.empty());
  }
  if (skipped.size() == GetParam().tasks.size()) {
    GTEST_SKIP() << GetParam().name << " needs the word tables that scripts/setup fetches";
  }
}

INSTANTIATE_TEST_SUITE_P(All, SampleGroupTest, ::testing::ValuesIn(Groups()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(All, SampleDataTest,
                         ::testing::Values("lambada_openai", "lambada_standard", "piqa",
                                           "hellaswag", "arc_easy", "arc_challenge", "openbookqa",
                                           "boolq", "winogrande", "social_iqa", "sciq", "wikitext"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace natsl::tasks
