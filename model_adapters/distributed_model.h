// One token model spread over processes: rank 0 asks, every rank (0 too) computes its share of the
// same plan, rank 0 gets all results. A batch is computed as one process alone would compute it, so
// the results are the same bytes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "model_adapters/communicator.h"
#include "model_adapters/token_model.h"
#include "model_adapters/tokenizer.h"

namespace natsl::model_adapters {

struct ServedModel {
  std::unique_ptr<TokenModel> model;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< for stop strings
};

/// What a rank other than 0 does: computes its shares until rank 0 lets it go. Failures of `open`
/// are told to rank 0, not thrown.
void ServeShares(Communicator& world, const std::function<ServedModel()>& open);

/// Rank 0's hold on the others: they are let go at its end, whatever happened. A rank of this host
/// that dies before ends this process at once: `on_death` gets the message, then exit status 5.
class Crew {
 public:
  Crew(Communicator& world, std::function<void(const std::string&)> on_death);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  Communicator& world() const { return world_; }

 private:
  void Watch();

  Communicator& world_;
  std::function<void(const std::string&)> on_death_;
  std::atomic<bool> over_ = false;
  std::vector<std::atomic<bool>> gone_;  ///< [rank] said goodbye
  std::thread watch_;
};

/// Rank 0's model. Ranks on other hosts must have the same weights: Error (model) by rank and host
/// where they haven't; errors of ranks are thrown with their rank and host.
std::unique_ptr<TokenModel> MakeDistributedModel(std::unique_ptr<TokenModel> local, Crew& crew);

}  // namespace natsl::model_adapters
