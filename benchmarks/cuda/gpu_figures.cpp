// Prefill and decode times of configs with random weights on a GPU, and which kernels took the
// time.
//
//   gpu_figures [--tokens N] [--steps N] [--runs N] [--share X] [--dtype D] [--no-kernels]
//   CONFIG...
//
// Prints one Markdown row a config: the median prefill of a session of one sequence, milliseconds a
// token of decoding by CUDA graph at that depth, the state's size, then the kernels' shares as
// CUPTI counts them in runs apart from the timed ones.
#include <cupti.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "model_adapters/token_model.h"

namespace {

using natsl::model_adapters::OpenOptions;
using natsl::model_adapters::Session;
using natsl::model_adapters::TokenId;

struct Options {
  int64_t tokens = 131072, steps = 128, runs = 3;
  std::string share, dtype = "bfloat16";
  bool kernels = true;
  std::vector<std::string> configs;
};

double Milliseconds(Session& session, const std::function<void()>& body) {
  session.Synchronize();
  const auto begin = std::chrono::steady_clock::now();
  body();
  session.Synchronize();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Nanoseconds and launches by kernel, filled by CUPTI.
struct KernelTime {
  uint64_t nanoseconds = 0, launches = 0;
};
std::map<std::string, KernelTime> kernel_times;

void CUPTIAPI GiveBuffer(uint8_t** buffer, size_t* size, size_t* records) {
  *size = size_t{8} << 20;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
  *records = 0;
}

void CUPTIAPI TakeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    KernelTime& time = kernel_times[kernel->name];
    time.nanoseconds += kernel->end - kernel->start;
    ++time.launches;
  }
  std::free(buffer);
}

// Runs `body` with kernels counted; prints those with at least one percent.
void PrintKernels(const char* what, Session& session, const std::function<void()>& body) {
  kernel_times.clear();
  cuptiActivityRegisterCallbacks(&GiveBuffer, &TakeBuffer);
  if (cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS) {
    std::cout << "  (CUPTI does not count kernels here)\n";
    return;
  }
  body();
  session.Synchronize();
  cuptiActivityFlushAll(1);
  cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  std::vector<std::pair<std::string, KernelTime>> sorted(kernel_times.begin(), kernel_times.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.nanoseconds > b.second.nanoseconds;
  });
  double total = 0;
  for (const auto& [name, time] : sorted) total += static_cast<double>(time.nanoseconds);
  std::cout << fmt::format("  {}: {:.2f} ms in kernels\n", what, total / 1e6);
  for (const auto& [name, time] : sorted) {
    const double share = static_cast<double>(time.nanoseconds) / total;
    if (share < 0.01) break;
    std::cout << fmt::format("    {:5.1f} % {:9.3f} ms {:6d}x  {}\n", 100 * share,
                             static_cast<double>(time.nanoseconds) / 1e6, time.launches,
                             name.substr(0, 110));
  }
}

void Measure(const std::string& config, const Options& options) {
  OpenOptions open;
  open.device = "cuda";
  open.dtype = options.dtype;
  open.random_weights_seed = 1;
  if (!options.share.empty()) open.forced_softmax_share = std::stod(options.share);
  const auto model = natsl::model_adapters::OpenNativeModel(config, open);
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < options.tokens; ++i) {
    ids.push_back(static_cast<TokenId>((i * 7919 + i / 3) % model->Info().vocabulary));
  }
  std::vector<double> prefill;
  std::unique_ptr<Session> session;
  for (int64_t run = 0; run <= options.runs; ++run) {
    session.reset();
    session = model->NewSession(1);
    const double ms = Milliseconds(*session, [&] { session->Prefill(ids); });
    if (run > 0 || options.runs == 0) prefill.push_back(ms);  // the first one warms up
  }
  const auto state = session->StateBytes();
  session->Decode(4);
  const double decode = Milliseconds(*session, [&] { session->Decode(options.steps); }) /
                        static_cast<double>(options.steps);
  std::cout << fmt::format("| {} {} | {} | {:.1f} | {:.3f} | {:.1f} |\n", config, options.share,
                           options.tokens, Median(prefill), decode,
                           static_cast<double>(state.total()) / 1048576.0)
            << std::flush;
  if (!options.kernels) return;
  PrintKernels("decode of 16 tokens", *session, [&] { session->Decode(16); });
  session.reset();
  session = model->NewSession(1);
  PrintKernels("prefill", *session, [&] { session->Prefill(ids); });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (argument == "--tokens") {
      options.tokens = std::stoll(value());
    } else if (argument == "--steps") {
      options.steps = std::stoll(value());
    } else if (argument == "--runs") {
      options.runs = std::stoll(value());
    } else if (argument == "--share") {
      options.share = value();
    } else if (argument == "--dtype") {
      options.dtype = value();
    } else if (argument == "--no-kernels") {
      options.kernels = false;
    } else {
      options.configs.push_back(argument);
    }
  }
  std::cout << "| config, softmax share | tokens | prefill ms | decode ms/token | state MiB |\n"
               "|---|---|---|---|---|\n";
  for (const std::string& config : options.configs) {
    try {
      Measure(config, options);
    } catch (const natsl::Error& error) {
      std::cout << fmt::format("| {} | error: {} |\n", config, error.what());
    }
  }
  return 0;
}
