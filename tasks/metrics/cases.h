// The functions of the metric table: each scores one case of its metric.
#pragma once

#include "tasks/metrics/case_fields.h"

namespace natsl::tasks::metrics {

Json ContainsCase(const Json& sample);
Json NqOpenCase(const Json& sample);
Json TriviaQaCase(const Json& sample);
Json ExactMatchCase(const Json& sample);
Json SquadV1Case(const Json& sample);
Json SquadV1DatasetCase(const Json& sample);
Json SquadV2Case(const Json& sample);
Json SquadV2DatasetCase(const Json& sample);
Json DropNormalizeCase(const Json& sample);
Json DropOfficialCase(const Json& sample);
Json DropHarnessCase(const Json& sample);
Json DropAnswersCase(const Json& sample);
Json MultipleChoiceCase(const Json& sample);
Json RulerHarnessCase(const Json& sample);
Json RulerAggregateCase(const Json& sample);
Json RulerNvidiaCase(const Json& sample);
Json JiebaCase(const Json& sample);

Json QaF1Case(const Json& sample);
Json QaF1ZhCase(const Json& sample);
Json RougeCase(const Json& sample);
Json RougeZhCase(const Json& sample);
Json ClassificationCase(const Json& sample);
Json RetrievalCase(const Json& sample);
Json RetrievalZhCase(const Json& sample);
Json CountCase(const Json& sample);
Json CodeSimilarityCase(const Json& sample);
Json HarnessLongBenchCase(const Json& sample);
Json LongBenchScorerCase(const Json& sample);
Json LongBenchScorerECase(const Json& sample);

Json MeanCase(const Json& sample);
Json PerplexityCase(const Json& sample);
Json BootstrapCase(const Json& sample);
Json WikitextCase(const Json& sample);
Json GroupCase(const Json& sample);
Json GroupClassCase(const Json& sample);

Json McNemarCase(const Json& sample);
Json ProportionCase(const Json& sample);
Json MannWhitneyCase(const Json& sample);
Json PairedBootstrapCase(const Json& sample);

}  // namespace natsl::tasks::metrics
