// Whether this process is one of several, and the module that talks to the others.
#include "model_adapters/communicator.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/error.h"
#include "core/modules.h"

namespace natsl::model_adapters {
namespace {

constexpr const char* kModule = "natsl_mpi.so";

/// What mpirun (Open MPI, MPICH and relatives) and srun tell a process of several.
bool StartedAsOneOfSeveral() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* text = std::getenv(name); text != nullptr && std::atoi(text) > 1) return true;
  }
  // srun with PMIx names the rank alone.
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return std::getenv("PMIX_RANK") != nullptr && tasks != nullptr && std::atoi(tasks) > 1;
}

}  // namespace

std::unique_ptr<Communicator> JoinProcesses() {
  if (!StartedAsOneOfSeveral()) return nullptr;
  const std::filesystem::path place = core::FindModule(kModule);
  if (place.empty()) {
    throw UsageError(
        "this process is one of several (mpirun or srun), but this build has no MPI: install "
        "libopenmpi-dev and build again, or start one process");
  }
  // Global: MPI's own plug-ins look for its symbols.
  void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw InternalError("{} does not load: {}", place.string(), dlerror());
  void* symbol = dlsym(library, kJoinProcessesSymbol);
  if (symbol == nullptr) {
    throw InternalError("{} is not a module of this version: {}", place.string(), dlerror());
  }
  return std::unique_ptr<Communicator>(reinterpret_cast<JoinProcessesFunction>(symbol)());
}

}  // namespace natsl::model_adapters
