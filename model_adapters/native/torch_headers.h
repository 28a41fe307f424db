// The part of LibTorch that native model code uses.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
