// Packing of passes, halving for lack of memory, decode steps.
#include "model_adapters/native/cuda/engine.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

#include "core/cast.h"
#include "core/error.h"
#include "kernels/cuda/sampling.h"
#include "model_adapters/native/cuda/packing.h"
#include "model_adapters/native/cuda/step_graph.h"

namespace natsl::model_adapters::native::cuda {
namespace {

using kernels::kPageTokens;

// Graphs are kept for this many different batch sizes.
constexpr size_t kMostGraphs = 64;
// Sequences of one pass: the chunk plan's limit.
constexpr size_t kMostPassSequences = 65536;
// Tokens of a pass below which no memory could be found.
constexpr int64_t kFewestTokens = 64;

// Where a pass reads and leaves its sequences' states. What it reads stays alive until destruction.
struct Places {
  std::vector<int32_t> read, write, lists, forks;
  std::vector<std::shared_ptr<const int32_t>> kept;

  void Add(DeviceState& state, bool retain, const StatePool& pool) {
    read.push_back(state.read_slot());
    write.push_back(retain && pool.has_fixed() ? state.WriteSlot(kept) : -1);
    lists.push_back(pool.has_lists() ? state.WriteList(forks) : 0);
  }
};

int64_t NewPages(int64_t length, int64_t tokens) {
  return (length + tokens + kPageTokens - 1) / kPageTokens - length / kPageTokens;
}

DeviceState& StateOf(const RunnerPiece& piece) { return static_cast<DeviceState&>(*piece.state); }

int64_t TokensOf(std::span<const RunnerPiece> pieces) {
  int64_t tokens = 0;
  for (const RunnerPiece& piece : pieces) tokens += core::Size(piece.ids);
  return tokens;
}

}  // namespace

Engine::Engine(const ModelSpec& spec, const WeightSource& source, core::DType dtype, int device)
    : device_(device), pool_(std::make_shared<StatePool>()) {
  stream_ = c10::cuda::getStreamFromPool(true, static_cast<c10::DeviceIndex>(device)).stream();
  network_ = std::make_unique<Network>(spec, source, dtype, *pool_);
  choices_.most_heads = network_->most_nats_heads();
  counts_ = at::zeros({core::Size(spec.layers) * std::max<int64_t>(choices_.most_heads, 1) * 2},
                      at::TensorOptions(at::kCUDA).dtype(at::kLong));
  choices_.counts = reinterpret_cast<unsigned long long*>(counts_.data_ptr<int64_t>());
}

Engine::~Engine() = default;

bool Engine::MayStep(std::span<const RunnerPiece> pieces) const {
  return choices_.next == nullptr &&
         std::all_of(pieces.begin(), pieces.end(), [](const RunnerPiece& piece) {
           return piece.ids.size() == 1 && piece.retain;
         });
}

void Engine::Forward(std::span<const RunnerPiece> pieces) {
  last_ = Residual();
  last_steps_.reset();
  if (!MayStep(pieces)) {
    last_ = Run(pieces, nullptr);
    return;
  }
  std::vector<DeviceState*> states;
  std::vector<TokenId> ids;
  for (const RunnerPiece& piece : pieces) {
    states.push_back(&StateOf(piece));
    ids.push_back(piece.ids[0]);
  }
  last_steps_ = Decode(states, Upload(ids), 1);
}

int64_t Engine::TokensThatFit() const {
  size_t free = 0, total = 0;
  kernels::cuda::Check(cudaMemGetInfo(&free, &total), "memory query");
  const auto stats =
      c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device_));
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const int64_t cached = stats.reserved_bytes[kAll].current - stats.allocated_bytes[kAll].current;
  const int64_t room = (static_cast<int64_t>(free) + cached) / 10 * 9;
  // Growing a pool holds the old and the new pages of a layer for a moment: a quarter more.
  const int64_t each = network_->activation_bytes() + pool_->token_bytes() * 5 / 4;
  return std::max(room / each, kFewestTokens);
}

void Engine::LimitMemory(int64_t bytes) {
  const auto device = static_cast<c10::DeviceIndex>(device_);
  last_ = Residual();
  last_steps_.reset();
  reserved_tokens_ = 0;
  c10::cuda::CUDACachingAllocator::emptyCache();
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device);
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  size_t free = 0, total = 0;
  kernels::cuda::Check(cudaMemGetInfo(&free, &total), "memory query");
  const auto most = static_cast<double>(stats.reserved_bytes[kAll].current + bytes);
  c10::cuda::CUDACachingAllocator::setMemoryFraction(
      std::min(1.0, most / static_cast<double>(total)), device);
}

bool Engine::Reserve(int64_t tokens) {
  if (tokens <= reserved_tokens_) return true;
  try {
    // Taken in one piece and given back to LibTorch's cache: the pass's tensors come out of it.
    const at::Tensor trial = EmptyBytes(tokens * network_->activation_bytes());
    reserved_tokens_ = tokens;
    return true;
  } catch (const c10::OutOfMemoryError&) {
    return false;
  }
}

Residual Engine::Run(std::span<const RunnerPiece> pieces, std::vector<at::Tensor>* hidden_states) {
  const int64_t tokens = TokensOf(pieces);
  if (pieces.size() <= kMostPassSequences && Reserve(tokens))
    return RunWhole(pieces, hidden_states);
  if (tokens <= kFewestTokens) {
    throw ModelError(
        "the GPU's memory is full: not even a pass of {} tokens fits beside the weights and the "
        "states held; use fewer sequences, shorter ones, or a larger GPU",
        tokens);
  }
  ++halvings_;
  halved_tokens_ = halvings_ == 1 ? tokens / 2 : std::min(halved_tokens_, tokens / 2);
  return RunHalves(pieces, hidden_states);
}

Residual Engine::RunHalves(std::span<const RunnerPiece> pieces,
                           std::vector<at::Tensor>* hidden_states) {
  std::vector<RunnerPiece> first(pieces.begin(), pieces.end()), second;
  if (pieces.size() > 1) {
    const auto middle = first.begin() + static_cast<ptrdiff_t>(pieces.size() / 2);
    second.assign(middle, first.end());
    first.erase(middle, first.end());
  } else {
    // Cut between chunks where it can be.
    const auto& ids = pieces[0].ids;
    const size_t half = std::max<size_t>(ids.size() / 2 / kPageTokens * kPageTokens, 1);
    second = first;
    first[0].ids = ids.first(half);
    first[0].retain = true;
    second[0].ids = ids.subspan(half);
  }
  // The result has its memory before the halves look for theirs: nothing is joined at the end.
  reserved_tokens_ = 0;
  const int64_t tokens = TokensOf(pieces), width = network_->spec().hidden;
  const at::ScalarType type = ScalarTypeOf(network_->dtype());
  Residual joined{EmptyOn({tokens, width}, type), EmptyOn({tokens, width}, type)};
  std::vector<at::Tensor> outputs[2];
  int64_t done = 0;
  for (const int half : {0, 1}) {
    const Residual part =
        Run(half == 0 ? first : second, hidden_states != nullptr ? &outputs[half] : nullptr);
    joined.x.narrow(0, done, part.x.size(0)).copy_(part.x);
    joined.add.narrow(0, done, part.x.size(0)).copy_(part.add);
    done += part.x.size(0);
  }
  for (size_t i = 0; i < outputs[0].size(); ++i) {
    hidden_states->push_back(at::cat({outputs[0][i], outputs[1][i]}));
  }
  return joined;
}

void Engine::CheckIds(std::span<const TokenId> ids) const {
  const int64_t vocabulary = network_->spec().vocabulary;
  for (const TokenId id : ids) {
    if (id >= 0 && id < vocabulary) continue;
    throw ModelError(
        "token id {} is outside the model's vocabulary of {}: the tokenizer and the model don't "
        "belong together",
        id, vocabulary);
  }
}

Residual Engine::RunWhole(std::span<const RunnerPiece> pieces,
                          std::vector<at::Tensor>* hidden_states) {
  const int64_t tokens = TokensOf(pieces);
  const int64_t sequences = core::Size(pieces);
  std::vector<int32_t> ids;
  ids.reserve(static_cast<size_t>(tokens));
  Places places;
  Pass pass;
  pass.tokens = tokens;
  pass.sequences = sequences;
  pass.host_offsets = {0};
  int64_t new_pages = 0, longest = 0;
  for (const RunnerPiece& piece : pieces) {
    CheckIds(piece.ids);
    DeviceState& state = StateOf(piece);
    ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
    pass.host_offsets.push_back(static_cast<int64_t>(ids.size()));
    pass.host_first.push_back(state.length());
    places.Add(state, piece.retain, *pool_);
    new_pages += NewPages(state.length(), core::Size(piece.ids));
    longest = std::max(longest, state.length() + core::Size(piece.ids));
  }
  pool_->Prepare(places.forks, new_pages, longest);

  Packer packer(Packer::Rounded(tokens * 4) + Packer::Rounded((sequences + 1) * 8) +
                Packer::Rounded(sequences * 8) + 3 * Packer::Rounded(sequences * 4));
  const int64_t ids_at = packer.Add(std::span<const int32_t>(ids));
  const int64_t offsets_at = packer.Add(std::span<const int64_t>(pass.host_offsets));
  const int64_t first_at = packer.Add(std::span<const int64_t>(pass.host_first));
  const int64_t read_at = packer.Add(std::span<const int32_t>(places.read));
  const int64_t write_at = packer.Add(std::span<const int32_t>(places.write));
  const int64_t lists_at = packer.Add(std::span<const int32_t>(places.lists));
  packer.Send();
  pass.ids = packer.On<int32_t>(ids_at);
  pass.slots.read = packer.On<int32_t>(read_at);
  pass.slots.write = packer.On<int32_t>(write_at);
  pass.lists = packer.On<int32_t>(lists_at);
  pass.pool = pool_.get();
  pass.choices = &choices_;
  pass.stream = CurrentStream();

  kernels::cuda::ChunkPlan plan;
  at::Tensor plan_memory, positions;
  if (MayStep(pieces)) {
    pass.positions = packer.On<int64_t>(first_at);
  } else {
    plan_memory = EmptyBytes(kernels::cuda::ChunkPlanBytes(tokens, sequences));
    plan =
        kernels::cuda::BuildChunkPlan(packer.On<int64_t>(offsets_at), packer.On<int64_t>(first_at),
                                      sequences, tokens, plan_memory.data_ptr(), pass.stream);
    positions = EmptyOn({tokens}, at::kLong);
    kernels::cuda::RunPositions(plan, positions.data_ptr<int64_t>(), pass.stream);
    pass.plan = &plan;
    pass.positions = positions.data_ptr<int64_t>();
  }
  Residual residual = network_->Forward(pass, hidden_states);
  pool_->DropHidden(places.lists);
  longest_pass_ = std::max(longest_pass_, tokens);
  for (const RunnerPiece& piece : pieces) StateOf(piece).Advance(core::Size(piece.ids));
  return residual;
}

at::Tensor Engine::Upload(std::span<const TokenId> ids) const {
  CheckIds(ids);
  const at::Tensor host =
      at::empty({core::Size(ids)}, at::TensorOptions(at::kInt).pinned_memory(true));
  std::copy(ids.begin(), ids.end(), host.data_ptr<int32_t>());
  return host.to(at::kCUDA, /*non_blocking=*/true);
}

at::Tensor Engine::Argmax(const at::Tensor& logits) const {
  at::Tensor argmax = EmptyOn({logits.size(0)}, at::kInt);
  kernels::cuda::LogitsArgs args;
  args.dtype = core::DType::kFloat32;
  args.logits = logits.data_ptr();
  args.logits_stride = logits.stride(0);
  args.argmax = argmax.data_ptr<int32_t>();
  args.rows = logits.size(0);
  args.vocabulary = logits.size(1);
  kernels::cuda::RunLogits(args, CurrentStream());
  return argmax;
}

bool Engine::Lengthen(std::span<DeviceState* const> states, int64_t length) {
  Places places;
  int64_t new_pages = 0;
  const int64_t before = states.front()->length(), added = length - before;
  if (added < 0 || added % kPageTokens != 0 || before < kPageTokens) return false;
  if (added == 0) return true;
  for (DeviceState* state : states) {
    places.Add(*state, false, *pool_);
    new_pages += NewPages(before, added);
  }
  // One page more a list than it will have: the entry behind its last one moves too.
  pool_->Prepare(places.forks, new_pages, length + kPageTokens);
  pool_->Lengthen(places.lists, before / kPageTokens, added / kPageTokens);
  pool_->DropHidden(places.lists, /*lengthened=*/true);
  for (DeviceState* state : states) state->Advance(added);
  return true;
}

// Loads kernels and prepares products, which can't be done inside a capture.
void Engine::StepOfEmptySequences(int64_t sequences) {
  std::vector<std::unique_ptr<DeviceState>> fresh;
  std::vector<RunnerPiece> pieces;
  const TokenId token = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    fresh.push_back(NewDeviceState());
    pieces.push_back({fresh.back().get(), std::span(&token, 1), true});
  }
  Argmax(network_->StepLogits(RunWhole(pieces, nullptr)));
}

Engine::Steps Engine::Decode(std::span<DeviceState* const> states, const at::Tensor& ids,
                             int64_t steps) {
  const int64_t sequences = core::Size(states);
  auto& graph = graphs_[sequences];
  const auto make_room = [&](int64_t count, const std::vector<int32_t>& forks) {
    int64_t new_pages = 0, longest = 0;
    for (const DeviceState* state : states) {
      new_pages += NewPages(state->length(), count);
      longest = std::max(longest, state->length() + count);
    }
    pool_->Prepare(forks, new_pages, longest);
  };
  Steps result;
  at::Tensor next = ids;
  std::vector<at::Tensor> histories;
  for (int64_t done = 0; done < steps;) {
    const int64_t count = std::min(StepGraph::kMostSteps, steps - done);
    Places places;
    StepGraph::Where where;
    for (DeviceState* state : states) {
      where.positions.push_back(state->length());
      places.Add(*state, true, *pool_);
    }
    make_room(count, places.forks);
    where.read = places.read;
    where.write = places.write;
    where.lists = places.lists;
    if (!graph || graph->generation() != pool_->generation()) {
      graph.reset();
      StepOfEmptySequences(sequences);
      make_room(count, {});  // that step may have taken the pages
      graph = std::make_unique<StepGraph>(*network_, *pool_, choices_, sequences);
    }
    graph->Set(next, where);
    graph->Replay();
    if (count > 1 && where.read != where.write) {
      // The states have moved to their own slots.
      graph->SetRead(where.write);
    }
    for (int64_t i = 1; i < count; ++i) graph->Replay();
    pool_->DropHidden(where.lists);
    for (DeviceState* state : states) state->Advance(count);
    histories.push_back(graph->history().narrow(0, 0, count).clone());
    next = graph->ids();
    done += count;
  }
  result.logits = graph->logits().clone();
  result.next = graph->ids().clone();
  result.history = histories.size() == 1 ? histories[0] : at::cat(histories);
  if (graphs_.size() > kMostGraphs) {
    std::erase_if(graphs_, [&](const auto& entry) { return entry.first != sequences; });
  }
  return result;
}

}  // namespace natsl::model_adapters::native::cuda
