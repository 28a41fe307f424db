// Precompiled for training_tests: ATen beside what the other test programs precompile.
#pragma once

#include <ATen/ATen.h>

#include "tests/precompiled.h"
