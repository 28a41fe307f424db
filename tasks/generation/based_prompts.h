// The recall prompts of the HazyResearch fork (Based; Just Read Twice), each single and "twice":
// the document a second time after the question. Inputs are the dataset's fields as they are.
#pragma once

#include <string>
#include <string_view>

namespace natsl::tasks {

struct BasedFields {
  std::string context;        ///< text (swde, fda, squad) or context (the others)
  std::string key;            ///< swde, fda
  std::string question;       ///< squad, nq, drop, triviaqa
  std::string orig_question;  ///< "twice" of nq, drop, triviaqa
};

std::string BasedSwdePrompt(const BasedFields& fields, bool twice);
std::string BasedFdaPrompt(const BasedFields& fields, bool twice);
std::string BasedSquadPrompt(const BasedFields& fields, bool twice);
std::string BasedNqPrompt(const BasedFields& fields, bool twice);
std::string BasedDropPrompt(const BasedFields& fields, bool twice);
std::string BasedTriviaQaPrompt(const BasedFields& fields, bool twice);

}  // namespace natsl::tasks
