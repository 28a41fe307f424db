// Needle documents: RULER's sentences and questions, as the suite's needle tasks ask them, with
// keys of our own words.
#pragma once

#include "training/data/documents.h"

namespace natsl::training {

enum class Haystack { kSentences, kNeedles };

/// `size` lines of haystack. kSentences: one to four needles stand among them; kNeedles: every line
/// is one. Several questions follow, each with its answer.
Document MakeNeedleDocument(Haystack haystack, int64_t size, core::PythonRandom& random);

}  // namespace natsl::training
