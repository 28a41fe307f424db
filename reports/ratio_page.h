// The study of softmax share: recall, loss and state bytes against the share of a model's sequence
// mixing that is softmax attention. Plots and a Markdown page with its claims checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace natsl::reports {

/// One trained model.
struct RatioRun {
  int64_t seed = 0;
  double share = 0;                       ///< softmax share, 0 to 1 (NAtS-L: learned)
  double train_loss = 0;                  ///< of the last log line
  std::map<std::string, double> scores;   ///< task@length -> share of right answers
  std::map<int64_t, double> loss_by_end;  ///< language-model loss of the block that ends there
};
/// One architecture, with a run a seed.
struct RatioArm {
  std::string name;        ///< "3:1", "linear", "softmax", "NAtS-L"
  double layer_share = 0;  ///< of layers; NAtS-L: 1, chunks decide
  bool learned = false;    ///< the share is learned (NAtS-L)
  int64_t parameters = 0;
  int64_t kv_bytes = 0, fixed_bytes = 0;  ///< of one sequence at `state_length` tokens
  std::vector<RatioRun> runs;
};
struct RatioStudy {
  int64_t trained_length = 0, state_length = 0;
  std::vector<RatioArm> arms;
};

struct RatioPage {
  std::string markdown;                      ///< refers to the plots by file name
  std::map<std::string, std::string> plots;  ///< file name -> SVG
};
/// `folder`: what stands before a plot's file name in the page. Throws Error (data) where an arm
/// has no runs.
RatioPage MakeRatioPage(const RatioStudy& study, const std::string& folder);

}  // namespace natsl::reports
