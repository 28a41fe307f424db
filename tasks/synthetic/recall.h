// Synthetic recall from our own seeded generator: multi-query associative recall (after Arora et
// al., "Zoology", 2023) and phonebook lookup (after Jelassi et al., "Repeat After Me", 2024) as
// text, at a chosen number of pairs or a chosen length. The same seed gives the same documents on
// any machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/python_random.h"
#include "tasks/registry.h"

namespace natsl::tasks::synthetic {

/// Key-value pairs on one line ("QK 41 ZR 07 ..."), then queries one after the other, each answered
/// before the next is asked.
struct AssociativeRecall {
  std::string pairs;                                         ///< "QK 41 ZR 07"
  std::vector<std::pair<std::string, std::string>> queries;  ///< {"ZR", "07"}, ...
};
/// `pairs` distinct keys of two letters (at most 676), values of two digits, `queries` of the keys
/// (at most `pairs`).
AssociativeRecall MakeAssociativeRecall(int64_t pairs, int64_t queries, core::PythonRandom& random);

/// Lines "First Last: 555-0123", then two example look-ups and the asked-for name.
struct Phonebook {
  std::string prompt;  ///< ends with "Name:"
  std::string number;  ///< "555-0123"
};
/// At least 3 entries; names and numbers are distinct.
Phonebook MakePhonebook(int64_t entries, core::PythonRandom& random);

/// Tasks `mqar` and `phonebook`. Parameters: pairs / entries (a number), queries (mqar), samples,
/// and length (tokens: the most pairs or entries whose prompts fit; needs a model that counts
/// tokens).
std::vector<TaskEntry> SyntheticTasks();

}  // namespace natsl::tasks::synthetic
