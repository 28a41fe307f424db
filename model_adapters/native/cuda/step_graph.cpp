// Capture and replay.
#include "model_adapters/native/cuda/step_graph.h"

#include <ATen/cuda/CUDAGraph.h>

#include "kernels/cuda/sampling.h"
#include "model_adapters/native/cuda/engine_kernels.h"
#include "model_adapters/native/cuda/packing.h"

namespace natsl::model_adapters::native::cuda {

struct StepGraph::Graph {
  at::cuda::CUDAGraph graph;
};

namespace {

template <typename T>
void Send(const std::vector<T>& values, at::Tensor to) {
  const at::Tensor host = at::empty({static_cast<int64_t>(values.size())},
                                    at::TensorOptions(to.scalar_type()).pinned_memory(true));
  std::copy(values.begin(), values.end(), host.data_ptr<T>());
  to.copy_(host, /*non_blocking=*/true);
}

at::Tensor ZerosOn(at::IntArrayRef shape, at::ScalarType type) {
  return at::zeros(shape, at::TensorOptions(at::kCUDA).dtype(type));
}

}  // namespace

at::Tensor StepGraph::Launch(const Network& network, const Pass& pass, const at::Tensor& next) {
  at::Tensor logits = network.StepLogits(network.Forward(pass));
  kernels::cuda::LogitsArgs args;
  args.dtype = core::DType::kFloat32;
  args.logits = logits.data_ptr();
  args.logits_stride = logits.stride(0);
  args.argmax = next.data_ptr<int32_t>();
  args.rows = pass.sequences;
  args.vocabulary = network.spec().vocabulary;
  kernels::cuda::RunLogits(args, pass.stream);
  return logits;
}

StepGraph::StepGraph(const Network& network, StatePool& pool, const ChoicePolicy& choices,
                     int64_t sequences)
    : sequences_(sequences), generation_(pool.generation()), graph_(std::make_unique<Graph>()) {
  ids_ = ZerosOn({sequences}, at::kInt);
  positions_ = ZerosOn({sequences}, at::kLong);
  read_ = ZerosOn({sequences}, at::kInt);
  write_ = ZerosOn({sequences}, at::kInt);
  lists_ = ZerosOn({sequences}, at::kInt);
  history_ = ZerosOn({kMostSteps, sequences}, at::kInt);
  step_ = ZerosOn({1}, at::kLong);
  const Pass pass = PassOf(pool, choices);
  graph_->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  RunBeginStep(ids_.data_ptr<int32_t>(), sequences_, history_.data_ptr<int32_t>(),
               step_.data_ptr<int64_t>(), positions_.data_ptr<int64_t>(), pass.stream);
  logits_ = Launch(network, pass, ids_);
  graph_->graph.capture_end();
}

StepGraph::~StepGraph() = default;

Pass StepGraph::PassOf(StatePool& pool, const ChoicePolicy& choices) const {
  Pass pass;
  pass.tokens = pass.sequences = sequences_;
  pass.ids = ids_.data_ptr<int32_t>();
  pass.positions = positions_.data_ptr<int64_t>();
  pass.slots.read = read_.data_ptr<int32_t>();
  pass.slots.write = write_.data_ptr<int32_t>();
  pass.lists = lists_.data_ptr<int32_t>();
  pass.pool = &pool;
  pass.choices = &choices;
  pass.stream = CurrentStream();
  return pass;
}

void StepGraph::Set(const at::Tensor& ids, const Where& where) {
  // A step begins by moving on.
  std::vector<int64_t> before = where.positions;
  for (int64_t& position : before) --position;
  Send(before, positions_);
  Send(where.read, read_);
  Send(where.write, write_);
  Send(where.lists, lists_);
  if (ids.data_ptr() != ids_.data_ptr()) ids_.copy_(ids, /*non_blocking=*/true);
  step_.zero_();
}

void StepGraph::SetRead(const std::vector<int32_t>& read) { Send(read, read_); }

void StepGraph::Replay() { graph_->graph.replay(); }

}  // namespace natsl::model_adapters::native::cuda
