// What a CheckpointManager refuses, and what its folder holds.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "data/dataset_sources_test.h"
#include "espalier/espalier.h"
#include "strategy/workers_test.h"
#include "train/shard_readers_test.h"

namespace espalier {
namespace {

std::string refusals_folder(const std::string& name) {
  const std::string out = cat(testing::TempDir(), "/checkpoint_refusals_", name);
  std::filesystem::remove_all(out);
  return out;
}

std::string text_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return cat(error.rule(), ": ", error.message());
  }
  return "nothing";
}

void expect_says(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

Dataset shuffled_numbers(int64_t batch = 2) {
  return Dataset::from_tensor_slices({arange(20)}).shuffle(7).batch(batch);
}

// A model that adds a number to each of so many features, and is trained on them.
struct Small {
  explicit Small(int64_t units = 2, int layers = 1) {
    for (int i = 0; i < layers; ++i) model.add(Dense({.units = units}));
  }
  void train() {
    GradientTape tape;
    const Tensor loss = sum(model(ones({3, 2})));
    const auto weights = model.trainable_variables();
    optimizer.apply(tape.gradient(loss, weights), weights);
  }
  Sequential model;
  Optimizer optimizer = Adam{};
};

std::vector<Tracked> things(Small& small) { return {{"model", small.model}, {"optimizer", small.optimizer}}; }

// A checkpoint of a small model that was trained once.
std::string saved(const std::string& name) {
  const std::string folder = refusals_folder(name);
  Small small;
  small.train();
  CheckpointManager checkpoints(folder, things(small));
  EXPECT_EQ(checkpoints.save(), 1);
  return folder;
}

TEST(CheckpointRefusals, NamesAndOptions) {
  Variable a(zeros({})), b(zeros({}));
  const auto rule = [&](const std::string& folder, std::vector<Tracked> tracked, int keep = 1) {
    return rule_of([&] { CheckpointManager(folder, std::move(tracked), {.max_to_keep = keep}); });
  };
  EXPECT_EQ(rule("", {{"a", a}}), "checkpoint.folder");
  EXPECT_EQ(rule("x", {{"a", a}}, -1), "checkpoint.max_to_keep");
  for (const char* const name : {"", "a/b", "a b", "\xff"})
    EXPECT_EQ(rule("x", {{name, a}}), "checkpoint.name");
  EXPECT_EQ(rule("x", {{"a", a}, {"a", b}}), "checkpoint.name");
  EXPECT_EQ(rule("x", {{"default_generator", a}}), "checkpoint.name");
  EXPECT_EQ(rule("x", {{"a", a}, {"b.1-_", b}}), "nothing");
}

TEST(CheckpointRefusals, OtherThingsAreRefusedByNameAndNothingChanges) {
  const std::string folder = refusals_folder("other");
  Variable weight(ones({2}), {.name = "weight"});
  int epoch = 3;
  DatasetIterator data(shuffled_numbers(), 0);
  data.next();
  {
    CheckpointManager checkpoints(folder, {{"weight", weight}, {"epoch", epoch}, {"data", data}});
    checkpoints.save();
  }
  Variable wide(zeros({3})), same(zeros({2})), halves(zeros({2}, DType::kF64));
  int other_epoch = 0;
  double real = 0;
  DatasetIterator fresh_data(shuffled_numbers(), 0), other_data(shuffled_numbers(3), 0);
  const auto refused = [&](std::vector<Tracked> tracked) {
    const Tensor key = default_generator().key_variable();
    const uint64_t seed_before = seed();
    CheckpointManager checkpoints(folder, std::move(tracked));
    const std::string text = text_of([&] { checkpoints.restore(); });
    EXPECT_FALSE(checkpoints.latest());
    EXPECT_EQ(same.read().to_vector<float>(), std::vector<float>(2, 0));
    EXPECT_EQ(other_epoch, 0);
    EXPECT_EQ(fresh_data.save().elements, 0);
    EXPECT_EQ(other_data.save().elements, 0);
    EXPECT_EQ(seed(), seed_before);
    return text;
  };
  set_seed(5);
  expect_says(refused({{"weight", wide}, {"epoch", other_epoch}, {"data", fresh_data}}),
              "checkpoint.variable: " + folder +
                  "/checkpoint-1 is of other things: \"weight\" is f32[2] there "
                  "and f32[3] here");
  expect_says(refused({{"weight", halves}, {"epoch", other_epoch}, {"data", fresh_data}}),
              "\"weight\" is f32[2] there and f64[2] here");
  expect_says(refused({{"weights", same}, {"epoch", other_epoch}, {"data", fresh_data}}),
              "it has no variable \"weights\"");
  expect_says(refused({{"weight", same}, {"data", fresh_data}}), "its variable \"epoch\" is none of what");
  expect_says(refused({{"weight", same}, {"epoch", real}, {"data", fresh_data}}),
              "\"epoch\" is i64[] there and f64[] here");
  expect_says(refused({{"weight", same}, {"epoch", other_epoch}}),
              "has a place in the data \"data\", which are not tracked");
  expect_says(refused({{"weight", same}, {"epoch", other_epoch}, {"data", fresh_data}, {"more", other_data}}),
              "has no place in the data \"more\"");
  expect_says(refused({{"weight", same}, {"epoch", other_epoch}, {"data", other_data}}), "dataset.restore: ");
  CheckpointManager checkpoints(folder, {{"weight", same}, {"epoch", other_epoch}, {"data", fresh_data}});
  EXPECT_EQ(checkpoints.restore(), 1);
  EXPECT_EQ(same.read().to_vector<float>(), std::vector<float>(2, 1));
  EXPECT_EQ(other_epoch, 3);
  EXPECT_EQ(fresh_data.save().elements, 1);
}

// One of two datasets is another: the other one stays where it was.
TEST(CheckpointRefusals, AllDatasetsGoOrNone) {
  const std::string folder = refusals_folder("datasets");
  DatasetIterator a(shuffled_numbers(), 0), b(shuffled_numbers(), 0);
  a.next(), a.next(), b.next();
  { CheckpointManager(folder, {{"a", a}, {"b", b}}).save(); }
  DatasetIterator again(shuffled_numbers(), 0), other(shuffled_numbers(3), 0);
  again.next();
  CheckpointManager checkpoints(folder, {{"a", again}, {"b", other}});
  EXPECT_EQ(rule_of([&] { checkpoints.restore(); }), "dataset.restore");
  EXPECT_EQ(again.save().elements, 1);
}

// Each worker reads its shards, and none of them moves.
TEST(CheckpointRefusals, AnotherDatasetInShardsIsRefused) {
  const std::string folder = refusals_folder("shards");
  const Dataset rows = NumberedShards{kUneven, Finds::kByBytes}.dataset();
  on_each_worker(2, [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    DistributedDataset batches = strategy.distribute(rows.batch(7)),
                       other = strategy.distribute(rows.batch(6));
    batches.next();
    CheckpointManager(folder, {{"batches", batches}}).save();
    const DatasetState before = other.save();
    CheckpointManager checkpoints(folder, {{"batches", other}});
    EXPECT_EQ(rule_of([&] { checkpoints.restore(); }), "dataset.restore");
    EXPECT_TRUE(other.save() == before);
    const auto first = other.next();
    EXPECT_LE(first->at(0).values[0].size(0), 6);
  });
}

// Before the model's first call nobody knows what it has: that call is refused, and makes nothing.
TEST(CheckpointRefusals, AnotherModelIsRefusedInItsFirstCall) {
  const std::string folder = saved("model");
  const auto refused = [&](Small small) {
    CheckpointManager checkpoints(folder, things(small));
    EXPECT_EQ(checkpoints.restore(), 1);
    const std::string text = text_of([&] { small.train(); });
    EXPECT_TRUE(small.model.variables().empty());
    EXPECT_EQ(text_of([&] { small.train(); }), text) << "as often as it is called";
    return text;
  };
  expect_says(refused(Small(3)), "\"model/dense/kernel\" is f32[2,2] there and f32[2,3] here");
  expect_says(refused(Small(2, 2)), "it has no variable \"model/dense_1/kernel\"");
  Small none;
  none.model = Sequential(Flatten());
  expect_says(refused(none), "its variable \"model/dense/bias\" is none of this model");
}

// Once it was called restore() knows.
TEST(CheckpointRefusals, AnotherModelThatWasCalledIsRefusedAtOnce) {
  const std::string folder = saved("called");
  const auto refused = [&](Small small) {
    small.model(ones({3, 2}));
    CheckpointManager checkpoints(folder, things(small));
    return text_of([&] { checkpoints.restore(); });
  };
  expect_says(refused(Small(3)), "\"model/dense/kernel\" is f32[2,2] there and f32[2,3] here");
  Small other;
  other.optimizer = Optimizer(SGD{});
  expect_says(refused(other), "it has no variable \"optimizer/sgd/learning_rate\"");
  EXPECT_EQ(refused(Small()), "nothing");
}

// An optimizer of the same name that keeps more of each variable.
TEST(CheckpointRefusals, AnOptimizerThatKeepsMoreIsRefusedInItsFirstUpdate) {
  const std::string folder = saved("more");
  Small small;
  small.optimizer = Optimizer(Adam{.use_ema = true});
  CheckpointManager checkpoints(folder, things(small));
  checkpoints.restore();
  expect_says(text_of([&] { small.train(); }),
              "it has no variable \"optimizer/adam/average/model/dense/kernel\"");
}

TEST(CheckpointRefusals, AnOptimizerOfWhatIsNotTracked) {
  Small small;
  small.train();
  CheckpointManager checkpoints(refusals_folder("untracked"), {{"optimizer", small.optimizer}});
  expect_says(text_of([&] { checkpoints.save(); }),
              "checkpoint.untracked: \"optimizer\" trains \"sequential");
}

// Two variables of one path are told apart by the names that they are tracked by.
TEST(CheckpointRefusals, SlotsBelongToTheirVariableWhateverItsPath) {
  const std::string folder = refusals_folder("paths");
  const auto train = [](Optimizer& optimizer, const Variable& a, const Variable& b, double of_a) {
    optimizer.apply({full({2}, of_a), full({2}, 1)}, {a, b});
  };
  Variable a(zeros({2})), b(zeros({2}));
  Optimizer optimizer = SGD{.learning_rate = 1, .momentum = 0.5};
  train(optimizer, a, b, 10);
  { CheckpointManager(folder, {{"a", a}, {"b", b}, {"optimizer", optimizer}}).save(); }
  Variable a2(ones({2})), b2(ones({2}));
  Optimizer other = SGD{.learning_rate = 1, .momentum = 0.5};
  CheckpointManager checkpoints(folder, {{"optimizer", other}, {"b", b2}, {"a", a2}});
  checkpoints.restore();
  // Momentums -10 and -1 from before, halved, and the new gradients of 1.
  other.apply({full({2}, 1), full({2}, 1)}, {b2, a2});
  EXPECT_EQ(a2.read().to_vector<float>(), std::vector<float>(2, -10 - 6));
  EXPECT_EQ(b2.read().to_vector<float>(), std::vector<float>(2, -1 - 1.5));
}

// Sums that a metric makes at its first update wait, too.
TEST(CheckpointRefusals, MetricsAndGeneratorsGoOn) {
  const std::string folder = refusals_folder("metrics");
  const Tensor labels = reshape(convert(arange(6), DType::kF32), {6, 1}), outputs = labels * 0.75 + 0.5;
  const auto part = [&](const Tensor& x, int64_t first) { return slice(x, {first, 0}, {first + 3, 1}); };
  Metric whole = metrics::R2Score(), mean = metrics::MeanSquaredError();
  for (const int64_t first : {0, 3}) whole.update(part(labels, first), part(outputs, first));
  Metric r2 = metrics::R2Score();
  Generator random(1);
  random.normal({2});
  r2.update(part(labels, 0), part(outputs, 0));
  mean.update(part(labels, 0), part(outputs, 0));
  { CheckpointManager(folder, {{"r2", r2}, {"mean", mean}, {"random", random}}).save(); }
  Metric again = metrics::R2Score(), other = metrics::MeanSquaredError();
  Generator same(2);
  CheckpointManager checkpoints(folder, {{"r2", again}, {"mean", other}, {"random", same}});
  checkpoints.restore();
  EXPECT_EQ(other.result(), mean.result());
  EXPECT_EQ(same.normal({4}).to_vector<float>(), random.normal({4}).to_vector<float>());
  again.update(part(labels, 3), part(outputs, 3));
  EXPECT_EQ(again.result(), whole.result());
}

TEST(CheckpointRefusals, TheNewestAreKeptAndADamagedOneIsRefusedByName) {
  const std::string folder = refusals_folder("keep");
  int epoch = 0;
  {
    CheckpointManager checkpoints(folder, {{"epoch", epoch}}, {.max_to_keep = 3});
    EXPECT_FALSE(checkpoints.restore());
    EXPECT_FALSE(checkpoints.latest());
    for (epoch = 1; epoch <= 12; ++epoch) EXPECT_EQ(checkpoints.save(), epoch);
    EXPECT_EQ(checkpoints.latest(), folder + "/checkpoint-12");
  }
  EXPECT_EQ(posix_env().list_folder(folder),
            (std::vector<std::string>{"checkpoint-10", "checkpoint-11", "checkpoint-12"}));
  // Names of others are nobody's business.
  std::ofstream(folder + "/checkpoint-99x") << "x";
  std::filesystem::resize_file(folder + "/checkpoint-12",
                               std::filesystem::file_size(folder + "/checkpoint-12") - 1);
  epoch = 0;
  CheckpointManager checkpoints(folder, {{"epoch", epoch}}, {.max_to_keep = 0});
  const std::string text = text_of([&] { checkpoints.restore(); });
  expect_says(text, "safetensors.");
  expect_says(text, folder + "/checkpoint-12: ");
  EXPECT_EQ(epoch, 0);
  std::filesystem::remove(folder + "/checkpoint-12");
  EXPECT_EQ(checkpoints.restore(), 11);
  EXPECT_EQ(epoch, 11);
  EXPECT_EQ(checkpoints.save(), 12);
  checkpoints.finish();
  EXPECT_EQ(posix_env().list_folder(folder).size(), 4u);
}

TEST(CheckpointRefusals, WhatCannotBeWrittenIsRaised) {
  const std::string folder = refusals_folder("unwritable");
  int epoch = 0;
  CheckpointManager checkpoints(folder, {{"epoch", epoch}});
  checkpoints.save();
  checkpoints.finish();
  std::filesystem::create_directory(folder + "/checkpoint-2");
  checkpoints.save();
  expect_says(text_of([&] { checkpoints.finish(); }), "file.");
}

// Each worker has a disk of its own.
TEST(CheckpointRefusals, TheOthersHearFromWorkerZeroWhatItHasRead) {
  const std::string folder = refusals_folder("disks");
  const auto loop = [&](const Strategy& strategy, int& epoch) {
    const auto scope = strategy.scope();
    return std::make_unique<CheckpointManager>(cat(folder, "/", strategy.worker()),
                                               std::vector<Tracked>{{"epoch", epoch}});
  };
  on_each_worker(3, [&](const Strategy& strategy) {
    int epoch = 7;
    EXPECT_EQ(loop(strategy, epoch)->save(), 1);
  });
  on_each_worker(3, [&](const Strategy& strategy) {
    int epoch = 0;
    EXPECT_EQ(loop(strategy, epoch)->restore(), 1);
    EXPECT_EQ(epoch, 7);
  });
  EXPECT_EQ(posix_env().list_folder(folder), std::vector<std::string>{"0"});
  // And what it could not read.
  std::filesystem::remove(folder + "/0/checkpoint-1");
  std::filesystem::create_directory(folder + "/0/checkpoint-1");
  std::vector<std::string> errors(3);
  on_each_worker(3, [&](const Strategy& strategy) {
    int epoch = 0;
    const auto checkpoints = loop(strategy, epoch);
    errors[static_cast<size_t>(strategy.worker())] = text_of([&] { checkpoints->restore(); });
  });
  for (const std::string& error : errors) {
    expect_says(error, "file.");
    EXPECT_EQ(error, errors[0]);
  }
}

TEST(CheckpointRefusals, WorkersThatHoldOtherValuesSaveNothing) {
  const std::string folder = refusals_folder("apart");
  const auto errors = errors_of_workers(3, [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Variable weight(full({2}, strategy.worker() == 1 ? 2 : 1), {.name = "weight"});
    CheckpointManager checkpoints(folder, {{"weight", weight}});
    checkpoints.save();
  });
  for (const std::string& error : errors)
    expect_says(error, "variable \"weight\" of rank 1 differs from that of");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace espalier
