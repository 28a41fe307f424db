// Precompiled for natsl_native and training: ATen costs seconds a file otherwise.
#pragma once

#include "core/precompiled.h"
#include "model_adapters/native/torch_headers.h"
