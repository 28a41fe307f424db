// Python's string methods and regular-expression classes on UTF-8 text, where the reference's
// scores depend on them. All inputs are valid UTF-8; positions and lengths are in code points.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks::metrics {

/// str.lower(): full mapping, final sigma included, no locale.
std::string Lower(std::string_view text);

/// string.punctuation: the 32 ASCII punctuation characters.
bool IsAsciiPunctuation(char32_t code_point);
std::string RemoveAsciiPunctuation(std::string_view text);
std::string RemoveAsciiDigits(std::string_view text);

/// The class \w (str.isalnum or "_") and \d (str.isdecimal).
bool IsWordCharacter(char32_t code_point);
bool IsDecimalDigit(char32_t code_point);

/// str.split(): runs of white space separate; no empty pieces.
std::vector<std::string> SplitWords(std::string_view text);
/// str.split(separator), one character: empty pieces are kept.
std::vector<std::string> SplitOn(std::string_view text, char separator);
/// " ".join(text.split()).
std::string CollapseWhitespace(std::string_view text);

/// re.sub(r"\b(a|an|the)\b", " ", text).
std::string ReplaceArticles(std::string_view text);
/// lower, remove punctuation, replace articles, collapse white space: the normal form of SQuAD and
/// of LongBench's English answers.
std::string NormalizeAnswer(std::string_view text);

/// re.findall(r"\d+", text).
std::vector<std::string> DigitRuns(std::string_view text);

/// re.search(re.escape(needle), text, re.IGNORECASE) is not None: simple case folding, character by
/// character, with the sets of characters that share an upper case.
bool ContainsIgnoringCase(std::string_view text, std::string_view needle);
/// The key under which two characters are equal for re.IGNORECASE.
char32_t IgnoreCaseKey(char32_t code_point);

/// float(text), nothing where Python raises ValueError.
std::optional<double> PythonFloat(std::string_view text);
/// str(value) of a float.
std::string PythonFloatText(double value);

/// repr(text) of a str, and str() of a list of them: ['a', "it's"].
std::string PythonRepr(std::string_view text);
std::string PythonRepr(const std::vector<std::string>& texts);

/// re.sub(pattern, "", text) for a list of patterns in Python's syntax (as far as ICU's engine
/// shares it), in order. Throws Error (data) on a pattern that can't be compiled.
class PatternRemover {
 public:
  explicit PatternRemover(const std::vector<std::string>& patterns);
  ~PatternRemover();
  PatternRemover(const PatternRemover&) = delete;
  PatternRemover& operator=(const PatternRemover&) = delete;

  /// Thread safe.
  std::string operator()(std::string_view text) const;

 private:
  struct Compiled;
  std::vector<Compiled> patterns_;
};

}  // namespace natsl::tasks::metrics
