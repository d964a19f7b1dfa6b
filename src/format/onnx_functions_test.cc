// Functions that ONNX lacks are made of its operators: what the operators give by our own reader, and in
// onnxruntime, against the C library in f64.
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/ops.h"
#include "format/npy.h"
#include "format/onnx.h"
#include "interp/interpreter.h"
#include "ir/builder.h"

namespace espalier {
namespace {

struct MadeFunction {
  const char* name;
  Tensor (*op)(const Tensor& a, const Tensor& b);
  double (*exact)(double a, double b);
  double bound;  // in units of the last place
  bool zero_has_no_sign = false;
};
const MadeFunction kMadeOfOperators[] = {
    {"atan2", [](const Tensor& a, const Tensor& b) { return atan2(a, b); },
     [](double a, double b) { return std::atan2(a, b); }, 4},
    {"cbrt", [](const Tensor& a, const Tensor&) { return cbrt(a); },
     [](double a, double) { return std::cbrt(a); }, 3},
    {"expm1", [](const Tensor& a, const Tensor&) { return exponential_minus_one(a); },
     [](double a, double) { return std::expm1(a); }, 8},
    {"log1p", [](const Tensor& a, const Tensor&) { return log_plus_one(a); },
     [](double a, double) { return std::log1p(a); }, 4, true},
    {"round", [](const Tensor& a, const Tensor&) { return round_nearest_afz(a); },
     [](double a, double) { return std::round(a); }, 0},
};

// All pairs of special values, and points of many sizes in all quadrants.
std::pair<Literal, Literal> points(DType dtype, bool subnormal) {
  const double inf = std::numeric_limits<double>::infinity(), largest = dtype == DType::kF16 ? 65504 : 3e38;
  std::vector<double> special{0.0, 1, inf, std::nan(""), 0.5, 2.5, 1e-7, 0.49999997, 3, 700, largest};
  if (subnormal) special.push_back(dtype == DType::kF16 ? 6e-8 : 3e-45);
  std::vector<double> a, b;
  for (const double x : special) {
    for (const double y : special) {
      for (const double s : {1.0, -1.0}) {
        for (const double t : {1.0, -1.0}) a.push_back(s * x), b.push_back(t * y);
      }
    }
  }
  for (int i = 0; i < 400; ++i) {
    const double size = std::exp2(dtype == DType::kF16 ? i % 24 - 10 : i % 200 - 100);
    a.push_back(size * std::sin(0.1 + 0.37 * i));
    b.push_back(size * std::cos(0.1 + 0.37 * i) * (i % 3 ? 1 : 1e-2));
  }
  const auto literal = [&](const std::vector<double>& values) {
    const TensorType type{dtype, {static_cast<int64_t>(values.size())}};
    const Buffer buffer = allocate_buffer(type.bytes());
    for (size_t i = 0; i < values.size(); ++i)
      store_scalar(dtype, values[i], buffer.get() + i * size_of(dtype));
    return Literal(type, buffer);
  };
  return {literal(a), literal(b)};
}

double element(const Literal& literal, size_t i) {
  const DType dtype = literal.type().dtype;
  return load_scalar(dtype, static_cast<const std::byte*>(literal.raw()) + i * size_of(dtype));
}

std::shared_ptr<const Graph> graph_of_functions(const TensorType& type) {
  GraphBuilder builder("functions");
  SinkScope scope(builder);
  const Tensor a = builder.argument("a", type), b = builder.argument("b", type);
  for (const MadeFunction& one : kMadeOfOperators) builder.result(one.name, one.op(a, b));
  return builder.finish();
}

void expect_bounds(const std::vector<Literal>& results, const Literal& a, const Literal& b,
                   const std::string& where, bool subnormal) {
  const DType dtype = a.type().dtype;
  const double lowest = std::ldexp(1.0, dtype == DType::kF16 ? -14 : dtype == DType::kF32 ? -126 : -1022);
  const int bits = dtype == DType::kF16 ? 10 : dtype == DType::kF32 ? 23 : 52;
  ASSERT_EQ(results.size(), std::size(kMadeOfOperators));
  for (size_t k = 0; k < results.size(); ++k) {
    const MadeFunction& one = kMadeOfOperators[k];
    const Literal got = results[k].expanded();
    for (size_t i = 0; i < static_cast<size_t>(a.type().elements()); ++i) {
      const double exact = one.exact(element(a, i), element(b, i)), x = element(got, i);
      const double wanted = element(Literal::splat({dtype, {1}}, exact).expanded(), 0);
      std::ostringstream what;
      what << where << ": " << one.name << " of " << element(a, i) << ", " << element(b, i) << " is " << x;
      // Our executors take what is below the normal range as zero.
      if (!subnormal && wanted != 0 && std::fabs(wanted) < lowest) continue;
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(x)) << what.str();
      } else if (std::isinf(wanted) || wanted == 0) {
        EXPECT_EQ(x, wanted) << what.str();
      } else {
        const double unit = std::max(std::ldexp(1.0, std::ilogb(wanted) - bits), std::ldexp(lowest, -bits));
        EXPECT_LE(std::fabs(x - exact), one.bound * unit) << what.str();
      }
      if (std::isnan(wanted) || (wanted == 0 && one.zero_has_no_sign)) continue;
      EXPECT_EQ(std::signbit(x), std::signbit(wanted)) << what.str();
    }
  }
}

TEST(OnnxFunctions, KeepTheirBoundsWhenReadBack) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    const auto [a, b] = points(dtype, false);
    const std::string bytes = onnx_bytes(*graph_of_functions(a.type()), {});
    const OnnxProgram program = parse_onnx(std::as_bytes(std::span(bytes)));
    expect_bounds(interpret(*program.graph, {{a, b}}, RunContext::current()), a, b, cat(dtype), false);
  }
}

TEST(OnnxFunctionsSlow, KeepTheirBoundsInOnnxruntime) {
  const std::string python = python_with("ESPALIER_ORT_PYTHON", "onnx, onnxruntime");
  if (python.empty()) GTEST_SKIP() << "no python3 with onnx and onnxruntime";
  const std::filesystem::path folder = fresh_folder("ort_functions");
  const auto [a, b] = points(DType::kF32, true);
  posix_env().write_file((folder / "model.onnx").string(), onnx_bytes(*graph_of_functions(a.type()), {}));
  write_npy((folder / "in0.npy").string(), a);
  write_npy((folder / "in1.npy").string(), b);
  ASSERT_EQ(std::system(cat(python, " tests/peers/ort_values.py ", folder.string()).c_str()), 0);
  std::vector<Literal> results;
  for (size_t i = 0; i < std::size(kMadeOfOperators); ++i)
    results.push_back(read_npy((folder / cat("out", i, ".npy")).string()));
  expect_bounds(results, a, b, "onnxruntime", true);
}

}  // namespace
}  // namespace espalier
