// JSON at the edges: where errors point, Python's dialect, Python's output format.
#include "core/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace natsl::core {
namespace {

std::string MessageOf(const auto& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Json, NamesFieldValueAndExpectation) {
  const Json value = ParseJson(R"({"label": "two"})", "f.jsonl:3", ErrorCode::kData);
  const JsonObject object(value, "f.jsonl:3", ErrorCode::kData);
  EXPECT_EQ(MessageOf([&] { object.Int("label"); }),
            "f.jsonl:3: \"label\" is \"two\" (string), expected an integer");
  EXPECT_EQ(MessageOf([&] { object.String("goal"); }), "f.jsonl:3: the field \"goal\" is missing");
}

TEST(Json, RefusesDepthDuplicatesAndBadText) {
  const std::string deep(200, '[');
  EXPECT_NE(MessageOf([&] { ParseJson(deep, "x", ErrorCode::kData); }).find("deeper than 128"),
            std::string::npos);
  JsonOptions unique;
  unique.unique_keys = true;
  EXPECT_NE(MessageOf([&] {
              ParseJson(R"({"a":1,"a":2})", "x", ErrorCode::kData, unique);
            }).find("twice"),
            std::string::npos);
  EXPECT_NE(MessageOf([&] { ParseJson("\"\xff\"", "x", ErrorCode::kData); }).find("UTF-8"),
            std::string::npos);
  const std::string hidden("{}\0 {", 5);
  EXPECT_EQ(MessageOf([&] { ParseJson(hidden, "x", ErrorCode::kData); }),
            "x: not valid JSON: a NUL at byte 2");
}

TEST(Json, ReadsPythonNumbersOutsideStringsOnly) {
  JsonOptions python;
  python.python_numbers = true;
  const Json value = ParseJson(R"({"limit": [0.0, Infinity], "s": "NaN \" Infinity"})", "x",
                               ErrorCode::kModel, python);
  EXPECT_TRUE(std::isinf(value["limit"][1].get<double>()));
  EXPECT_EQ(value["s"].get<std::string>(), "NaN \" Infinity");
}

TEST(Json, WritesAsPythonDoes) {
  const Json value =
      ParseJson(R"({"a": [1, 2.0, 1e-7, 1e16, "é"], "b": {}, "c": []})", "x", ErrorCode::kData);
  EXPECT_EQ(PythonJson(value), "{\"a\": [1, 2.0, 1e-07, 1e+16, \"é\"], \"b\": {}, \"c\": []}");
  EXPECT_EQ(PythonJson(Json::parse(R"({"a":[1]})"), 2), "{\n  \"a\": [\n    1\n  ]\n}");
}

}  // namespace
}  // namespace natsl::core
