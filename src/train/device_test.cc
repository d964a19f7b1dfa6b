// Training on a device, by a real PJRT plugin, against this CPU.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "eager/trace.h"
#include "espalier/array.h"
#include "espalier/devices.h"
#include "espalier/model.h"
#include "espalier/random.h"
#include "espalier/strategy.h"
#include "ir/sink.h"
#include "pjrt/open.h"
#include "pjrt/plugin_test.h"

namespace espalier {
namespace {

constexpr int64_t kSquareRows = 64;

class TrainOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    device_ = pjrt::open_device(pjrt::test_plugin());
  }
  // What functions of the call run on.
  template <class Call>
  auto there(Call call) {
    const DeviceScope scope(pjrt::test_plugin());
    return call();
  }

  pjrt::DevicePtr device_;
};

struct SquareRows {
  Tensor x, y;
};
SquareRows numbers(int64_t columns = 5) {
  Generator random(3);
  SquareRows out;
  out.x = random.normal({kSquareRows, columns});
  out.y = sum(out.x * out.x, 1, true);
  return out;
}

Sequential network() {
  set_seed(4);
  Sequential model(Dense({.units = 16, .activation = "relu"}), BatchNormalization(), Dropout(0.3),
                   Dense({.units = 1}));
  model.compile({.optimizer = Adam{.learning_rate = 0.01},
                 .loss = MeanSquaredError(),
                 .metrics = {metrics::MeanAbsoluteError()}});
  return model;
}

std::vector<Variable> all_variables(Model& model) {
  std::vector<Variable> out = model.variables();
  for (const Variable& variable : model.optimizer().variables()) out.push_back(variable);
  return out;
}

// The largest distance of two arrays as a share of the largest value.
double device_distance(const Tensor& got, const Tensor& wanted) {
  double most = 1e-3, apart = 0;
  const Tensor a = convert(got, DType::kF64), b = convert(wanted, DType::kF64);
  for (size_t i = 0; i < b.data<double>().size(); ++i) {
    most = std::max(most, std::abs(b.data<double>()[i]));
    apart = std::max(apart, std::abs(a.data<double>()[i] - b.data<double>()[i]));
  }
  return apart / most;
}

const FitOptions kOneStep{.batch_size = kSquareRows, .shuffle = false};

// Fed anew each time, so that nothing but one step lies between both.
TEST_F(TrainOnDevice, SlowEachStepIsTheCpus) {
  const SquareRows rows = numbers();
  Sequential here = network(), far = network();
  here.fit(rows.x, rows.y, kOneStep);
  there([&] { far.fit(rows.x, rows.y, kOneStep); });
  const std::vector<Variable> from = all_variables(here), to = all_variables(far);
  ASSERT_EQ(from.size(), to.size());
  for (int step = 0; step < 50; ++step) {
    for (size_t i = 0; i < from.size(); ++i) Variable(to[i]).assign(from[i].read());
    // Both draw the same masks.
    default_generator().reset(static_cast<uint64_t>(step));
    here.fit(rows.x, rows.y, kOneStep);
    default_generator().reset(static_cast<uint64_t>(step));
    there([&] { far.fit(rows.x, rows.y, kOneStep); });
    for (size_t i = 0; i < from.size(); ++i)
      ASSERT_LE(device_distance(to[i].read(), from[i].read()), 5e-6)
          << "step " << step << ", " << from[i].path();
  }
}

TEST_F(TrainOnDevice, VariablesStayThereAndGiveTheirMemoryToTheirUpdates) {
  const SquareRows rows = numbers();
  Sequential model = network();
  const auto fit = [&](int epochs) {
    const pjrt::Counters before = device_->counters();
    there([&] { model.fit(rows.x, rows.y, {.epochs = epochs, .batch_size = 4, .shuffle = false}); });
    return device_->counters() - before;
  };
  fit(1);
  for (const Variable& variable : model.variables())
    EXPECT_NE(variable.state()->value.node()->remote(), nullptr) << variable.path();
  const RemoteArrayPtr before = model.variables()[0].state()->value.node()->remote();
  const pjrt::Counters two = fit(2), four = fit(4);
  // Two epochs of 16 steps more: x and y of each step, and each epoch the four numbers of loss and metric,
  // which are packed and downloaded twice in 16 steps, and at the end.
  EXPECT_EQ(two.compiles + four.compiles, 0);
  EXPECT_EQ(four.executes - two.executes, 2 * (16 + 3));
  EXPECT_EQ(four.uploads - two.uploads, 2 * (16 * 2 + 5));
  EXPECT_EQ(four.downloads - two.downloads, 2 * 3);
  // Somebody holds it, so it was copied and not overwritten.
  EXPECT_EQ(before->download().type(), model.variables()[0].type());
}

TEST_F(TrainOnDevice, WhatWasTrainedThereIsSavedAndEvaluatedHere) {
  const SquareRows rows = numbers();
  Sequential model = network();
  there([&] { model.fit(rows.x, rows.y, {.epochs = 5, .batch_size = 16}); });
  const double far = there([&] { return model.evaluate(rows.x, rows.y).at("loss"); });
  const double here = model.evaluate(rows.x, rows.y).at("loss");
  EXPECT_NEAR(far, here, 1e-5 * std::abs(here));
  const Tensor predicted = there([&] { return model.predict(rows.x); });
  EXPECT_LE(device_distance(predicted, model.predict(rows.x)), 1e-5);
}

}  // namespace
}  // namespace espalier
