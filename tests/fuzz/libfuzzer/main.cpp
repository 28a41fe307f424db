// One target under libFuzzer: natsl_fuzz --target=NAME [libFuzzer's options] CORPUS...
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tasks/data/manifest.h"
#include "tests/fuzz/targets.h"

namespace {

const natsl::fuzz::Target* the_target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument == "--list") {
      for (const auto& target : natsl::fuzz::Targets()) std::printf("%s\n", target.name);
      std::exit(0);
    }
    if (argument.starts_with(kOption)) {
      the_target = natsl::fuzz::FindTarget(argument.substr(kOption.size()));
    }
  }
  if (the_target == nullptr) {
    std::fprintf(stderr, "natsl_fuzz: --target=NAME is missing or unknown; --list names all\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  the_target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}

namespace natsl::tasks {

/// The build's own manifests aren't part of this program.
std::vector<EmbeddedFile> EmbeddedManifests() { return {}; }

}  // namespace natsl::tasks
