// The processor's matrix tiles (AMX). Float32 operands are cut in bfloat16 pieces whose products
// add up in float32.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define NATSL_AMX 1
#else
#define NATSL_AMX 0
#endif

namespace natsl::kernels {

/// Whether the processor has bfloat16 tiles and AVX-512 and the kernel lets this process use them.
/// The first call asks it to.
bool AmxUsable();

/// Sets this thread's tiles up as eight of 16 rows of 64 bytes, and gives them up at the end.
class AmxTiles {
 public:
  AmxTiles();
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
};

}  // namespace natsl::kernels
