// Tiny random models in the Hugging Face layout, for quick starts and tests: weights from a seeded
// generator, a tokenizer learned from a text of our own. The same bytes on every machine.
#pragma once

#include <map>
#include <string>

namespace natsl::tools {

/// Relative path -> content of every file of every model ("tiny-transformer/config.json", ...).
std::map<std::string, std::string> TinyCheckpointFiles();

}  // namespace natsl::tools
