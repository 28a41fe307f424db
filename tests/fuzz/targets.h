// What is fuzzed: one function a reader of bytes that others wrote. Each takes any bytes and comes
// back, whatever they are; a reader may refuse them by the error that its contract names, and by
// nothing else. libFuzzer drives one of them (libfuzzer/main.cpp, scripts/fuzz), and a test runs
// all of them over the committed inputs (corpus_test.cpp).
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace natsl::fuzz {

struct Target {
  const char* name;  ///< also of its folders below corpus/ and findings/
  void (*run)(std::string_view input);
};

const std::vector<Target>& Targets();
/// nullptr where there is none.
const Target* FindTarget(std::string_view name);

// Checkpoints.
void FuzzSafetensors(std::string_view input);
void FuzzConfig(std::string_view input);
void FuzzModelFolder(std::string_view input);
// Tokenizers.
void FuzzTokenizerJson(std::string_view input);
void FuzzTokenizerConfig(std::string_view input);
void FuzzSentencePiece(std::string_view input);
// Data files.
void FuzzDataJson(std::string_view input);
void FuzzCompressed(std::string_view input);
void FuzzParquet(std::string_view input);
void FuzzManifest(std::string_view input);
void FuzzDataLock(std::string_view input);
void FuzzArchive(std::string_view input);
void FuzzHubListing(std::string_view input);
void FuzzContentRange(std::string_view input);
// What runs leave behind.
void FuzzJournal(std::string_view input);
void FuzzStoredAnswer(std::string_view input);
void FuzzResults(std::string_view input);
void FuzzLatency(std::string_view input);
void FuzzGate(std::string_view input);
// Models that run elsewhere, and texts of the command line.
void FuzzServedAnswer(std::string_view input);
void FuzzServerProbe(std::string_view input);
void FuzzProcessLine(std::string_view input);
void FuzzExpression(std::string_view input);
void FuzzScript(std::string_view input);

}  // namespace natsl::fuzz
