// Precompiled for the tests of the native model and training: ATen beside what the other test
// programs precompile.
#pragma once

#include "model_adapters/native/torch_headers.h"
#include "tests/precompiled.h"
