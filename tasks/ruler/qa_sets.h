// Documents and questions of RULER's QA tasks, from SQuAD 2.0 and HotpotQA files.
#pragma once

#include "tasks/data_source.h"
#include "tasks/ruler/generators.h"

namespace natsl::tasks::ruler {

/// squad/dev-v2.0.json: answerable questions in file order; paragraphs are the documents.
QaSet LoadSquadSet(const DataSource& data);
/// hotpotqa/hotpot_dev_distractor_v1.json (or .jsonl of the same records).
QaSet LoadHotpotSet(const DataSource& data);

}  // namespace natsl::tasks::ruler
