// What an error may show of the text that it quotes.
#include "core/standard_streams.h"

#include <gtest/gtest.h>

namespace natsl::core {
namespace {

TEST(Printable, PlainTextAndListsStay) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("a — ünï \U0001F600\xC2\xA0"), "a — ünï \U0001F600\xC2\xA0");
  EXPECT_EQ(Printable("two problems:\n  a\n  b"), "two problems:\n  a\n  b");
}

TEST(Printable, NothingSteersATerminalOrFakesALine) {
  EXPECT_EQ(Printable("\x1B[2Jx\r\x07\x7F\ty"), "\\x1b[2Jx\\x0d\\x07\\x7f\\x09y");
  EXPECT_EQ(Printable("a\nnatsl-bench: done\n"), "a\\nnatsl-bench: done\\n");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "\\xc2\\x9b31m");  // a control sequence of 8 bits
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("\xFF\xE2\x82z\xEF\xBF\xBD"), "\\xff\\xe2\\x82z\xEF\xBF\xBD");
}

}  // namespace
}  // namespace natsl::core
