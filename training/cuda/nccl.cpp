// NCCL by name.
#include "training/cuda/nccl.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "core/error.h"
#include "core/files.h"

namespace natsl::training {

/// ncclUniqueId.
struct UniqueId {
  char bytes[128];
};

namespace {

constexpr int kFloat32 = 7, kAverage = 4;  // ncclFloat32, ncclAvg

UniqueId WaitForKey(const std::string& meeting) {
  for (int i = 0; i < 6000; ++i) {
    std::error_code error;
    if (std::filesystem::exists(meeting, error)) {
      const std::string text = core::ReadFile(meeting, ErrorCode::kInternal);
      UniqueId id;
      if (text.size() == sizeof(id.bytes)) {
        std::copy(text.begin(), text.end(), id.bytes);
        return id;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw InternalError("{}: rank 0 left no key within two minutes", meeting);
}

}  // namespace

struct NcclGroup::Library {
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*comm_init_rank)(void**, int, UniqueId, int) = nullptr;
  int (*all_reduce)(const void*, void*, size_t, int, int, void*, cudaStream_t) = nullptr;
  int (*comm_destroy)(void*) = nullptr;
  const char* (*error_string)(int) = nullptr;

  Library() {
    void* handle = dlopen("libnccl.so.2", RTLD_NOW);
    if (handle == nullptr) {
      throw UsageError("--gpus: NCCL does not load: {}; run scripts/setup --cuda", dlerror());
    }
    Find(handle, "ncclGetUniqueId", get_unique_id);
    Find(handle, "ncclCommInitRank", comm_init_rank);
    Find(handle, "ncclAllReduce", all_reduce);
    Find(handle, "ncclCommDestroy", comm_destroy);
    Find(handle, "ncclGetErrorString", error_string);
  }

  template <typename Function>
  static void Find(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) throw InternalError("NCCL has no {}", name);
  }
  void Check(int result, const char* what) const {
    if (result != 0) throw InternalError("NCCL: {}: {}", what, error_string(result));
  }
};

NcclGroup::NcclGroup(Rank rank, const std::string& meeting)
    : library_(std::make_unique<Library>()) {
  UniqueId id;
  if (rank.index == 0) {
    library_->Check(library_->get_unique_id(&id), "making a key");
    core::WriteFileAtomic(meeting, {id.bytes, sizeof(id.bytes)});
  } else {
    id = WaitForKey(meeting);
  }
  library_->Check(library_->comm_init_rank(&communicator_, static_cast<int>(rank.count), id,
                                           static_cast<int>(rank.index)),
                  "joining");
  std::error_code error;
  if (rank.index == 0) std::filesystem::remove(meeting, error);
}

NcclGroup::~NcclGroup() {
  if (communicator_ != nullptr) library_->comm_destroy(communicator_);
}

void NcclGroup::Average(float* data, int64_t count, cudaStream_t stream) {
  library_->Check(library_->all_reduce(data, data, static_cast<size_t>(count), kFloat32, kAverage,
                                       communicator_, stream),
                  "averaging gradients");
}

}  // namespace natsl::training
