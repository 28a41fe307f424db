// A Hugging Face checkpoint folder: its spec and its weights by canonical slot, memory-mapped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters {

/// Parses config.json (both dialects). A field that changes the result and isn't supported is an
/// Error (model) that names it. `path`: the folder or the file.
ModelSpec LoadModelSpec(const std::filesystem::path& path);

/// The config.json dialects as text, for tests and configs that aren't files. `where` names it.
ModelSpec ParseModelSpec(std::string_view config, std::string_view where);

/// Every model_type that LoadModelSpec knows, sorted.
std::vector<std::string> SupportedModelTypes();

/// A weight: rows of a tensor in a mapped file, or a copy held by the Checkpoint. Row r starts at
/// data + r * row_stride_bytes; most weights are contiguous (row_stride_bytes == bytes of one row).
struct WeightView {
  core::DType dtype = core::DType::kFloat32;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
  int64_t row_stride_bytes = 0;
};

/// What a slot must look like, from the spec alone (also used to draw random weights).
struct SlotSpec {
  std::string slot;
  std::vector<int64_t> shape;
};
std::vector<SlotSpec> ExpectedSlots(const ModelSpec& spec);

/// The name under which the family's checkpoints hold a slot, for writers. The slot must be one of
/// the spec's; gpt_neox's q, k and v are fused in its files and have none: Error (internal).
std::string TensorName(const ModelSpec& spec, const std::string& slot);

class Checkpoint {
 public:
  /// Opens and verifies the folder: missing, unexpected and mis-shaped tensors are one Error
  /// (model) that lists all of them.
  explicit Checkpoint(const std::filesystem::path& folder);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  const ModelSpec& spec() const;
  bool Has(const std::string& slot) const;
  WeightView Weight(const std::string& slot) const;  ///< the slot must exist
  /// SHA-256 over config.json and the bytes of all weight files.
  std::string Fingerprint() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace natsl::model_adapters
