#include "reports/html_page.h"

#include <fmt/format.h>

#include "core/check.h"
#include "core/utf8.h"

namespace natsl::reports {
namespace {

// Colours are variables, so that plots and text follow the reader's light or dark setting.
constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--quiet:#57606a;--line:#d0d7de;--band:#f4f6f8;
--link:#0550ae;--good:#116329;--warn:#8a5300;--bad:#b3261e;--good-bg:#e6f6ea;--warn-bg:#fff4dc;
--bad-bg:#fdeaea;--info-bg:#eaf3ff;--s0:#0b62c4;--s1:#c2510a;--s2:#0a8166;--s3:#a0349b;--s4:#8a6d00;
--s5:#c22a52;--s6:#4b57a8;--s7:#5d6b78}
@media (prefers-color-scheme:dark){:root{--bg:#14181d;--fg:#e4e8ec;--quiet:#9aa4af;--line:#3a424b;
--band:#1c2229;--link:#79b8ff;--good:#6fd58a;--warn:#f0b95a;--bad:#ff8a80;--good-bg:#14301d;
--warn-bg:#38290b;--bad-bg:#3d1a1a;--info-bg:#14263d;--s0:#6cb2ff;--s1:#ff9d5c;--s2:#4fd1b0;
--s3:#e58be0;--s4:#e0c14a;--s5:#ff8aa8;--s6:#a9b4ff;--s7:#aab6c2}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1rem 1.25rem 3rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
h3{font-size:1.05rem;margin:1.4rem 0 .4rem}
p,li{max-width:60rem;overflow-wrap:anywhere}
a{color:var(--link)}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.5rem 0 1rem;font-size:.95rem}
code,pre{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--band);padding:.7rem .9rem;overflow-x:auto;border-radius:6px;
white-space:pre-wrap;overflow-wrap:anywhere}
.table{overflow-x:auto;margin:.6rem 0 1rem;border:1px solid var(--line);border-radius:6px}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.5rem .6rem;color:var(--quiet)}
th,td{padding:.32rem .6rem;text-align:left;border-top:1px solid var(--line);vertical-align:top}
thead th{border-top:0;background:var(--band);white-space:nowrap;font-weight:600}
tbody tr:nth-child(even){background:var(--band)}
.n{text-align:right;white-space:nowrap}
td{white-space:nowrap}td.w{white-space:normal;min-width:30rem;overflow-wrap:anywhere}
th button{all:unset;cursor:pointer}th button:focus-visible{outline:2px solid var(--link)}
th button::after{content:" \2195";color:var(--quiet);font-weight:400}
th[aria-sort=ascending] button::after{content:" \2191";color:var(--fg)}
th[aria-sort=descending] button::after{content:" \2193";color:var(--fg)}
input.filter{margin:.4rem 0 0;padding:.35rem .6rem;width:min(22rem,100%);font:inherit;color:inherit;
background:var(--bg);border:1px solid var(--line);border-radius:6px}
.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad);font-weight:600}
.quiet{color:var(--quiet)}.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.note{border:1px solid var(--line);border-left-width:5px;border-radius:6px;padding:.5rem .8rem;
margin:.5rem 0;background:var(--info-bg);overflow-wrap:anywhere}
.note.good{background:var(--good-bg);border-color:var(--good);color:inherit}
.note.warn{background:var(--warn-bg);border-color:var(--warn);color:inherit}
.note.bad{background:var(--bad-bg);border-color:var(--bad);color:inherit;font-weight:400}
.figures{display:flex;flex-wrap:wrap;gap:.7rem;margin:.8rem 0}
.figures div{border:1px solid var(--line);border-radius:6px;padding:.45rem .8rem;min-width:8rem}
.figures b{display:block;font-size:1.2rem;line-height:1.3}.figures span{color:var(--quiet);
font-size:.88rem}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(27rem,100%),1fr));gap:1rem;
margin:.6rem 0}
.plots>*{min-width:0;border:1px solid var(--line);border-radius:6px;padding:.3rem}
svg.plot{display:block;width:100%;height:auto;max-width:46rem;margin:0 auto;color:var(--fg)}
details{margin:.6rem 0}summary{cursor:pointer}
footer{margin-top:2.5rem;color:var(--quiet);font-size:.88rem;overflow-wrap:anywhere}
@media (max-width:40rem){body{padding:.6rem .7rem 2rem;font-size:15px}h1{font-size:1.3rem}
th,td{padding:.3rem .45rem}td.w{min-width:22rem}svg.plot text{font-size:14px}}
@media print{:root{color-scheme:light}body{max-width:none;font-size:11pt}.table{overflow:visible;
border:0}nav,input.filter,th button::after{display:none}.plots>*,tr,.note{break-inside:avoid}
details:not([open])>*{display:block}}
)css";

// Sorting by a click on a header and filtering by typed text. Without script the page reads as is.
constexpr std::string_view kScript = R"js(
'use strict';
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.firstElementChild.addEventListener('click', () => {
    const down = head.getAttribute('aria-sort') === 'ascending';
    const numeric = head.classList.contains('n');
    const key = (row) => {
      const cell = row.cells[column];
      if (!numeric) return cell.textContent;
      const value = parseFloat(cell.dataset.sort ?? cell.textContent);
      return Number.isNaN(value) ? null : value;
    };
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = numeric ? a - b : a.localeCompare(b, 'en', {numeric: true});
      return down ? -order : order;
    });
    for (const [, row] of rows) body.append(row);
    heads.forEach((other) => other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  }));
}
for (const input of document.querySelectorAll('input.filter')) {
  const rows = input.nextElementSibling.querySelectorAll('tbody tr');
  input.addEventListener('input', () => {
    const wanted = input.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
)js";

std::string Attribute(std::string_view name, std::string_view value) {
  return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, EscapeHtml(value));
}

// "n": a number; "w": a long text that may wrap.
std::string Classes(bool numeric, bool wide, const std::string& style) {
  std::string classes = numeric ? "n" : wide ? "w" : "";
  if (!style.empty()) classes += (classes.empty() ? "" : " ") + style;
  return Attribute("class", classes);
}

bool IsWide(const HtmlCell& cell) {
  constexpr size_t kLongestLine = 44;
  return cell.html || core::DecodeUtf8(cell.text).size() > kLongestLine;
}

const char* ClassOf(NoteKind kind) {
  switch (kind) {
    case NoteKind::kInfo:
      return "note";
    case NoteKind::kGood:
      return "note good";
    case NoteKind::kWarning:
      return "note warn";
    case NoteKind::kBad:
      return "note bad";
  }
  return "note";
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : core::EncodeUtf8(core::DecodeUtf8(text))) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if ((c >= 0 && c < ' ' && c != '\t' && c != '\n') || c == 0x7f) {
          out += "\xEF\xBF\xBD";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string RenderHtml(const HtmlTable& table) {
  std::string out;
  if (table.filter) {
    out +=
        "<input class=\"filter\" type=\"search\" placeholder=\"Filter rows\" "
        "aria-label=\"Filter rows\">\n";
  }
  out +=
      fmt::format("<div class=\"table\"><table{}>\n", table.sortable ? " class=\"sortable\"" : "");
  if (!table.caption.empty()) out += "<caption>" + EscapeHtml(table.caption) + "</caption>\n";
  out += "<thead><tr>";
  for (const HtmlColumn& column : table.columns) {
    const std::string title = EscapeHtml(column.title);
    out += fmt::format("<th scope=\"col\"{}{}>", Classes(column.numeric, false, ""),
                       Attribute("title", column.tip));
    out += table.sortable ? "<button type=\"button\">" + title + "</button>" : title;
    out += "</th>";
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<HtmlCell>& row : table.rows) {
    NATSL_CHECK(row.size() == table.columns.size());
    out += "<tr>";
    for (size_t c = 0; c < row.size(); ++c) {
      const HtmlCell& cell = row[c];
      out += fmt::format(
          "<td{}{}{}>{}</td>", Classes(table.columns[c].numeric, IsWide(cell), cell.style),
          cell.sort ? fmt::format(" data-sort=\"{}\"", *cell.sort) : "",
          Attribute("title", cell.tip), cell.html ? cell.text : EscapeHtml(cell.text));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

void HtmlPage::Section(std::string_view heading) {
  sections_.emplace_back(heading);
  Raw(fmt::format("<h2 id=\"s{}\">{}</h2>", sections_.size(), EscapeHtml(heading)));
}

void HtmlPage::Subheading(std::string_view heading) { Raw("<h3>" + EscapeHtml(heading) + "</h3>"); }

void HtmlPage::Paragraph(std::string_view text) { Raw("<p>" + EscapeHtml(text) + "</p>"); }

void HtmlPage::List(const std::vector<std::string>& items) {
  std::string html = "<ul>";
  for (const std::string& item : items) html += "<li>" + EscapeHtml(item) + "</li>";
  Raw(html + "</ul>");
}

void HtmlPage::Note(NoteKind kind, std::string_view text) {
  Raw(fmt::format("<div class=\"{}\">{}</div>", ClassOf(kind), EscapeHtml(text)));
}

void HtmlPage::Figures(const std::vector<std::pair<std::string, std::string>>& figures) {
  std::string html = "<div class=\"figures\">";
  for (const auto& [label, value] : figures) {
    html +=
        fmt::format("<div><b>{}</b><span>{}</span></div>", EscapeHtml(value), EscapeHtml(label));
  }
  Raw(html + "</div>");
}

void HtmlPage::Plots(const std::vector<std::string>& svgs) {
  std::string html;
  for (const std::string& svg : svgs) {
    if (!svg.empty()) html += "<div>" + svg + "</div>\n";
  }
  if (!html.empty()) Raw("<div class=\"plots\">\n" + html + "</div>");
}

void HtmlPage::Preformatted(std::string_view text) { Raw("<pre>" + EscapeHtml(text) + "</pre>"); }

void HtmlPage::Details(std::string_view summary, std::string_view html) {
  Raw(fmt::format("<details><summary>{}</summary>\n{}</details>", EscapeHtml(summary), html));
}

std::string HtmlPage::Render(std::string_view footer) const {
  const std::string title = EscapeHtml(title_);
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  // Nothing may be fetched, whatever text of a model or a document ends up on the page.
  out +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += fmt::format("<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n", title,
                     kStyle, title);
  if (sections_.size() > 1) {
    out += "<nav>";
    for (size_t i = 0; i < sections_.size(); ++i) {
      out += fmt::format("<a href=\"#s{}\">{}</a>", i + 1, EscapeHtml(sections_[i]));
    }
    out += "</nav>\n";
  }
  out += body_;
  out += fmt::format("<footer>{}</footer>\n<script>{}</script>\n</body>\n</html>\n",
                     EscapeHtml(footer), kScript);
  return out;
}

}  // namespace natsl::reports
