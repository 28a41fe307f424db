// Precompiled once for every test program: GoogleTest and what core/precompiled.h has.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/precompiled.h"
