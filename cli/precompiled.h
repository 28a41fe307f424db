// Precompiled for the command line: CLI11 beside what every library precompiles.
#pragma once

#include <CLI/CLI.hpp>

#include "core/precompiled.h"
