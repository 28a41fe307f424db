// The table of metrics.
#include "tasks/metrics/registry.h"

#include "core/error.h"
#include "tasks/metrics/cases.h"

namespace natsl::tasks::metrics {

const std::vector<MetricEntry>& Metrics() {
  static const std::vector<MetricEntry> table = {
      {"contains", "answer occurs in the generation, ignoring case", ContainsCase},
      {"drop_answers", "gold span lists of a DROP document", DropAnswersCase},
      {"drop_lmeval", "DROP em and f1 of lm-evaluation-harness", DropHarnessCase},
      {"drop_normalize", "DROP normal form of a span", DropNormalizeCase},
      {"drop_official", "DROP em and f1 of span lists", DropOfficialCase},
      {"jieba_cut", "Chinese word segmentation", JiebaCase},
      {"lmeval_bootstrap", "bootstrapped standard error of an aggregate", BootstrapCase},
      {"lmeval_exact_match", "exact_match of lists of texts", ExactMatchCase},
      {"lmeval_group", "aggregates and errors over tasks", GroupCase},
      {"lmeval_group_class", "result row of a group", GroupClassCase},
      {"lmeval_longbench", "LongBench metrics of lm-evaluation-harness", HarnessLongBenchCase},
      {"lmeval_mean_stderr", "mean, deviations, standard error, median", MeanCase},
      {"lmeval_multiple_choice", "acc, acc_norm, acc_bytes, exact_match", MultipleChoiceCase},
      {"lmeval_perplexity", "perplexity, weighted perplexity, bits per byte", PerplexityCase},
      {"lmeval_wikitext", "detokenised page, counts and perplexities", WikitextCase},
      {"longbench_classification", "LongBench classification", ClassificationCase},
      {"longbench_code_sim", "LongBench code similarity (difflib)", CodeSimilarityCase},
      {"longbench_count", "LongBench passage count", CountCase},
      {"longbench_qa_f1", "LongBench answer F1", QaF1Case},
      {"longbench_qa_f1_zh", "LongBench answer F1, Chinese", QaF1ZhCase},
      {"longbench_retrieval", "LongBench passage retrieval", RetrievalCase},
      {"longbench_retrieval_zh", "LongBench passage retrieval, Chinese", RetrievalZhCase},
      {"longbench_rouge", "LongBench ROUGE-L", RougeCase},
      {"longbench_rouge_zh", "LongBench ROUGE-L, Chinese", RougeZhCase},
      {"longbench_scorer", "LongBench score of a data set", LongBenchScorerCase},
      {"longbench_scorer_e", "LongBench-E scores by length", LongBenchScorerECase},
      {"nq_open_exact_match", "exact match of nq_open", NqOpenCase},
      {"ruler_lmeval", "RULER scores of lm-evaluation-harness", RulerHarnessCase},
      {"ruler_lmeval_aggregate", "RULER aggregate of one length", RulerAggregateCase},
      {"ruler_nvidia", "RULER scores of a set", RulerNvidiaCase},
      {"squad_v1", "SQuAD 1.1 exact match and F1", SquadV1Case},
      {"squad_v1_dataset", "SQuAD 1.1 scores of a set", SquadV1DatasetCase},
      {"squad_v2", "SQuAD 2.0 exact and F1", SquadV2Case},
      {"squad_v2_dataset", "SQuAD 2.0 summary of a set", SquadV2DatasetCase},
      {"stat_mannwhitney", "Mann-Whitney test of two samples", MannWhitneyCase},
      {"stat_mcnemar", "McNemar test of paired outcomes", McNemarCase},
      {"stat_paired_bootstrap", "paired difference: bootstrap and tests", PairedBootstrapCase},
      {"stat_proportion_ci", "confidence intervals of a proportion", ProportionCase},
      {"triviaqa_exact_match", "exact match of triviaqa", TriviaQaCase},
  };
  return table;
}

Json ScoreMetricCase(std::string_view name, const Json& sample) {
  std::string names;
  for (const MetricEntry& entry : Metrics()) {
    if (name == entry.name) return entry.score(sample);
    names += std::string(names.empty() ? "" : ", ") + entry.name;
  }
  throw UsageError("no metric '{}'; known: {}", name, names);
}

}  // namespace natsl::tasks::metrics
