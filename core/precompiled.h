// Precompiled once for every library: these headers cost seconds a file otherwise. A source still
// includes what it uses; nothing may rely on this file.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>
