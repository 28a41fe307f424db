// Precompiled for natsl_training: ATen costs seconds a file otherwise.
#pragma once

#include <ATen/ATen.h>

#include "core/precompiled.h"
