// Batches that are smaller than others, on a device by a real PJRT plugin.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "eager/trace.h"
#include "espalier/array.h"
#include "espalier/devices.h"
#include "espalier/model.h"
#include "espalier/random.h"
#include "pjrt/open.h"
#include "pjrt/plugin_test.h"

namespace espalier {
namespace {

class RowsOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    device_ = pjrt::open_device(pjrt::test_plugin());
  }
  template <class Call>
  auto there(Call call) {
    const DeviceScope scope(pjrt::test_plugin());
    return call();
  }
  // Programs that the call needed, compiled or from the disk.
  template <class Call>
  int64_t programs_of(Call call) {
    const pjrt::Counters before = device_->counters();
    there(call);
    const pjrt::Counters done = device_->counters() - before;
    return done.compiles + done.loads;
  }
  static Sequential network(bool coupled) {
    set_seed(4);
    Sequential model(Dense({.units = 16, .activation = "relu"}), Dropout(0.3));
    if (coupled) model.add(BatchNormalization());
    model.add(Dense({.units = 1}));
    model.compile({.optimizer = Adam{.learning_rate = 0.01},
                   .loss = MeanSquaredError(),
                   .metrics = {metrics::MeanAbsoluteError()}});
    model.predict(Tensor::of<float>({0, 0, 0, 0, 0}, {1, 5}));  // makes its weights
    return model;
  }
  pjrt::DevicePtr device_;
  const Tensor x_ = Generator(3).normal({101, 5}), y_ = sum(x_ * x_, 1, true);
};

void expect_near_logs(const Logs& got, const Logs& wanted, double tolerance) {
  for (const auto& [name, value] : wanted)
    EXPECT_NEAR(got.at(name), value, tolerance * std::abs(value)) << name;
}

// 101 rows in batches of 32: the last one has five.
TEST_F(RowsOnDevice, SlowTheLastBatchIsPaddedAndTheNumbersAreTheCpus) {
  Sequential here = network(false), far = network(false);
  set_seed(9);
  const FitOptions fit{.epochs = 3, .batch_size = 32};
  const auto wanted = here.fit(x_, y_, fit);
  set_seed(9);
  std::vector<Logs> got;
  // The step, and the program that packs loss and metric.
  EXPECT_EQ(programs_of([&] { got = far.fit(x_, y_, fit); }), 2);
  for (size_t epoch = 0; epoch < wanted.size(); ++epoch) expect_near_logs(got[epoch], wanted[epoch], 1e-4);
  const Logs judged = here.evaluate(x_, y_, {.batch_size = 64});
  Logs far_judged;
  EXPECT_LE(programs_of([&] { far_judged = far.evaluate(x_, y_, {.batch_size = 64}); }), 2);
  expect_near_logs(far_judged, judged, 1e-4);
}

// Rows that are not there would count in the statistics of a batch.
TEST_F(RowsOnDevice, SlowLayersWhoseRowsInteractGetAProgramForTheLastBatch) {
  Sequential here = network(true), far = network(true);
  const FitOptions fit{.epochs = 2, .batch_size = 32};
  set_seed(9);
  const auto wanted = here.fit(x_, y_, fit);
  set_seed(9);
  std::vector<Logs> got;
  EXPECT_EQ(programs_of([&] { got = far.fit(x_, y_, fit); }), 3);
  for (size_t epoch = 0; epoch < wanted.size(); ++epoch) expect_near_logs(got[epoch], wanted[epoch], 1e-4);
}

TEST_F(RowsOnDevice, SlowPredictTakesPowersOfTwo) {
  Sequential model = network(false);
  model.fit(x_, y_, {.epochs = 1, .batch_size = 32});
  const Tensor wanted = model.predict(x_, 100);
  Tensor got;
  // 100 rows and 1 row: 128 and 1. The rows are seen to stand for themselves by one run more.
  EXPECT_EQ(programs_of([&] { got = model.predict(x_, 100); }), 2);
  EXPECT_EQ(device_of(got), "cpu");
  ASSERT_EQ(got.type(), wanted.type());
  for (size_t i = 0; i < 101; ++i) EXPECT_NEAR(got.data<float>()[i], wanted.data<float>()[i], 1e-5);
  EXPECT_EQ(programs_of([&] { model.predict(x_, 70); }), 1);  // 31 rows are 32
  EXPECT_EQ(programs_of([&] { model.predict(x_, 65); }), 1);  // 36 rows are 64
  EXPECT_EQ(programs_of([&] { model.predict(x_, 40); }), 0);  // 40 rows are 64, 21 are 32
}

// In a step's arguments only x and y are new.
TEST_F(RowsOnDevice, SlowWhatDoesNotChangeIsUploadedOnce) {
  Sequential model = network(false);
  const auto fit = [&](int epochs) {
    const pjrt::Counters before = device_->counters();
    there([&] {
      model.fit(x_, y_, {.epochs = epochs, .batch_size = 4, .shuffle = false, .steps_per_epoch = 16});
    });
    return device_->counters() - before;
  };
  fit(1);
  const pjrt::Counters two = fit(2), four = fit(4);
  EXPECT_EQ(four.executes - two.executes, 2 * (16 + 3));  // steps, and what packs loss and metric
  EXPECT_EQ(four.downloads - two.downloads, 2 * 3);       // behind steps 3, 11 and the last
  EXPECT_EQ(four.uploads - two.uploads,
            2 * (16 * 2 + 5));  // x, y; the weights of rows, loss and metric of a new epoch
}

// Of a model that is larger than its batches.
TEST_F(RowsOnDevice, SlowMemoryIsWhatTheCompilerSays) {
  set_seed(4);
  Sequential model(Dense({.units = 1024, .activation = "relu"}), Dense({.units = 512, .activation = "relu"}),
                   Dense({.units = 1}));
  model.compile({.optimizer = Adam{}, .loss = MeanSquaredError()});
  // With what other tests of this process hold.
  const int64_t before = device_->memory().current;
  there([&] { model.fit(x_, y_, {.epochs = 3, .batch_size = 16}); });
  const DeviceMemory memory = device_->memory();
  ASSERT_GT(memory.program, 3 * 4 * 1024 * 512);  // weights and Adam's two averages
  EXPECT_LE(memory.peak - before, memory.program + memory.program / 10);
}

// Eager code finds variables on the device of its run.
TEST_F(RowsOnDevice, SlowModelsThatRunEagerlyGoThereAndBack) {
  set_seed(4);
  Sequential model(Dense({.units = 4, .activation = "relu"}), Dense({.units = 1}));
  model.compile({.optimizer = SGD{.learning_rate = 0.01}, .loss = MeanSquaredError(), .run_eagerly = true});
  model.predict(x_);
  set_seed(4);
  Sequential other(Dense({.units = 4, .activation = "relu"}), Dense({.units = 1}));
  other.compile({.optimizer = SGD{.learning_rate = 0.01}, .loss = MeanSquaredError(), .run_eagerly = true});
  const FitOptions fit{.epochs = 2, .batch_size = 101, .shuffle = false};
  other.fit(x_, y_, fit);
  other.fit(x_, y_, fit);
  there([&] { model.fit(x_, y_, fit); });
  EXPECT_EQ(device_of(model.variables()[0].read()), device_->name());
  model.fit(x_, y_, fit);
  EXPECT_EQ(device_of(model.variables()[0].read()), "cpu");
  const Tensor got = model.variables()[0].read(), wanted = other.variables()[0].read();
  for (size_t i = 0; i < 20; ++i) EXPECT_NEAR(got.data<float>()[i], wanted.data<float>()[i], 1e-5);
  EXPECT_EQ(device_of(there([&] { return model.predict(x_); })), "cpu");
}

TEST_F(RowsOnDevice, SlowNaNEndsTheRunAFewStepsLater) {
  Sequential model = network(false);
  std::vector<float> labels(y_.data<float>().begin(), y_.data<float>().end());
  labels[0] = std::numeric_limits<float>::infinity();
  model.compile(
      {.optimizer = SGD{.learning_rate = 0.01}, .loss = MeanSquaredError(), .check_numerics = true});
  EXPECT_EQ(
      rule_of([&] {
        there([&] { model.fit(x_, Tensor::of(labels, {101, 1}), {.batch_size = 32, .shuffle = false}); });
      }),
      "check_numerics");
}

struct Centered final : Layer {
  Centered() : Layer("centered") {}
  Tensor call(const Tensor& x) override { return x - mean(x, 0, true); }
};

// It does not say so (couples_rows), and the last batch has rows of its own.
TEST_F(RowsOnDevice, ALayerWhoseRowsInteractWithoutAWordIsFoundOut) {
  const Tensor x = random_normal({100, 5}, 1, 0), y = argmax(random_normal({100, 3}, 2, 0), 1);
  const auto trained = [&] {
    set_seed(4);
    Sequential model(Centered(), Dense({.units = 3}));
    model.compile({.optimizer = SGD{.learning_rate = 0.1}});
    model.fit(x, y, {.batch_size = 30, .shuffle = false});
    const Logs logs = model.evaluate(x, y, 30);
    return std::pair(model.variables()[0].read().to_vector<float>(), logs.at("loss"));
  };
  const auto here = trained(), far = there(trained);
  for (size_t i = 0; i < here.first.size(); ++i) EXPECT_NEAR(far.first[i], here.first[i], 1e-6) << i;
  EXPECT_NEAR(far.second, here.second, 1e-6);
}

// Whose weights lie elsewhere at first.
TEST_F(RowsOnDevice, SlowThreadsPredictWithOneModel) {
  const Tensor x = random_normal({64, 64}, 1, 0);
  for (int round = 0; round < 10; ++round) {
    Sequential model(Dense({.units = 64}), Dense({.units = 64}), Dense({.units = 3}));
    const std::vector<float> wanted = model.predict(x).to_vector<float>();
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        const DeviceScope scope(pjrt::test_plugin());
        for (int k = 0; k < 5; ++k) {
          const std::vector<float> got = model.predict(x).to_vector<float>();
          for (size_t j = 0; j < got.size(); ++j) wrong += std::abs(got[j] - wanted[j]) > 1e-4f;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace espalier
