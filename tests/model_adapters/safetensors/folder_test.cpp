// Writing, reading back, shards and what a model folder may not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "model_adapters/safetensors/index.h"
#include "model_adapters/safetensors/reader.h"
#include "model_adapters/safetensors/writer.h"
#include "tests/model_adapters/safetensors/test_files.h"

namespace natsl::model_adapters {
namespace {

using testing::HasSubstr;

std::string OneTensor(const std::string& name, float value) {
  SafetensorsWriter writer;
  writer.Add(name, {1}, std::span<const float>(&value, 1));
  return writer.Bytes();
}

template <typename Body>
std::string ErrorFrom(Body&& body) {
  try {
    body();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.what();
  }
}
std::string FolderError(const TemporaryFolder& folder) {
  return ErrorFrom([&] { SafetensorsFolder{folder.path()}; });
}

TEST(SafetensorsWriter, BytesAreTheFormatsAndReadBack) {
  const std::vector<float> a = {1.5f, -2};
  const std::vector<int64_t> ids = {7};
  const std::vector<uint16_t> half = {0x3F80, 0, 0x4000};
  SafetensorsWriter writer;
  writer.Add("h", core::DType::kBFloat16, {3}, std::as_bytes(std::span(half)));
  writer.Add("a", {2}, a);
  writer.Add("ids", {1}, ids);
  writer.SetMetadata("format", "pt");
  const std::string bytes = writer.Bytes();
  // Widest elements first, so that every tensor is aligned.
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                             R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                             R"("h":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}})";
  std::string data(22, '\0');
  std::memcpy(data.data(), ids.data(), 8);
  std::memcpy(data.data() + 8, a.data(), 8);
  std::memcpy(data.data() + 16, half.data(), 6);
  EXPECT_EQ(bytes, FileBytes(header, data));

  const TemporaryFolder folder("writer");
  writer.Write(folder.path() / "x.safetensors");
  const SafetensorsFile file(folder.path() / "x.safetensors");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.At("ids").dtype, core::DType::kInt64);
  EXPECT_EQ(std::memcmp(file.At("a").data, a.data(), 8), 0);
  EXPECT_THAT(ErrorFrom([&] { file.At("b"); }), HasSubstr("there is no tensor \"b\""));
}

TEST(SafetensorsWriter, OrderOfAddingDoesNotMatter) {
  const float x = 1, y = 2;
  SafetensorsWriter first, second;
  first.Add("x", {1}, std::span(&x, 1));
  first.Add("y", {1}, std::span(&y, 1));
  second.Add("y", {1}, std::span(&y, 1));
  second.Add("x", {1}, std::span(&x, 1));
  EXPECT_EQ(first.Bytes(), second.Bytes());
}

TEST(SafetensorsWriter, RefusesWhatItCouldNotReadBack) {
  const float x = 1;
  SafetensorsWriter writer;
  writer.Add("x", {1}, std::span(&x, 1));
  EXPECT_THROW(writer.Add("x", {1}, std::span(&x, 1)), Error);
  EXPECT_THROW(writer.Add("y", {2}, std::span(&x, 1)), Error);
  EXPECT_THROW(writer.Add("\xff", {1}, std::span(&x, 1)), Error);
  EXPECT_THROW(writer.Add("__metadata__", {1}, std::span(&x, 1)), Error);
}

TEST(SafetensorsFolder, ReadsOneFileOrShards) {
  const TemporaryFolder single("single");
  single.Write("model.safetensors", OneTensor("a", 1));
  EXPECT_EQ(SafetensorsFolder(single.path()).tensors().size(), 1u);

  const TemporaryFolder sharded("sharded");
  sharded.Write("model-00001-of-00002.safetensors", OneTensor("a", 1));
  sharded.Write("model-00002-of-00002.safetensors", OneTensor("b", 2));
  sharded.Write(
      "model.safetensors.index.json",
      R"({"metadata":{"total_size":8,"more":[1,{"weight_map":2}]},"weight_map":{)"
      R"("a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})");
  const SafetensorsFolder folder(sharded.path());
  ASSERT_EQ(folder.tensors().size(), 2u);
  float value = 0;
  std::memcpy(&value, folder.tensors().at("b")->data, 4);
  EXPECT_EQ(value, 2);
}

TEST(SafetensorsFolder, SaysWhatIsMissing) {
  const TemporaryFolder folder("missing");
  EXPECT_THAT(FolderError(folder), HasSubstr("neither model.safetensors nor"));
  EXPECT_THAT(ErrorFrom([&] { SafetensorsFolder{folder.path() / "none"}; }),
              HasSubstr("not a folder"));
  folder.Write("model.safetensors", "");
  EXPECT_THAT(FolderError(folder), HasSubstr("0 bytes, too short"));
}

TEST(SafetensorsFolder, IndexAndShardsMustAgree) {
  const auto error = [](const std::string& index) {
    const TemporaryFolder folder("index");
    folder.Write("s1", OneTensor("a", 1));
    folder.Write("s2", OneTensor("b", 1));
    folder.Write("s3", OneTensor("a", 1));
    folder.Write("model.safetensors.index.json", index);
    return FolderError(folder);
  };
  EXPECT_EQ(error(R"({"weight_map":{"a":"s1","b":"s2"}})"), "");
  EXPECT_THAT(error(R"({"weight_map":{"a":"s1","b":"s4"}})"), HasSubstr("shard \"s4\" is missing"));
  EXPECT_THAT(error(R"({"weight_map":{"a":"s1","b":"s3"}})"), HasSubstr("in two shards"));
  EXPECT_THAT(error(R"({"weight_map":{"a":"s1","b":"s1"}})"),
              HasSubstr("tensor \"b\" is in \"s1\", but it isn't"));
  EXPECT_THAT(error(R"({"weight_map":{"b":"s1"}})"), HasSubstr("index says nothing of it"));
  EXPECT_THAT(error(R"({"weight_map":{"a":"s2","b":"s1"}})"), HasSubstr("it is in \"s2\""));
}

TEST(SafetensorsFolder, MalformedIndicesAreErrors) {
  const struct {
    const char* text;
    const char* expected;
  } bad[] = {
      {"", "not valid JSON"},
      {"{", "not valid JSON"},
      {"{\"weight_map\":{\"\xff\":\"s\"}}", "not valid JSON"},
      {"[]", "isn't an object"},
      {"1", "isn't an object"},
      {"\"x\"", "isn't an object"},
      {"{}", "\"weight_map\" is missing or empty"},
      {R"({"weight_map":{}})", "\"weight_map\" is missing or empty"},
      {R"({"weight_map":null})", "\"weight_map\" isn't an object"},
      {R"({"weight_map":[]})", "isn't an object"},
      {R"({"weight_map":"x"})", "expected an object"},
      {R"({"weight_map":{"a":1}})", "\"a\" isn't a text"},
      {R"({"weight_map":{"a":null}})", "\"a\" isn't a text"},
      {R"({"weight_map":{"a":["s1"]}})", "\"a\" isn't a text"},
      {R"({"weight_map":{"a":{"b":"s1"}}})", "\"a\" isn't a text"},
      {R"({"weight_map":{"a":"s1","a":"s2"}})", "\"a\" is given twice"},
      {R"({"weight_map":{"a":"s1"},"weight_map":{"b":"s1"}})", "\"weight_map\" is given twice"},
  };
  for (const auto& [text, expected] : bad) {
    SCOPED_TRACE(text);
    EXPECT_THAT(ErrorFrom([&] { ParseShardIndex(text, "index"); }), HasSubstr(expected));
  }
  const std::string deep = "{\"x\":" + std::string(1'000'000, '[');
  EXPECT_THAT(ErrorFrom([&] { ParseShardIndex(deep, "index"); }), HasSubstr("nested deeper"));
  const std::string hidden = std::string(R"({"weight_map":{"a":"s1"}})") + '\0' + "x";
  EXPECT_THAT(ErrorFrom([&] { ParseShardIndex(hidden, "index"); }), HasSubstr("a NUL at byte 25"));
}

TEST(SafetensorsFolder, ReadsOnlyInsideItsFolder) {
  const TemporaryFolder outside("outside");
  outside.Write("secret", OneTensor("a", 1));
  const std::string path = (outside.path() / "secret").string();
  for (const std::string& name :
       {std::string("../secret"), path, std::string(".."), std::string("."), std::string("a/b"),
        std::string("a\\\\b"), std::string(""), std::string("a\\u0000b")}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder("inside");
    folder.Write("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"" + name + "\"}}");
    EXPECT_THAT(FolderError(folder), HasSubstr("is not the name of a file in this folder"));
  }
  const TemporaryFolder folder("links");
  std::filesystem::create_symlink(path, folder.path() / "model.safetensors");
  EXPECT_THAT(FolderError(folder), HasSubstr("outside of the model's folder"));
  std::filesystem::remove(folder.path() / "model.safetensors");
  // A link that stays inside, and the cache's layout, are fine.
  folder.Write("real", OneTensor("a", 1));
  std::filesystem::create_symlink("real", folder.path() / "model.safetensors");
  EXPECT_EQ(FolderError(folder), "");

  const TemporaryFolder cache("cache");
  std::filesystem::create_directories(cache.path() / "snapshots" / "rev");
  std::filesystem::create_directories(cache.path() / "blobs");
  cache.Write("blobs/hash", OneTensor("a", 1));
  cache.Write("other", OneTensor("a", 1));
  const std::filesystem::path snapshot = cache.path() / "snapshots" / "rev";
  std::filesystem::create_symlink("../../blobs/hash", snapshot / "model.safetensors");
  EXPECT_EQ(SafetensorsFolder(snapshot).tensors().size(), 1u);
  std::filesystem::remove(snapshot / "model.safetensors");
  std::filesystem::create_symlink("../../other", snapshot / "model.safetensors");
  EXPECT_THAT(ErrorFrom([&] { SafetensorsFolder{snapshot}; }), HasSubstr("outside of the model's"));
}

}  // namespace
}  // namespace natsl::model_adapters
