#include "text/c_functions.h"

#include <bit>

#include "espalier/ops.h"
#include "text/compiled_c_test.h"

namespace espalier {
namespace {

struct Case {
  const char* name;
  Tensor (*op)(Operand);
  double (*exact)(double);
  double bound;  // in units of the last place
  double low, high;
};

double units(float got, double wanted) {
  const auto size = static_cast<float>(std::fabs(wanted));
  const double unit = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
  return std::fabs(got - wanted) / unit;
}

// In units of the last place of f32, infinite where NaN, infinities and signs are not those wanted. `least`:
// smaller results have its unit.
double apart(float got, double wanted, double least = 0) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto rounded = static_cast<float>(wanted);
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : kNever;
  if (std::isinf(rounded)) return got == rounded ? 0 : kNever;
  if (least == 0 && std::signbit(got) != std::signbit(rounded)) return kNever;
  const double size = std::max<double>(std::fabs(rounded), least);
  const double unit = std::max(0x1p-149, size == 0 ? 0.0 : std::ldexp(1.0, std::ilogb(size) - 23));
  return std::isfinite(got) ? std::fabs(got - wanted) / unit : kNever;
}

// The bounds that comments of the C file state, against the C library in f64.
TEST(CFunctions, KeepTheirStatedErrorsSlow) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  const Case cases[] = {
      {"exp", exponential, std::exp, 1.5, -87, 88},
      {"expm1", exponential_minus_one, std::expm1, 3, -17, 88},
      {"log", log, std::log, 2, 1e-30, 1e30},
      {"log near 1", log, std::log, 2, 0.5, 2},
      {"log1p", log_plus_one, std::log1p, 3, -0.99, 50},
      {"tanh", tanh, std::tanh, 3, -10, 10},
      {"logistic", logistic, [](double x) { return 1 / (1 + std::exp(-x)); }, 3, -80, 20},
      {"erf", erf, std::erf, 4, -5, 5},
      {"sqrt", sqrt, std::sqrt, 1.5, 1e-30, 1e30},
      {"sqrt of small", sqrt, std::sqrt, 1.5, 1e-37, 1e-29},
      {"floor", floor, std::floor, 0, -9e6, 9e6},
      {"ceil", ceil, std::ceil, 0, -9, 9},
      {"rint", round_nearest_even, std::nearbyint, 0, -9e6, 9e6},
      {"round", round_nearest_afz, std::round, 0, -9, 9},
  };
  constexpr int64_t kCount = 20001;
  const TensorType type{DType::kF32, {kCount}};
  for (const Case& one : cases) {
    GraphBuilder builder;
    SinkScope scope(builder);
    builder.result("y", one.op(builder.argument("x", type)));
    const auto graph = builder.finish();
    const CompiledC compiled(*graph, print_c(*graph));
    Literal x(type, allocate_buffer(type.bytes()));
    auto* values = reinterpret_cast<float*>(x.buffer().get());
    for (int64_t i = 0; i < kCount; ++i) {
      const double share = static_cast<double>(i) / (kCount - 1);
      values[i] = static_cast<float>(one.low > 0 ? one.low * std::pow(one.high / one.low, share)
                                                 : one.low + share * (one.high - one.low));
    }
    const Literal y = compiled({x})[0];
    double worst = 0;
    for (int64_t i = 0; i < kCount; ++i)
      worst = std::max(worst, units(static_cast<const float*>(y.raw())[i], one.exact(values[i])));
    EXPECT_LE(worst, one.bound) << one.name;
    if (std::getenv("ESPALIER_PRINT_ERRORS")) std::printf("%s: %g\n", one.name, worst);
  }
}

// Over all of f32, every 997th of its bit patterns.
TEST(CFunctions, KeepTheirErrorsForEveryArgumentSlow) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  struct Wide {
    const char* name;
    Tensor (*op)(Operand);
    double (*exact)(double);
    double bound, below_zero;
    double least_below_zero = 0;
  };
  const Wide cases[] = {{"sine", sine, std::sin, 1, 1},  {"cosine", cosine, std::cos, 1, 1},
                        {"tan", tan, std::tan, 3, 3},    {"atan", atan, std::atan, 3, 3},
                        {"cbrt", cbrt, std::cbrt, 1, 1}, {"lgamma", lgamma, std::lgamma, 4, 6, 1}};
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 997)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const float each : {0.0f, -0.0f, 1.0f, 2.0f, -1.0f, -2.0f, INFINITY, -INFINITY}) x.push_back(each);
  const TensorType type{DType::kF32, {static_cast<int64_t>(x.size())}};
  for (const Wide& one : cases) {
    GraphBuilder builder;
    SinkScope scope(builder);
    builder.result("y", one.op(builder.argument("x", type)));
    const auto graph = builder.finish();
    const Literal y = CompiledC(*graph, print_c(*graph))({Literal::copy(type, x.data())})[0];
    double worst[2] = {0, 0};
    float at[2] = {0, 0};
    for (size_t i = 0; i < x.size(); ++i) {
      const bool below = x[i] < 0;
      const double error =
          apart(static_cast<const float*>(y.raw())[i], one.exact(x[i]), below ? one.least_below_zero : 0);
      if (error > worst[below]) worst[below] = error, at[below] = x[i];
    }
    EXPECT_LE(worst[0], one.bound) << one.name << " of " << at[0];
    EXPECT_LE(worst[1], one.below_zero) << one.name << " of " << at[1];
    if (std::getenv("ESPALIER_PRINT_ERRORS"))
      std::printf("%s: %g, below zero %g\n", one.name, worst[0], worst[1]);
  }
}

// Of bit patterns that are drawn, half of them of about one size, and of all pairs of special values.
TEST(CFunctions, AnglesOfPointsAndRemainders) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  const float special[] = {0.0f,    -0.0f,  1.0f,  -1.0f,  INFINITY, -INFINITY, NAN,  1e-45f,
                           -1e-45f, 1e-38f, 3e38f, -3e38f, 0.5f,     -2.0f,     3.0f, 7.0f};
  std::vector<float> a, b;
  for (const float x : special) {
    for (const float y : special) a.push_back(x), b.push_back(y);
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 200000; ++i) {
    const auto x = static_cast<uint32_t>(random());
    auto y = static_cast<uint32_t>(random());
    if (i % 2) y = (x & 0x7c000000u) | (y & 0x83ffffffu);
    a.push_back(std::bit_cast<float>(x)), b.push_back(std::bit_cast<float>(y));
  }
  const TensorType type{DType::kF32, {static_cast<int64_t>(a.size())}};
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor left = builder.argument("a", type), right = builder.argument("b", type);
  builder.result("angle", atan2(left, right));
  builder.result("rest", remainder(left, right));
  const auto graph = builder.finish();
  const std::vector<Literal> y =
      CompiledC(*graph, print_c(*graph))({Literal::copy(type, a.data()), Literal::copy(type, b.data())});
  for (size_t i = 0; i < a.size(); ++i) {
    const double up = a[i], along = b[i];
    ASSERT_LE(apart(static_cast<const float*>(y[0].raw())[i], std::atan2(up, along)), 3)
        << up << ", " << along;
    ASSERT_EQ(apart(static_cast<const float*>(y[1].raw())[i], std::fmod(up, along)), 0)
        << up << ", " << along;
  }
}

TEST(CFunctions, ZerosHaveTheirSigns) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  struct Signed {
    const char* name;
    Tensor (*op)(Operand);
    double (*exact)(double);
  };
  const Signed cases[] = {
      {"abs", abs, std::fabs},
      {"ceil", ceil, std::ceil},
      {"erf", erf, std::erf},
      {"expm1", exponential_minus_one, std::expm1},
      {"floor", floor, std::floor},
      {"log1p", log_plus_one, std::log1p},
      {"rint", round_nearest_even, std::nearbyint},
      {"round", round_nearest_afz, std::round},
      {"sqrt", sqrt, std::sqrt},
      {"tanh", tanh, std::tanh},
  };
  const float x[] = {0.0f, -0.0f, 0.25f, -0.25f, 1e-30f, -1e-30f, 1e-45f, -1e-45f, 7.0f, -7.0f};
  const TensorType type{DType::kF32, {std::size(x)}};
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor argument = builder.argument("x", type);
  for (const Signed& one : cases) builder.result(one.name, one.op(argument));
  const auto graph = builder.finish();
  const std::vector<Literal> y = CompiledC(*graph, print_c(*graph))({Literal::copy(type, x)});
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t k = 0; k < std::size(x); ++k)
      EXPECT_LE(apart(static_cast<const float*>(y[i].raw())[k], cases[i].exact(x[k])), 4)
          << cases[i].name << " of " << x[k];
  }
}

TEST(CFunctions, ErfcAndPowerKeepTheirBounds) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  constexpr int64_t kCount = 4001;
  const TensorType type{DType::kF32, {kCount}};
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor a = builder.argument("x", type);
  builder.result("erfc", erfc(a));
  builder.result("power", power(abs(a), a));
  const auto graph = builder.finish();
  const CompiledC compiled(*graph, print_c(*graph));
  Literal x(type, allocate_buffer(type.bytes()));
  auto* values = reinterpret_cast<float*>(x.buffer().get());
  for (int64_t i = 0; i < kCount; ++i)
    values[i] = static_cast<float>(-8.0 + 16.0 * static_cast<double>(i) / (kCount - 1));
  const std::vector<Literal> y = compiled({x});
  double worst = 0, relative = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double wanted = std::erfc(static_cast<double>(values[i]));
    const double error = std::fabs(static_cast<const float*>(y[0].raw())[i] - wanted);
    worst = std::max(worst, error);
    if (values[i] > 0) relative = std::max(relative, error / wanted);
    const double v = values[i], size = std::fabs(v);
    const double bound = size > 0 ? 2 * std::fabs(v * std::log(size)) + 2 : 0;
    EXPECT_LE(units(static_cast<const float*>(y[1].raw())[i], std::pow(size, v)), bound) << v;
  }
  EXPECT_LE(worst, 5e-7);
  EXPECT_LE(relative, 5e-6);
}

TEST(CFunctions, SpecialValuesAreThoseOfTheInterpreter) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  const std::vector<float> special = {0.0f, -0.0f, 1,      -1,  INFINITY, -INFINITY,
                                      NAN,  3e38f, -3e38f, 100, -200,     0.5f};
  const TensorType type{DType::kF32, {static_cast<int64_t>(special.size())}};
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", type);
  Tensor (*const ops[])(Operand) = {exponential,
                                    exponential_minus_one,
                                    log,
                                    log_plus_one,
                                    tanh,
                                    logistic,
                                    erf,
                                    erfc,
                                    sqrt,
                                    rsqrt,
                                    floor,
                                    ceil,
                                    round_nearest_even,
                                    round_nearest_afz,
                                    sine,
                                    cosine,
                                    tan,
                                    atan,
                                    cbrt,
                                    lgamma};
  for (const auto op : ops) builder.result(cat("y", builder.graph().outputs().size()), op(x));
  for (const double y : {0.0, 2.0, 3.0, -1.0, 0.5})
    builder.result(cat("y", builder.graph().outputs().size()), power(x, y));
  builder.result("max", maximum(x, 1));
  builder.result("clamp", clamp(-2, x, 2));
  const auto graph = builder.finish();
  const CompiledC compiled(*graph, print_c(*graph));
  const Literal values = Literal::copy(type, special.data());
  if (have_command("clang")) {
    EXPECT_EQ(refusal("clang", print_c(*graph).source), "");
  }
  const std::vector<Literal> wanted = interpret(*graph, {{values}}, RunContext::current()),
                             got = compiled({values});
  for (size_t i = 0; i < wanted.size(); ++i) expect_near(got[i], wanted[i], 1e-5, cat("result ", i));
}

}  // namespace
}  // namespace espalier
