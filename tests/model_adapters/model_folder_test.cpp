// The boundary of a model folder: nothing that its files name is read outside of it.
#include "model_adapters/model_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"
#include "model_adapters/tokenizer.h"

namespace natsl::model_adapters {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kTokenizer = R"({"version": "1.0",
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";

class ModelFolderTest : public ::testing::Test {
 protected:
  ModelFolderTest() {
    std::string name = (fs::path(testing::TempDir()) / "natsl-folder-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    model_ = root_ / "model";
    fs::create_directories(model_);
  }
  ~ModelFolderTest() override { fs::remove_all(root_); }

  void Write(const fs::path& file, const std::string& content) const {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  std::string TokenizerError(const fs::path& folder) const {
    try {
      OpenTokenizer(folder);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kModel);
      return error.what();
    }
    return "";
  }

  fs::path root_, model_;
};

TEST_F(ModelFolderTest, NamesWithAPathAreNoFilesOfIt) {
  for (const char* name : {"", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b"}) {
    EXPECT_THROW(FileInFolder(model_, name), Error) << name;
  }
  EXPECT_EQ(FileInFolder(model_, "missing.json"), model_ / "missing.json");
}

TEST_F(ModelFolderTest, TokenizerFilesThatLeadOutAreRefused) {
  Write(root_ / "outside", kTokenizer);
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model"}) {
    fs::create_symlink(root_ / "outside", model_ / name);
    EXPECT_THAT(TokenizerError(model_), HasSubstr("outside of the model's folder")) << name;
    fs::remove(model_ / name);
  }
  Write(model_ / "tokenizer.json", kTokenizer);
  Write(root_ / "outside", "{}");
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "config.json"}) {
    EXPECT_EQ(TokenizerError(model_), "");
    fs::create_symlink("../outside", model_ / name);
    EXPECT_THAT(TokenizerError(model_), HasSubstr("outside of the model's folder")) << name;
    fs::remove(model_ / name);
  }
}

TEST_F(ModelFolderTest, FieldsThatNameFilesElsewhereAreNotFollowed) {
  Write(root_ / "outside.json", "not a tokenizer");
  Write(model_ / "tokenizer.json", kTokenizer);
  Write(model_ / "tokenizer_config.json",
        R"({"tokenizer_file": "../outside.json", "vocab_file": "../outside.json",
            "name_or_path": "/etc", "auto_map": {"AutoTokenizer": ["evil.Evil", null]},
            "chat_template": "{% include '/etc/passwd' %}"})");
  EXPECT_EQ(TokenizerError(model_), "");
}

TEST_F(ModelFolderTest, TheHubsCacheMayLinkIntoItsBlobs) {
  const fs::path entry = root_ / "models--org--name";
  const fs::path snapshot = entry / "snapshots" / "revision";
  fs::create_directories(snapshot);
  Write(entry / "blobs" / "hash", kTokenizer);
  fs::create_symlink("../../blobs/hash", snapshot / "tokenizer.json");
  EXPECT_EQ(TokenizerError(snapshot), "");
  // Also where the folder itself is reached by a link.
  fs::create_directory_symlink(snapshot, root_ / "link");
  EXPECT_EQ(TokenizerError(root_ / "link"), "");
  Write(root_ / "models--other--name" / "blobs" / "hash", kTokenizer);
  fs::remove(snapshot / "tokenizer.json");
  fs::create_symlink("../../../models--other--name/blobs/hash", snapshot / "tokenizer.json");
  EXPECT_THAT(TokenizerError(snapshot), HasSubstr("outside of the model's folder"));
}

}  // namespace
}  // namespace natsl::model_adapters
