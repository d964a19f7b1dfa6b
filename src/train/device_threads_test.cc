// Threads that predict with one model on a device.
#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "espalier/array.h"
#include "espalier/model.h"
#include "espalier/random.h"
#include "espalier/run_context.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

// Says whether two threads are in it at a time, and how often it is run.
struct OneAtATime final : Layer {
  OneAtATime() : Layer("one_at_a_time") {}
  Tensor call(const Tensor& x) override {
    ++counts->calls;
    if (++counts->inside > 1) counts->met = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --counts->inside;
    return x * 2;
  }
  struct Counts {
    std::atomic<int> calls = 0, inside = 0;
    std::atomic<bool> met = false;
  };
  std::shared_ptr<Counts> counts = std::make_shared<Counts>();
};

// Whether its rows interact is found out by a trace of its own.
TEST(PredictingThreads, OneOfThemFindsOutWhetherRowsInteract) {
  const FakeDevicePtr device = FakeDevice::create();
  const RunContext there({.device = device.get()});
  const auto on_device = [&](const auto& call) {
    const RunScope scope(there);
    return call();
  };
  const OneAtATime layer;
  Sequential model(Dense({.units = 3}), layer);
  const Tensor four = random_normal({4, 5}, 1, 0), three = slice(four, {0, 0}, {3, 5});
  const std::vector<float> all = on_device([&] { return model.predict(four); }).to_vector<float>();
  const std::vector<float> wanted(all.begin(), all.begin() + 9);
  const int before = layer.counts->calls;
  std::vector<std::future<std::vector<float>>> threads;
  for (int i = 0; i < 4; ++i)
    threads.push_back(std::async(std::launch::async, [&] {
      return on_device([&] { return model.predict(three); }).template to_vector<float>();
    }));
  for (auto& each : threads) EXPECT_EQ(each.get(), wanted);
  EXPECT_FALSE(layer.counts->met);
  // One for the variables, one of two rows; and the second look at the program of four.
  EXPECT_EQ(layer.counts->calls - before, 3);
}

// Of equal rows nothing can be found out, and the next call asks again: that costs no trace.
TEST(PredictingThreads, EqualRowsAreTracedAsOftenAsOthers) {
  const FakeDevicePtr device = FakeDevice::create();
  const RunContext there({.device = device.get()});
  const RunScope scope(there);
  const OneAtATime layer;
  Sequential model(Dense({.units = 3}), layer);
  for (int i = 0; i < 4; ++i) model.predict(full({3, 5}, 1));
  EXPECT_EQ(layer.counts->calls, 2);
}

}  // namespace
}  // namespace espalier
