#include "espalier/quantize.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"
#include "passes/bind_variables.h"
#include "passes/pass.h"
#include "tests/shared_data.h"
#include "text/compiled_c_test.h"
#include "train/program.h"

namespace espalier {
namespace {

Tensor quantize_rows(int64_t count, uint64_t seed) { return Generator(seed).normal({count, 6}); }

Sequential small_model() {
  set_seed(3);
  Sequential model{Dense({.units = 16, .activation = "relu"}), BatchNormalization(), Dropout(0.3),
                   Dense({.units = 3})};
  const Tensor x = quantize_rows(400, 1);
  model.compile({.optimizer = Adam{.learning_rate = 0.02}});
  model.fit(x, argmax(slice(x, {0, 0}, {400, 3}), 1), {.epochs = 5});
  return model;
}

double worst(const Tensor& a, const Tensor& b) { return reduce_max(abs(a - b), {0, 1}).item<float>(); }

TEST(QuantizedModel, PredictsAlmostTheSameForAnyBatchSize) {
  Sequential model = small_model();
  QuantizedModel quantized = quantize(model, quantize_rows(300, 2), {.batch_size = 128});
  EXPECT_EQ(quantized.products(), 2u);
  const Tensor x = quantize_rows(50, 2), wanted = model.predict(x), got = quantized.predict(x);
  EXPECT_LE(worst(wanted, got), 0.02 * reduce_max(abs(wanted), {0, 1}).item<float>());
  EXPECT_GT(worst(wanted, got), 0);
  EXPECT_EQ(quantized.predict(x, 7).to_vector<float>(), got.to_vector<float>());
}

TEST(QuantizedModel, KeepsItsWeightsWhenTheModelIsTrainedFurther) {
  Sequential model = small_model();
  QuantizedModel quantized = quantize(model, quantize_rows(100, 2));
  const Tensor x = quantize_rows(10, 4), before = quantized.predict(x);
  model.fit(quantize_rows(64, 5), full({64}, 1, DType::kI32));
  EXPECT_EQ(quantized.predict(x).to_vector<float>(), before.to_vector<float>());
}

TEST(QuantizedModel, IsSavedAndGoesToC) {
  Sequential model = small_model();
  QuantizedModel quantized = quantize(model, quantize_rows(100, 2));
  const std::string path = testing::TempDir() + "espalier-quantized";
  std::filesystem::remove_all(path);
  quantized.save(path);
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.fixed_batch(), 0);
  const Tensor x = quantize_rows(9, 6);
  EXPECT_EQ(loaded.predict(x).to_vector<float>(), quantized.predict(x).to_vector<float>());
  std::filesystem::remove_all(path);
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  const auto graph = optimize(trace_model(loaded, loaded.input_rows(), 1, false).graph);
  const CExport code = print_c(*graph);
  EXPECT_NE(code.source.find("static const int8_t w"), std::string::npos);
  const CompiledC compiled(*graph, code);
  const Tensor one = quantize_rows(1, 7);
  expect_near(compiled({one.node()->dense()})[0], loaded.predict(one).node()->dense(), 1e-5, "C");
}

TEST(QuantizedModel, TellsHowManyRowsItHasSeen) {
  Sequential model = small_model();
  std::vector<int64_t> told;
  quantize(model, quantize_rows(10, 1),
           {.batch_size = 4, .on_rows = [&](int64_t rows) { told.push_back(rows); }});
  EXPECT_EQ(told, (std::vector<int64_t>{4, 8, 10}));
}

TEST(QuantizedModel, RefusesWhatItCannotDo) {
  Sequential model = small_model();
  EXPECT_THROW(quantize(model, quantize_rows(10, 1), {.percentile = 20}), ValueError);
  EXPECT_THROW(quantize(model, quantize_rows(10, 1), {.batch_size = 0}), ValueError);
  EXPECT_THROW(quantize(model, full({10, 5}, 1)), ShapeError);
  Sequential flat{Flatten()};
  EXPECT_THROW(quantize(flat, quantize_rows(10, 1)), UnsupportedError);
}

// What int8 costs a network on handwritten digits: at most a point of accuracy.
TEST(QuantizedModel, DigitsStayWithinAPointSlow) {
  const std::string folder = shared_data("mnist");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  const Examples digits = load_digits(folder);
  const auto [train, test] = digits.split(8000);
  set_seed(1);
  Sequential model{Conv2D({.filters = 8, .kernel_size = {3, 3}, .activation = "relu"}), MaxPooling2D(),
                   Flatten(), Dense({.units = 32, .activation = "relu"}), Dense({.units = 10})};
  const auto images = [](const Tensor& x) { return reshape(x, {x.size(0), 28, 28, 1}); };
  model.compile({.optimizer = Adam{}});
  model.fit(images(train.x), train.y, {.epochs = 2});
  for (const double percentile : {100.0, 99.99}) {
    QuantizedModel quantized = quantize(model, images(train.split(500).first.x), {.percentile = percentile});
    quantized.compile();
    EXPECT_EQ(quantized.products(), 3u);
    EXPECT_GE(quantized.evaluate(images(test.x), test.y).at("accuracy"),
              model.evaluate(images(test.x), test.y).at("accuracy") - 0.01)
        << percentile;
  }
}

}  // namespace
}  // namespace espalier
