// A function that several threads call: who has a program does not wait for those who make another.
#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "eager/thread_gate_test.h"
#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/run_context.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

using Floats = std::vector<float>;

class FunctionThreads : public testing::Test {
 protected:
  // On a thread of its own, in the context of the device.
  std::future<Floats> doubled_there(int64_t size) {
    return std::async(std::launch::async, [this, size] {
      const RunScope scope(there_);
      return twice_(full({size}, 1)).to_vector<float>();
    });
  }
  // The plan is made by the first call, and checked by the second.
  void settle(int64_t size) {
    for (int i = 0; i < 2; ++i) doubled_there(size).get();
  }
  // Four elements, while the program of eight waits at the gate.
  void expect_goes_on_beside(ThreadGate& gate) {
    auto waits = doubled_there(8);
    EXPECT_TRUE(gate.stops_one());
    auto goes_on = doubled_there(4);
    EXPECT_TRUE(ends_meanwhile(goes_on));
    gate.open();
    EXPECT_EQ(goes_on.get(), Floats(4, 2));
    EXPECT_EQ(waits.get(), Floats(8, 2));
  }

  std::function<void(int64_t)> compiling_ = [](int64_t) {};  // with the size of the argument
  const FakeDevicePtr device_ = FakeDevice::create({.compiling = [this](const Graph& graph) {
    compiling_(graph.type(graph.inputs()[0].value).shape[0]);
  }});
  const RunContext there_{{.device = device_.get()}};
  TypedFunction<Tensor, 1> twice_ = function([](const Tensor& x) { return x * 2; });
};

TEST_F(FunctionThreads, AKnownProgramRunsWhileAnotherIsCompiled) {
  settle(4);
  ThreadGate gate;
  compiling_ = [&](int64_t) { gate.pass(); };
  expect_goes_on_beside(gate);
}

TEST_F(FunctionThreads, TwoNewProgramsAreCompiledBesideEachOther) {
  ThreadGate gate;
  compiling_ = [&](int64_t size) {
    if (size == 8) gate.pass();
  };
  expect_goes_on_beside(gate);
}

TEST_F(FunctionThreads, OneProgramIsCompiledOnceForAllWhoWait) {
  ThreadGate gate;
  std::atomic<int> compiles = 0;
  compiling_ = [&](int64_t) {
    ++compiles;
    gate.pass();
  };
  std::vector<std::future<Floats>> all;
  for (int i = 0; i < 4; ++i) all.push_back(doubled_there(8));
  EXPECT_TRUE(gate.stops_one());
  gate.open();
  for (auto& each : all) EXPECT_EQ(each.get(), Floats(8, 2));
  EXPECT_EQ(compiles, 1);
}

TEST_F(FunctionThreads, WhoWaitsForACompilationThatFailsTriesAgain) {
  ThreadGate gate;
  std::atomic<int> compiles = 0;
  compiling_ = [&](int64_t) {
    gate.pass();
    if (++compiles == 1) throw DeviceError("test.compile", "refused");
  };
  std::vector<std::future<Floats>> all;
  for (int i = 0; i < 3; ++i) all.push_back(doubled_there(8));
  EXPECT_TRUE(gate.stops_one());
  gate.open();
  int refused = 0;
  for (auto& each : all) {
    Floats values;
    const std::string rule = rule_of([&] { values = each.get(); });
    if (rule == "test.compile")
      ++refused;
    else
      EXPECT_EQ(values, Floats(8, 2)) << rule;
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(compiles, 2);
}

// On this CPU, too.
TEST(FunctionThreadsHere, AKnownPlanRunsWhileAnotherIsTraced) {
  ThreadGate gate;
  const auto twice = function([&](const Tensor& x) {
    if (x.size(0) == 8) gate.pass();
    return x * 2;
  });
  const auto doubled = [&](int64_t size) {
    return std::async(std::launch::async, [&, size] { return twice(full({size}, 1)).to_vector<float>(); });
  };
  for (int i = 0; i < 2; ++i) doubled(4).get();
  auto waits = doubled(8);
  EXPECT_TRUE(gate.stops_one());
  auto goes_on = doubled(4);
  EXPECT_TRUE(ends_meanwhile(goes_on));
  EXPECT_EQ(twice.traces(), 1u);
  gate.open();
  EXPECT_EQ(goes_on.get(), Floats(4, 2));
  EXPECT_EQ(waits.get(), Floats(8, 2));
}

}  // namespace
}  // namespace espalier
