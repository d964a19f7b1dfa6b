// The tests of this room on a fake device.
#include <algorithm>

#include <gtest/gtest.h>

#include "eager/trace.h"
#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/variable.h"
#include "ir/sink.h"
#include "runtime/on_fake_device_test.h"

namespace espalier {
namespace {

constexpr const char* kMixes = "a variable on the device meets rows that lie here (device.mix)";
constexpr const char* kEight = "eight plans are kept there";
constexpr NotOnDevice kNotThere[] = {
    {"ControlState.AScanStacksAndCarries", kMixes},
    {"ControlState.ATracedFunctionJoinsTheRegionAroundIt", kMixes},
    {"FunctionPlans.OfManySizesInTurnAreMadeOnce", kEight},
    {"FunctionPlans.ThoseOfLargeValuesAreFewer", kEight},
};
[[maybe_unused]] const bool on_fake_device = run_on_fake_device(kNotThere);

TEST(EagerOnFakeDevice, FunctionsRunThereWhereItIsAskedFor) {
  const bool asked = device_of_tests() == "fake";
  Variable sum(Tensor::of<float>({1, 2}), {.name = "sum"});
  auto add = function([&](const Tensor& x) {
    sum.assign_add(x);
    return sum.read() * 2;
  });
  const Tensor x = Tensor::of<float>({10, 20}), twice = add(x);
  EXPECT_EQ(x.node()->remote(), nullptr);
  for (const Tensor& tensor : {twice, sum.state()->value}) {
    const RemoteArrayPtr& remote = tensor.node()->remote();
    ASSERT_EQ(remote != nullptr, asked);
    if (asked) {
      EXPECT_EQ(&remote->device(), RunContext::current().device);
    }
  }
  EXPECT_EQ(twice.to_vector<float>(), (std::vector<float>{22, 44}));
}

// An update takes the memory of the old value only where nobody holds it: on a device it would be gone.
TEST(EagerOnFakeDevice, WhatWasReadOutlivesTheUpdate) {
  Variable sum(Tensor::of<float>({1, 2}), {.name = "sum"});
  auto add = function([&](const Tensor& x) {
    sum.assign_add(x);
    return sum.read() * 2;
  });
  const Tensor one = full({2}, 1);
  std::vector<Tensor> held;  // of the three first steps, and the copy
  for (int i = 0; i < 3; ++i) {
    add(one);
    held.push_back(sum.read());
  }
  // Two variables with one array.
  Variable copy(Tensor::of<float>({0, 0}), {.name = "copy"});
  copy.assign(sum.read());
  held.push_back(copy.read());
  add(one);
  for (size_t i = 0; i < held.size(); ++i) {
    const auto steps = static_cast<float>(std::min<size_t>(i + 1, 3));
    EXPECT_EQ(held[i].to_vector<float>(), (std::vector<float>{1 + steps, 2 + steps}));
  }
}

}  // namespace
}  // namespace espalier
