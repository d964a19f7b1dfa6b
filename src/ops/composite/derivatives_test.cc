// First and second derivatives against closed forms in long double: near zero, far out, at poles and bounds.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "espalier/control.h"
#include "espalier/ops.h"
#include "espalier/transforms.h"
#include "ops/call.h"
#include "ops/registry.h"

namespace espalier {
namespace {

using Long = long double;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
const double kNoNumber = std::nan("");

Tensor number(double x, DType dtype) { return convert(Tensor::scalar(x), dtype); }

// The derivative of f at x of that order, computed in dtype.
double derivative(const TensorFunction& f, double x, int order, DType dtype = DType::kF64) {
  TensorFunction g = f;
  for (int i = 0; i < order; ++i) g = grad(g);
  return convert(g(number(x, dtype))[0], DType::kF64).item<double>();
}

struct Curve {
  const char* name;
  Tensor (*f)(const Tensor& x);
  Long (*first)(Long x);
  Long (*second)(Long x);
  double low, high;  // where it is defined
};

Long sech2(Long x) { return 1 / (std::cosh(x) * std::cosh(x)); }
Long logistic_1(Long x) { return sech2(x / 2) / 4; }
Long logistic_2(Long x) { return -logistic_1(x) * std::tanh(x / 2); }
Long below_one(Long x) { return (1 - x) * (1 + x); }
const Long kBell = 2 / std::sqrt(std::numbers::pi_v<Long>);

const Curve kCurves[] = {
    {"logistic", [](const Tensor& x) { return logistic(x); }, logistic_1, logistic_2, -80, 80},
    {"softplus", [](const Tensor& x) { return softplus(x); }, [](Long x) { return 1 / (1 + std::exp(-x)); },
     logistic_1, -80, 80},
    {"tanh", [](const Tensor& x) { return tanh(x); }, sech2,
     [](Long x) { return -2 * std::tanh(x) * sech2(x); }, -40, 40},
    {"silu", [](const Tensor& x) { return silu(x); },
     [](Long x) { return 1 / (1 + std::exp(-x)) + x * logistic_1(x); },
     [](Long x) { return logistic_1(x) * (2 - x * std::tanh(x / 2)); }, -40, 40},
    {"gelu", [](const Tensor& x) { return gelu(x); },
     [](Long x) {
       return std::erfc(-x / std::sqrt(2.0L)) / 2 + x * kBell / std::sqrt(8.0L) * std::exp(-x * x / 2);
     },
     [](Long x) { return kBell / std::sqrt(8.0L) * std::exp(-x * x / 2) * (2 - x * x); }, -6, 6},
    {"expm1", [](const Tensor& x) { return exponential_minus_one(x); }, [](Long x) { return std::exp(x); },
     [](Long x) { return std::exp(x); }, -80, 80},
    {"log1p", [](const Tensor& x) { return log_plus_one(x); }, [](Long x) { return 1 / (1 + x); },
     [](Long x) { return -1 / ((1 + x) * (1 + x)); }, -0.999, 1e8},
    {"log", [](const Tensor& x) { return log(x); }, [](Long x) { return 1 / x; },
     [](Long x) { return -1 / (x * x); }, 1e-9, 1e15},
    {"erf", [](const Tensor& x) { return erf(x); }, [](Long x) { return kBell * std::exp(-x * x); },
     [](Long x) { return -2 * x * kBell * std::exp(-x * x); }, -4, 4},
    {"erfc", [](const Tensor& x) { return erfc(x); }, [](Long x) { return -kBell * std::exp(-x * x); },
     [](Long x) { return 2 * x * kBell * std::exp(-x * x); }, -4, 4},
    {"asin", [](const Tensor& x) { return asin(x); }, [](Long x) { return 1 / std::sqrt(below_one(x)); },
     [](Long x) { return x / std::pow(below_one(x), 1.5L); }, -1, 1},
    {"acos", [](const Tensor& x) { return acos(x); }, [](Long x) { return -1 / std::sqrt(below_one(x)); },
     [](Long x) { return -x / std::pow(below_one(x), 1.5L); }, -1, 1},
    {"atanh", [](const Tensor& x) { return atanh(x); }, [](Long x) { return 1 / below_one(x); },
     [](Long x) { return 2 * x / (below_one(x) * below_one(x)); }, -1, 1},
    {"atan", [](const Tensor& x) { return atan(x); }, [](Long x) { return 1 / (1 + x * x); },
     [](Long x) { return -2 * x / ((1 + x * x) * (1 + x * x)); }, -1e12, 1e12},
    {"asinh", [](const Tensor& x) { return asinh(x); }, [](Long x) { return 1 / std::sqrt(1 + x * x); },
     [](Long x) { return -x / std::pow(1 + x * x, 1.5L); }, -1e25, 1e25},
    {"acosh", [](const Tensor& x) { return acosh(x); },
     [](Long x) { return 1 / std::sqrt((x - 1) * (x + 1)); },
     [](Long x) { return -x / std::pow((x - 1) * (x + 1), 1.5L); }, 1, 1e15},
    {"sinh", [](const Tensor& x) { return sinh(x); }, [](Long x) { return std::cosh(x); },
     [](Long x) { return std::sinh(x); }, -80, 80},
    {"cosh", [](const Tensor& x) { return cosh(x); }, [](Long x) { return std::sinh(x); },
     [](Long x) { return std::cosh(x); }, -80, 80},
    {"tan", [](const Tensor& x) { return tan(x); }, [](Long x) { return 1 / (std::cos(x) * std::cos(x)); },
     [](Long x) { return 2 * std::tan(x) / (std::cos(x) * std::cos(x)); }, -1.5, 1.5},
    {"cbrt", [](const Tensor& x) { return cbrt(x); },
     [](Long x) { return 1 / (3 * std::cbrt(x) * std::cbrt(x)); },
     [](Long x) { return -2 / (9 * x * std::cbrt(x) * std::cbrt(x)); }, -1e9, 1e9},
    {"sqrt", [](const Tensor& x) { return sqrt(x); }, [](Long x) { return 0.5L / std::sqrt(x); },
     [](Long x) { return -0.25L / (x * std::sqrt(x)); }, 1e-9, 1e15},
    {"rsqrt", [](const Tensor& x) { return rsqrt(x); }, [](Long x) { return -0.5L / (x * std::sqrt(x)); },
     [](Long x) { return 0.75L / (x * x * std::sqrt(x)); }, 1e-9, 1e12},
};

TEST(Derivatives, AreThoseOfTheClosedForm) {
  const double sizes[] = {1e-9, 1e-5, 1e-3, 0.03, 0.25,  0.6, 0.7,  0.9999, 1.0001, 1.25, 2,    3.5,
                          5.5,  9.5,  17.5, 25,   37.43, 70,  1000, 3e6,    1e9,    1e11, 1e14, 1e20};
  for (const Curve& curve : kCurves) {
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      const bool wide = dtype == DType::kF64;
      for (const double size : sizes) {
        for (const double given : {size, -size}) {
          const double x = wide ? given : static_cast<double>(static_cast<float>(given));
          if (!(x > curve.low && x < curve.high)) continue;
          for (const int order : {1, 2}) {
            const Long expected = order == 1 ? curve.first(x) : curve.second(x);
            if (std::fabs(expected) < (wide ? 1e-300L : 1e-36L) || std::fabs(expected) > 1e37L) continue;
            const double got = derivative(curve.f, x, order, dtype);
            EXPECT_NEAR(static_cast<double>(got / expected), 1, wide ? 2e-14 : 6e-6)
                << curve.name << " of " << name(dtype) << ", order " << order << ", at " << x << ": " << got;
          }
        }
      }
    }
  }
}

TEST(Derivatives, AreInfiniteAtPoles) {
  struct Pole {
    Tensor (*f)(const Tensor& x);
    double x, first, second;
  };
  const Pole poles[] = {
      {[](const Tensor& x) { return asin(x); }, 1, kInfinite, kInfinite},
      {[](const Tensor& x) { return asin(x); }, -1, kInfinite, -kInfinite},
      {[](const Tensor& x) { return acos(x); }, 1, -kInfinite, -kInfinite},
      {[](const Tensor& x) { return atanh(x); }, 1, kInfinite, kInfinite},
      {[](const Tensor& x) { return atanh(x); }, -1, kInfinite, -kInfinite},
      {[](const Tensor& x) { return acosh(x); }, 1, kInfinite, -kInfinite},
      {[](const Tensor& x) { return sqrt(x); }, 0, kInfinite, -kInfinite},
      {[](const Tensor& x) { return cbrt(x); }, 0, kInfinite, -kInfinite},
      {[](const Tensor& x) { return rsqrt(x); }, 0, -kInfinite, kInfinite},
      {[](const Tensor& x) { return log(x); }, 0, kInfinite, -kInfinite},
      {[](const Tensor& x) { return log_plus_one(x); }, -1, kInfinite, -kInfinite},
      {[](const Tensor& x) { return erf_inv(x); }, 1, kInfinite, kInfinite},
  };
  const auto power_of_zero = [](const Tensor& b) { return power(constant_like(b.type(), 0), b); };
  EXPECT_EQ(derivative(power_of_zero, -1, 1), -kInfinite);
  EXPECT_EQ(derivative(power_of_zero, 2, 1), 0);
  EXPECT_EQ(derivative(power_of_zero, 0, 1), 0);
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    for (const Pole& pole : poles) {
      const size_t i = static_cast<size_t>(&pole - poles);
      EXPECT_EQ(derivative(pole.f, pole.x, 1, dtype), pole.first) << i;
      EXPECT_EQ(derivative(pole.f, pole.x, 2, dtype), pole.second) << i;
    }
  }
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    for (const double x : {0.0, -1.0, -2.0, -10.0})
      EXPECT_EQ(derivative([](const Tensor& t) { return digamma(t); }, x, 1, dtype), kInfinite) << x;
  }
}

// Values of Riemann's zeta function and its derivatives: zeta(3), zeta'(2), zeta''(2).
constexpr double kZeta3 = 1.2020569031595942854, kZetaSlope2 = -0.93754825431584375370,
                 kZetaCurvature2 = 1.98928023429890102342;

TEST(Derivatives, OfZetaAndPolygamma) {
  const auto of_s = [](double q) {
    return [q](const Tensor& s) { return zeta(s, constant_like(s.type(), q)); };
  };
  const auto of_q = [](double s) {
    return [s](const Tensor& q) { return zeta(constant_like(q.type(), s), q); };
  };
  EXPECT_NEAR(derivative(of_s(1), 2, 1), kZetaSlope2, 1e-13);
  EXPECT_NEAR(derivative(of_s(1), 2, 2), kZetaCurvature2, 1e-12);
  EXPECT_NEAR(derivative(of_q(2), 1, 1), -2 * kZeta3, 1e-13);
  EXPECT_EQ(derivative(of_s(1), 1, 1), -kInfinite);
  EXPECT_EQ(derivative(of_q(2), 0, 1), -kInfinite);
  EXPECT_TRUE(std::isnan(derivative(of_s(1), 0.5, 1)));
  EXPECT_TRUE(std::isnan(derivative(of_q(0.5), 1, 1)));
  EXPECT_TRUE(std::isnan(derivative(of_q(2), -1, 1)));

  const auto polygamma_of = [](double n) {
    return [n](const Tensor& x) { return polygamma(constant_like(x.type(), n), x); };
  };
  EXPECT_NEAR(derivative(polygamma_of(0), 1, 1), std::numbers::pi * std::numbers::pi / 6, 1e-14);
  EXPECT_NEAR(derivative(polygamma_of(1), 1, 1), -2 * kZeta3, 1e-13);
  EXPECT_EQ(derivative(polygamma_of(0), -1, 1), kInfinite);
  EXPECT_TRUE(std::isnan(derivative(polygamma_of(0.5), 1, 1)));
  // polygamma(2, 3/2) = 16 - 14 zeta(3); at -1/2 the reflection adds nothing.
  EXPECT_NEAR(derivative([](const Tensor& x) { return digamma(x); }, 1.5, 2), 16 - 14 * kZeta3, 1e-12);
  EXPECT_NEAR(derivative([](const Tensor& x) { return digamma(x); }, -0.5, 2), 16 - 14 * kZeta3, 1e-11);
}

TEST(Derivatives, OfTheAngleOfLargeAndSmallPoints) {
  for (const double size : {1e-25, 1.0, 1e25}) {
    const double a = static_cast<float>(size), b = static_cast<float>(2 * size);
    const auto of_a = [b](const Tensor& x) { return atan2(x, constant_like(x.type(), b)); };
    const auto of_b = [a](const Tensor& x) { return atan2(constant_like(x.type(), a), x); };
    const double squares = a * a + b * b;
    EXPECT_NEAR(derivative(of_a, a, 1, DType::kF32) / (b / squares), 1, 1e-6) << size;
    EXPECT_NEAR(derivative(of_b, b, 1, DType::kF32) / (-a / squares), 1, 1e-6) << size;
    if (size == 1.0) {
      EXPECT_NEAR(derivative(of_a, a, 2) / (-2 * a * b / (squares * squares)), 1, 1e-14);
    }
  }
  const auto at_origin = [](const Tensor& x) { return atan2(x, constant_like(x.type(), 0)); };
  EXPECT_TRUE(std::isnan(derivative(at_origin, 0, 1)));
}

// softplus(x) = log(e^x + e^0): its second derivative is s (1 - s) of the class x, however near s is to 1.
TEST(Derivatives, OfASoftmaxWhereOneClassIsAlmostCertain) {
  const auto logits = [](const Tensor& x) {
    return concatenate({reshape(x, {1}), constant_like({x.dtype(), {1}}, 0)}, 0);
  };
  const auto first_of = [](const Tensor& t) { return reshape(slice(t, {0}, {1}), {}); };
  for (const double x : {37.43, 3.0, -3.0, -37.43}) {
    const double expected = static_cast<double>(logistic_1(x));
    const auto expect_slope = [&](const TensorFunction& f, int order, double wanted) {
      EXPECT_NEAR(derivative(f, x, order) / wanted, 1, 4e-14) << x << ", order " << order;
    };
    expect_slope([&](const Tensor& t) { return logsumexp(logits(t), 0); }, 2, expected);
    expect_slope([&](const Tensor& t) { return first_of(softmax(logits(t), 0)); }, 1, expected);
    expect_slope([&](const Tensor& t) { return first_of(log_softmax(logits(t), 0)); }, 1,
                 static_cast<double>(1 / (1 + std::exp(static_cast<Long>(x)))));
    expect_slope([&](const Tensor& t) { return sigmoid_cross_entropy(t, constant_like(t.type(), 1)); }, 1,
                 static_cast<double>(-1 / (1 + std::exp(static_cast<Long>(x)))));
    expect_slope([&](const Tensor& t) { return sigmoid_cross_entropy(t, constant_like(t.type(), 0)); }, 1,
                 static_cast<double>(1 / (1 + std::exp(-static_cast<Long>(x)))));
  }
}

TEST(Derivatives, OfRunningSumsOfPowersWhereTwoAreEqual) {
  const auto total = [](const Tensor& x) {
    const Tensor all = cumlogsumexp(concatenate({reshape(x, {1}), constant_like({x.dtype(), {1}}, 2)}, 0), 0);
    return reshape(slice(all, {1}, {2}), {});
  };
  EXPECT_EQ(derivative(total, 2, 1), 0.5);
  EXPECT_EQ(derivative(total, 2, 2), 0.25);
  EXPECT_EQ(derivative(total, -kInfinite, 1), 0);
}

TEST(Derivatives, OnBoundsAreZero) {
  for (const double x : {0.0, 6.0}) {
    EXPECT_EQ(derivative([](const Tensor& t) { return clamp(0, t, 6); }, x, 1), 0) << x;
    EXPECT_EQ(derivative([](const Tensor& t) { return relu6(t); }, x, 1), 0) << x;
  }
  EXPECT_EQ(derivative([](const Tensor& t) { return relu(t); }, 0, 1), 0);
}

std::vector<double> gradient_of(const TensorFunction& f, const Tensor& x) {
  return convert(grad(f)(x)[0], DType::kF64).to_vector<double>();
}

TEST(Derivatives, OfAMaximumWithNaNAreNaN) {
  const Tensor x = Tensor::of<double>({1, kNoNumber, 3});
  for (const bool largest : {true, false}) {
    const auto over = [&](const Tensor& t) { return largest ? reduce_max(t, {0}) : reduce_min(t, {0}); };
    for (const double g : gradient_of(over, x)) EXPECT_TRUE(std::isnan(g));
    // A line without NaN beside it, and ties that share.
    const Tensor two = Tensor::of<double>({2, 2, kNoNumber, 1}, {2, 2});
    const std::vector<double> got = gradient_of(
        [&](const Tensor& t) { return reduce_sum(largest ? reduce_max(t, {1}) : reduce_min(t, {1}), {0}); },
        two);
    EXPECT_EQ(got[0], 0.5);
    EXPECT_EQ(got[1], 0.5);
    EXPECT_TRUE(std::isnan(got[2]) && std::isnan(got[3]));
  }
  const Tensor places = Tensor::of<int32_t>({0, 0}, {2, 1});
  const IndexAxes axes{.collapsed = {0}, .index_map = {0}, .index_vector = 1};
  const std::vector<double> got = gradient_of(
      [&](const Tensor& updates) {
        return reduce_sum(scatter_max(Tensor::of<double>({0, 5}), places, updates, axes), {0});
      },
      Tensor::of<double>({kNoNumber, 1}));
  EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]));
}

TEST(Derivatives, DropWhatIsNotUsed) {
  // The cotangent of the line that lost, of the triangle that is zero, of what is padded away.
  const Tensor weights = Tensor::of<double>({kNoNumber, 1});
  const std::vector<double> got =
      gradient_of([&](const Tensor& t) { return reduce_sum(reduce_max(t, {1}) * weights, {0}); },
                  Tensor::of<double>({1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(got[0], 0);
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_EQ(got[2], 0);
  EXPECT_EQ(got[3], 1);

  for (const bool lower : {true, false}) {
    const Tensor a = Tensor::of<double>({4, 1, 1, 3}, {2, 2});
    const auto with = [&](double unused) {
      const Tensor g = lower ? Tensor::of<double>({1, unused, 2, 3}, {2, 2})
                             : Tensor::of<double>({1, 2, unused, 3}, {2, 2});
      return gradient_of([&](const Tensor& t) { return reduce_sum(cholesky(t, lower) * g, {0, 1}); }, a);
    };
    EXPECT_EQ(with(kNoNumber), with(0)) << lower;
  }
}

}  // namespace
}  // namespace espalier
