// The table of docs/numerics.md: the largest error of each transcendental function, in units of the last
// place, against long double.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "ops/call.h"

namespace espalier {
namespace {

struct Function {
  const char* name;
  Tensor (*op)(Operand);
  long double (*exact)(long double);
  double low, high;  // where it is measured
  double f32_bound, f64_bound;
};

const Function kFunctions[] = {
    {"exponential", exponential, std::exp, -87, 88, 1, 1},
    {"exponential_minus_one", exponential_minus_one, std::expm1, -17, 88, 1, 1},
    {"log", log, std::log, 1e-30, 1e30, 1, 1},
    {"log_plus_one", log_plus_one, std::log1p, -0.999, 1e6, 1.5, 1.5},
    {"tanh", tanh, std::tanh, -10, 10, 2.5, 2.5},
    {"logistic", logistic, [](long double x) { return 1 / (1 + std::exp(-x)); }, -80, 20, 2.5, 2.5},
    {"gelu by tanh", [](Operand x) { return gelu(x, true); },
     [](long double x) {
       return x / (1 + std::exp(-2 * 0.797884560802865355879892L * (x + 0.044715L * x * x * x)));
     },
     -4, 20, 20, 20},
    {"sine", sine, std::sin, -100, 100, 1, 1},
    {"cosine", cosine, std::cos, -100, 100, 1, 1},
    {"tan", tan, std::tan, -1.5, 1.5, 1, 1},
    {"erf", erf, std::erf, -5, 5, 1.5, 1.5},
    {"cbrt", cbrt, std::cbrt, -1e6, 1e6, 1, 4},
    {"rsqrt", rsqrt, [](long double x) { return 1 / std::sqrt(x); }, 1e-30, 1e30, 1.5, 1.5},
};

// Half of the points are spread over magnitudes, half over the range.
template <class T>
std::vector<T> points(const Function& f) {
  std::mt19937_64 random(17);
  std::vector<T> out;
  std::uniform_real_distribution<double> range(f.low, f.high), exponent(-20, 20);
  while (out.size() < 40000) {
    double x = range(random);
    if (out.size() % 2) x = std::copysign(std::exp2(exponent(random)), x);
    const T rounded = static_cast<T>(x);
    if (rounded >= static_cast<T>(f.low) && rounded <= static_cast<T>(f.high)) out.push_back(rounded);
  }
  return out;
}

template <class T>
double largest_error(const Function& f) {
  const std::vector<T> x = points<T>(f);
  const Tensor y = f.op(Tensor::from_bytes({dtype_of<T>(), {static_cast<int64_t>(x.size())}}, x.data()));
  const std::span<const T> computed = y.data<T>();
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = f.exact(x[i]);
    if (std::fabs(exact) < std::numeric_limits<T>::min()) continue;
    const long double unit = std::scalbn(1.0L, std::ilogb(exact) - std::numeric_limits<T>::digits + 1);
    worst = std::max(worst, static_cast<double>(std::fabs(computed[i] - exact) / unit));
  }
  return worst;
}

TEST(Numerics, TranscendentalsKeepTheirBounds) {
  for (const Function& f : kFunctions) {
    const double single = largest_error<float>(f), twice = largest_error<double>(f);
    EXPECT_LE(single, f.f32_bound) << f.name;
    EXPECT_LE(twice, f.f64_bound) << f.name;
    EXPECT_GT(single, 0.4) << f.name << ": nothing was measured";
    RecordProperty(f.name, std::to_string(single) + " " + std::to_string(twice));
    if (std::getenv("ESPALIER_PRINT_ERRORS")) std::printf("%-24s %.3f %.3f\n", f.name, single, twice);
  }
}

}  // namespace
}  // namespace espalier
