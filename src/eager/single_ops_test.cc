// Eager ops on a device, by a real PJRT plugin.
#include "eager/single_ops.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/devices.h"
#include "espalier/function.h"
#include "espalier/random.h"
#include "espalier/tape.h"
#include "espalier/variable.h"
#include "pjrt/open.h"
#include "pjrt/plugin_test.h"

namespace espalier {
namespace {

const bool kTwoDevices = pjrt::tests_have_cpu_devices(2);

class EagerOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    ASSERT_TRUE(kTwoDevices);
    device_ = pjrt::open_device(pjrt::test_plugin());
  }
  Tensor there(const Tensor& x) const { return to(x, device_->name()); }
  std::string place(const Tensor& x) const { return device_of(x); }

  pjrt::DevicePtr device_;
  const Tensor x_ = Tensor::of<float>({1, 2, 3, 4}, {2, 2}), y_ = Tensor::of<float>({5, 6, 7, 8}, {2, 2});
};

TEST_F(EagerOnDevice, AnOpRunsWhereItsOperandsLie) {
  const Tensor far = matmul(there(x_), there(y_)) + there(x_);
  EXPECT_EQ(place(far), device_->name());
  EXPECT_EQ(far.to_vector<float>(), (matmul(x_, y_) + x_).to_vector<float>());
  EXPECT_EQ(place(x_ + y_), "cpu");
}

TEST_F(EagerOnDevice, ScalarsAndFillsMove) {
  const Tensor far = there(x_);
  for (const Tensor& sum : {far + 1.0f, far + Tensor::scalar(1.0f), full({2, 2}, 1.0f) + far}) {
    EXPECT_EQ(place(sum), device_->name());
    EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{2, 3, 4, 5}));
  }
  // What is computed of nothing that lies anywhere.
  const Tensor counted = reshape(convert(arange(4), DType::kF32), {2, 2}) + far;
  EXPECT_EQ(counted.to_vector<float>(), (std::vector<float>{1, 3, 5, 7}));
}

// XLA of jaxlib 0.11.2 computes it otherwise for CPUs where it knows an operand; from some dozens of elements
// on.
TEST_F(EagerOnDevice, AnArcTangentIsThatOfEachElement) {
  const Tensor x = random_normal({1000}, 3, 0);
  const std::vector<float> wanted = atan(x).to_vector<float>(),
                           other = atan2(full({1000}, 2), x).to_vector<float>();
  const std::vector<float> got = atan(there(x)).to_vector<float>(),
                           far = atan2(full({1000}, 2), there(x)).to_vector<float>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], 1e-6) << i;
    EXPECT_NEAR(far[i], other[i], 1e-6) << i;
  }
}

// As StableHLO says, and as XLA for CPUs does not by itself.
TEST_F(EagerOnDevice, TheLargestOfNaNIsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = there(Tensor::of<float>({0, nan, 2, nan})), b = there(Tensor::of<float>({nan, 1, 1, nan}));
  const auto is_nan = [](const Tensor& x) {
    std::vector<bool> out;
    for (const float value : x.to_vector<float>()) out.push_back(std::isnan(value));
    return out;
  };
  EXPECT_EQ(is_nan(maximum(a, b)), (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(is_nan(minimum(a, b)), (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(is_nan(max(a)), std::vector<bool>{true});
  EXPECT_EQ(is_nan(cummax(a, 0)), is_nan(cummax(to(a, "cpu"), 0)));
  EXPECT_EQ(argmax(a, 0).item<int32_t>(), argmax(to(a, "cpu"), 0).item<int32_t>());
}

TEST_F(EagerOnDevice, PlacesOfElementsGoWhereTheArrayLies) {
  const Tensor mask = Tensor::of<bool>({true, false, false, true}, {2, 2});
  const Tensor chosen = boolean_mask(there(x_), there(mask));
  EXPECT_EQ(place(chosen), device_->name());
  EXPECT_EQ(chosen.to_vector<float>(), (std::vector<float>{1, 4}));
  EXPECT_EQ(unique(there(concatenate({x_, x_}, 0))).values.to_vector<float>(),
            (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(EagerOnDevice, AFunctionUnderATapeRunsThere) {
  const Variable before(x_);
  const DeviceScope scope(pjrt::test_plugin());
  const Variable inside(x_);
  const auto f = function([&](const Tensor& x) { return sum(before.read() * inside.read() * x); });
  GradientTape tape;
  const Tensor loss = f(y_);
  EXPECT_EQ(place(loss), device_->name());
  const auto gradients = tape.gradient(loss, {before, inside});
  for (const Tensor& gradient : gradients)
    EXPECT_EQ(gradient.to_vector<float>(), (x_ * y_).to_vector<float>());
}

TEST_F(EagerOnDevice, AVariableOfATensorThereLiesThere) {
  const DeviceScope outside("cpu");
  const Variable kept(there(x_));
  EXPECT_EQ(place(kept.read()), device_->name());
}

// Each by its own program: of both there is one.
TEST_F(EagerOnDevice, OneFunctionOnTwoDevicesInTurnIsCompiledTwice) {
  if (device_->client().size() < 2) GTEST_SKIP() << "there is one device";
  const auto f = function([](const Tensor& x) { return x * 3 + 1; });
  const auto compiles = [&] {
    return device_counters("xla-cpu:0").compiles + device_counters("xla-cpu:1").compiles;
  };
  const int64_t before = compiles();
  for (int i = 0; i < 6; ++i) {
    const DeviceScope scope(i % 2 ? "xla-cpu:1" : "xla-cpu:0");
    EXPECT_EQ(f(x_).to_vector<float>(), (std::vector<float>{4, 7, 10, 13}));
  }
  EXPECT_EQ(compiles() - before, 2);
}

TEST_F(EagerOnDevice, OtherMixesNameTheOperandAndTheFix) {
  try {
    add(there(x_), y_);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.rule(), "device.mix");
    EXPECT_NE(error.message().find("input 1, f32[2,2], lies on the CPU"), std::string::npos) << error.what();
    EXPECT_EQ(error.fix(), cat("to(tensor, \"", device_->name(), "\")"));
    EXPECT_NE(std::string(error.what()).find("single_ops_test.cc"), std::string::npos) << error.what();
  }
}

TEST_F(EagerOnDevice, EachOpIsCompiledOnce) {
  const Tensor far = there(x_);
  const Tensor once = maximum(far, far) * far;
  const pjrt::Counters before = device_->counters();
  for (int i = 0; i < 5; ++i) EXPECT_EQ((maximum(far, far) * far).type(), once.type());
  const pjrt::Counters done = device_->counters() - before;
  EXPECT_EQ(done.compiles + done.loads, 0);
  EXPECT_EQ(done.executes, 10);
  EXPECT_EQ(done.uploads + done.downloads, 0);
}

TEST_F(EagerOnDevice, SlowManySingleOpsAreNoted) {
  device_->take_notes();
  Tensor far = there(x_);
  for (int i = 1; i <= 24; ++i) far = reshape(there(full({i, 2}, 1.0f)), {2 * i}) * 2.0f;
  std::string all;
  for (const std::string& note : device_->take_notes()) all += note + "\n";
  EXPECT_NE(all.find("single ops were compiled"), std::string::npos) << all;
  EXPECT_NE(all.find("function()"), std::string::npos) << all;
}

TEST_F(EagerOnDevice, AnOpThatIsRefusedIsNamed) {
  const Tensor far = there(x_);
  const Tensor place = there(Tensor::of<int32_t>({0}, {1, 1}));
  try {
    // A window of two rows may hang over the edge.
    scatter_add(far, place, there(reshape(y_, {1, 2, 2})),
                {.window = {1, 2}, .index_map = {0}, .index_vector = 1});
    FAIL() << "no error";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.rule(), "device.program");
    EXPECT_NE(error.message().find("scatter"), std::string::npos) << error.what();
  }
}

TEST_F(EagerOnDevice, ATapeDifferentiatesThere) {
  const DeviceScope scope(pjrt::test_plugin());
  Variable weight(x_);
  EXPECT_EQ(place(weight.read()), device_->name());
  GradientTape tape;
  const Tensor loss = sum(square(matmul(there(y_), weight.read())));
  const Tensor gradient = tape.gradient(loss, weight);
  EXPECT_EQ(place(gradient), device_->name());
  const Tensor wanted = 2.0f * matmul(transpose(y_), matmul(y_, x_));
  EXPECT_EQ(gradient.to_vector<float>(), wanted.to_vector<float>());
  weight.assign_sub(gradient * 0.5f);
  EXPECT_EQ(place(weight.read()), device_->name());
  weight.assign(x_);
  EXPECT_EQ(place(weight.read()), device_->name());
}

// A function on this CPU writes where variables lie here, and not what a device had.
// A program on a device has written its state there.
TEST_F(EagerOnDevice, AGeneratorIsWhereItsNumbersAreUsed) {
  const auto draws = function([](const Tensor& x) { return x + random_uniform({3}); });
  const Tensor here = Tensor::of<float>({1, 2, 3});
  {
    const DeviceScope scope(pjrt::test_plugin());
    draws(here);
  }
  EXPECT_EQ((here + random_uniform({3})).node()->remote(), nullptr);
  const Tensor there = to(here, pjrt::test_plugin());
  EXPECT_NE((there + random_uniform({3})).node()->remote(), nullptr);
}

TEST_F(EagerOnDevice, VariablesGoBetweenDevices) {
  Variable count(Tensor::of<float>({1, 1}));
  const auto twice = function([&] { count.assign(count.read() * 2.0f); });
  const auto on_device = [&] {
    const DeviceScope scope(pjrt::test_plugin());
    twice();
  };
  on_device();
  on_device();
  twice();
  twice();
  on_device();
  EXPECT_EQ(count.read().to_vector<float>(), (std::vector<float>{32, 32}));
  twice();
  EXPECT_EQ(count.read().to_vector<float>(), (std::vector<float>{64, 64}));
}

}  // namespace
}  // namespace espalier
