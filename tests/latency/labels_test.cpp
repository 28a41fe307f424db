// What a run's machine tells of the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/environment.h"

namespace natsl::latency {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kThreads = 8;

/// Eight cores and a device; nothing changes.
Machine Steady() {
  Machine machine;
  machine.cores = 8;
  machine.mhz_before = machine.mhz_after = 3000;
  machine.load_before = 0.1;
  machine.canary_before = machine.canary_after = CanaryRates{1e11, 2e10};
  machine.device_before = machine.device_after = CanaryRates{7e14, 4e12};
  machine.gpu_before = machine.gpu_after = GpuReading{.sm_mhz = 1980, .watts = 400};
  return machine;
}

TEST(Labels, ASteadyMachineHasNone) {
  Machine nearly = Steady();
  nearly.canary_after = CanaryRates{0.95e11, 2.16e10};
  nearly.device_after = CanaryRates{7.5e14, 3.7e12};
  nearly.mhz_after = 2800;
  for (const Computes computes : {Computes::kHost, Computes::kDevice, Computes::kBoth}) {
    EXPECT_THAT(LabelsOf(Steady(), kThreads, computes), IsEmpty());
    EXPECT_THAT(LabelsOf(nearly, kThreads, computes), IsEmpty());
  }
}

TEST(Labels, TheHostIsJudgedWhereItComputes) {
  Machine machine = Steady();
  machine.canary_after = CanaryRates{0.5e11, 1e10};
  machine.mhz_after = 1500;
  machine.load_before = 5;
  for (const Computes computes : {Computes::kHost, Computes::kBoth}) {
    EXPECT_THAT(LabelsOf(machine, kThreads, computes),
                ElementsAre(HasSubstr("host's matrix product changed by -50 %"),
                            HasSubstr("host's copy changed by -50 %"),
                            HasSubstr("load average was 5.0 on 8 cores before the run (its 8 "),
                            HasSubstr("clock fell from 3000 to 1500 MHz")));
  }
  EXPECT_THAT(LabelsOf(machine, kThreads, Computes::kDevice), IsEmpty());
  machine.load_before = 7.5;  // no core left
  EXPECT_THAT(LabelsOf(machine, kThreads, Computes::kDevice),
              ElementsAre(HasSubstr("noisy: the load average was 7.5 on 8 cores")));
}

TEST(Labels, ADeviceIsJudgedByItsCanaryAndCounters) {
  Machine machine = Steady();
  machine.device_after = CanaryRates{6e14, 3.9e12};
  machine.gpu_after->sm_mhz = 1400;
  machine.gpu_after->throttle_reasons = {"thermal slowdown (hardware)"};
  EXPECT_THAT(
      LabelsOf(machine, kThreads, Computes::kDevice),
      ElementsAre(HasSubstr("noisy: the device's matrix product changed by -14 %"),
                  HasSubstr("throttled: thermal slowdown (hardware) of the GPU after the run"),
                  HasSubstr("throttled: the GPU's clock fell from 1980 to 1400 MHz")));
  // Long products reach the power limit on any day: it is told at the points.
  machine = Steady();
  machine.gpu_after->sm_mhz = 1400;
  machine.gpu_after->throttle_reasons = {kPowerLimit};
  EXPECT_THAT(LabelsOf(machine, kThreads, Computes::kDevice), IsEmpty());
}

}  // namespace
}  // namespace natsl::latency
