// Fields that every family's config has.
#pragma once

#include <optional>

#include "model_adapters/spec/config_reader.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters {

/// Class defaults of the common fields.
struct CommonDefaults {
  int64_t layers = 0;
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  std::optional<int64_t> max_positions;
  std::optional<int64_t> bos, eos;
  bool tied_head = false;
};

/// Sizes, token ids, tied head and maximum length; layers are there, empty. Marks the base class's
/// inert keys as read.
ModelSpec CommonSkeleton(ConfigReader& config, const CommonDefaults& defaults);

}  // namespace natsl::model_adapters
