// How many plans a function keeps: by their bytes on this CPU, by their number on a device, or as it is told.
#include <gtest/gtest.h>

#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/random.h"
#include "espalier/run_context.h"
#include "espalier/variable.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

using Doubling = TypedFunction<Tensor, 1>;

// Traces that calls with so many elements each, in turn, ask for; what they give must be right.
int64_t traces_of(const Doubling& doubling, int64_t first, int64_t last) {
  const size_t before = doubling.traces();
  const int64_t step = first <= last ? 1 : -1;
  for (int64_t size = first; size != last + step; size += step) {
    std::vector<float> values, wanted;
    for (int64_t i = 0; i < size; ++i) {
      values.push_back(static_cast<float>(size + i));
      wanted.push_back(static_cast<float>(2 * (size + i)));
    }
    EXPECT_EQ(doubling(Tensor::of(values)).to_vector<float>(), wanted) << size;
  }
  return static_cast<int64_t>(doubling.traces() - before);
}

Doubling doubling(FunctionOptions options) {
  return function([](const Tensor& x) { return x * 2; }, std::move(options));
}

TEST(FunctionPlans, OfManySizesInTurnAreMadeOnce) {
  const Doubling f = doubling({});
  EXPECT_EQ(traces_of(f, 1, 32), 32);
  EXPECT_EQ(traces_of(f, 1, 32), 0);
  EXPECT_EQ(traces_of(f, 32, 1), 0);
}

TEST(FunctionPlans, BeyondTheirBytesTheLastEightAreKept) {
  const Doubling f = doubling({.max_plan_bytes = 1});
  EXPECT_EQ(traces_of(f, 1, 12), 12);
  EXPECT_EQ(traces_of(f, 12, 5), 0);
  EXPECT_EQ(traces_of(f, 4, 1), 4);
  // 5 to 8 were used last before those.
  EXPECT_EQ(traces_of(f, 5, 8), 0);
  EXPECT_EQ(traces_of(f, 9, 12), 4);
}

// Between two products stand n rows of 2 KiB each.
TEST(FunctionPlans, ThoseOfLargeValuesAreFewer) {
  const Tensor w = random_normal({512, 512}, 1, 0);
  const auto product = [&](const Tensor& x) { return matmul(matmul(x, w), w); };
  const auto traces = [&](const Doubling& f, int64_t rows) {
    const size_t before = f.traces();
    for (int64_t i = 1; i <= 24; ++i) f(full({i * rows, 512}, 1.0));
    return static_cast<int64_t>(f.traces() - before);
  };
  // w has 1 MiB, which is 24 MiB for all; 300 times 64 rows have 37 MiB more.
  const auto make = [&] { return function(product, {.max_plan_bytes = size_t{40} << 20}); };
  const auto small = make(), large = make();
  EXPECT_EQ(traces(small, 1), 24);
  EXPECT_EQ(traces(small, 1), 0);
  EXPECT_EQ(traces(large, 64), 24);
  EXPECT_EQ(traces(large, 64), 24);
}

TEST(FunctionPlans, AreAsManyAsTheCallerSays) {
  const Doubling three = doubling({.max_plans = 3}), one = doubling({.max_plans = 0});
  EXPECT_EQ(traces_of(three, 1, 4), 4);
  EXPECT_EQ(traces_of(three, 4, 2), 0);
  EXPECT_EQ(traces_of(three, 1, 1), 1);
  EXPECT_EQ(traces_of(one, 1, 2), 2);
  EXPECT_EQ(traces_of(one, 2, 2), 0);
  EXPECT_EQ(traces_of(one, 1, 1), 1);
}

// Nobody knows how large its programs are.
TEST(FunctionPlans, OfADeviceAreEight) {
  const FakeDevicePtr device = FakeDevice::create();
  const RunContext there({.device = device.get()});
  const RunScope scope(there);
  const Doubling f = doubling({});
  EXPECT_EQ(traces_of(f, 1, 9), 9);
  EXPECT_EQ(traces_of(f, 9, 2), 0);
  EXPECT_EQ(traces_of(f, 1, 1), 1);
}

// Of a variable that is trained no more the old plan is of no use, and would keep it.
TEST(FunctionPlans, ThatHoldNoMoreAreDropped) {
  auto a = std::make_unique<Variable>(Tensor::of({2.0f}));
  const Variable b(Tensor::of({3.0f}));
  const Variable* read = a.get();
  const auto f = function([&](const Tensor& x) { return read->trainable() ? x * read->read() : x; },
                          {.check_captures = false});
  const Tensor x = Tensor::of({5.0f});
  EXPECT_EQ(f(x).item<float>(), 10);
  const std::weak_ptr<VariableState> old = a->state();
  read = &b;
  a->set_trainable(false);
  a.reset();
  EXPECT_FALSE(old.expired());
  EXPECT_EQ(f(x).item<float>(), 15);
  EXPECT_TRUE(old.expired());
}

}  // namespace
}  // namespace espalier
