// Precompiled for native_tests: ATen beside what the other test programs precompile.
#pragma once

#include "model_adapters/native/torch_headers.h"
#include "tests/precompiled.h"
