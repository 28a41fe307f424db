// The trainable network against the native CPU model on every small config, and what a training
// step does.
#include "training/network.h"

#include <ATen/record_function.h>

#include "core/error.h"
#include "model_adapters/native/network.h"
#include "tests/training/evaluation.h"

namespace natsl::training {
namespace {

namespace native = model_adapters::native;
using model_adapters::ModelSpec;

constexpr int64_t kVocabulary = 96;

// NAtS-L without an output gate has weights of a mix that nothing reads.
bool IsWithoutEffect(const TinyModel& model, const std::string& name) {
  return std::string_view(model.name) == "natsl_gva_no_gate_no_conv" &&
         name.find("nats_out_weights_layer") != std::string::npos;
}

// The network's parameters by slot, as the native layers ask for them.
class ParameterSource final : public native::WeightSource {
 public:
  ParameterSource(const ModelSpec& spec, const Network& network) {
    for (const model_adapters::SlotSpec& slot : model_adapters::ExpectedSlots(spec)) {
      tensors_[slot.slot] =
          network.Parameters().at(model_adapters::TensorName(spec, slot.slot)).detach();
    }
  }
  bool Has(const std::string& slot) const override { return tensors_.count(slot) > 0; }
  at::Tensor Load(const std::string& slot) const override { return tensors_.at(slot); }

 private:
  std::map<std::string, at::Tensor> tensors_;
};

at::Tensor NativeLogits(const ModelSpec& spec, const Network& network, const at::Tensor& ids) {
  const ParameterSource source(spec, network);
  const native::Network reference(spec, source, core::DType::kFloat32);
  native::SequenceState state = reference.NewState();
  native::Batch batch;
  std::vector<model_adapters::TokenId> tokens;
  for (int64_t t = 0; t < ids.size(0); ++t) {
    tokens.push_back(static_cast<model_adapters::TokenId>(ids[t].item<int64_t>()));
  }
  batch.Add(state, tokens, true);
  return reference.Logits(reference.Forward(batch));
}

TEST(NetworkTest, LogitsEqualTheNativeModelsOnEveryConfig) {
  const at::NoGradGuard no_grad;
  for (const TinyModel& model : native::TinyModels()) {
    if (!IsSupported(model)) continue;
    SCOPED_TRACE(model.name);
    const ModelSpec spec = SpecOf(model);
    const Network network(spec, 1, at::kCPU);
    DrawLoud(spec, network);
    const at::Tensor ids = Ids(2, 150, 3);
    const at::Tensor logits = network.Logits(ids, at::kFloat);
    ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{2, 150, kVocabulary}));
    for (int64_t b = 0; b < 2; ++b) {
      const at::Tensor expected = NativeLogits(spec, network, ids[b]);
      EXPECT_GT(expected.abs().max().item<float>(), 0.5);
      EXPECT_LE((logits[b] - expected).abs().max().item<float>(), 1e-4);
    }
  }
}

TEST(NetworkTest, WhatHasNoFormIsRefusedByName) {
  for (const TinyModel& model : native::TinyModels()) {
    if (IsSupported(model)) continue;
    SCOPED_TRACE(model.name);
    try {
      const Network network(SpecOf(model), 1, at::kCPU);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
    }
  }
}

TEST(NetworkTest, OneStepOfGradientDescentLowersTheLossInEveryFamily) {
  for (const TinyModel& model : native::TinyModels()) {
    if (!IsSupported(model)) continue;
    SCOPED_TRACE(model.name);
    const Network network(SpecOf(model), 5, at::kCPU);
    const at::Tensor sequence = Ids(1, 81, 4);
    const at::Tensor ids = sequence.narrow(1, 0, 80), targets = sequence.narrow(1, 1, 80);
    const Network::Output before = network.Loss(ids, targets, at::kFloat);
    EXPECT_NEAR(before.loss.item<double>(), std::log(96.0), 0.3);
    before.loss.backward();
    for (const auto& [name, parameter] : network.Parameters()) {
      if (IsWithoutEffect(model, name)) continue;
      ASSERT_TRUE(parameter.grad().defined()) << name;
      ASSERT_TRUE(parameter.grad().isfinite().all().item<bool>()) << name;
    }
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : network.Parameters()) {
      if (parameter.grad().defined()) parameter.sub_(parameter.grad(), 0.05);
    }
    const Network::Output after = network.Loss(ids, targets, at::kFloat);
    EXPECT_LT(after.loss.item<double>(), before.loss.item<double>() - 1e-4);
  }
}

TEST(NetworkTest, BFloat16FollowsFloat32) {
  for (const TinyModel& model : native::TinyModels()) {
    if (!IsSupported(model)) continue;
    SCOPED_TRACE(model.name);
    const Evaluation wide = Evaluate(model, Weights::kFresh, at::kCPU, at::kFloat);
    const Evaluation narrow = Evaluate(model, Weights::kFresh, at::kCPU, at::kBFloat16);
    EXPECT_NEAR(narrow.loss, wide.loss, 0.02);
    EXPECT_GT(Cosine(narrow, wide), 0.98);
  }
}

// Names of the operators that a thread runs.
class OperatorLog {
 public:
  OperatorLog() : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(&Record))) {
    Names().clear();
  }
  ~OperatorLog() { at::removeCallback(handle_); }
  static std::map<std::string, int64_t>& Names() {
    static std::map<std::string, int64_t> names;
    return names;
  }

 private:
  static std::unique_ptr<at::ObserverContext> Record(const at::RecordFunction& function) {
    ++Names()[function.name()];
    return nullptr;
  }
  at::CallbackHandle handle_;
};

TEST(NetworkTest, NothingReadsValuesOrMakesShapesFromThem) {
  for (const TinyModel& model : native::TinyModels()) {
    if (!IsSupported(model)) continue;
    SCOPED_TRACE(model.name);
    const Network network(SpecOf(model), 5, at::kCPU);
    const at::Tensor ids = Ids(1, 100, 4);
    network.Loss(ids, ids, at::kFloat);
    const OperatorLog log;
    network.Loss(ids, ids, at::kFloat).loss.backward();
    EXPECT_GT(OperatorLog::Names()["aten::mm"], 0);
    for (const char* name : {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero",
                             "aten::nonzero", "aten::masked_select", "aten::equal"}) {
      EXPECT_EQ(OperatorLog::Names().count(name), 0u) << name;
    }
  }
}

TEST(NetworkTest, NegativeTargetsAreIgnored) {
  const Network network(SpecOf(native::Tiny("gated_deltanet_hybrid")), 5, at::kCPU);
  const at::Tensor ids = Ids(1, 70, 4);
  at::Tensor targets = at::full({1, 70}, -1, at::kLong);
  targets[0][3] = 7;
  targets[0][9] = -100;
  targets[0][60] = 8;
  const at::Tensor logits = network.Logits(ids, at::kFloat).log_softmax(2);
  const double expected = -(logits[0][3][7] + logits[0][60][8]).item<double>() / 2;
  EXPECT_NEAR(network.Loss(ids, targets, at::kFloat).loss.item<double>(), expected, 1e-5);
}

TEST(NetworkTest, SharesOfSoftmaxChunksAreReported) {
  const Network network(SpecOf(native::Tiny("natsl_hybrid_rope_no_decay_raw")), 5, at::kCPU);
  const at::Tensor ids = Ids(2, 256, 4);
  const at::Tensor shares = network.Loss(ids, ids, at::kFloat).softmax_share;
  ASSERT_EQ(shares.sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_FALSE(shares.requires_grad());
  EXPECT_GE(shares.min().item<float>(), 0);
  EXPECT_LE(shares.max().item<float>(), 1);
  // 2 sequences of 4 complete chunks.
  EXPECT_EQ((shares * 8 - (shares * 8).round()).abs().max().item<float>(), 0);
}

TEST(NetworkTest, TheSeedAloneSetsTheParameters) {
  const ModelSpec spec = SpecOf(native::Tiny("mamba2"));
  const Network first(spec, 5, at::kCPU), second(spec, 5, at::kCPU), other(spec, 6, at::kCPU);
  for (const auto& [name, parameter] : first.Parameters()) {
    EXPECT_TRUE(parameter.equal(second.Parameters().at(name))) << name;
  }
  const std::string name = "backbone.layers.0.mixer.in_proj.weight";
  EXPECT_FALSE(first.Parameters().at(name).equal(other.Parameters().at(name)));
  EXPECT_NEAR(first.Parameters().at(name).std().item<double>(), 0.02, 0.001);
  const Network wide(spec, 5, at::kCPU, 0.1);
  EXPECT_NEAR(wide.Parameters().at(name).std().item<double>(), 0.1, 0.005);
  const at::Tensor decay = first.Parameters().at("backbone.layers.0.mixer.A_log").detach().exp();
  EXPECT_GT(decay.min().item<float>(), 0);
  EXPECT_LT(decay.max().item<float>(), 16);
  const at::Tensor step =
      at::softplus(first.Parameters().at("backbone.layers.0.mixer.dt_bias").detach());
  EXPECT_GE(step.min().item<float>(), 0.99e-3);
  EXPECT_LE(step.max().item<float>(), 1.01e-1);
}

}  // namespace
}  // namespace natsl::training
