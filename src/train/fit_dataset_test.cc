#include <filesystem>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/callbacks.h"
#include "espalier/dataset.h"
#include "espalier/functional.h"
#include "espalier/merging.h"
#include "espalier/random.h"
#include "nn/seed.h"
#include "train/given_test.h"

namespace espalier {
namespace {

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.bytes());
  return {bytes, bytes + tensor.type().bytes()};
}

Tensor fit_dataset_counting(int64_t rows) { return convert(iota({DType::kI32, {rows, 1}}, 0), DType::kF32); }
Tensor zeros_of(int64_t rows) { return full({rows}, 0, DType::kI32); }
Dataset rows_of(int64_t rows) {
  return Dataset::from_tensor_slices({fit_dataset_counting(rows), zeros_of(rows)});
}

struct Trained {
  std::vector<Logs> history;
  std::vector<std::vector<std::byte>> variables;
  Tensor predicted;
  Logs evaluated;
};

// By rows in memory or by the dataset of the same batches.
Trained train(bool by_dataset) {
  set_seed(5);
  Generator random(3);
  const Tensor x = random.normal({50, 4}), y = convert(sum(x, 1) > 0, DType::kI32);
  const Tensor weights = random.uniform({50}, 0.5, 2);
  Sequential model{Dense({.units = 8, .activation = "relu"}), Dense({.units = 2})};
  model.compile({.optimizer = Adam{.learning_rate = 0.05}, .metrics = {"accuracy"}});
  Trained out;
  if (by_dataset) {
    const Dataset plain = Dataset::from_tensor_slices({x, y});
    const Dataset weighted = Dataset::from_tensor_slices({x, y, weights});
    out.history = model.fit(weighted.batch(16).prefetch(2),
                            {.epochs = 3, .validation_data = plain.batch(16), .weighted = true});
    out.predicted = model.predict(plain.batch(7));
    out.evaluated = model.evaluate(plain.batch(16));
  } else {
    out.history = model.fit(x, y,
                            {.epochs = 3,
                             .batch_size = 16,
                             .shuffle = false,
                             .validation_x = x,
                             .validation_y = y,
                             .sample_weight = weights});
    out.predicted = model.predict(x, 7);
    out.evaluated = model.evaluate(x, y, 16);
  }
  for (const Variable& variable : model.variables()) out.variables.push_back(bytes_of(variable.read()));
  return out;
}

TEST(FitDataset, TrainsToTheBitsOfTheSameRowsInMemory) {
  const Trained rows = train(false), dataset = train(true);
  EXPECT_EQ(dataset.history, rows.history);
  EXPECT_EQ(dataset.variables, rows.variables);
  EXPECT_EQ(bytes_of(dataset.predicted), bytes_of(rows.predicted));
  EXPECT_EQ(dataset.predicted.shape(), (Shape{50, 2}));
  EXPECT_EQ(dataset.evaluated, rows.evaluated);
  EXPECT_EQ(rows.history.size(), 3u);
  EXPECT_TRUE(rows.history[0].contains("val_loss"));
}

// What a run sees, by the sums of its batches.
std::vector<float> seen(const Dataset& dataset, FitOptions options) {
  Given model;
  std::vector<float> sums;
  const Dataset watched = dataset.map([&sums](const Tensor& x, const Tensor& y) -> Tensors {
    sums.push_back(sum(x).item<float>());
    return {x, y};
  });
  model.fit(watched, options);
  return sums;
}

TEST(FitDataset, AnEpochIsAPassOrItsSteps) {
  const Dataset data = rows_of(5).batch(2);  // sums 1, 5, 4
  using Sums = std::vector<float>;
  EXPECT_EQ(seen(data, {.epochs = 2}), (Sums{1, 5, 4, 1, 5, 4}));
  EXPECT_EQ(seen(data, {.epochs = 2, .steps_per_epoch = 2}), (Sums{1, 5, 4, 1}));
  EXPECT_EQ(seen(data.repeat(), {.epochs = 2, .steps_per_epoch = 2}), (Sums{1, 5, 4, 1}));
  EXPECT_EQ(seen(data, {.epochs = 3, .initial_epoch = 2}), (Sums{1, 5, 4}));
  EXPECT_EQ(seen(data, {.epochs = 3, .steps_per_epoch = 2, .initial_epoch = 2}), (Sums{5, 4}));
  const std::vector<float> shuffled = seen(rows_of(64).shuffle(64).batch(1), {.epochs = 2});
  EXPECT_NE(Sums(shuffled.begin(), shuffled.begin() + 64), Sums(shuffled.begin() + 64, shuffled.end()));
}

TEST(FitDataset, RunsAreDescribedToCallbacks) {
  Given model;
  Callback::Run run;
  int64_t steps = 0;
  const auto look = LambdaCallback({.on_train_begin = [&](const Callback::Run& given) { run = given; },
                                    .on_batch_end = [&](int64_t, const Logs&) { ++steps; }});
  model.fit(rows_of(10).batch(4),
            {.epochs = 2, .validation_data = rows_of(3).batch(2), .callbacks = {look, ConsoleProgress()}});
  EXPECT_EQ(run.steps_per_epoch, 3);
  EXPECT_EQ(run.examples, 0);
  EXPECT_EQ(run.logs, (std::vector<std::string>{"loss", "val_loss"}));
  EXPECT_EQ(steps, 6);
}

TEST(FitDataset, RowsCountByTheirWeight) {
  const Tensor x = fit_dataset_counting(4), y = Tensor::of<int32_t>({0, 0, 1, 1});
  const Dataset plain = Dataset::from_tensor_slices({x, y}).batch(3);
  const Dataset weighted = Dataset::from_tensor_slices({x, y, Tensor::of<float>({0, 1, 2, 0.5f})}).batch(3);
  Given model;
  const auto loss = [](const Logs& logs, const char* name = "loss") {
    return static_cast<float>(logs.at(name));
  };
  EXPECT_FLOAT_EQ(loss(model.fit(plain)[0]), 1.5f);
  EXPECT_FLOAT_EQ(loss(model.fit(weighted, {.weighted = true})[0]), 6.5f / 3.5f);
  EXPECT_FLOAT_EQ(loss(model.fit(plain, {.class_weight = {{1, 3}}})[0]), 16.0f / 8);
  EXPECT_FLOAT_EQ(loss(model.fit(weighted, {.class_weight = {{1, 2}}, .weighted = true})[0]), 12.0f / 6);
  EXPECT_FLOAT_EQ(loss(model.evaluate(weighted, {.weighted = true})), 6.5f / 3.5f);
  const Logs logs = model.fit(x, y, {.batch_size = 3, .validation_data = weighted})[0];
  EXPECT_FLOAT_EQ(loss(logs), 1.5f);
  EXPECT_FLOAT_EQ(loss(logs, "val_loss"), 6.5f / 3.5f) << "the model takes one tensor: the third is weights";
}

TEST(FitDataset, BatchesOfAnySizeAndSeveralInputs) {
  const Placeholder a = Input({2}), b = Input({2});
  Functional model({a, b}, {connect(Dense({.units = 1}), connect(Concatenate(), {a, b}))});
  model.compile({.loss = MeanSquaredError(), .metrics = {}});
  const Dataset sizes = Dataset::from_generator([]() -> ElementSource {
    return [rows = int64_t{0}]() mutable -> std::optional<Tensors> {
      if (++rows == 5) return std::nullopt;
      return Tensors{full({rows, 2}, 1), full({rows, 2}, 2), full({rows, 1}, 3)};
    };
  });
  EXPECT_EQ(model.fit(sizes, {.epochs = 2, .steps_per_epoch = 4}).size(), 2u);
  EXPECT_EQ(model.predict(sizes).shape(), (Shape{10, 1})) << "the labels are left out";
  const Dataset inputs = sizes.map([](const Tensors& e) -> Tensors { return {e[0], e[1]}; });
  EXPECT_EQ(bytes_of(model.predict(inputs)), bytes_of(model.predict(sizes)));
}

TEST(FitDataset, MistakesAreNamed) {
  const Dataset data = rows_of(4).batch(2);
  const Dataset unknown =
      Dataset::from_generator([]() -> ElementSource { return [] { return std::optional<Tensors>(); }; });
  const auto rule = [](const Dataset& dataset, const FitOptions& options = {}) {
    Given model;
    const std::string out = rule_of([&] { model.fit(dataset, options); });
    EXPECT_TRUE(model.path().empty() || out == "nothing") << "a refused call changes nothing: " << out;
    return out;
  };
  EXPECT_EQ(rule(Dataset()), "dataset.undefined");
  EXPECT_EQ(rule(data.repeat()), "fit.steps_per_epoch");
  EXPECT_EQ(rule(unknown), "fit.rows");
  EXPECT_EQ(rule(unknown, {.steps_per_epoch = 2}), "fit.rows");
  EXPECT_EQ(rule(data.take(0)), "fit.rows");
  EXPECT_EQ(rule(data, {.steps_per_epoch = -1}), "fit.steps_per_epoch");
  EXPECT_EQ(rule(data, {.validation_split = 0.5}), "fit.validation");
  EXPECT_EQ(rule(data, {.validation_data = data.repeat()}), "fit.validation");
  EXPECT_EQ(
      rule(data,
           {.validation_x = fit_dataset_counting(4), .validation_y = zeros_of(4), .validation_data = data}),
      "fit.validation");
  EXPECT_EQ(rule(data, {.validation_x = fit_dataset_counting(4), .validation_y = zeros_of(3)}),
            "fit.validation");
  EXPECT_EQ(rule(data, {.sample_weight = full({4}, 1)}), "fit.sample_weight");
  EXPECT_EQ(rule(data, {.weighted = true}), "fit.rows") << "x is missing";
  EXPECT_EQ(rule(Dataset::from_tensor_slices(fit_dataset_counting(4)).batch(2)), "fit.rows")
      << "y is missing";
  EXPECT_EQ(rule(rows_of(4)), "fit.rows") << "not batched";
  const Dataset ragged = Dataset::zip({data, Dataset::from_tensor_slices(full({2, 3}, 1))});
  EXPECT_EQ(rule(ragged, {.weighted = true}), "fit.sample_weight") << "three weights for two rows";
  EXPECT_EQ(rule_of([] { Given().fit(fit_dataset_counting(2), zeros_of(2), {.weighted = true}); }),
            "fit.weighted");
  EXPECT_EQ(rule_of([&] { Given().evaluate(data.repeat()); }), "evaluate.dataset");
  EXPECT_EQ(rule_of([&] { Given().evaluate(data.take(0)); }), "evaluate.rows");
  EXPECT_EQ(rule_of([&] { Given().predict(data.repeat()); }), "predict.dataset");
  EXPECT_EQ(rule_of([&] { Given().predict(data.take(0)); }), "predict.rows");
  Given trained;
  trained.fit(data);
  EXPECT_EQ(rule_of([&] {
              trained.fit(data,
                          {.validation_data = Dataset::from_tensor_slices(fit_dataset_counting(4)).batch(2)});
            }),
            "fit.validation");
}

TEST(FitDataset, LabelsOfEveryBatchAreChecked) {
  const Tensor labels = Tensor::of<int32_t>({0, 1, 1, 0, 0, 2});
  const Dataset data = Dataset::from_tensor_slices({fit_dataset_counting(6), labels}).batch(2);
  Sequential model{Dense({.units = 2})};
  model.compile();
  try {
    model.fit(data);
    ADD_FAILURE() << "label 2 is no class";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "fit.labels");
    EXPECT_NE(error.message().find("label 2 of row 1 of its batch"), std::string::npos) << error.what();
  }
  EXPECT_EQ(rule_of([&] { model.evaluate(data); }), "evaluate.labels");
  EXPECT_EQ(rule_of([&] { model.fit(data.take(2), {.validation_data = data}); }), "fit.validation_labels");
}

constexpr int kFitDatasetEpochs = 4, kFitDatasetSteps = 6;
struct FitDatasetKilled {};

// The same program every time: it dies after so many steps, or goes on to the end.
struct FitDatasetProgram {
  std::string path;
  int64_t save_freq;
  bool generated = false;
  int64_t rows = 90;
  int steps_per_epoch = kFitDatasetSteps;

  std::vector<std::vector<std::byte>> run(int64_t dies_after, uint64_t seed) const {
    set_seed(seed);
    Generator random(7);
    const Tensor x = random.normal({rows, 3}), y = sum(x * x, 1, true);
    Dataset data = Dataset::from_tensor_slices({x, y});
    if (generated) {
      data = Dataset::from_generator([data]() -> ElementSource {
        return [source = std::make_shared<DatasetIterator>(data, 0)] { return source->next(); };
      });
    }
    data = data.shuffle(40)
               .enumerate()
               .map(
                   [](const Tensor& number, const Tensor& in, const Tensor& out) -> Tensors {
                     const Tensor step = convert(number, DType::kU64);
                     return {in + random_normal({3}, Tensor::scalar(uint64_t{1}), step, 0, 0.1), out};
                   },
                   {.num_parallel_calls = 3})
               .batch(16)
               .prefetch(2);
    Sequential model{Dense({.units = 8}), Dropout(0.3), Dense({.units = 1})};
    model.compile({.optimizer = Adam{.learning_rate = 0.05}, .loss = MeanSquaredError(), .metrics = {}});
    int64_t steps = 0;
    FitOptions options{.epochs = kFitDatasetEpochs, .steps_per_epoch = steps_per_epoch};
    options.callbacks = {BackupAndRestore({.path = path, .save_freq = save_freq}),
                         LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
                           if (++steps == dies_after) throw FitDatasetKilled();
                         }})};
    const std::vector<Logs> history = model.fit(data, options);
    std::vector<std::vector<std::byte>> out;
    for (const Variable& variable : model.variables()) out.push_back(bytes_of(variable.read()));
    for (const Logs& logs : history) out.push_back(bytes_of(Tensor::scalar(logs.at("loss"))));
    return out;
  }
};

TEST(FitDataset, ARunThatDiedGoesOnToTheSameBits) {
  for (const bool generated : {false, true}) {
    for (const int64_t save_freq : {0, 4}) {
      const FitDatasetProgram program{testing::TempDir() + "/dataset.checkpoint", save_freq, generated, 90,
                                      generated ? 5 : 6};
      std::filesystem::remove(program.path);
      const auto wanted = program.run(-1, 3);
      ASSERT_FALSE(posix_env().exists(program.path));
      for (const int64_t step : {7, 10, 15, 23, 24}) {
        if (step > kFitDatasetEpochs * program.steps_per_epoch) continue;
        EXPECT_THROW(program.run(step, 3), FitDatasetKilled);
        ASSERT_TRUE(posix_env().exists(program.path));
        // The program that goes on has another seed; that of the file counts.
        EXPECT_EQ(program.run(-1, 99), wanted)
            << generated << ", save_freq " << save_freq << ", step " << step;
      }
    }
  }
  set_seed(0);
}

TEST(FitDataset, ACheckpointOfOtherDataIsRefused) {
  FitDatasetProgram program{testing::TempDir() + "/dataset_other.checkpoint", 4};
  std::filesystem::remove(program.path);
  EXPECT_THROW(program.run(10, 3), FitDatasetKilled);
  program.rows = 91;
  EXPECT_EQ(rule_of([&] { program.run(-1, 3); }), "backup.run");
  set_seed(0);
}

}  // namespace
}  // namespace espalier
