// A self-contained HTML page: no network, readable on a phone, light and dark, sortable tables,
// printable. The same calls give the same bytes. What a report says is elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::reports {

/// Text for HTML and XML, in content and quoted attributes: & < > " ' as entities; bytes that
/// aren't UTF-8 and control characters other than tab and newline as U+FFFD.
std::string EscapeHtml(std::string_view text);

/// A text that stands in a table. `sort`: the number it sorts by where the text itself isn't one
/// ("1.2 ms", "32k"). `html`: `text` is markup already.
struct HtmlCell {
  HtmlCell(std::string text_in) : text(std::move(text_in)) {}  // NOLINT: a text is a cell
  HtmlCell(const char* text_in) : text(text_in) {}             // NOLINT
  HtmlCell(std::string text_in, std::optional<double> sort_in, std::string style_in = "")
      : text(std::move(text_in)), sort(sort_in), style(std::move(style_in)) {}

  std::string text;
  std::optional<double> sort;
  std::string style;  ///< "good", "bad", "warn", "quiet", "code" or ""
  std::string tip;    ///< shown on hover
  bool html = false;
};

struct HtmlColumn {
  HtmlColumn(std::string title_in, bool numeric_in = false, std::string tip_in = "")  // NOLINT
      : title(std::move(title_in)), numeric(numeric_in), tip(std::move(tip_in)) {}
  HtmlColumn(const char* title_in) : title(title_in) {}  // NOLINT

  std::string title;
  bool numeric = false;  ///< to the right, sorted as numbers
  std::string tip;
};

struct HtmlTable {
  std::vector<HtmlColumn> columns;
  std::vector<std::vector<HtmlCell>> rows;  ///< each as long as `columns`
  std::string caption;
  bool sortable = true;
  /// A box above the table that keeps the rows that contain what is typed.
  bool filter = false;
};

/// A table that scrolls sideways in its own box on a narrow screen.
std::string RenderHtml(const HtmlTable& table);

enum class NoteKind { kInfo, kGood, kWarning, kBad };

/// The page, from top to bottom.
class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}

  /// A section with a heading of level 2, also listed in the page's contents.
  void Section(std::string_view heading);
  void Subheading(std::string_view heading);
  void Paragraph(std::string_view text);
  void List(const std::vector<std::string>& items);
  /// A framed line; warnings and failures belong on top.
  void Note(NoteKind kind, std::string_view text);
  void Table(const HtmlTable& table) { Raw(RenderHtml(table)); }
  /// Big numbers side by side: {label, value}.
  void Figures(const std::vector<std::pair<std::string, std::string>>& figures);
  /// SVG plots, two abreast where there is room. Empty ones are left out.
  void Plots(const std::vector<std::string>& svgs);
  void Preformatted(std::string_view text);
  /// Folded content: `html` is markup already.
  void Details(std::string_view summary, std::string_view html);
  /// Markup that is right already.
  void Raw(std::string_view html) { body_.append(html).append("\n"); }

  /// The whole document. `footer`: one line of text.
  std::string Render(std::string_view footer) const;

 private:
  std::string title_;
  std::string body_;
  std::vector<std::string> sections_;
};

}  // namespace natsl::reports
