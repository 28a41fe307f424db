// Precompiled for natsl_training: ATen and autograd cost seconds a file otherwise.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/precompiled.h"
