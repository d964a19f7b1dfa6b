#include <cmath>

#include <gtest/gtest.h>

#include "espalier/function.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "espalier/pooling.h"
#include "espalier/tape.h"
#include "ir/graph.h"
#include "passes/pass.h"

namespace espalier {
namespace {

// The process has its first policy again when a test ends.
class DTypePolicies : public ::testing::Test {
 protected:
  ~DTypePolicies() override { set_dtype_policy("float32"); }
};

TEST_F(DTypePolicies, NamesAreKeras) {
  EXPECT_EQ(DTypePolicy(), DTypePolicy("float32"));
  struct Row {
    const char* name;
    DType compute, variable;
  };
  for (const auto& [name, compute, variable] : {Row{"float32", DType::kF32, DType::kF32},
                                                {"bfloat16", DType::kBF16, DType::kBF16},
                                                {"mixed_bfloat16", DType::kBF16, DType::kF32},
                                                {"float16", DType::kF16, DType::kF16},
                                                {"mixed_float16", DType::kF16, DType::kF32}}) {
    const DTypePolicy policy(name);
    EXPECT_STREQ(policy.name(), name);
    EXPECT_EQ(policy.compute_dtype(), compute);
    EXPECT_EQ(policy.variable_dtype(), variable);
  }
}

TEST_F(DTypePolicies, UnknownNamesAreRefused) {
  for (const std::string name : {"half", "f32", "bf16", "mixed_bf16", "float64", ""}) {
    const auto error_of = [](auto f) -> std::string {
      try {
        f();
      } catch (const ValueError& error) {
        EXPECT_EQ(error.rule(), "dtype_policy.name");
        return error.what();
      }
      return "";
    };
    for (const std::string& text :
         {error_of([&] { DTypePolicy policy(name); }), error_of([&] { set_dtype_policy(name); }),
          error_of([&] { Dense({.units = 2, .dtype = name}); })}) {
      EXPECT_NE(text.find(" at dtype_policy_test.cc:"), std::string::npos) << text;
      EXPECT_NE(text.find("float32, bfloat16, mixed_bfloat16, float16, mixed_float16"), std::string::npos)
          << text;
    }
    EXPECT_EQ(dtype_policy(), DTypePolicy("float32"));
  }
}

TEST_F(DTypePolicies, LayersTakeThatOfTheProcessWhenTheyAreMade) {
  Dense before({.units = 2});
  set_dtype_policy("mixed_bfloat16");
  Dense after({.units = 2}), out({.units = 2, .dtype = "float32"});
  set_dtype_policy("float32");
  EXPECT_EQ(before.compute_dtype(), DType::kF32);
  EXPECT_EQ(after.compute_dtype(), DType::kBF16);
  EXPECT_EQ(after.variable_dtype(), DType::kF32);
  EXPECT_EQ(out.dtype_policy(), DTypePolicy("float32"));
  EXPECT_EQ(after(full({1, 2}, 1)).dtype(), DType::kBF16);
  EXPECT_EQ(before(full({1, 2}, 1)).dtype(), DType::kF32);
}

struct Scale final : Layer {
  explicit Scale(DTypePolicy dtype) : Layer("scale", dtype) {}
  void build(const TensorType& x) override {
    add_weight("factor", {x.shape.back()}, initializer("ones"));
    add_weight("count", {}, initializer("zeros"), false);
  }
  Tensor call(const Tensor& x) override {
    weight("count").assign_add(1);
    seen = x.dtype();
    return x * weight("factor");
  }
  DType seen = DType::kBool;
};

struct Case {
  std::string name;
  std::function<std::shared_ptr<Layer>(DTypePolicy)> make;
  Tensor x;
};

std::vector<Case> cases() {
  const Tensor rows = full({2, 3}, 0.3), image = full({2, 4, 4, 3}, 0.3);
  const auto layer = [](auto make) {
    return [make](DTypePolicy dtype) -> std::shared_ptr<Layer> {
      return std::make_shared<decltype(make(dtype))>(make(dtype));
    };
  };
  return {
      {"dense", layer([](DTypePolicy d) { return Dense({.units = 2, .dtype = d}); }), rows},
      {"flatten", layer([](DTypePolicy d) { return Flatten(d); }), image},
      {"activation", layer([](DTypePolicy d) { return Activation("softmax", d); }), rows},
      {"dropout", layer([](DTypePolicy d) { return Dropout(0.5, "dropout", d); }), rows},
      {"batch_normalization", layer([](DTypePolicy d) { return BatchNormalization({.dtype = d}); }), image},
      {"embedding",
       layer([](DTypePolicy d) { return Embedding({.input_dim = 5, .output_dim = 2, .dtype = d}); }),
       Tensor::of<int32_t>({4, 0, 4})},
      {"conv2d", layer([](DTypePolicy d) { return Conv2D({.filters = 2, .dtype = d}); }), image},
      {"relu", layer([](DTypePolicy d) { return ReLU({.max_value = 6, .dtype = d}); }), rows},
      {"reshape", layer([](DTypePolicy d) { return Reshape({-1}, "reshape", d); }), image},
      {"layer_normalization", layer([](DTypePolicy d) { return LayerNormalization({.dtype = d}); }), rows},
      {"average_pooling2d", layer([](DTypePolicy d) { return AveragePooling2D({.dtype = d}); }), image},
      {"global_average_pooling2d", layer([](DTypePolicy d) { return GlobalAveragePooling2D({.dtype = d}); }),
       image},
      {"max_pooling2d", layer([](DTypePolicy d) { return MaxPooling2D({.dtype = d}); }), image},
      {"scale", layer([](DTypePolicy d) { return Scale(d); }), rows},
  };
}

// The graph of a training call, and of its gradients by the weights.
std::shared_ptr<const Graph> step_of(Layer& layer, const Tensor& x) {
  auto step = function([&](const Tensor& in) {
    const TrainingScope training(true);
    GradientTape tape;
    const Tensor y = layer(in);
    std::vector<Tensor> out{y};
    const std::vector<Variable> weights = layer.trainable_variables();
    if (weights.empty()) return out;
    for (Tensor& gradient : tape.gradient(y, weights)) out.push_back(std::move(gradient));
    return out;
  });
  step(x);
  return step.graph(std::vector<Tensor>{x});
}

// Casts between floating-point dtypes.
size_t casts(const Graph& graph) {
  const auto floating = [&](ValueId value) { return is_float(graph.type(value).dtype); };
  size_t out = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->name == std::string_view("convert"))
      out += floating(graph.inputs(node)[0]) && floating(node.first_result);
  }
  return out;
}

TEST_F(DTypePolicies, EveryLayerComputesInOneDtypeAndKeepsVariablesInTheOther) {
  for (const std::string name : {"float32", "bfloat16", "mixed_bfloat16"}) {
    const DTypePolicy policy(name);
    for (const Case& c : cases()) {
      const std::shared_ptr<Layer> layer = c.make(policy);
      const auto graph = step_of(*layer, c.x);
      const auto& outputs = graph->outputs();
      EXPECT_EQ(graph->type(outputs[0].value).dtype, policy.compute_dtype()) << name << " " << c.name;
      for (const Variable& variable : layer->variables())
        EXPECT_EQ(variable.dtype(), policy.variable_dtype()) << name << " " << variable.path();
      // Gradients and updates are what optimizers and variables take.
      for (const GraphOutput& output : std::span(outputs).subspan(1)) {
        const DType dtype = graph->type(output.value).dtype;
        if (is_float(dtype)) {
          EXPECT_EQ(dtype, policy.variable_dtype()) << name << " " << c.name << " " << output.name;
        }
      }
      // Inference, and an input of the compute dtype, which needs no cast.
      const bool ids = is_integer(c.x.dtype());
      const Tensor x = ids ? c.x : convert(c.x, policy.compute_dtype());
      EXPECT_EQ((*layer)(x).dtype(), policy.compute_dtype()) << name << " " << c.name;
      if (name == "float32") {
        EXPECT_EQ(casts(*graph), 0u) << c.name;
      }
    }
  }
}

TEST_F(DTypePolicies, BatchNormalizationComputesInF32) {
  BatchNormalization norm({.momentum = 0.5, .epsilon = 0, .dtype = "mixed_bfloat16"});
  const Tensor x = Tensor::of<float>({1.75f}, {1, 1});
  norm(x);
  // A gamma that bf16 would take for 1.
  Variable gamma = norm.variables()[0];
  gamma.assign(full({1}, 1 + 0.99 * 0x1p-8));
  EXPECT_EQ(convert(norm(x), DType::kF32).item<float>(), 1.75f + 0x1p-7f);
  gamma.assign(full({1}, 1));
  // A moving mean that bf16 would take for 1.75.
  Variable mean = norm.variables()[2];
  mean.assign(full({1}, 1.75 - 0x1p-10));
  EXPECT_EQ(convert(norm(x), DType::kF32).item<float>(), 0x1p-10f);
  mean.assign(full({1}, 0));

  // The mean 1 + 2^-9 is no bf16 number, the inputs are.
  const TrainingScope training(true);
  const Tensor batch = Tensor::of<float>({1, 1 + 0x1p-7f, 1, 1}, {4, 1});
  norm(batch);
  const auto got = convert(norm(batch), DType::kF32).to_vector<float>();
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], (i == 1 ? 3 : -1) / std::sqrt(3.0), 0x1p-8) << i;
  EXPECT_EQ(norm.variables()[2].read().item<float>(), 0.75f * (1 + 0x1p-9f));
  EXPECT_EQ(norm.variables()[3].read().item<float>(), 0.25f + 0.75f * 3 * 0x1p-18f);
}

TEST_F(DTypePolicies, GradientsOfARowOfAnEmbeddingAddUpInF32) {
  Embedding embedding({.input_dim = 2, .output_dim = 1, .dtype = "mixed_bfloat16"});
  GradientTape tape;
  // 257 is no bf16 number.
  const Tensor y = reduce_sum(convert(embedding(full({257}, 0, DType::kI32)), DType::kF32), {0, 1});
  EXPECT_EQ(tape.gradient(y, embedding.variables())[0].to_vector<float>(), (std::vector<float>{257, 0}));
}

TEST_F(DTypePolicies, AVariableIsCastOnceAStepRightWhereItIsRead) {
  Dense shared({.units = 3, .dtype = "mixed_bfloat16"});
  Scale scale("mixed_bfloat16");
  auto step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor y = reduce_sum(convert(scale(shared(shared(x))), DType::kF32), {0, 1});
    return tape.gradient(y, shared.trainable_variables());
  });
  const Tensor x = full({2, 3}, 0.3);
  step(x);
  const auto graph = optimize(step.graph(std::vector<Tensor>{x}));
  size_t variables = 0;
  for (const GraphInput& input : graph->inputs()) {
    if (input.kind != InputKind::kVariable || input.name.ends_with("count")) continue;
    ++variables;
    size_t casts = 0, others = 0;
    for (const Node& node : graph->nodes()) {
      for (const ValueId value : graph->inputs(node)) {
        if (value == input.value) ++(node.op->name == std::string_view("convert") ? casts : others);
      }
    }
    EXPECT_EQ(casts, 1u) << input.name;
    EXPECT_EQ(others, 0u) << input.name;
  }
  EXPECT_EQ(variables, 3u);
}

TEST_F(DTypePolicies, ALayerOfItsOwnPolicyOptsOut) {
  Dense hidden({.units = 4, .dtype = "mixed_bfloat16"}), out({.units = 2, .dtype = "float32"});
  const Tensor x = full({3, 4}, 0.3);
  const Tensor between = hidden(x), y = out(between);
  EXPECT_EQ(between.dtype(), DType::kBF16);
  ASSERT_EQ(y.dtype(), DType::kF32);
  // What the kernel has beyond bf16 counts.
  const auto h = convert(between, DType::kF32).to_vector<float>();
  const auto k = out.variables()[0].read().to_vector<float>();
  for (size_t j = 0; j < 2; ++j) {
    double wanted = 0;
    for (size_t i = 0; i < 4; ++i) wanted += double{h[i]} * double{k[i * 2 + j]};
    EXPECT_NEAR(y.to_vector<float>()[j], wanted, 1e-6);
  }
  // A float32 model hands bf16 outputs of one layer to the next as they are, and f32 inputs to a float32
  // layer.
  struct Probe final : Layer {
    explicit Probe(DTypePolicy dtype) : Layer("probe", dtype) {}
    Tensor call(const Tensor& in) override {
      EXPECT_EQ(in.dtype(), compute_dtype());
      return in;
    }
  };
  set_dtype_policy("mixed_bfloat16");
  const Tensor third = full({1, 1}, 1.0 / 3);
  Sequential model{Probe("float32"), Probe("mixed_bfloat16"), Probe("float32")};
  EXPECT_EQ(Sequential{Probe("float32")}(third).item<float>(), third.item<float>());
  EXPECT_EQ(model(third).item<float>(), static_cast<float>(BFloat16(third.item<float>())));
}

TEST_F(DTypePolicies, AScopeEndsWithItsLayer) {
  struct Outer final : Layer {
    Outer() : Layer("outer", "mixed_bfloat16") {}
    Scale inner{"float32"};
    void build(const TensorType&) override { add_weight("own", {}, initializer("ones")); }
    Tensor call(const Tensor& x) override {
      EXPECT_EQ(weight("own").read().dtype(), DType::kBF16);
      EXPECT_EQ(inner(x).dtype(), DType::kF32);
      return x * weight("own");
    }
  } outer;
  const Tensor y = outer(full({2}, 1));
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_EQ(outer.variables()[0].read().dtype(), DType::kF32);
  EXPECT_EQ(outer.inner.variables()[1].read().item<float>(), 1);
}

TEST_F(DTypePolicies, AFunctionMadeOfLayersIsTracedAnewUnderAnotherPolicy) {
  auto flat = function([](const Tensor& x) { return Flatten()(x); });
  const Tensor x = full({2, 2}, 1);
  EXPECT_EQ(flat(x).dtype(), DType::kF32);
  EXPECT_EQ(flat(x).dtype(), DType::kF32);
  set_dtype_policy("mixed_bfloat16");
  EXPECT_EQ(flat(x).dtype(), DType::kBF16);
}

// Under a tape a function is one call, whose variables come as they are and are cast inside.
TEST_F(DTypePolicies, AFunctionInsideALayerIsDifferentiated) {
  struct Traced final : Layer {
    Traced() : Layer("traced", "mixed_bfloat16") {}
    void build(const TensorType&) override { add_weight("w", {}, initializer("ones")); }
    Tensor call(const Tensor& x) override {
      auto scaled = function([this](const Tensor& in) { return in * weight("w"); });
      return scaled(x);
    }
  } layer;
  const Tensor x = full({3}, 2);
  layer(x);
  GradientTape tape;
  const Tensor y = layer(x);
  EXPECT_EQ(y.dtype(), DType::kBF16);
  const Tensor gradient = tape.gradient(reduce_sum(y, {0}), layer.variables())[0];
  EXPECT_EQ(gradient.dtype(), DType::kF32);
  EXPECT_EQ(gradient.item<float>(), 6);
}

TEST_F(DTypePolicies, AVariableWatchedInsideALayerGetsItsGradient) {
  struct Watched final : Layer {
    Watched() : Layer("watched", "mixed_bfloat16") {}
    GradientTape* tape = nullptr;
    void build(const TensorType&) override { add_weight("w", {}, initializer("ones")); }
    Tensor call(const Tensor& x) override {
      if (tape) tape->watch(weight("w"));
      return x * weight("w");
    }
  } layer;
  const Tensor x = full({3}, 2);
  layer(x);
  GradientTape tape({.watch_accessed_variables = false});
  layer.tape = &tape;
  const Tensor y = layer(x);
  EXPECT_EQ(tape.gradient(reduce_sum(y, {0}), layer.variables())[0].item<float>(), 6);
}

}  // namespace
}  // namespace espalier
