// Detection and set-up of AMX.
#include "kernels/cpu/amx.h"

#if NATSL_AMX
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace natsl::kernels {

#if NATSL_AMX

namespace {

constexpr int kRequestStatePermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr int kTileData = 18;

bool Detect() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(1, 0, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kVectors = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  constexpr unsigned kTiles = 1u << 22 | 1u << 24;  // AMX-BF16, AMX-TILE
  if ((b & kVectors) != kVectors || (d & kTiles) != kTiles) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kStates = 0xE6 | 3u << 17;  // SSE, AVX, AVX-512 and tiles are saved
  if ((low & kStates) != kStates) return false;
  return syscall(SYS_arch_prctl, kRequestStatePermission, kTileData) == 0;
}

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

}  // namespace

bool AmxUsable() {
  static const bool usable = Detect();
  return usable;
}

AmxTiles::AmxTiles() {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = 16;
  }
  __asm__ volatile("ldtilecfg %0" : : "m"(config));
}

AmxTiles::~AmxTiles() { __asm__ volatile("tilerelease"); }

#else

bool AmxUsable() { return false; }
AmxTiles::AmxTiles() = default;
AmxTiles::~AmxTiles() = default;

#endif

}  // namespace natsl::kernels
