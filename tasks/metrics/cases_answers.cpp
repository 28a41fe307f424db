// Cases of the metrics on answers: contains, exact match, SQuAD, DROP, choices, RULER, jieba.
#include <optional>

#include "core/error.h"
#include "core/utf8.h"
#include "tasks/metrics/cases.h"
#include "tasks/metrics/chinese_segmenter.h"
#include "tasks/metrics/contains.h"
#include "tasks/metrics/drop.h"
#include "tasks/metrics/exact_match.h"
#include "tasks/metrics/multiple_choice.h"
#include "tasks/metrics/ruler.h"
#include "tasks/metrics/squad.h"

namespace natsl::tasks::metrics {
namespace {

bool Flag(const Json& sample, const char* name) {
  const Json& value = Extra(sample, name);
  return value.is_boolean() && value.get<bool>();
}

/// A text, or a list of texts.
std::vector<std::string> TextOrTexts(const Json& value, const char* what) {
  if (value.is_string()) return {value.get<std::string>()};
  return AsTexts(value, what);
}

DropAnswerFields AnswerOf(const Json& object) {
  DropAnswerFields answer;
  answer.number = AsText(Field(object, "number"), "number");
  answer.spans = AsTexts(Field(object, "spans"), "spans");
  if (answer.number.empty() && answer.spans.empty()) {
    const Json& date = Field(object, "date");
    answer.day = AsText(Field(date, "day"), "date.day");
    answer.month = AsText(Field(date, "month"), "date.month");
    answer.year = AsText(Field(date, "year"), "date.year");
  }
  return answer;
}

Json DropJson(const DropScore& score) {
  return {{"em", NumberJson(score.em)}, {"f1", NumberJson(score.f1)}};
}

/// One gold index, several, or the text of a choice; an unknown one matches nothing.
std::vector<int64_t> GoldIndices(const Json& gold, const std::vector<std::string>& choices) {
  std::vector<int64_t> golds;
  if (gold.is_number_integer()) {
    golds.push_back(gold.get<int64_t>());
  } else if (gold.is_array()) {
    golds = AsIntegers(gold, "gold");
  } else {
    const std::string text = AsText(gold, "gold");
    for (size_t i = 0; i < choices.size() && golds.empty(); ++i) {
      if (choices[i] == text) golds.push_back(static_cast<int64_t>(i));
    }
  }
  return golds;
}

}  // namespace

Json ContainsCase(const Json& sample) {
  const std::string prediction = Prediction(sample);
  const std::vector<std::string> references = References(sample);
  Json score;
  score["lmeval"] = references.empty() ? Json() : Json(ContainsStripped(prediction, references[0]));
  score["raw_max"] = ValueOrError([&] { return Json(ContainsAnyOf(prediction, references)); });
  return score;
}

Json NqOpenCase(const Json& sample) {
  const std::string filtered(core::PythonStrip(Prediction(sample)));
  return NqOpenExactMatch().AnyOf(filtered, References(sample));
}

Json TriviaQaCase(const Json& sample) {
  const std::string filtered(core::PythonStrip(Prediction(sample)));
  return TriviaQaExactMatch().AnyOf(filtered, References(sample));
}

Json ExactMatchCase(const Json& sample) {
  ExactMatchOptions options;
  const Json& patterns = Extra(sample, "regexes_to_ignore");
  if (!patterns.is_null()) options.regexes_to_ignore = AsTexts(patterns, "regexes_to_ignore");
  options.ignore_case = Flag(sample, "ignore_case");
  options.ignore_punctuation = Flag(sample, "ignore_punctuation");
  options.ignore_numbers = Flag(sample, "ignore_numbers");
  const auto predictions = AsTexts(Field(sample, "prediction"), "prediction");
  return NumberJson(ExactMatch(options).Mean(predictions, References(sample)));
}

Json SquadV1Case(const Json& sample) {
  const ExactF1 score = SquadV1(Prediction(sample), References(sample));
  return {{"exact_match", score.exact}, {"f1", score.f1}};
}

Json SquadV1DatasetCase(const Json& sample) {
  std::vector<std::optional<std::string>> predictions;
  for (const Json& value : Field(sample, "prediction")) {
    predictions.push_back(value.is_null() ? std::nullopt
                                          : std::optional(AsText(value, "prediction")));
  }
  const ExactF1 score =
      SquadV1Dataset(predictions, AsTextLists(Field(sample, "references"), "references"));
  return {{"exact_match", score.exact}, {"f1", score.f1}};
}

Json SquadV2Case(const Json& sample) {
  const ExactF1 score = SquadV2(Prediction(sample), References(sample));
  return {{"exact", score.exact}, {"f1", score.f1}};
}

Json SquadV2DatasetCase(const Json& sample) {
  const auto predictions = AsTexts(Field(sample, "prediction"), "prediction");
  const auto references = AsTextLists(Field(sample, "references"), "references");
  const auto probabilities =
      AsNumbers(Extra(sample, "no_answer_probability"), "no_answer_probability");
  if (predictions.size() != references.size() || predictions.size() != probabilities.size()) {
    throw DataError("{} predictions, {} references, {} probabilities", predictions.size(),
                    references.size(), probabilities.size());
  }
  std::vector<SquadV2Item> items;
  for (size_t i = 0; i < predictions.size(); ++i) {
    items.push_back({predictions[i], references[i], probabilities[i]});
  }
  const SquadV2Summary summary = SquadV2Dataset(items);
  Json score = {{"exact", summary.all.exact}, {"f1", summary.all.f1}, {"total", summary.all.total}};
  const auto add = [&](const char* prefix, const std::optional<SquadV2Group>& group) {
    if (!group) return;
    score[std::string(prefix) + "_exact"] = group->exact;
    score[std::string(prefix) + "_f1"] = group->f1;
    score[std::string(prefix) + "_total"] = group->total;
  };
  add("HasAns", summary.has_answer);
  add("NoAns", summary.no_answer);
  score["best_exact"] = summary.best_exact;
  score["best_exact_thresh"] = summary.best_exact_threshold;
  score["best_f1"] = summary.best_f1;
  score["best_f1_thresh"] = summary.best_f1_threshold;
  return score;
}

Json DropNormalizeCase(const Json& sample) { return DropNormalize(Prediction(sample)); }

Json DropOfficialCase(const Json& sample) {
  return DropJson(
      DropOfficial(TextOrTexts(Field(sample, "prediction"), "prediction"), References(sample)));
}

Json DropHarnessCase(const Json& sample) {
  return DropJson(
      DropHarness(Prediction(sample), AsTextLists(Field(sample, "references"), "references")));
}

Json DropAnswersCase(const Json& sample) {
  std::vector<DropAnswerFields> candidates = {AnswerOf(Field(sample, "prediction"))};
  for (const Json& answer : Field(sample, "references")) candidates.push_back(AnswerOf(answer));
  return DistinctAnswers(candidates);
}

Json MultipleChoiceCase(const Json& sample) {
  std::vector<double> log_probs = AsNumbers(Field(sample, "prediction"), "prediction");
  const std::vector<std::string> choices = References(sample);
  std::vector<double> unconditional;
  if (Flag(sample, "mutual_info") && log_probs.size() == 2 * choices.size()) {
    const auto half = log_probs.begin() + static_cast<std::ptrdiff_t>(choices.size());
    unconditional.assign(half, log_probs.end());
    log_probs.erase(half, log_probs.end());
  }
  const auto greedy = Extra(sample, "is_greedy").get<std::vector<bool>>();
  const ChoiceScores scores = ScoreChoices(
      log_probs, greedy, choices, GoldIndices(Extra(sample, "gold"), choices), unconditional);
  Json score = {{"acc", scores.acc},
                {"acc_norm", scores.acc_norm},
                {"acc_bytes", scores.acc_bytes},
                {"exact_match", scores.exact_match}};
  if (scores.acc_mutual_info) score["acc_mutual_info"] = *scores.acc_mutual_info;
  return score;
}

Json RulerHarnessCase(const Json& sample) {
  const std::string prediction = RulerPostprocess(Prediction(sample));
  const std::vector<std::string> references = References(sample);
  const int64_t length = AsIntegers(Json::array({Extra(sample, "max_length")}), "max_length")[0];
  const Json share = ValueOrError([&] { return Json(RulerMatchShare(prediction, references)); });
  Json by_length = Json::object();
  if (share.is_object()) {
    by_length = share;
  } else {
    by_length["4096"] = -1.0;  // the harness's one default length; others keep its key at -1
    by_length[std::to_string(length)] = share;
  }
  // For one prediction, the harness's "part" is the same share, not NVIDIA's maximum.
  return {{"process_results", by_length}, {"process_results_part", by_length}};
}

Json RulerAggregateCase(const Json& sample) {
  return RulerAggregate(AsNumbers(Field(sample, "prediction"), "prediction"));
}

Json RulerNvidiaCase(const Json& sample) {
  std::vector<std::string> predictions;
  for (const std::string& raw : AsTexts(Field(sample, "prediction"), "prediction")) {
    predictions.push_back(RulerPostprocess(raw));
  }
  const auto references = AsTextLists(Field(sample, "references"), "references");
  Json score;
  score["string_match_all"] =
      ValueOrError([&] { return Json(RulerStringMatchAll(predictions, references)); });
  score["string_match_part"] =
      ValueOrError([&] { return Json(RulerStringMatchPart(predictions, references)); });
  score["nulls"] =
      std::to_string(RulerNulls(predictions)) + "/" + std::to_string(predictions.size());
  return score;
}

Json JiebaCase(const Json& sample) { return DefaultSegmenter().Cut(Prediction(sample)); }

}  // namespace natsl::tasks::metrics
