#include "ops/op_test.h"

#include <algorithm>
#include <limits>
#include <random>

#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ir/difference_test.h"
#include "kernels/kernel.h"
#include "ops/op_checks_test.h"
#include "runtime/decompose.h"
#include "runtime/plan.h"

namespace espalier {
namespace {

double epsilon(DType dtype) {
  if (dtype == DType::kF16) return std::ldexp(1.0, -10);
  if (dtype == DType::kBF16) return std::ldexp(1.0, -7);
  return std::ldexp(1.0, dtype == DType::kF32 ? -23 : -52);
}

double smallest_normal(DType dtype) {
  if (dtype == DType::kF16) return std::ldexp(1.0, -14);
  return std::ldexp(1.0, dtype == DType::kF64 ? -1022 : -126);
}

double largest(DType dtype) {
  if (dtype == DType::kF16) return 65504;
  if (dtype == DType::kF64) return std::numeric_limits<double>::max();
  return (2 - epsilon(dtype)) * std::ldexp(1.0, 127);
}

// Equal integers modulo the width of `dtype`, after the fraction is cut; equal truth for bool.
bool congruent(DType dtype, double got, double exact) {
  if (dtype == DType::kBool) return got == (exact != 0 ? 1 : 0);
  return std::fmod(got - std::trunc(exact), std::ldexp(1.0, static_cast<int>(8 * size_of(dtype)))) == 0;
}

bool within(DType dtype, double got, double exact, Tolerance tolerance) {
  if (!is_float(dtype)) return congruent(dtype, got, exact);
  if (got == exact || (std::isnan(got) && std::isnan(exact))) return true;
  if (std::isinf(got)) return std::abs(exact) > largest(dtype) && std::signbit(got) == std::signbit(exact);
  const double scale = std::max(std::abs(exact), smallest_normal(dtype));
  const double place = std::isfinite(exact) ? std::ldexp(epsilon(dtype), std::ilogb(scale)) : 0;
  return std::abs(got - exact) <= tolerance.ulp * place + tolerance.absolute * epsilon(dtype);
}

std::map<std::string_view, MakeOpTest>& registered() {
  static std::map<std::string_view, MakeOpTest> tests;
  return tests;
}

std::vector<double> draw_floats(const In& in, size_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(in.low, in.high);
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    const auto near_kink = [&] {
      return std::any_of(in.kinks.begin(), in.kinks.end(),
                         [&](double kink) { return std::abs(values[i] - kink) < in.gap; });
    };
    const double step = (in.high - in.low) / static_cast<double>(count);
    do {
      values[i] = in.distinct ? in.low + step * (static_cast<double>(i) + 0.25 +
                                                 0.5 * (uniform(random) - in.low) / (in.high - in.low))
                              : uniform(random);
    } while (near_kink() && in.high > in.low && !in.distinct);
  }
  if (in.distinct) std::shuffle(values.begin(), values.end(), random);
  return values;
}

std::vector<double> draw_integers(const In& in, DType dtype, size_t count, std::mt19937_64& random) {
  const int64_t low = is_unsigned_integer(dtype) ? std::max<int64_t>(in.int_low, 0) : in.int_low;
  std::uniform_int_distribution<int64_t> uniform(low, std::max(low, in.int_high));
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(in.distinct ? low + static_cast<int64_t>(i) : uniform(random));
  if (in.distinct) std::shuffle(values.begin(), values.end(), random);
  return values;
}

void check_refusal(const OpDef& op, const OpCase& c, DType dtype, const Error& error) {
  const bool typed = error.kind() == "DTypeError" || error.kind() == "ShapeError";
  const std::string prefix = cat(op.name, ".c");
  EXPECT_TRUE(typed && error.rule().starts_with(prefix)) << "refused without a label: " << error.what();
  EXPECT_FALSE(in_set(dtype, c.dtypes)) << error.what();
}

}  // namespace

double Array::at(const Dims& index) const {
  const Dims strides = row_major_strides(type.shape);
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return values.at(static_cast<size_t>(offset));
}

bool register_op_test(const OpDef& op, MakeOpTest make) { return registered().emplace(op.name, make).second; }
bool has_op_test(const OpDef& op) { return registered().contains(op.name); }
const std::map<std::string_view, MakeOpTest>& op_tests() { return registered(); }

Array to_array(const Tensor& tensor) {
  Array array{tensor.type(), {}};
  const auto* bytes = static_cast<const std::byte*>(tensor.bytes());
  for (int64_t i = 0; i < tensor.type().elements(); ++i) {
    array.values.push_back(
        load_scalar(tensor.dtype(), bytes + static_cast<size_t>(i) * size_of(tensor.dtype())));
  }
  return array;
}

Tensor to_tensor(const TensorType& type, const std::vector<double>& values) {
  Buffer buffer = allocate_buffer(type.bytes());
  for (size_t i = 0; i < values.size(); ++i) {
    std::byte* element = buffer.get() + i * size_of(type.dtype);
    if (is_integer(type.dtype)) {
      store_scalar(type.dtype, static_cast<int64_t>(values[i]), element);
    } else {
      store_scalar(type.dtype, values[i], element);
    }
  }
  return make_concrete(Literal(type, buffer));
}

std::vector<Tensor> draw_inputs(const OpCase& c, DType dtype, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> out;
  for (const In& in : c.inputs) {
    const TensorType type{in.dtype.value_or(dtype), in.shape};
    const auto count = static_cast<size_t>(type.elements());
    std::vector<double> values;
    if (is_float(type.dtype)) {
      values = draw_floats(in, count, random);
    } else if (is_integer(type.dtype)) {
      values = draw_integers(in, type.dtype, count, random);
    } else {
      for (size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(random() >> 63));
    }
    out.push_back(to_tensor(type, values));
  }
  return out;
}

void expect_close(const Tensor& got, const Array& expected, Tolerance tolerance, const std::string& what) {
  ASSERT_EQ(to_string(got.type()), to_string(expected.type)) << what;
  ASSERT_EQ(static_cast<int64_t>(expected.values.size()), expected.type.elements())
      << what << ": the oracle's count";
  const Array actual = to_array(got);
  for (size_t i = 0; i < actual.values.size(); ++i) {
    ASSERT_TRUE(within(got.dtype(), actual.values[i], expected.values[i], tolerance))
        << what << ": element " << i << " of " << to_string(got.type()) << " is " << actual.values[i]
        << ", expected " << expected.values[i];
  }
}

void expect_same_bytes(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(to_string(a.type()), to_string(b.type())) << what;
  const size_t size = a.type().bytes();
  EXPECT_TRUE(size == 0 || std::memcmp(a.bytes(), b.bytes(), size) == 0) << what << ": bytes differ";
}

CallLog::CallLog(const OpDef* only) : only_(only) {}

void CallLog::record(const Call& call, std::span<const Tensor> outputs) {
  if (only_ && &call.op != only_) return;
  calls.push_back({&call.op,
                   call.attributes,
                   {call.inputs.begin(), call.inputs.end()},
                   {outputs.begin(), outputs.end()},
                   {call.regions.begin(), call.regions.end()}});
}

namespace {

// Whether a kernel adds in another order than the reference body (docs/numerics.md): f32 dots, convolutions,
// sums.
bool reorders_sums(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    const bool sums = node.op == &op_dot_general || node.op == &op_convolution || node.op == &op_reduce;
    const auto regions = graph.regions(node);
    return (sums && has_kernel(*node.op, graph.type(graph.inputs(node)[0]).dtype)) ||
           std::any_of(regions.begin(), regions.end(), [](const GraphPtr& r) { return reorders_sums(*r); });
  });
}

struct Traced {
  std::shared_ptr<const Graph> graph;
  std::vector<Literal> inputs;
};

Traced trace(const OpCase& c, DType dtype, const std::vector<Tensor>& inputs) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    std::vector<Tensor> arguments;
    for (const Tensor& input : inputs)
      arguments.push_back(builder.argument(cat("x", arguments.size()), input.type()));
    for (const Tensor& result : c.call(arguments, dtype)) builder.result("y", result);
  }
  Traced out{builder.finish(), {}};
  for (const Tensor& input : inputs) out.inputs.push_back(input.node()->literal());
  return out;
}

// The reference bodies' bits are the eager call's, but where eager calls run a kernel that sums in another
// order.
void check_interpreted(const OpCase& c, const Traced& traced, const std::vector<Tensor>& eager,
                       const std::vector<Array>& expected) {
  traced.graph->verify();
  const std::vector<Literal> results = interpret(*traced.graph, traced.inputs, RunContext::current());
  ASSERT_EQ(results.size(), eager.size());
  const bool close = reorders_sums(*decompose_bodiless(traced.graph));
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor result = make_concrete(results[i]);
    if (close) {
      expect_close(result, expected[i], c.tolerance, cat("traced result ", i));
    } else {
      expect_same_bytes(result, eager[i], cat("traced result ", i));
    }
  }
}

// The plan, with its fused tiles and kernels. Whether one of the kernels ran.
bool check_planned(const OpCase& c, const Traced& traced, const std::vector<Tensor>& eager,
                   const std::vector<Array>& expected) {
  const auto plan = compile(traced.graph, {.check = true});
  const std::vector<Literal> results = run(*plan, traced.inputs, RunContext::current());
  EXPECT_EQ(results.size(), eager.size());
  const bool close = reorders_sums(plan->graph());
  for (size_t i = 0; i < std::min(results.size(), eager.size()); ++i) {
    if (close) {
      expect_close(make_concrete(results[i]), expected[i], c.tolerance, cat("planned result ", i));
    } else {
      EXPECT_EQ(difference(eager[i].node()->dense(), results[i]), "") << "planned result " << i;
    }
  }
  return !plan->plan().params.empty();
}

struct Reached {
  bool op = false;      // false when the dtype is refused, or when nothing was to be done
  bool kernel = false;  // by its plan
};

Reached check_forward(const OpDef& op, const OpCase& c, DType dtype) {
  const std::vector<Tensor> inputs = draw_inputs(c, dtype, 1);
  std::vector<Tensor> results;
  CallLog log(&op);
  try {
    results = c.call(inputs, dtype);
  } catch (const Error& error) {
    check_refusal(op, c, dtype, error);
    return {};
  }
  EXPECT_TRUE(in_set(dtype, c.dtypes)) << "the op takes a dtype that the case does not list";
  std::vector<Array> arrays;
  for (const Tensor& input : inputs) arrays.push_back(to_array(input));
  const std::vector<Array> expected = c.oracle(arrays, dtype);
  EXPECT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < std::min(results.size(), expected.size()); ++i)
    expect_close(results[i], expected[i], c.tolerance, cat("result ", i));
  const bool reached = !log.calls.empty();
  const Traced traced = trace(c, dtype, inputs);
  check_interpreted(c, traced, results, expected);
  return {reached, check_planned(c, traced, results, expected)};
}

bool depends_on_dtype(const OpCase& c) {
  return c.call.takes_dtype() || c.inputs.empty() ||
         std::any_of(c.inputs.begin(), c.inputs.end(), [](const In& in) { return !in.dtype; });
}

bool has_size(const OpCase& c, bool zero) {
  std::vector<Tensor> tensors;
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kBool}) {
    if (!in_set(dtype, c.dtypes)) continue;
    tensors = draw_inputs(c, dtype, 1);
    for (Tensor& t : c.call(std::vector<Tensor>(tensors), dtype)) tensors.push_back(std::move(t));
    break;
  }
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const Tensor& t) { return t.type().elements() == (zero ? 0 : 1); });
}

}  // namespace

void check_op(const OpDef& op, const OpTest& test) {
  ASSERT_FALSE(test.cases.empty());
  bool kernel = false;
  bool zero = test.no_zero_size != nullptr, one = test.no_size_one != nullptr;
  for (const OpCase& c : test.cases) {
    SCOPED_TRACE(cat("case ", c.name));
    bool reached = false;
    for (int i = depends_on_dtype(c) ? 0 : kDTypeCount - 1; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      SCOPED_TRACE(cat("dtype ", dtype));
      const Reached forward = check_forward(op, c, dtype);
      kernel = kernel || forward.kernel;
      if (!forward.op) continue;
      reached = true;
      if (op.decompose) check_decomposition(op, c, dtype);
      check_batching(op, c, dtype, test);
      if (dtype == DType::kF64) check_gradient(op, c);
    }
    EXPECT_TRUE(reached) << "no call of the case reaches the op";
    zero = zero || has_size(c, true);
    one = one || has_size(c, false);
  }
  EXPECT_TRUE(kernel || test.no_kernel || !has_kernel(op, DType::kF32)) << "no case reaches the op's kernel";
  EXPECT_TRUE(zero) << "no case has an axis of size zero";
  EXPECT_TRUE(one) << "no case has a tensor of one element";
}

namespace {

Array broadcast_call(Arrays x, std::optional<DType> result,
                     const std::function<double(std::span<const double>)>& f) {
  Shape shape;
  for (const Array& array : x) {
    const Shape& s = array.shape();
    while (shape.size() < s.size()) shape.insert(0, 1);
    for (size_t i = 0; i < s.size(); ++i) {
      int64_t& size = shape[shape.size() - s.size() + i];
      if (size == 1) size = s[i];
    }
  }
  Array out{{result.value_or(x[0].type.dtype), shape}, {}};
  const Dims strides = row_major_strides(shape);
  for (int64_t i = 0; i < num_elements(shape); ++i) {
    std::vector<double> arguments;
    for (const Array& array : x) {
      Dims index;
      const size_t lead = shape.size() - array.shape().size();
      for (size_t axis = 0; axis < array.shape().size(); ++axis) {
        const int64_t position = i / strides[lead + axis] % shape[lead + axis];
        index.push_back(array.shape()[axis] == 1 ? 0 : position);
      }
      arguments.push_back(array.at(index));
    }
    out.values.push_back(f(arguments));
  }
  return out;
}

}  // namespace

Oracle elementwise(std::function<double(double)> f, std::optional<DType> result) {
  return [f, result](Arrays x) { return broadcast_call(x, result, [&](auto v) { return f(v[0]); }); };
}
Oracle elementwise(std::function<double(double, double)> f, std::optional<DType> result) {
  return [f, result](Arrays x) { return broadcast_call(x, result, [&](auto v) { return f(v[0], v[1]); }); };
}
Oracle elementwise(std::function<double(double, double, double)> f, std::optional<DType> result) {
  return [f, result](Arrays x) {
    return broadcast_call(x, result, [&](auto v) { return f(v[0], v[1], v[2]); });
  };
}

std::vector<OpCase> elementwise_cases(size_t inputs, const OpCall& call, const Oracle& oracle,
                                      const ElementwiseOptions& options) {
  std::vector<OpCase> out;
  const auto add = [&](const std::vector<Shape>& shapes) {
    OpCase c{.name = "", .inputs = {}, .call = call, .oracle = oracle};
    for (const Shape& shape : shapes) {
      c.name += to_string(shape);
      c.inputs.push_back({.shape = shape,
                          .low = options.low,
                          .high = options.high,
                          .int_low = options.int_low,
                          .int_high = options.int_high,
                          .kinks = options.kinks});
    }
    c.dtypes = options.dtypes;
    c.tolerance = options.tolerance;
    c.no_gradient = options.no_gradient;
    c.no_second_order = options.no_second_order;
    out.push_back(std::move(c));
  };
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{1}, Shape{1, 1, 1}, Shape{0, 3}})
    add(std::vector<Shape>(inputs, shape));
  if (inputs == 2) {
    add({{2, 3}, {3}});
    add({{2, 1}, {3, 1, 4}});
    add({{}, {2}});
  }
  return out;
}

}  // namespace espalier
