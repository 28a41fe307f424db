// Text for evaluation.
#include "training/data/evaluation_text.h"

#include "training/data/documents.h"
#include "training/data/stream.h"

namespace natsl::training {

std::string EvaluationText(const EvaluationTextOptions& options) {
  std::string text;
  for (int64_t i = 0; i < options.stories; ++i) {
    core::PythonRandom random(StreamSeed(StreamDomain::kEvaluation, options.seed, 0, 0, i));
    text += MakeStory(random.RandInt(6, 16), random) + "\n";
  }
  return text;
}

}  // namespace natsl::training
