#include "tasks/generation/protocol_settings.h"

#include <initializer_list>

#include "core/json.h"

namespace natsl::tasks {
namespace {

struct Stated {
  std::string_view task;
  std::initializer_list<const char*> keys;
};

const Stated kStated[] = {
    {"triviaqa", {"until", "do_sample", "temperature"}},
    {"nq_open", {"until", "do_sample", "temperature"}},
    {"drop", {"until"}},
    {"squadv2", {"until"}},
    {"swde", {"until", "max_gen_toks"}},
    {"fda", {"until", "max_gen_toks"}},
    {"squad_completion", {"temperature", "do_sample", "max_gen_toks", "until"}},
};

}  // namespace

core::Json ProtocolSettings(std::string_view task, const GenerateRequest& request) {
  const core::Json all = {{"until", request.stop},
                          {"do_sample", request.sampling.temperature > 0},
                          {"temperature", request.sampling.temperature},
                          {"max_gen_toks", request.max_new_tokens}};
  for (const Stated& stated : kStated) {
    if (stated.task != task) continue;
    core::Json settings;
    for (const char* key : stated.keys) settings[key] = all.at(key);
    return settings;
  }
  core::Json settings = all;
  if (request.middle_truncate_to) settings["middle_truncate_to"] = *request.middle_truncate_to;
  return settings;
}

}  // namespace natsl::tasks
