// What functions call that Strategy::run() runs, and optimizers there; in each place:
// src/place/ways_collectives_test.cc.
#include <cmath>
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/devices.h"
#include "espalier/espalier.h"
#include "pjrt/open.h"
#include "pjrt/plugin_test.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// Alone each is the value; of one of several replicas there is none here.
TEST(RunCollectives, WhatReplicasTellEachOtherIsOneValueAlone) {
  const Tensor x = Tensor::of<float>({1, -0.0f, 3, 4}, {2, 2});
  const auto expect_same = [&] {
    for (const Tensor& same : {strategy::all_gather(x), strategy::all_gather(x, 1), strategy::broadcast(x),
                               strategy::barrier(x), strategy::all_reduce({x})[0]}) {
      EXPECT_EQ(same.shape(), x.shape());
      EXPECT_EQ(same.to_vector<float>(), x.to_vector<float>());
    }
    EXPECT_EQ(rule_of([&] { strategy::broadcast(x, 1); }), "strategy.root");
    EXPECT_EQ(rule_of([&] { strategy::broadcast(x, -1); }), "strategy.root");
    Variable w(x);
    GradientTape tape;
    const Tensor loss = sum(square(strategy::broadcast(strategy::all_gather(strategy::barrier(w)))));
    EXPECT_EQ(tape.gradient(loss, {w})[0].to_vector<float>(), (x * 2).to_vector<float>());
  };
  expect_same();
  const strategy::Mirrored one({.devices = 1}), two({.devices = 2});
  {
    const auto scope = one.scope();
    expect_same();
  }
  const auto scope = two.scope();
  EXPECT_EQ(rule_of([&] { strategy::all_gather(x); }), "strategy.outside");
  EXPECT_EQ(rule_of([&] { strategy::broadcast(x); }), "strategy.outside");
  EXPECT_EQ(rule_of([&] { (void)strategy::barrier(x); }), "strategy.outside");
  // What a function captures is a value of each.
  const auto captured = function([&](const Tensor& y) {
    return std::vector<Tensor>{strategy::all_gather(x) + 0 * sum(y), strategy::all_reduce({x})[0]};
  });
  const auto out = two.run(captured, {{{full({2}, 1), full({2}, 2)}}});
  EXPECT_EQ(out[0].values[1].to_vector<float>(), (std::vector<float>{1, 0, 3, 4, 1, 0, 3, 4}));
  EXPECT_EQ(out[1].values[1].to_vector<float>(), (std::vector<float>{2, 0, 6, 8}));
}

// Eagerly workers meet as they do in a call.
TEST(RunCollectives, WorkersTellEachOtherEagerly) {
  on_each_worker(3, [](const Strategy& workers) {
    const auto scope = workers.scope();
    const Tensor own = full({1, 2}, workers.worker());
    EXPECT_EQ(strategy::all_gather(own).to_vector<float>(), (std::vector<float>{0, 0, 1, 1, 2, 2}));
    EXPECT_EQ(strategy::broadcast(own, 2).to_vector<float>(), (std::vector<float>{2, 2}));
    EXPECT_EQ(strategy::barrier(own).to_vector<float>(), own.to_vector<float>());
  });
}

// Batches of 10 rows, whose gradients so many calls add up, each sent by itself.
std::vector<float> accumulated_by(const Strategy& strategy, int64_t calls, int64_t batch,
                                  bool scaled = false) {
  const auto scope = strategy.scope();
  const Tensor x = random_normal({60, 3}, 4, 0),
               y = matmul(x, reshape(Tensor::of<float>({1, -2, 3}), {3, 1}));
  Variable w(full({3, 1}, 0));
  Optimizer optimizer = Adam{.learning_rate = 0.1, .gradient_accumulation_steps = calls};
  if (scaled) optimizer = LossScaleOptimizer{.inner_optimizer = optimizer, .dynamic_growth_steps = 3};
  const auto step = function([&](const Tensor& rows, const Tensor& labels) {
    GradientTape tape;
    const Tensor loss = reduce_sum(square(matmul(rows, w) - labels), {0, 1});
    const Tensor count = full({}, static_cast<double>(rows.size(0)));
    const auto sums = strategy::all_reduce({tape.gradient(optimizer.scale_loss(loss), {w})[0], count});
    optimizer.apply({sums[0]}, {w}, {.weight = sums[1]});
  });
  for (int epoch = 0; epoch < 5; ++epoch) {
    DistributedDataset batches = strategy.distribute(Dataset::from_tensor_slices({x, y}).batch(batch));
    while (const auto rows = batches.next()) strategy.run(step, *rows);
  }
  EXPECT_EQ(optimizer.variables()[1].read().item<int64_t>(), 5 * 60 / (calls * batch));
  return w.read().to_vector<float>();
}

// 10 and 4 rows do not go round for 3; the mean is over all rows of the calls.
TEST(RunCollectives, CallsThatAccumulateLearnAsOneDeviceDoes) {
  const std::vector<float> whole = accumulated_by(strategy::OneDevice(), 1, 20);
  EXPECT_GT(std::abs(whole[1]), 1);
  const auto near = [&](const Strategy& strategy) {
    for (const bool scaled : {false, true}) {
      for (const auto& [calls, batch] : {std::pair<int64_t, int64_t>{1, 20}, {2, 10}, {5, 4}}) {
        const std::vector<float> other = accumulated_by(strategy, calls, batch, scaled);
        for (size_t i = 0; i < whole.size(); ++i)
          EXPECT_NEAR(other[i], whole[i], 3e-6) << strategy.num_replicas_in_sync() << " x " << calls;
      }
    }
  };
  near(strategy::OneDevice());
  for (const int devices : {1, 2, 3}) near(strategy::Mirrored({.devices = devices}));
  for (const int world : {2, 3}) on_each_worker(world, near);
}

// By a real PJRT plugin: devices of one process meet in its own collectives, workers in ours.
class RunCollectivesOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    ASSERT_TRUE(pjrt::tests_have_cpu_devices(3));
  }
  static void on_devices(const std::function<void(const Strategy&)>& program) {
    for (const int devices : {2, 3}) {
      const DeviceScope there(pjrt::test_plugin());
      program(strategy::Mirrored({.devices = devices}));
    }
    pjrt::open_device(pjrt::test_plugin());
    for (const std::string& error :
         errors_of_workers(2, program, "", [](int rank) { return pjrt::open_device(cat("xla-cpu:", rank)); }))
      EXPECT_EQ(error, "");
  }
};

TEST_F(RunCollectivesOnDevice, GiveWhatTheyGiveHere) {
  on_devices([](const Strategy& strategy) {
    const auto scope = strategy.scope();
    const int world = strategy.num_replicas_in_sync(), first = strategy.first_replica();
    const auto call = function([](const Tensor& x) {
      GradientTape tape;
      tape.watch(x);
      // Replica r has r + 1, and -0, which no sum keeps.
      const Tensor all = strategy::all_gather(strategy::barrier(x)), one = strategy::broadcast(x, 1);
      const Tensor loss = sum(square(all)) + sum(one * 10);
      return std::vector<Tensor>{all, bitcast_convert(one, DType::kU32), tape.gradient(loss, {x})[0]};
    });
    PerReplica x;
    for (int i = 0; i < strategy.replicas_here(); ++i)
      x.values.push_back(Tensor::of<float>({static_cast<float>(first + i + 1), -0.0f}));
    const std::vector<PerReplica> out = strategy.run(call, {x});
    for (int i = 0; i < strategy.replicas_here(); ++i) {
      const auto k = static_cast<size_t>(i);
      std::vector<float> all;
      for (int replica = 0; replica < world; ++replica)
        all.insert(all.end(), {static_cast<float>(replica + 1), -0.0f});
      EXPECT_EQ(out[0].values[k].to_vector<float>(), all);
      EXPECT_EQ(out[1].values[k].to_vector<uint32_t>(), (std::vector<uint32_t>{0x40000000, 0x80000000}));
      // All have the square of each, and ten times what the second has.
      const float own = static_cast<float>(2 * world * (first + i + 1)),
                  of_root = static_cast<float>(first + i == 1 ? 10 * world : 0);
      EXPECT_EQ(out[2].values[k].to_vector<float>(), (std::vector<float>{own + of_root, of_root}));
    }
  });
}

TEST_F(RunCollectivesOnDevice, SlowCallsThatAccumulateLearnAsOneDeviceDoes) {
  const std::vector<float> whole = accumulated_by(strategy::OneDevice(), 1, 12);
  on_devices([&](const Strategy& strategy) {
    const std::vector<float> other = accumulated_by(strategy, 2, 6, true);
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(other[i], whole[i], 1e-5);
  });
}

}  // namespace
}  // namespace espalier
