// DataSource: candidates, compressed files, the JSON layouts, hub caches, and their errors.
#include "tasks/data_source.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <optional>

#include "core/hash.h"
#include "tasks/data/hub_cache.h"
#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

std::string Gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// `printf '{"a": 1}\n{"a": 2}\n' | zstd`.
const std::string kZstd(
    "\x28\xb5\x2f\xfd\x04\x58\x91\x00\x00\x7b\x22\x61\x22\x3a\x20\x31\x7d\x0a\x7b\x22\x61\x22\x3a"
    "\x20\x32\x7d\x0a\x3f\x86\x2e\x8f",
    31);

std::vector<int64_t> ValuesOfA(const RecordSet& set) {
  std::vector<int64_t> values;
  for (const Record& record : set.records) values.push_back(record.value->at("a").get<int64_t>());
  return values;
}

class DataSourceTest : public ::testing::Test {
 protected:
  RecordSet Read(const std::string& name, const std::string& content) {
    folder_.Write(name, content);
    return source_.Read(folder_.path() / name);
  }
  std::string ErrorOf(const std::string& name, const std::string& content) {
    try {
      Read(name, content);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData);
      return error.what();
    }
    return "accepted";
  }

  testing::TemporaryFolder folder_;
  DataSource source_{folder_.path()};
};

TEST_F(DataSourceTest, JsonLines) {
  const RecordSet set = Read("d/x.jsonl", "{\"a\": 1}\n\n{\"a\": 2}\r\n{\"a\": 3}");
  EXPECT_EQ(ValuesOfA(set), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(set.records[1].where, "d/x.jsonl:3");
  EXPECT_EQ(set.sha256, core::Sha256Hex("{\"a\": 1}\n\n{\"a\": 2}\r\n{\"a\": 3}"));
}

TEST_F(DataSourceTest, ByteOrderMark) {
  EXPECT_EQ(ValuesOfA(Read("x.jsonl", "\xEF\xBB\xBF{\"a\": 1}\n")), std::vector<int64_t>{1});
}

TEST_F(DataSourceTest, JsonListObjectAndLines) {
  const RecordSet list = Read("list.json", "[{\"a\": 1},\n {\"a\": 2}]");
  EXPECT_EQ(ValuesOfA(list), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(list.records[1].where, "list.json: record 1");
  EXPECT_EQ(ValuesOfA(Read("object.json", "{\n\"a\": 7\n}")), std::vector<int64_t>{7});
  EXPECT_EQ(ValuesOfA(Read("one.json", "{\"a\": 7}\n")), std::vector<int64_t>{7});
  EXPECT_EQ(ValuesOfA(Read("lines.json", "{\"a\": 1}\n{\"a\": 2}\n")),
            (std::vector<int64_t>{1, 2}));
}

TEST_F(DataSourceTest, Compressed) {
  const std::string text = "{\"a\": 1}\n{\"a\": 2}\n";
  EXPECT_EQ(ValuesOfA(Read("x.jsonl.gz", Gzip(text))), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(ValuesOfA(Read("two.jsonl.gz", Gzip("{\"a\": 1}\n") + Gzip("{\"a\": 2}\n"))),
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(ValuesOfA(Read("x.jsonl.zst", kZstd)), (std::vector<int64_t>{1, 2}));
  std::string large;
  for (int i = 0; i < 100000; ++i) large += "{\"a\": " + std::to_string(i) + "}\n";
  const RecordSet set = Read("large.jsonl.gz", Gzip(large));
  ASSERT_EQ(set.records.size(), 100000U);
  EXPECT_EQ(set.records.back().where, "large.jsonl.gz:100000");
  EXPECT_EQ(set.records.back().value->at("a"), 99999);
}

TEST_F(DataSourceTest, BrokenFiles) {
  const std::string packed = Gzip("{\"a\": 1}\n");
  EXPECT_EQ(ErrorOf("cut.jsonl.gz", packed.substr(0, packed.size() - 6)),
            "cut.jsonl.gz: the gzip stream ends early; fetch the file again");
  EXPECT_EQ(ErrorOf("not.jsonl.gz", "hello"),
            "not.jsonl.gz: not a valid gzip file (incorrect header check); fetch it again");
  EXPECT_EQ(ErrorOf("cut.jsonl.zst", kZstd.substr(0, 20)),
            "cut.jsonl.zst: the zstd stream ends early; fetch the file again");
  EXPECT_EQ(ErrorOf("not.jsonl.zst", "hello"),
            "not.jsonl.zst: not a valid zstd file (Unknown frame descriptor); fetch it again");
  EXPECT_EQ(ErrorOf("empty.jsonl", ""),
            "empty.jsonl: the file is empty, expected at least one record");
  EXPECT_EQ(ErrorOf("blank.json", " \n \n"),
            "blank.json: the file is empty, expected at least one record");
  EXPECT_EQ(ErrorOf("none.json", "[]"), "none.json: no record in the file, expected at least one");
  EXPECT_EQ(ErrorOf("latin.jsonl", "{\"a\": 1}\n{\"a\": \"\xE9\"}\n"),
            "latin.jsonl:2: not valid UTF-8 at byte 16 of the file");
  EXPECT_EQ(ErrorOf("table.csv", "a,b"),
            "table.csv: files ending in '.csv' can't be read here, expected .jsonl, .ndjson, .json "
            "(also .gz, .zst) or .parquet");
  EXPECT_TRUE(
      ErrorOf("bad.jsonl", "{\"a\": 1}\n{\"a\": \n").starts_with("bad.jsonl:2: not valid JSON: "));
}

TEST_F(DataSourceTest, CandidatesInOrderAndCompressed) {
  folder_.Write("b/x.jsonl", "{}");
  folder_.Write("c/x.jsonl.gz", "");
  EXPECT_EQ(source_.Find({"a/x.jsonl", "b/x.jsonl"}), folder_.path() / "b/x.jsonl");
  EXPECT_EQ(source_.Find({"c/x.jsonl"}), folder_.path() / "c/x.jsonl.gz");
  EXPECT_FALSE(source_.Find({"a/x.jsonl"}).has_value());
}

TEST_F(DataSourceTest, MissingDataSaysWhereItLooked) {
  try {
    source_.Require("piqa", {"piqa/valid.jsonl", "hub:baber/piqa:x*"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData);
    EXPECT_EQ(std::string(error.what()),
              "the data of piqa is missing in " + folder_.path().string() +
                  "; looked for piqa/valid.jsonl, hub:baber/piqa:x* ('hub:' means a Hugging Face "
                  "cache). `natsl-bench data fetch piqa --data DIR` gets it where it is published");
  }
  EXPECT_THROW(DataSource("/nonexistent").Require("piqa", {"piqa/valid.jsonl"}), Error);
}

TEST_F(DataSourceTest, HubCacheShardsOfTheMainRevision) {
  const std::string base = "hub/datasets--org--name/";
  folder_.Write(base + "refs/main", "r1");
  folder_.Write(base + "snapshots/r1/data/train-00001.jsonl", "{\"a\": 2}\n");
  folder_.Write(base + "snapshots/r1/data/train-00000.jsonl", "{\"a\": 1}\n");
  folder_.Write(base + "snapshots/r1/data/test.jsonl", "{\"a\": 9}\n");
  folder_.Write(base + "snapshots/r2/data/train-00000.jsonl", "{\"a\": 5}\n");
  const auto files = source_.FindAll({"name/train.jsonl", "hub:org/name:data/train-*"});
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(ValuesOfA(source_.Read(files)), (std::vector<int64_t>{1, 2}));
  // Without a main revision the last snapshot by name counts.
  std::filesystem::remove(folder_.path() / base / "refs/main");
  EXPECT_EQ(ValuesOfA(source_.Read(source_.FindAll({"hub:org/name:*/train*"}))),
            std::vector<int64_t>{5});
}

/// An environment variable as it was before, at the end.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~EnvironmentVariable() {
    if (old_) {
      ::setenv(name_, old_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST_F(DataSourceTest, AUsersHubCacheIsFoundByItself) {
  testing::TemporaryFolder user;
  user.Write("datasets--org--name/snapshots/r1/test.jsonl", "{\"a\": 1}\n");
  user.Write("hub/datasets--org--name/snapshots/r1/test.jsonl", "{\"a\": 2}\n");
  user.Write("huggingface/hub/datasets--org--name/snapshots/r1/test.jsonl", "{\"a\": 3}\n");
  const auto found = [&] { return source_.FindAll({"name/test.jsonl", "hub:org/name:test*"}); };
  {
    const EnvironmentVariable cache("HF_HUB_CACHE", user.path().string());
    ASSERT_EQ(found().size(), 1U);
    EXPECT_EQ(ValuesOfA(source_.Read(found())), std::vector<int64_t>{1});
    // The data folder comes first.
    folder_.Write("datasets--org--name/snapshots/r9/test.jsonl", "{\"a\": 9}\n");
    EXPECT_EQ(ValuesOfA(source_.Read(found())), std::vector<int64_t>{9});
    std::filesystem::remove_all(folder_.path() / "datasets--org--name");
  }
  {
    const EnvironmentVariable home("HF_HOME", user.path().string());
    EXPECT_EQ(ValuesOfA(source_.Read(found())), std::vector<int64_t>{2});
  }
  {
    const EnvironmentVariable cache("XDG_CACHE_HOME", user.path().string());
    EXPECT_EQ(ValuesOfA(source_.Read(found())), std::vector<int64_t>{3});
  }
}

TEST(GlobTest, Stars) {
  EXPECT_TRUE(MatchesGlob("train-0.parquet", "train-*.parquet"));
  EXPECT_TRUE(MatchesGlob("abc", "*"));
  EXPECT_TRUE(MatchesGlob("aXbXc", "a*b*c"));
  EXPECT_TRUE(MatchesGlob("", "*"));
  EXPECT_FALSE(MatchesGlob("validation", "train*"));
  EXPECT_FALSE(MatchesGlob("ab", "a*bc"));
}

}  // namespace
}  // namespace natsl::tasks
