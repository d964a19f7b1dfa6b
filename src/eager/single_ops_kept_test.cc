// How many programs of eager ops a device keeps, and who waits for them.
#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "eager/thread_gate_test.h"
#include "espalier/array.h"
#include "ir/sink.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

class SingleOpsKept : public testing::Test {
 protected:
  std::vector<float> doubled(int64_t size) {
    const Tensor x = full({size}, 3), there = make_remote(x.node()->dense(), *device_);
    return (there * 2.0f).to_vector<float>();
  }
  std::future<std::vector<float>> doubled_beside(int64_t size) {
    return std::async(std::launch::async, [this, size] { return doubled(size); });
  }

  std::function<void(int64_t)> compiling_ = [this](int64_t) { ++compiles_; };  // with the size of the operand
  std::atomic<int> compiles_ = 0;
  const FakeDevicePtr device_ =
      FakeDevice::create({.latest = std::chrono::microseconds(0), .compiling = [this](const Graph& graph) {
                            compiling_(graph.type(graph.inputs()[0].value).shape[0]);
                          }});
};

TEST_F(SingleOpsKept, ALoopOverLengthsKeepsThoseUsedLast) {
  constexpr auto kSizes = static_cast<int64_t>(SingleOps::kMost) + 50;
  for (int64_t size = 1; size <= kSizes; ++size) {
    // One that is used all the time stays.
    for (const int64_t each : {size, int64_t{1}})
      ASSERT_EQ(doubled(each), std::vector<float>(static_cast<size_t>(each), 6));
    ASSERT_LE(device_->single_ops.kept(), SingleOps::kMost);
  }
  EXPECT_EQ(device_->single_ops.kept(), SingleOps::kMost);
  EXPECT_EQ(compiles_, kSizes);
  doubled(1);
  doubled(kSizes);
  EXPECT_EQ(compiles_, kSizes);
  EXPECT_EQ(doubled(2), std::vector<float>(2, 6));
  EXPECT_EQ(compiles_, kSizes + 1);
}

TEST_F(SingleOpsKept, AnOpRunsWhileAnotherIsCompiled) {
  doubled(4);
  ThreadGate gate;
  compiling_ = [&](int64_t size) {
    if (size == 8) gate.pass();
  };
  auto waits = doubled_beside(8);
  EXPECT_TRUE(gate.stops_one());
  auto known = doubled_beside(4), other = doubled_beside(5);
  EXPECT_TRUE(ends_meanwhile(known));
  EXPECT_TRUE(ends_meanwhile(other));
  gate.open();
  EXPECT_EQ(known.get(), std::vector<float>(4, 6));
  EXPECT_EQ(other.get(), std::vector<float>(5, 6));
  EXPECT_EQ(waits.get(), std::vector<float>(8, 6));
}

TEST_F(SingleOpsKept, AnOpTellsItsCompilationAndItsRuns) {
  ActivityCounts counts;
  const RunContext context({.threads = 1, .events = &counts});
  const RunScope scope(context);
  const Tensor there = make_remote(full({4}, 3).node()->dense(), *device_);
  for (int turn = 0; turn < 2; ++turn) EXPECT_EQ(abs(there).to_vector<float>(), std::vector<float>(4, 3));
  const auto expect = [&](Activity::Kind kind, int64_t count, int64_t bytes) {
    EXPECT_EQ(counts.of(kind).begun, count) << static_cast<int>(kind);
    EXPECT_EQ(counts.of(kind).ended, count) << static_cast<int>(kind);
    EXPECT_EQ(counts.of(kind).bytes, bytes) << static_cast<int>(kind);
  };
  expect(Activity::Kind::kCompile, 1, 0);
  expect(Activity::Kind::kRun, 2, 0);
  expect(Activity::Kind::kUpload, 1, 16);
  expect(Activity::Kind::kDownload, 2, 32);
}

}  // namespace
}  // namespace espalier
