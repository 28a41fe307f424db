// UTF-8 decoding, counting and stripping.
#include "core/utf8.h"

#include <gtest/gtest.h>

namespace natsl::core {
namespace {

TEST(Utf8, RoundTripsEveryPlane) {
  const std::u32string text = {U'a', 0x7FF, 0x800, 0xFFFD, 0x10000, 0x10FFFF};
  EXPECT_EQ(DecodeUtf8(EncodeUtf8(text)), text);
  EXPECT_EQ(CountCodePoints(EncodeUtf8(text)), 6);
}

TEST(Utf8, FindsMalformedSequences) {
  EXPECT_EQ(FindInvalidUtf8("ab\xC0\x80"), 2u);         // overlong
  EXPECT_EQ(FindInvalidUtf8("\xED\xA0\x80"), 0u);       // surrogate
  EXPECT_EQ(FindInvalidUtf8("x\xF4\x90\x80\x80"), 1u);  // above U+10FFFF
  EXPECT_EQ(FindInvalidUtf8("\xE2\x82"), 0u);           // cut
  EXPECT_TRUE(IsValidUtf8("\xE2\x82\xAC"));
  EXPECT_EQ(DecodeUtf8("\xE2\x82z"), (std::u32string{0xFFFD, U'z'}));
}

TEST(Utf8, StripsPythonWhiteSpaceOnly) {
  EXPECT_EQ(PythonStrip("\u3000 a\u200b\x1f\u2029"), "a\u200b");
  EXPECT_EQ(PythonStrip(" \t"), "");
  EXPECT_EQ(PythonRstrip("a \n"), "a");
  EXPECT_EQ(PythonLstrip("\u00a0a "), "a ");
}

}  // namespace
}  // namespace natsl::core
