// Detokenising wikitext pages.
#include "tasks/metrics/wikitext.h"

#include "core/utf8.h"

namespace natsl::tasks::metrics {
namespace {

/// str.replace.
void Replace(std::string& text, std::string_view from, std::string_view to) {
  size_t found = text.find(from);
  if (found == std::string::npos) return;
  std::string out;
  out.reserve(text.size());
  size_t start = 0;
  for (; found != std::string::npos; found = text.find(from, start)) {
    out.append(text, start, found - start);
    out += to;
    start = found + from.size();
  }
  out.append(text, start, std::string::npos);
  text = std::move(out);
}

/// "open <spaces> inner <spaces> close" without the spaces, from each opener to the next closer.
void TrimInside(std::string& text, char open, char close) {
  std::string out;
  out.reserve(text.size());
  size_t start = 0;
  for (;;) {
    const size_t opener = text.find(open, start);
    if (opener == std::string::npos) break;
    const size_t closer = text.find(close, opener + 1);
    if (closer == std::string::npos) break;
    out.append(text, start, opener + 1 - start);
    out += core::PythonStrip(std::string_view(text).substr(opener + 1, closer - opener - 1));
    out += close;
    start = closer + 1;
  }
  out.append(text, start, std::string::npos);
  text = std::move(out);
}

/// /' [0-9]/ with literal slashes becomes the text "/'[0-9]/".
void ReplaceSlashDigit(std::string& text) {
  for (size_t found = text.find("/' "); found != std::string::npos;
       found = text.find("/' ", found + 1)) {
    if (found + 4 < text.size() && text[found + 3] >= '0' && text[found + 3] <= '9' &&
        text[found + 4] == '/') {
      text.replace(found, 5, "/'[0-9]/");
      found += 7;
    }
  }
}

}  // namespace

std::string WikitextDetokenize(std::string_view page) {
  std::string text(page);
  Replace(text, "s '", "s'");
  ReplaceSlashDigit(text);
  Replace(text, " @-@ ", "-");
  Replace(text, " @,@ ", ",");
  Replace(text, " @.@ ", ".");
  for (const char* mark : {" : ", " ; ", " . ", " ! ", " ? ", " , "}) Replace(text, mark, mark + 1);
  TrimInside(text, '(', ')');
  TrimInside(text, '[', ']');
  TrimInside(text, '{', '}');
  TrimInside(text, '"', '"');
  TrimInside(text, '\'', '\'');
  Replace(text, "= = = =", "====");
  Replace(text, "= = =", "===");
  Replace(text, "= =", "==");
  Replace(text, " \u00B0 ", "\u00B0");
  Replace(text, " \n", "\n");
  Replace(text, "\n ", "\n");
  Replace(text, " N ", " 1 ");
  Replace(text, " 's", "'s");
  return text;
}

int64_t WikitextWords(std::string_view page) {
  int64_t pieces = 1;
  bool inside = false;
  for (size_t position = 0; position < page.size();) {
    const bool space = core::IsPythonSpace(core::NextCodePoint(page, position));
    if (space && !inside) ++pieces;
    inside = space;
  }
  return pieces;
}

}  // namespace natsl::tasks::metrics
