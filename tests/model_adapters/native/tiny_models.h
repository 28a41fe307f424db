// Small configs of every family and option, with random weights: what a fresh clone tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model_adapters/native/native_model.h"

namespace natsl::model_adapters::native {

struct TinyModel {
  const char* name;
  const char* config;  ///< the family's keys; vocabulary 96, hidden 64 unless it says otherwise
  bool recurrent;      ///< no state grows with the length
};

/// Every family and every option that changes the computation.
const std::vector<TinyModel>& TinyModels();
const TinyModel& Tiny(const std::string& name);

/// The whole config.json.
std::string TinyConfig(const TinyModel& model);

/// Writes the config into a fresh folder of the test's temporary directory and opens it.
using OpenFunction = std::unique_ptr<NativeModel> (*)(const std::string&, const OpenOptions&);
std::unique_ptr<NativeModel> OpenTiny(const TinyModel& model, OpenOptions options = {},
                                      OpenFunction open = &OpenModel);

/// `count` ids below 96, from a seed.
std::vector<TokenId> RandomIds(int64_t count, uint64_t seed);

/// Counts what was answered; wants all unless told otherwise.
class CountingListener : public BatchListener {
 public:
  void OnBatch(std::span<const size_t> finished, int64_t tokens) override {
    finished_requests += static_cast<int64_t>(finished.size());
    computed_tokens += tokens;
  }
  int64_t finished_requests = 0;
  int64_t computed_tokens = 0;
};

}  // namespace natsl::model_adapters::native
