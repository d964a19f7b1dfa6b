#include "espalier/numerics.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "eager/numerics.h"
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

TEST(CheckNumericsFunction, CountsEachKindAndNamesTheFirst) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto counts = [](const Tensor& x) {
    const NotFinite found = count_not_finite(x);
    return std::vector<int64_t>{found.nan, found.infinite, found.first, static_cast<bool>(found)};
  };
  using Counts = std::vector<int64_t>;
  EXPECT_EQ(counts(Tensor::of<float>({1, 2})), (Counts{0, 0, -1, 0}));
  EXPECT_EQ(counts(Tensor::of<float>({1, nan, infinity, nan})), (Counts{2, 1, 1, 1}));
  EXPECT_EQ(counts(Tensor::of<float>({-infinity, 1})), (Counts{0, 1, 0, 1}));
  EXPECT_EQ(counts(Tensor::of<int32_t>({1, 2})), (Counts{0, 0, -1, 0}));
  const auto said = [](const Tensor& x) { return to_string(count_not_finite(x), x.type()); };
  EXPECT_EQ(said(Tensor::of<float>({1, 2, 3, 4, 5, nan, nan, 8, -infinity, 1, 1, 1}, {2, 3, 2})),
            "2 NaN and 1 infinite of 12 elements (f32[2,3,2]), the first at [0,2,1]");
  EXPECT_EQ(said(Tensor::scalar(infinity)), "0 NaN and 1 infinite of 1 elements (f32[]), the first at []");
}

TEST(CheckNumericsFunction, HasNoNumbersWhileAFunctionIsTraced) {
  const auto step = function([](const Tensor& x) { return check_numerics(x, "x"); });
  EXPECT_EQ(rule_of([&] { step(full({2}, 1)); }), "check_numerics.trace");
}

}  // namespace
}  // namespace espalier
