// The message for each thing that can be wrong with a device; no GPU needed.
#include "model_adapters/native/cuda/device.h"

#include "core/error.h"
#include "tests/model_adapters/native/cuda/cuda_tests.h"

namespace natsl::model_adapters::native::cuda {
namespace {

Machine GoodMachine() {
  Machine machine;
  machine.driver_version = 13000;
  machine.runtime_version = 13000;
  machine.devices = 2;
  machine.capability = 90;
  machine.free_bytes = int64_t{100} << 30;
  machine.total_bytes = int64_t{140} << 30;
  return machine;
}

std::string MessageOf(const Machine& machine, const std::string& device = "cuda") {
  try {
    CheckMachine(machine, device);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "";
}

void ExpectPart(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Device, EachTroubleHasItsMessage) {
  EXPECT_EQ(MessageOf(GoodMachine()), "");
  EXPECT_EQ(MessageOf(GoodMachine(), "cuda:1"), "");
  ExpectPart(MessageOf(GoodMachine(), "cuda:2"), "2 GPUs");
  Machine machine = GoodMachine();
  machine.driver_version = 0;
  machine.devices = 0;
  ExpectPart(MessageOf(machine), "no NVIDIA driver");
  machine = GoodMachine();
  machine.driver_version = 12040;
  ExpectPart(MessageOf(machine),
             "supports CUDA up to 12.4, but natsl-bench was built with CUDA 13.0");
  machine = GoodMachine();
  machine.devices = 0;
  ExpectPart(MessageOf(machine), "no NVIDIA GPU");
  machine.libtorch_has_cuda = false;
  ExpectPart(MessageOf(machine), "no NVIDIA GPU");
  machine = GoodMachine();
  machine.capability = 75;
  ExpectPart(MessageOf(machine), "compute capability 7.5");
  machine = GoodMachine();
  machine.libtorch_has_cuda = false;
  ExpectPart(MessageOf(machine), "LibTorch");
  machine = GoodMachine();
  machine.capability = 80;
  machine.kernels_run = false;
  ExpectPart(MessageOf(machine), "was not built for the GPU");
}

TEST(Device, MemoryHeldByOthersIsNamed) {
  const Machine machine = GoodMachine();
  EXPECT_NO_THROW(CheckMemory(machine, int64_t{99} << 30, "cuda"));
  try {
    CheckMemory(machine, int64_t{110} << 30, "cuda");
    FAIL();
  } catch (const Error& error) {
    ExpectPart(error.what(), "another process holds the rest");
  }
  try {
    CheckMemory(machine, int64_t{150} << 30, "cuda");
    FAIL();
  } catch (const Error& error) {
    ExpectPart(error.what(), "larger GPU");
  }
}

}  // namespace
}  // namespace natsl::model_adapters::native::cuda
