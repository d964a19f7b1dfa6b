#include "espalier/numerics.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/function.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

TEST(CheckNumericsFunction, GivesBackWhatIsFiniteAndCountsWhatIsNot) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::of<double>({1, 2, 3, -infinity, infinity, infinity - infinity}, {2, 3});
  EXPECT_EQ(check_numerics(full({2}, 1), "x").shape(), (Shape{2}));
  EXPECT_EQ(check_numerics(full({2}, 1, DType::kI32), "x").dtype(), DType::kI32);
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
    try {
      check_numerics(convert(x, dtype), "activations");
      ADD_FAILURE() << "not found";
    } catch (const ValueError& error) {
      EXPECT_EQ(error.rule(), "check_numerics");
      const std::string text = error.what();
      for (const char* part :
           {"numerics_test.cc:", "activations: 1 NaN and 2 infinite of 6 elements", "[1,0]"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
}

TEST(CheckNumericsFunction, HasNoNumbersWhileAFunctionIsTraced) {
  const auto step = function([](const Tensor& x) { return check_numerics(x, "x"); });
  EXPECT_EQ(rule_of([&] { step(full({2}, 1)); }), "check_numerics.trace");
}

}  // namespace
}  // namespace espalier
