// The page's shell: escaping, tables, determinism, nothing fetched.
#include "reports/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace natsl::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HtmlPage, EscapesWhatIsMarkup) {
  EXPECT_EQ(EscapeHtml("<a href='x'>&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;");
  EXPECT_EQ(EscapeHtml("é\t\n"), "é\t\n");
  EXPECT_EQ(EscapeHtml("a\xff"
                       "b\x01"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(HtmlPage, ATableCarriesSortKeysAndEscapesCells) {
  HtmlTable table;
  table.columns = {"Point", {"Time", true}};
  table.rows = {{"pp<512>", HtmlCell("1.2 ms", 0.0012, "bad")}};
  const std::string html = RenderHtml(table);
  EXPECT_THAT(html, HasSubstr("<td>pp&lt;512&gt;</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n bad\" data-sort=\"0.0012\">1.2 ms</td>"));
  EXPECT_THAT(html, HasSubstr("<table class=\"sortable\">"));
  table.sortable = false;
  EXPECT_THAT(RenderHtml(table), Not(HasSubstr("<button")));
}

TEST(HtmlPage, IsOneFileThatFetchesNothing) {
  const auto render = [] {
    HtmlPage page("<Report>");
    page.Section("First");
    page.Note(NoteKind::kBad, "failed: <x>");
    page.Section("Second");
    page.Figures({{"label", "1 < 2"}});
    return page.Render("made by the test");
  };
  const std::string html = render();
  EXPECT_EQ(html, render());
  EXPECT_THAT(html, HasSubstr("<title>&lt;Report&gt;</title>"));
  EXPECT_THAT(html, HasSubstr("<a href=\"#s2\">Second</a>"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(html, HasSubstr("<b>1 &lt; 2</b>"));
  for (const char* wanted : {"http://", "https://", "src=", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(wanted)));
  }
}

}  // namespace
}  // namespace natsl::reports
