// Well-formed and malformed safetensors headers.
#include "model_adapters/safetensors/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/model_adapters/safetensors/test_files.h"

namespace natsl::model_adapters {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Two tensors and metadata: 24 bytes of data.
std::string ValidFile() {
  return FileBytes(R"({"__metadata__":{"format":"pt"},)"
                   R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                   R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[16,24]}})",
                   "0123456789abcdefghijklmn");
}

/// The error's text; "" where the file is accepted.
std::string HeaderError(const std::string& file) {
  try {
    ParseSafetensors(AsBytes(file), "x.safetensors");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    return error.what();
  }
}

TEST(SafetensorsHeader, ReadsNamesShapesAndData) {
  const std::string file = ValidFile();
  const SafetensorsHeader header = ParseSafetensors(AsBytes(file), "x");
  ASSERT_EQ(header.tensors.size(), 2u);
  const TensorView& a = header.tensors.at("a");
  EXPECT_EQ(a.dtype, core::DType::kFloat32);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(a.bytes, 16);
  EXPECT_EQ(std::memcmp(a.data, "0123456789abcdef", 16), 0);
  const TensorView& b = header.tensors.at("b");
  EXPECT_EQ(b.dtype, core::DType::kBFloat16);
  EXPECT_EQ(b.elements(), 4);
  EXPECT_EQ(std::memcmp(b.data, "ghijklmn", 8), 0);
  EXPECT_EQ(header.metadata.at("format"), "pt");
}

TEST(SafetensorsHeader, AcceptsWhatTheFormatAllows) {
  EXPECT_EQ(HeaderError(FileBytes("{}", "")), "");
  // A scalar, an empty tensor, an element type that no kernel reads, offsets out of order.
  EXPECT_EQ(HeaderError(FileBytes(R"({"s":{"dtype":"I64","shape":[],"data_offsets":[8,16]},)"
                                  R"("e":{"dtype":"F32","shape":[0,3],"data_offsets":[8,8]},)"
                                  R"("u":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
                                  std::string(16, 'x'))),
            "");
  const std::string file =
      FileBytes(R"({"u":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", "01234567");
  const SafetensorsHeader header = ParseSafetensors(AsBytes(file), "x");
  EXPECT_EQ(header.tensors.at("u").dtype, std::nullopt);
  EXPECT_EQ(header.tensors.at("u").dtype_name, "U8");
}

struct BadHeader {
  const char* header;
  const char* expected;
};
/// Each over 8 bytes of data.
const BadHeader kBadHeaders[] = {
    {"", "doesn't start with '{'"},
    {"[]", "doesn't start with '{'"},
    {"\"text\"", "doesn't start with '{'"},
    {" {}", "doesn't start with '{'"},
    {"null", "doesn't start with '{'"},
    {"{", "not valid JSON"},
    {"{}", "8 bytes of data follow the header, but its tensors hold 0"},
    {"{} {}", "not valid JSON"},
    {"{,}", "not valid JSON"},
    {"{\"a\":}", "not valid JSON"},
    {"{'a':1}", "not valid JSON"},
    {"{\"a\xff\":{}}", "not valid JSON"},
    {"{\"\xed\xa0\x80\":{}}", "not valid JSON"},
    {"{\"a\":NaN}", "not valid JSON"},
    {"{\"a\":null}", "\"a\" is null, expected an object"},
    {"{\"a\":true}", "\"a\" is true or false, expected an object"},
    {"{\"a\":1}", "\"a\" is the number 1, expected an object"},
    {"{\"a\":-1}", "\"a\" is the number -1, expected an object"},
    {"{\"a\":1.5}", "\"a\" is the number 1.5, expected an object"},
    {"{\"a\":\"F32\"}", "\"a\" is the text \"F32\", expected an object"},
    {"{\"a\":[]}", "\"a\" is a list, expected an object"},
    {"{\"a\":{}}", "tensor \"a\": \"dtype\" is missing"},
    {R"({"a":{"dtype":"F32"}})", "\"shape\" is missing"},
    {R"({"a":{"dtype":"F32","shape":[2]}})", "\"data_offsets\" is missing"},
    {R"({"a":{"shape":[2],"data_offsets":[0,8]}})", "\"dtype\" is missing"},
    {R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", "\"shape\" is missing"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", "unknown field \"x\""},
    {R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
     "\"dtype\" is given twice"},
    {R"({"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})",
     "\"shape\" is given twice"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"data_offsets":[0,8]}})",
     "\"data_offsets\" is given twice"},
    {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
     R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
     "tensor \"a\" is given twice"},
    {R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", "unknown dtype \"F33\""},
    {R"({"a":{"dtype":"f32","shape":[2],"data_offsets":[0,8]}})", "unknown dtype \"f32\""},
    {R"({"a":{"dtype":"","shape":[2],"data_offsets":[0,8]}})", "unknown dtype \"\""},
    {R"({"a":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", "in \"dtype\", expected a text"},
    {R"({"a":{"dtype":null,"shape":[2],"data_offsets":[0,8]}})", "in \"dtype\", expected a text"},
    {R"({"a":{"dtype":["F32"],"shape":[2],"data_offsets":[0,8]}})",
     "a list in \"dtype\", expected a text"},
    {R"({"a":{"dtype":{},"shape":[2],"data_offsets":[0,8]}})", "an object in \"dtype\""},
    {R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", "in \"shape\", expected a list"},
    {R"({"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", "in \"shape\", expected a list"},
    {R"({"a":{"dtype":"F32","shape":null,"data_offsets":[0,8]}})", "in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":{},"data_offsets":[0,8]}})", "in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", "a list in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})", "in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "the number 2.0 in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "the number -2 in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":[true],"data_offsets":[0,8]}})", "in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":[{}],"data_offsets":[0,8]}})", "in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":[1e1],"data_offsets":[0,8]}})", "in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})",
     "not below 2^63"},
    {R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]}})",
     "in \"shape\""},
    {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
     "overflows 64 bits"},
    {R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8]}})",
     "overflows 64 bits"},
    {R"({"a":{"dtype":"F64","shape":[2305843009213693953],"data_offsets":[0,8]}})",
     "overflows 64 bits"},
    {R"({"a":{"dtype":"F32","shape":[9223372036854775807,0],"data_offsets":[0,8]}})",
     "overflows 64 bits"},
    {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,)"
     R"(1,1,1],"data_offsets":[0,8]}})",
     "more than 32 numbers"},
    {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
     "F32 [3] needs 12 bytes, but data_offsets 0..8 hold 8"},
    {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,8]}})", "needs 4 bytes"},
    {R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}})", "needs 4 bytes"},
    {R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}})", "needs 16 bytes"},
    {R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,8]}})", "needs 0 bytes"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[]}})", "holds 0 numbers"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8]}})", "holds 1 numbers"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", "holds 3 numbers"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":8}})", "in \"data_offsets\""},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,"8"]}})", "in \"data_offsets\""},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", "the number -8"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "data_offsets 8..0 are outside"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})", "are outside"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
     "data_offsets 8..16 are outside of the file's 8 data bytes"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[9223372036854775800,9223372036854775807]}})",
     "are outside"},
    {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
     "8 bytes of data follow the header, but its tensors hold 4"},
    {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "a hole in the file"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
     R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
     "tensor \"b\": its data starts at 0, expected 8 (it overlaps another tensor)"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
     R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
     "it overlaps another tensor"},
    {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
     R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]},)"
     R"("c":{"dtype":"U8","shape":[3],"data_offsets":[5,8]}})",
     "not a multiple of its element's 4 bytes"},
    {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
     R"("c":{"dtype":"U8","shape":[6],"data_offsets":[2,8]}})",
     "tensor \"c\": its data starts at 2, expected 1 (a hole in the file)"},
    {R"({"__metadata__":[],"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
     "\"__metadata__\" is a list, expected an object"},
    {R"({"__metadata__":1})", "\"__metadata__\" is the number 1"},
    {R"({"__metadata__":{"x":1}})", "\"x\" is the number 1, expected a text"},
    {R"({"__metadata__":{"x":{}}})", "\"x\" is an object, expected a text"},
    {R"({"__metadata__":{"x":[]}})", "\"x\" is a list, expected a text"},
    {R"({"__metadata__":{"x":null}})", "\"x\" is null, expected a text"},
    {R"({"__metadata__":{"x":"1","x":"2"}})", "\"x\" is given twice"},
    {R"({"__metadata__":{},"__metadata__":{}})", "\"__metadata__\" is given twice"},
};

TEST(SafetensorsHeader, RefusesEveryMalformedHeaderByName) {
  for (const BadHeader& bad : kBadHeaders) {
    SCOPED_TRACE(bad.header);
    const std::string text = HeaderError(FileBytes(bad.header, "01234567"));
    EXPECT_THAT(text, StartsWith("x.safetensors: "));
    EXPECT_THAT(text, HasSubstr(bad.expected));
  }
}

TEST(SafetensorsHeader, RefusesHostileLengthsAndDepths) {
  EXPECT_THAT(HeaderError(""), HasSubstr("0 bytes, too short"));
  EXPECT_THAT(HeaderError("1234567"), HasSubstr("7 bytes, too short"));
  const auto with_length = [](uint64_t length) {
    std::string file = ValidFile();
    std::memcpy(file.data(), &length, 8);
    return HeaderError(file);
  };
  EXPECT_THAT(with_length(1000), HasSubstr("length is 1000 bytes, but only"));
  EXPECT_THAT(with_length(100'000'001), HasSubstr("expected at most 100000000"));
  EXPECT_THAT(with_length(~uint64_t{0}), HasSubstr("expected at most 100000000"));
  EXPECT_THAT(with_length(uint64_t{1} << 63), HasSubstr("expected at most 100000000"));
  EXPECT_THAT(with_length(0), HasSubstr("doesn't start with '{'"));

  std::string deep = "{\"a\":";
  for (int i = 0; i < 200'000; ++i) deep += "{\"a\":";
  EXPECT_THAT(HeaderError(FileBytes(deep, "")), HasSubstr("unknown field \"a\""));
  const std::string lists = "{\"a\":" + std::string(1'000'000, '[');
  EXPECT_THAT(HeaderError(FileBytes(lists, "")), HasSubstr("\"a\" is a list"));
  const std::string hidden = std::string("{}") + '\0' + "{";
  EXPECT_THAT(HeaderError(FileBytes(hidden, "")), HasSubstr("a NUL at byte 2 of it"));
}

TEST(SafetensorsHeader, LongNamesAreShortenedInErrors) {
  const std::string name(100'000, 'n');
  const std::string text = HeaderError(FileBytes("{\"" + name + "\":{}}", ""));
  EXPECT_THAT(text, HasSubstr("nnn..."));
  EXPECT_LT(text.size(), 300u);
}

TEST(SafetensorsHeader, ManyTensorsAreReadInReasonableTime) {
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    if (i > 0) header += ',';
    header += "\"t" + std::to_string(i) + "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[" +
              std::to_string(i) + "," + std::to_string(i + 1) + "]}";
  }
  const std::string file = FileBytes(header + "}", std::string(100'000, 'x'));
  EXPECT_EQ(ParseSafetensors(AsBytes(file), "x").tensors.size(), 100'000u);
}

TEST(SafetensorsHeader, EveryTruncationIsAnError) {
  const std::string file = ValidFile();
  for (size_t size = 0; size < file.size(); ++size) {
    SCOPED_TRACE(size);
    EXPECT_NE(HeaderError(file.substr(0, size)), "");
  }
}

TEST(SafetensorsHeader, EveryAppendedByteIsAnError) {
  EXPECT_THAT(HeaderError(ValidFile() + "x"), HasSubstr("25 bytes of data follow"));
}

TEST(SafetensorsHeader, FlippedBytesAreAnErrorOrAnotherValidFile) {
  const std::string file = ValidFile();
  const size_t header_end = file.size() - 24;
  int errors = 0;
  for (size_t i = 0; i < header_end; ++i) {
    for (const int mask : {0x01, 0x02, 0x10, 0x20, 0x80, 0xFF}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ mask);
      errors += !HeaderError(changed).empty();
    }
  }
  // Only letters of names and metadata may change without harm.
  EXPECT_GT(errors, static_cast<int>(header_end) * 4);
}

}  // namespace
}  // namespace natsl::model_adapters
