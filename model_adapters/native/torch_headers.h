// Precompiled for natsl_native: ATen costs seconds a file otherwise.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
