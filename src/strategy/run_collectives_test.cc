// What functions call that Strategy::run() runs; in each place: src/place/ways_collectives_test.cc.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/espalier.h"
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

}  // namespace
}  // namespace espalier
