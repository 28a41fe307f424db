// The groups' members: names of tasks, whether their folder is in the registry or not.
#pragma once

#include <vector>

#include "tasks/registry.h"

namespace natsl::tasks {

/// All groups of the suite; Groups() leaves out those without members.
std::vector<GroupEntry> GroupTable();

}  // namespace natsl::tasks
