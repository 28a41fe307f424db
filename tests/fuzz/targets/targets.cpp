// The table of fuzzed functions.
#include "tests/fuzz/targets.h"

namespace natsl::fuzz {

const std::vector<Target>& Targets() {
  static const std::vector<Target> targets = {
      {"safetensors", FuzzSafetensors},
      {"config", FuzzConfig},
      {"model_folder", FuzzModelFolder},
      {"tokenizer_json", FuzzTokenizerJson},
      {"tokenizer_config", FuzzTokenizerConfig},
      {"sentencepiece", FuzzSentencePiece},
      {"data_json", FuzzDataJson},
      {"compressed", FuzzCompressed},
      {"parquet", FuzzParquet},
      {"manifest", FuzzManifest},
      {"data_lock", FuzzDataLock},
      {"archive", FuzzArchive},
      {"hub_listing", FuzzHubListing},
      {"content_range", FuzzContentRange},
      {"journal", FuzzJournal},
      {"stored_answer", FuzzStoredAnswer},
      {"results", FuzzResults},
      {"latency", FuzzLatency},
      {"gate", FuzzGate},
      {"served_answer", FuzzServedAnswer},
      {"server_probe", FuzzServerProbe},
      {"process_line", FuzzProcessLine},
      {"expression", FuzzExpression},
      {"script", FuzzScript},
  };
  return targets;
}

const Target* FindTarget(std::string_view name) {
  for (const Target& target : Targets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

}  // namespace natsl::fuzz
