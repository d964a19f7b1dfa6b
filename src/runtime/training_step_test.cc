// A whole training step through plans: the interpreter's numbers, few steps, variables in place.
#include <random>

#include <gtest/gtest.h>

#include "grad/grad.h"
#include "interp/interpreter.h"
#include "ops/call.h"
#include "passes/pass.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

struct Training {
  std::shared_ptr<const Graph> graph;
  std::vector<Literal> inputs;
};

struct Tape final : Recorder {
  std::vector<TapeEntry> calls;
  void record(const Call& call, std::span<const Tensor> results) override {
    calls.push_back({&call.op,
                     call.attributes,
                     {call.inputs.begin(), call.inputs.end()},
                     {results.begin(), results.end()},
                     {}});
  }
};

// inputs-hidden-outputs with ReLU, softmax cross-entropy and Adam.
Training training_step(int64_t batch, int64_t inputs, int64_t hidden, int64_t outputs) {
  Training step;
  std::mt19937 random(1);
  const auto literal = [&](const Shape& shape, float scale) {
    std::vector<float> values(num_elements(shape));
    for (float& value : values) value = scale * std::uniform_real_distribution<float>(-1, 1)(random);
    step.inputs.push_back(Literal::copy({DType::kF32, shape}, values.data()));
  };
  const Shape shapes[] = {{inputs, hidden}, {hidden}, {hidden, outputs}, {outputs}};
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {batch, inputs}});
  literal({batch, inputs}, 1);
  const Tensor labels = builder.argument("labels", {DType::kI32, {batch}});
  std::vector<int32_t> classes(batch);
  for (int64_t i = 0; i < batch; ++i) classes[i] = static_cast<int32_t>(i % outputs);
  step.inputs.push_back(Literal::copy({DType::kI32, {batch}}, classes.data()));
  const Tensor count = builder.input(InputKind::kVariable, "step", {DType::kI64, {}});
  step.inputs.push_back(Literal::splat(TensorType{DType::kI64, {}}, int64_t{0}).expanded());
  std::vector<Tensor> parameters, slots;
  for (const char* kind : {"p", "m", "v"}) {
    for (size_t i = 0; i < 4; ++i) {
      const Tensor value = builder.input(InputKind::kVariable, cat(kind, i), {DType::kF32, shapes[i]});
      (*kind == 'p' ? parameters : slots).push_back(value);
      literal(shapes[i], *kind == 'p' ? 0.05f : 0);
    }
  }
  Tensor loss;
  std::vector<TapeEntry> calls;
  {
    Tape tape;
    const Tensor active = maximum(dot(x, parameters[0]) + parameters[1], 0);
    const Tensor logits = dot(active, parameters[2]) + parameters[3];
    loss = reduce_sum(softmax_cross_entropy(logits, labels), {0}) / static_cast<double>(batch);
    calls = tape.calls;
  }
  const std::vector<Tensor> gradients = reverse(calls, {&loss, 1}, {}, parameters);
  const Tensor next = count + 1;
  builder.output(OutputKind::kUpdate, "step", next);
  for (size_t i = 0; i < 4; ++i) {
    const auto updated = adam(parameters[i], slots[i], slots[4 + i], gradients[i], Tensor::scalar(1e-3f),
                              next, 1.0, Tensor::scalar(true));
    builder.output(OutputKind::kUpdate, cat("p", i), updated[0]);
    builder.output(OutputKind::kUpdate, cat("m", i), updated[1]);
    builder.output(OutputKind::kUpdate, cat("v", i), updated[2]);
  }
  builder.result("loss", loss);
  step.graph = builder.finish();
  return step;
}

TEST(TrainingStep, FollowsTheInterpreter) {
  const Training step = training_step(16, 30, 20, 5);
  const auto wanted = interpret(*step.graph, step.inputs, RunContext::current());
  const auto got = run(*compile(step.graph, {.check = true}), step.inputs, RunContext::current());
  EXPECT_EQ(wanted[0], got[0]);
  for (size_t i = 1; i < wanted.size(); ++i) {
    const Literal a = wanted[i].expanded(), b = got[i].expanded();
    for (int64_t k = 0; k < a.type().elements(); ++k)
      ASSERT_NEAR(a.view().as<float>()[k], b.view().as<float>()[k], 2e-5f) << step.graph->outputs()[i].name;
  }
}

TEST(TrainingStep, IsAFewStepsWithVariablesInPlace) {
  const Training step = training_step(64, 784, 128, 10);
  const auto plan = compile(optimize(step.graph), {.check = true});
  EXPECT_LE(plan->step_count(), 24u);
  // The gradient of the first layer, the activations, and little else; no copy of a parameter.
  EXPECT_LE(plan->arena_bytes(), 600'000u);
}

}  // namespace
}  // namespace espalier
