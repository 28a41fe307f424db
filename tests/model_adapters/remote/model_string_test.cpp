// Model strings of served and process models.
#include "model_adapters/remote/model_string.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tests/process_folder.h"

namespace natsl::model_adapters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string RefusalOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(ParseServedTest, ReadsAllOptions) {
  const ServedOptions o = ParseServed(
      "openai:https://host:8000/v1/,model=org/name=x,api=chat,tokenizer=/t,logprobs=echo,"
      "prompts=text,key_env=K,ca=/"
      "c.pem,max_length=512,in_flight=3,timeout=1.5,budget=20,attempts=2");
  EXPECT_EQ(o.url, "https://host:8000/v1");
  EXPECT_EQ(o.model, "org/name=x");
  EXPECT_TRUE(o.chat);
  EXPECT_EQ(o.tokenizer, "/t");
  EXPECT_EQ(o.logprobs, "echo");
  EXPECT_EQ(o.prompts, "text");
  EXPECT_EQ(o.key_env, "K");
  EXPECT_EQ(o.ca_file, "/c.pem");
  EXPECT_EQ(o.max_length, 512);
  EXPECT_EQ(o.in_flight, 3);
  EXPECT_EQ(o.retry.timeout_ms, 1500);
  EXPECT_EQ(o.retry.budget_ms, 20'000);
  EXPECT_EQ(o.retry.attempts, 2);
}

TEST(ParseServedTest, NamesWhatIsWrong) {
  const auto refusal = [](const std::string& text) {
    return RefusalOf([&] { ParseServed("openai:" + text); });
  };
  EXPECT_THAT(refusal("host:8000/v1"), HasSubstr("http[s]://"));
  EXPECT_THAT(refusal("ftp://host/v1"), HasSubstr("http[s]://"));
  EXPECT_THAT(refusal("http:///v1"), HasSubstr("http[s]://"));
  EXPECT_THAT(refusal("http://h/v1,modle=x"), HasSubstr("\"modle\"; known: model, api"));
  EXPECT_THAT(refusal("http://h/v1,chat"), HasSubstr("key=value"));
  EXPECT_THAT(refusal("http://h/v1,api=talk"), HasSubstr("completions, chat"));
  EXPECT_THAT(refusal("http://h/v1,in_flight=0"), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(refusal("http://h/v1,in_flight=8x"), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(refusal("http://h/v1,timeout=nan"), HasSubstr("seconds"));
  EXPECT_THAT(refusal("http://h/v1,key_env=A,key_file=B"), HasSubstr("expected one"));
  EXPECT_THAT(refusal("http://h/v1,prompts=ids"), HasSubstr("tokenizer=FOLDER"));
}

TEST(ParseServedTest, NeverShowsAKey) {
  for (const std::string text :
       {"http://h/v1,key=SECRET", "http://h/v1,api_key=SECRET", "http://h/v1,token=SECRET",
        "http://user:SECRET@h/v1", "http://h/v1?key=SECRET", "ftp://user:SECRET@h/v1",
        "user:SECRET@h/v1,model=x", "http://h/v1,SECRET"}) {
    const std::string refusal = RefusalOf([&] { ParseServed("openai:" + text); });
    EXPECT_NE(refusal, "accepted") << text;
    EXPECT_THAT(refusal, Not(HasSubstr("SECRET"))) << text;
  }
}

TEST(ReadKeyTest, FromVariableOrFile) {
  ServedOptions options;
  EXPECT_EQ(ReadKey(options), "");
  options.key_env = "NATSL_TEST_KEY";
  ::unsetenv("NATSL_TEST_KEY");
  EXPECT_THAT(RefusalOf([&] { ReadKey(options); }), HasSubstr("NATSL_TEST_KEY isn't set"));
  ::setenv("NATSL_TEST_KEY", " sk-1\n", 1);
  EXPECT_EQ(ReadKey(options), "sk-1");
  ::setenv("NATSL_TEST_KEY", "  ", 1);
  EXPECT_THAT(RefusalOf([&] { ReadKey(options); }), HasSubstr("is empty"));
  // A line break would let the rest become a header of its own.
  ::setenv("NATSL_TEST_KEY", "sk-SECRET\r\nX-Other: 1", 1);
  const std::string refusal = RefusalOf([&] { ReadKey(options); });
  EXPECT_THAT(refusal, HasSubstr("holds no key"));
  EXPECT_THAT(refusal, Not(HasSubstr("SECRET")));

  const auto file = tests::ProcessFolder() / "natsl_key_test";
  std::ofstream(file) << "sk-2\n";
  options.key_env.clear();
  options.key_file = file.string();
  EXPECT_EQ(ReadKey(options), "sk-2");
  std::ofstream(file) << std::string(100'000, 'k');
  EXPECT_NE(RefusalOf([&] { ReadKey(options); }), "accepted");
  std::filesystem::remove(file);
  EXPECT_THAT(RefusalOf([&] { ReadKey(options); }), HasSubstr("natsl_key_test"));
}

TEST(ParseProcessTest, SplitsWordsLikeAShell) {
  const ProcessOptions o =
      ParseProcess(R"(process:timeout=2 restarts=1 python3  "my model.py" --x='a "b"' c\ d e=f)");
  EXPECT_EQ(o.timeout_ms, 2000);
  EXPECT_EQ(o.restarts, 1);
  EXPECT_THAT(o.command, ElementsAre("python3", "my model.py", "--x=a \"b\"", "c d", "e=f"));
}

TEST(ParseProcessTest, NamesWhatIsWrong) {
  EXPECT_THAT(RefusalOf([] { ParseProcess("process:"); }), HasSubstr("names no command"));
  EXPECT_THAT(RefusalOf([] { ParseProcess("process:timeout=3"); }), HasSubstr("names no command"));
  EXPECT_THAT(RefusalOf([] { ParseProcess("process:a 'b"); }), HasSubstr("isn't closed"));
  EXPECT_THAT(RefusalOf([] { ParseProcess("process:a \\"); }), HasSubstr("lone"));
  EXPECT_THAT(RefusalOf([] { ParseProcess("process:tmieout=3 a"); }), HasSubstr("known: timeout"));
}

TEST(SplitModelsTest, KeepsTheOptionsOfAServedModel) {
  EXPECT_THAT(SplitModels("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(SplitModels("/m,openai:http://h/v1,model=x,tokenizer=/m"),
              ElementsAre("/m", "openai:http://h/v1,model=x,tokenizer=/m"));
  EXPECT_THAT(SplitModels("openai:http://h/v1,model=x,/m"),
              ElementsAre("openai:http://h/v1,model=x", "/m"));
  EXPECT_THAT(SplitModels("a,b,c"), ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace natsl::model_adapters
