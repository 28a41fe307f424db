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

/// Key-value pairs on one line ("QK 41 ZR 07 ..."), then queries, each answered before the next is
/// asked.
struct AssociativeRecall {
  struct Query {
    std::string
        filler;  ///< unrelated pairs before the query ("xv qd ...", ends with a space), or ""
    std::string key, value;
  };
  std::string pairs;  ///< "QK 41 ZR 07"
  std::vector<Query> queries;
};
/// `pairs` distinct keys of two letters (from 677 on three; at most 17,576), values of two digits,
/// `queries` of the keys (at most `pairs`). `filler` pairs of lower-case letters are spread between
/// the queries, as in the original: a query's place among queries and filler falls by 1/place.
AssociativeRecall MakeAssociativeRecall(int64_t pairs, int64_t queries, core::PythonRandom& random,
                                        int64_t filler = 0);

/// Lines "First Last: 555-0123", then two example look-ups and the asked-for name.
struct Phonebook {
  std::string prompt;  ///< ends with "Name:"
  std::string number;  ///< "555-0123"
};
/// 3 to 10,000 entries; names (with a middle initial from 2,305 entries on) and numbers are
/// distinct.
Phonebook MakePhonebook(int64_t entries, core::PythonRandom& random);

/// Tasks `mqar` and `phonebook`. Parameters: pairs / entries (a number), queries (mqar), samples,
/// and length (tokens; needs a model that counts them): alone, the most pairs or entries whose
/// prompts fit; for mqar beside pairs, filler between the queries up to that length.
std::vector<TaskEntry> SyntheticTasks();

}  // namespace natsl::tasks::synthetic
