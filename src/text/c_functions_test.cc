#include "text/c_functions.h"

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
                                    round_nearest_afz};
  for (const auto op : ops) builder.result(cat("y", builder.graph().outputs().size()), op(x));
  for (const double y : {0.0, 2.0, 3.0, -1.0, 0.5})
    builder.result(cat("y", builder.graph().outputs().size()), power(x, y));
  builder.result("max", maximum(x, 1));
  builder.result("clamp", clamp(-2, x, 2));
  const auto graph = builder.finish();
  const CompiledC compiled(*graph, print_c(*graph));
  const Literal values = Literal::copy(type, special.data());
  const std::vector<Literal> wanted = interpret(*graph, {{values}}), got = compiled({values});
  for (size_t i = 0; i < wanted.size(); ++i) expect_near(got[i], wanted[i], 1e-5, cat("result ", i));
}

}  // namespace
}  // namespace espalier
