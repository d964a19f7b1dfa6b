// What places say of their programs, and how many rows they want.
#include "place/place.h"

#include <gtest/gtest.h>

#include "comm/local.h"
#include "espalier/array.h"
#include "espalier/random.h"
#include "ir/builder.h"
#include "place/place_of.h"
#include "place/pools_place.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Two products by w, which has a MiB, with the first of them between: 2 KiB a row.
GraphPtr products(const Tensor& w, int64_t rows) {
  GraphBuilder builder;
  const SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {rows, 512}});
  builder.result("y", matmul(matmul(x, w), w));
  return builder.finish();
}

class ProgramBytes : public testing::Test {
 protected:
  const Tensor w_ = random_normal({512, 512}, 1, 0);
  const PlacedGraph few_{products(w_, 1)}, many_{products(w_, 1024)};
};

TEST_F(ProgramBytes, OfThisCpuAreThoseOfConstantsAndOfWhatARunKeeps) {
  const HostPlace here(1);
  const size_t few = here.compile({&few_, 1})->bytes().value(),
               many = here.compile({&many_, 1})->bytes().value();
  EXPECT_GE(few, kMiB);
  EXPECT_LE(few, 2 * kMiB);
  EXPECT_GE(many, 3 * kMiB);
  EXPECT_LE(many, 4 * kMiB);
}

TEST_F(ProgramBytes, OfPoolsAreThoseOfAllReplicas) {
  const auto ranks = local_communicators(2);
  const RunContext first({.threads = 1, .communicator = ranks[0].get()}),
      second({.threads = 1, .communicator = ranks[1].get()});
  const PoolsPlace pools({&first, &second});
  const std::vector<PlacedGraph> both{many_, few_};
  const size_t bytes = pools.compile(both)->bytes().value();
  EXPECT_GE(bytes, 4 * kMiB);
  EXPECT_LE(bytes, 6 * kMiB);
}

// One that is large for its many steps.
TEST_F(ProgramBytes, GrowWithSteps) {
  const auto bytes_of = [](int products) {
    GraphBuilder builder;
    const SinkScope scope(builder);
    Tensor x = builder.argument("x", {DType::kF32, {2, 2}});
    for (int i = 0; i < products; ++i) x = matmul(x, x);
    builder.result("y", x);
    const PlacedGraph graph{builder.finish()};
    return HostPlace(1).compile({&graph, 1})->bytes().value();
  };
  EXPECT_GE(bytes_of(2000), bytes_of(2) + 2000 * 100);
}

TEST_F(ProgramBytes, OfADeviceNobodyKnows) {
  const FakeDevicePtr device = FakeDevice::create();
  const RunContext context({.device = device.get()});
  EXPECT_EQ(PlaceOf(context)->compile({&few_, 1})->bytes(), std::nullopt);
}

// A place of each kind.
class Policies : public testing::Test {
 protected:
  const std::vector<std::shared_ptr<Communicator>> ranks_ = local_communicators(2);
  const RunContext first_{{.threads = 1, .communicator = ranks_[0].get()}},
      second_{{.threads = 1, .communicator = ranks_[1].get()}};
  const PoolsPlace pools_{{&first_, &second_}};
  const HostPlace here_{1};
  const FakeDevicePtr one_ = FakeDevice::create(), two_ = FakeDevice::create({.replicas = 2});
  const RunContext on_one_{{.device = one_.get()}}, on_two_{{.device = two_.get()}};
  const DevicePlace device_{on_one_}, devices_{on_two_, true};
};

// A plan of another number is made sooner than rows are computed that nobody needs.
TEST_F(Policies, ThisCpuTakesTheRowsThatAreGiven) {
  for (const Place* place : {static_cast<const Place*>(&here_), static_cast<const Place*>(&pools_)}) {
    const RowsPolicy rows = place->rows();
    EXPECT_FALSE(rows.adds);
    EXPECT_FALSE(rows.equal_parts);
    for (const int64_t given : {0, 1, 3, 32, 33, 1000}) {
      EXPECT_EQ(rows.to_predict(given), given);
      EXPECT_EQ(rows.to_train(given, 64), given);
    }
  }
}

TEST_F(Policies, DevicesTakeAsManyAsTheLargestStepAndPredictPowersOfTwo) {
  const std::vector<std::pair<int64_t, int64_t>> powers{{1, 1}, {2, 2},   {3, 4},   {4, 4},
                                                        {5, 8}, {32, 32}, {33, 64}, {1000, 1024}};
  for (const Place* place : {&device_, &devices_}) {
    const RowsPolicy rows = place->rows();
    EXPECT_TRUE(rows.adds);
    for (const auto& [given, wanted] : powers) EXPECT_EQ(rows.to_predict(given), wanted);
    EXPECT_EQ(rows.to_train(5, 32), 32);
    EXPECT_EQ(rows.to_train(32, 5), 32);
    EXPECT_EQ(rows.to_train(3, 3), 3);
  }
  EXPECT_FALSE(device_.rows().equal_parts);
  EXPECT_TRUE(devices_.rows().equal_parts);
}

// By the steps, counted from 1, of which something is done.
std::vector<int64_t> steps_of(const ReadsPolicy& reads, bool (ReadsPolicy::*asked)(int64_t) const) {
  std::vector<int64_t> out;
  for (int64_t step = 1; step <= 20; ++step)
    if ((reads.*asked)(step)) out.push_back(step);
  return out;
}

TEST_F(Policies, WhatThisCpuHasIsReadBehindEachStep) {
  using Steps = std::vector<int64_t>;
  for (const Place* place : {static_cast<const Place*>(&here_), static_cast<const Place*>(&pools_)}) {
    EXPECT_EQ(steps_of(place->reads(), &ReadsPolicy::puts_aside), Steps{});
    EXPECT_EQ(steps_of(place->reads(), &ReadsPolicy::shows), (Steps{1, 9, 17}));
    EXPECT_EQ(steps_of(place->reads(), &ReadsPolicy::looks).size(), 20u);
  }
}

TEST_F(Policies, WhatADeviceHasIsPutAsideAndReadTwoStepsLater) {
  using Steps = std::vector<int64_t>;
  for (const Place* place : {&device_, &devices_}) {
    EXPECT_EQ(steps_of(place->reads(), &ReadsPolicy::puts_aside), (Steps{1, 9, 17}));
    EXPECT_EQ(steps_of(place->reads(), &ReadsPolicy::shows), (Steps{3, 11, 19}));
    EXPECT_EQ(steps_of(place->reads(), &ReadsPolicy::looks), (Steps{3, 11, 19}));
  }
}

TEST_F(Policies, NotesOfADeviceAreTakenOnce) {
  one_->note("it was compiled");
  EXPECT_TRUE(here_.take_notes().empty());
  EXPECT_EQ(device_.take_notes(), std::vector<std::string>{"it was compiled"});
  EXPECT_TRUE(device_.take_notes().empty());
}

}  // namespace
}  // namespace espalier
