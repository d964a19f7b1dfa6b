// What was compiled for a device for one precision of products is not used for another one.
#include <atomic>

#include <gtest/gtest.h>

#include "espalier/array.h"
#include "espalier/function.h"
#include "espalier/run_context.h"
#include "ir/device.h"
#include "ir/sink.h"
#include "runtime/fake_device_test.h"

namespace espalier {
namespace {

class FunctionPrecision : public testing::Test {
 protected:
  ~FunctionPrecision() override { set_matmul_precision(before_); }
  // How many programs were compiled until the call with this precision had ended.
  int compiles_with(MatmulPrecision precision) {
    set_matmul_precision(precision);
    const RunScope scope(there_);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(squared_(full({2, 2}, 3)).to_vector<float>(), std::vector<float>(4, 18));
    return compiles_;
  }

  const MatmulPrecision before_ = matmul_precision();
  std::atomic<int> compiles_ = 0;
  const FakeDevicePtr device_ = FakeDevice::create({.compiling = [this](const Graph&) { ++compiles_; }});
  const RunContext there_{{.device = device_.get()}};
  TypedFunction<Tensor, 1> squared_ = function([](const Tensor& x) { return matmul(x, x); });
};

TEST_F(FunctionPrecision, EachHasAProgramOfItsOwn) {
  EXPECT_EQ(compiles_with(MatmulPrecision::kHighest), 1);
  EXPECT_EQ(compiles_with(MatmulPrecision::kDefault), 2);
  EXPECT_EQ(compiles_with(MatmulPrecision::kHigh), 3);
  // They are kept.
  EXPECT_EQ(compiles_with(MatmulPrecision::kHighest), 3);
  EXPECT_EQ(compiles_with(MatmulPrecision::kDefault), 3);
}

TEST_F(FunctionPrecision, SoHasASingleOp) {
  const Tensor x = make_remote(full({2, 2}, 3).node()->dense(), *device_);
  const auto compiles = [&](MatmulPrecision precision) {
    set_matmul_precision(precision);
    EXPECT_EQ(matmul(x, x).to_vector<float>(), std::vector<float>(4, 18));
    return compiles_.load();
  };
  EXPECT_EQ(compiles(MatmulPrecision::kHighest), 1);
  EXPECT_EQ(compiles(MatmulPrecision::kHighest), 1);
  EXPECT_EQ(compiles(MatmulPrecision::kDefault), 2);
  EXPECT_EQ(compiles(MatmulPrecision::kHighest), 2);
}

}  // namespace
}  // namespace espalier
