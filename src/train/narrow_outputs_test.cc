// What fit says of outputs in 16 bits.
#include <gtest/gtest.h>

#include "espalier/espalier.h"

namespace espalier {
namespace {

class NarrowOutput : public testing::Test {
 protected:
  void SetUp() override { set_seed(1); }
  void TearDown() override { set_dtype_policy("float32"); }
};

using Notes = std::vector<std::string>;

// The notes of a run, each behind its first step.
Notes notes_of(Model& model, const Tensors& y = {full({6, 2}, 0.5)}) {
  Notes out;
  int64_t steps = 0;
  const auto seen = LambdaCallback({.on_note =
                                        [&](const std::string& note) {
                                          EXPECT_EQ(steps, 0);
                                          out.push_back(note);
                                        },
                                    .on_batch_end = [&](int64_t, const Logs&) { ++steps; }});
  model.fit(full({6, 3}, 0.25), y, {.epochs = 2, .batch_size = 4, .callbacks = {seen}});
  EXPECT_EQ(steps, 4);
  return out;
}

std::string of_layer(const std::string& path, const std::string& dtype) {
  return "layer \"" + path + "\" gives the outputs of the model in " + dtype +
         ", so that its loss is of rounded numbers; make it with .dtype = \"float32\"";
}

TEST_F(NarrowOutput, IsSaidOnceWithTheLayer) {
  for (const auto& [policy, dtype] : {std::pair{"mixed_float16", "f16"},
                                      {"float16", "f16"},
                                      {"mixed_bfloat16", "bf16"},
                                      {"bfloat16", "bf16"}}) {
    for (const bool eager : {false, true}) {
      SCOPED_TRACE(policy);
      set_seed(1);
      Sequential model{Dense({.units = 4, .dtype = policy}), Dense({.units = 2, .dtype = policy})};
      const ModelOptions options{
          .loss = MeanSquaredError(), .run_eagerly = eager, .loss_scale = LossScale{.initial = 8}};
      model.compile(options);
      // Nobody is told here.
      model.fit(full({6, 3}, 0.25), full({6, 2}, 0.5));
      EXPECT_EQ(notes_of(model), Notes{of_layer("sequential/dense_1", dtype)});
      EXPECT_EQ(notes_of(model), Notes{});
      model.compile(options);
      EXPECT_EQ(notes_of(model), Notes{of_layer("sequential/dense_1", dtype)});
    }
  }
}

TEST_F(NarrowOutput, IsNotSaidOfALastLayerInFloat32) {
  for (const std::string policy : {"mixed_float16", "mixed_bfloat16", "float16", "bfloat16", "float32"}) {
    set_dtype_policy(policy);
    Sequential dense{Dense({.units = 4}), Dense({.units = 2, .dtype = "float32"})};
    Sequential activation{Dense({.units = 2}), Activation("softmax", "float32")};
    for (Sequential* const model : {&dense, &activation}) {
      model->compile({.loss = MeanSquaredError()});
      EXPECT_EQ(notes_of(*model), Notes{}) << policy;
    }
  }
}

TEST_F(NarrowOutput, OfTheLayerThatComesLast) {
  set_dtype_policy("mixed_bfloat16");
  Sequential softmax{Dense({.units = 2, .dtype = "float32"}), Activation("softmax")};
  softmax.compile({.loss = MeanSquaredError()});
  EXPECT_EQ(notes_of(softmax), Notes{of_layer("sequential/softmax", "bf16")});
  // The model itself, where it computes behind its layers.
  struct Twice : Model {
    Dense hidden{{.units = 2, .name = "hidden"}};
    Tensor call(const Tensor& x) override { return hidden(x) * 2; }
  } twice;
  twice.compile({.loss = MeanSquaredError()});
  EXPECT_EQ(notes_of(twice), Notes{of_layer("model", "bf16")});
}

TEST_F(NarrowOutput, OfEachOutput) {
  set_dtype_policy("mixed_bfloat16");
  const auto of = [&](const std::string& second) {
    set_seed(1);
    const Placeholder in = Input({3}), trunk = connect(Dense({.units = 4}), in);
    Functional model({in}, {connect(Dense({.units = 2, .name = "a"}), trunk),
                            connect(Dense({.units = 2, .name = "b", .dtype = second}), trunk)});
    model.compile({.outputs = {{.loss = MeanSquaredError()}, {.loss = MeanSquaredError()}}});
    return notes_of(model, {full({6, 2}, 0.5), full({6, 2}, 0.5)});
  };
  EXPECT_EQ(of("float32"), Notes{of_layer("functional/a", "bf16")});
  EXPECT_EQ(of("mixed_bfloat16"),
            Notes{"layers \"functional/a\", \"functional/b\" give the outputs of the model in bf16, so that "
                  "its loss is of rounded numbers; make them with .dtype = \"float32\""});
}

TEST_F(NarrowOutput, ConsoleProgressPrintsIt) {
  Sequential model{Dense({.units = 2, .dtype = "mixed_bfloat16"})};
  model.compile({.loss = MeanSquaredError()});
  testing::internal::CaptureStderr();
  model.fit(full({6, 3}, 0.25), full({6, 2}, 0.5), {.epochs = 2, .callbacks = {ConsoleProgress()}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "note: " + of_layer("sequential/dense", "bf16") + "\n");
}

}  // namespace
}  // namespace espalier
