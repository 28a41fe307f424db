// The generation settings of a request as its protocol states them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "tasks/task.h"

namespace natsl::tasks {

/// The reference's generation arguments of a request of `task` (a name, without parameters): the
/// keys that the protocol's own task sets, in its order; what it leaves to the harness's defaults
/// is left out. Tasks of other protocols have all of until, do_sample, temperature, max_gen_toks.
nlohmann::ordered_json ProtocolSettings(std::string_view task, const GenerateRequest& request);

}  // namespace natsl::tasks
