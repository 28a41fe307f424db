// The recall prompts of the HazyResearch fork.
#include "tasks/generation/based_prompts.h"

#include <unicode/uchar.h>

#include "core/utf8.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks {
namespace {

/// str.strip of one character.
std::string_view Strip(std::string_view text, char c) {
  while (text.starts_with(c)) text.remove_prefix(1);
  while (text.ends_with(c)) text.remove_suffix(1);
  return text;
}

std::string_view StripSpace(std::string_view text) { return core::PythonStrip(text); }

/// First character in upper case, the rest unchanged.
std::string Capitalised(std::string_view text) {
  if (text.empty()) return "";
  size_t position = 0;
  const char32_t first = core::NextCodePoint(text, position);
  std::string out;
  core::AppendUtf8(out, static_cast<char32_t>(u_toupper(static_cast<UChar32>(first))));
  return out + std::string(text.substr(position));
}

/// As long as it ends with `suffix` in any case, without that many last characters.
std::string_view DropSuffix(std::string_view text, std::string_view suffix) {
  if (suffix.empty()) return text;
  const std::string lower = metrics::Lower(suffix);
  const int64_t length = core::CountCodePoints(suffix);
  while (metrics::Lower(text).ends_with(lower)) {
    for (int64_t i = 0; i < length && !text.empty(); ++i) {
      size_t start = text.size() - 1;
      while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
      text = text.substr(0, start);
    }
  }
  return text;
}

std::string WithFullStop(std::string_view text) {
  return std::string(text) + (text.ends_with('.') ? "" : ".");
}

std::string AskForKey(const BasedFields& fields, const std::string& document, bool twice) {
  const std::string key = Capitalised(fields.key);
  if (!twice) return document + " " + key + ":";
  return "Information about " + key + ". " + document + "\n" + document + " " + key + ":";
}

std::string AskQuestion(std::string_view context, const BasedFields& fields,
                        std::string_view first_question, bool twice) {
  const std::string question(StripSpace(fields.question));
  const std::string body(Strip(StripSpace(context), '.'));
  if (!twice) return body + ". " + question;
  const std::string document = std::string(StripSpace(body)) + ".";
  return std::string(first_question) + " " + document + "\n" + document + " " + question;
}

}  // namespace

std::string BasedSwdePrompt(const BasedFields& fields, bool twice) {
  std::string_view text = fields.context;
  text = text.substr(0, text.find("Summary of information above..."));
  text = DropSuffix(text, fields.key + ":");
  if (twice) {
    text = StripSpace(Strip(Strip(text, '\n'), '.'));
    return AskForKey(fields, WithFullStop(text), true);
  }
  text = StripSpace(Strip(StripSpace(Strip(text, '\n')), '\n'));
  return AskForKey(fields, std::string(Strip(text, '.')) + ".", false);
}

std::string BasedFdaPrompt(const BasedFields& fields, bool twice) {
  const std::string_view text = DropSuffix(fields.context, fields.key + ":");
  return AskForKey(fields, WithFullStop(Strip(Strip(text, '\n'), '.')), twice);
}

std::string BasedSquadPrompt(const BasedFields& fields, bool twice) {
  const std::string_view text = fields.context;
  const std::string single(StripSpace(text));
  if (!twice) return single;
  return fields.question + " " + std::string(text.substr(0, text.find("Question:"))) + "\n" +
         single;
}

std::string BasedNqPrompt(const BasedFields& fields, bool twice) {
  std::string_view context = StripSpace(fields.context);
  const std::string_view question = StripSpace(fields.question);
  if (twice) {
    context = DropSuffix(context, question);
  } else if (!question.empty() && context.ends_with(question)) {
    context.remove_suffix(question.size());
  }
  return AskQuestion(context, fields, Strip(fields.orig_question, ':'), twice);
}

std::string BasedDropPrompt(const BasedFields& fields, bool twice) {
  const std::string_view context =
      DropSuffix(StripSpace(fields.context), StripSpace(fields.question));
  return AskQuestion(context, fields, Strip(fields.orig_question, ':'), twice);
}

std::string BasedTriviaQaPrompt(const BasedFields& fields, bool twice) {
  std::string context(StripSpace(fields.context));
  for (const std::string_view mark : {"[PAR]", "[DOC]", "[TLE]"}) {
    for (size_t found = context.find(mark); found != std::string::npos;
         found = context.find(mark, found)) {
      context.erase(found, mark.size());
    }
  }
  const std::string_view rest = DropSuffix(context, StripSpace(fields.question));
  return AskQuestion(rest, fields, fields.orig_question, twice);
}

}  // namespace natsl::tasks
