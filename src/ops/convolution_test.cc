#include "ops/convolution.h"

#include <random>

#include "interp/interpreter.h"
#include "ops/op_test.h"

namespace espalier {
namespace {

// Written from the specification: the input is spread and padded with zeros, the kernel is spread and
// flipped, every group is convolved alone, one multiplication at a time.
double naive_at(const Array& input, const Array& kernel, const ConvolutionOptions& o, int64_t batch,
                int64_t feature, const Dims& place, int64_t results) {
  const ConvolutionDimensions& d = o.dimensions;
  const auto entry = [](const Dims& list, size_t i, int64_t otherwise) {
    return list.empty() ? otherwise : list[i];
  };
  const int64_t group = feature * o.feature_group_count / results;
  const int64_t batch_group = feature * o.batch_group_count / results;
  const int64_t features = kernel.shape()[d.kernel_input_feature];
  const int64_t batches = input.shape()[d.input_batch] / o.batch_group_count;
  Shape window;
  for (const int64_t axis : d.kernel_spatial) window.push_back(kernel.shape()[axis]);
  double sum = 0;
  Dims k = Dims::filled(window.size(), 0);
  for (int64_t step = 0; step < num_elements(window); ++step) {
    int64_t rest = step;
    for (size_t i = window.size(); i-- > 0; rest /= window[i]) k[i] = rest % window[i];
    Dims x = Dims::filled(input.shape().size(), 0), w = x;
    bool hole = false;
    for (size_t i = 0; i < window.size(); ++i) {
      const int64_t at = place[i] * entry(o.window_strides, i, 1) + k[i] * entry(o.rhs_dilation, i, 1) -
                         entry(o.padding_low, i, 0);
      const int64_t spread = entry(o.lhs_dilation, i, 1), size = input.shape()[d.input_spatial[i]];
      hole = hole || at < 0 || at > (size - 1) * spread || at % spread != 0;
      x[d.input_spatial[i]] = hole ? 0 : at / spread;
      w[d.kernel_spatial[i]] = entry(o.window_reversal, i, 0) ? window[i] - 1 - k[i] : k[i];
    }
    if (hole) continue;
    for (int64_t f = 0; f < features; ++f) {
      x[d.input_batch] = batch_group * batches + batch;
      x[d.input_feature] = group * features + f;
      w[d.kernel_input_feature] = f;
      w[d.kernel_output_feature] = feature;
      sum += input.at(x) * kernel.at(w);
    }
  }
  return sum;
}

Oracle naive(const ConvolutionOptions& o) {
  return [o](Arrays in) {
    const ConvolutionDimensions& d = o.dimensions;
    const auto entry = [](const Dims& list, size_t i, int64_t otherwise) {
      return list.empty() ? otherwise : list[i];
    };
    Array out{{in[0].type.dtype, Dims::filled(in[0].shape().size(), 0)}, {}};
    out.type.shape[d.output_batch] = in[0].shape()[d.input_batch] / o.batch_group_count;
    const int64_t results = out.type.shape[d.output_feature] = in[1].shape()[d.kernel_output_feature];
    for (size_t i = 0; i < d.input_spatial.size(); ++i) {
      const int64_t size = in[0].shape()[d.input_spatial[i]], window = in[1].shape()[d.kernel_spatial[i]];
      const int64_t padded = (size ? (size - 1) * entry(o.lhs_dilation, i, 1) + 1 : 0) +
                             entry(o.padding_low, i, 0) + entry(o.padding_high, i, 0);
      const int64_t span = window ? (window - 1) * entry(o.rhs_dilation, i, 1) + 1 : 0;
      out.type.shape[d.output_spatial[i]] =
          padded <= 0 || span > padded ? 0 : (padded - span) / entry(o.window_strides, i, 1) + 1;
    }
    const Dims strides = row_major_strides(out.type.shape);
    for (int64_t n = 0; n < out.type.elements(); ++n) {
      Dims place;
      const auto along = [&](int64_t axis) { return n / strides[axis] % out.type.shape[axis]; };
      for (const int64_t axis : d.output_spatial) place.push_back(along(axis));
      out.values.push_back(
          naive_at(in[0], in[1], o, along(d.output_batch), along(d.output_feature), place, results));
    }
    return out;
  };
}

OpCase convolution_case(const std::string& name, const Shape& input, const Shape& kernel,
                        const ConvolutionOptions& o) {
  return {.name = name,
          .inputs = {{.shape = input, .int_low = -2, .int_high = 2},
                     {.shape = kernel, .int_low = -2, .int_high = 2}},
          .call = [o](Inputs x) { return convolution(x[0], x[1], o); },
          .oracle = naive(o),
          .dtypes = kAnyDType,
          .tolerance = {.ulp = 1, .absolute = 40}};
}

std::vector<OpCase> cases() {
  return {
      convolution_case("images", {2, 5, 4, 3}, {3, 2, 3, 2},
                       {.window_strides = {2, 1},
                        .padding_low = {1, 0},
                        .padding_high = {1, 1},
                        .dimensions = channels_last(2)}),
      convolution_case("spread and cropped", {2, 2, 6}, {3, 2, 3},
                       {.window_strides = {2},
                        .padding_low = {-2},
                        .padding_high = {3},
                        .lhs_dilation = {3},
                        .rhs_dilation = {2},
                        .dimensions = channels_first(1)}),
      convolution_case("feature groups, flipped", {2, 6, 5}, {4, 3, 2},
                       {.padding_low = {1},
                        .window_reversal = {1},
                        .dimensions = channels_first(1),
                        .feature_group_count = 2}),
      convolution_case("batch groups", {6, 5, 2}, {2, 2, 6},
                       {.window_strides = {2}, .dimensions = channels_last(1), .batch_group_count = 3}),
      convolution_case("odd axis order", {4, 2, 3}, {2, 3, 2},
                       {.padding_low = {1}, .dimensions = {1, 2, {0}, 1, 0, {2}, 2, 0, {1}}}),
      convolution_case("no space", {2, 3}, {2, 3}, {.dimensions = channels_first(0)}),
      convolution_case("one", {1, 1, 1}, {1, 1, 1}, {.dimensions = channels_first(1)}),
      convolution_case("no batch", {0, 2, 3}, {3, 2, 2}, {.dimensions = channels_first(1)}),
      convolution_case("window too large", {1, 1, 3}, {1, 1, 4}, {.dimensions = channels_first(1)}),
  };
}

OP_TEST(convolution) { return {.cases = cases()}; }

Array zeros(const Shape& shape) {
  return {{DType::kF64, shape}, std::vector<double>(static_cast<size_t>(num_elements(shape)))};
}

// The gradients of <w, convolution(x, k)> by their definition: w times the derivative of each product.
OpCase gradient_case(OpCase c, const Shape& input, const Shape& kernel, const ConvolutionOptions& o,
                     bool of_input) {
  const Oracle forward = naive(o);
  const std::vector<Array> operands{zeros(input), zeros(kernel)};
  const Shape result = forward(operands)[0].shape();
  c.inputs[of_input ? 0 : 1].shape = result;
  c.call = [=](Inputs x) {
    return of_input ? conv_gradient_input(x[0], x[1], o, input) : conv_gradient_kernel(x[0], x[1], o, kernel);
  };
  c.oracle = [=](Arrays in) {
    Array out{{in[0].type.dtype, of_input ? input : kernel}, {}};
    Array unit = out;
    const Array& cotangent = in[of_input ? 0 : 1];
    for (int64_t n = 0; n < out.type.elements(); ++n) {
      unit.values.assign(static_cast<size_t>(out.type.elements()), 0);
      unit.values[static_cast<size_t>(n)] = 1;
      const std::vector<Array> operands{of_input ? unit : in[0], of_input ? in[1] : unit};
      const Array moved = forward(operands)[0];
      double sum = 0;
      for (size_t i = 0; i < moved.values.size(); ++i) sum += moved.values[i] * cotangent.values[i];
      out.values.push_back(sum);
    }
    return out;
  };
  return c;
}

struct Drawn {
  Shape input, kernel;
  ConvolutionOptions options;
};

// Any attributes with a result that is not empty.
Drawn draw(std::mt19937_64& random) {
  const auto in = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Drawn out;
  const size_t spatial = static_cast<size_t>(in(0, 2)), rank = spatial + 2;
  const int64_t groups = in(1, 3), kind = in(0, 2);
  ConvolutionOptions& o = out.options;
  if (kind == 1) o.feature_group_count = groups;
  if (kind == 2) o.batch_group_count = groups;
  const auto order = [&] {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    std::shuffle(axes.begin(), axes.end(), random);
    return axes;
  };
  const auto rest = [](const std::vector<int64_t>& axes) { return Dims(std::span(axes).subspan(2)); };
  const auto i = order(), k = order(), r = order();
  o.dimensions = {i[0], i[1], rest(i), k[0], k[1], rest(k), r[0], r[1], rest(r)};
  out.input = out.kernel = Dims::filled(rank, 0);
  const int64_t features = in(1, 2);
  out.input[i[0]] = in(1, 2) * o.batch_group_count;
  out.input[i[1]] = features * o.feature_group_count;
  out.kernel[k[0]] = features;
  out.kernel[k[1]] = in(1, 2) * o.feature_group_count * o.batch_group_count;
  for (size_t axis = 0; axis < spatial; ++axis) {
    out.input[i[axis + 2]] = in(1, 5);
    out.kernel[k[axis + 2]] = in(1, 3);
    o.window_strides.push_back(in(1, 3));
    o.lhs_dilation.push_back(in(1, 3));
    o.rhs_dilation.push_back(in(1, 3));
    o.padding_low.push_back(in(-2, 4));
    o.padding_high.push_back(in(-2, 4));
    o.window_reversal.push_back(in(0, 1));
  }
  return out;
}

TEST(Convolution, EqualsNaiveLoopForRandomAttributes) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const Drawn drawn = draw(random);
    const OpCase forward = convolution_case("", drawn.input, drawn.kernel, drawn.options);
    for (const OpCase& c : {forward, gradient_case(forward, drawn.input, drawn.kernel, drawn.options, true),
                            gradient_case(forward, drawn.input, drawn.kernel, drawn.options, false)}) {
      const std::vector<Tensor> inputs = draw_inputs(c, DType::kF64, static_cast<uint64_t>(round));
      const std::vector<Array> arrays{to_array(inputs[0]), to_array(inputs[1])};
      expect_close(c.call(inputs, DType::kF64)[0], c.oracle(arrays)[0], {.absolute = 1000},
                   cat("round ", round));
      if (testing::Test::HasFailure()) return;
    }
  }
}

std::vector<OpCase> gradient_cases(bool of_input) {
  std::vector<OpCase> out;
  const auto add = [&](const char* name, const Shape& input, const Shape& kernel,
                       const ConvolutionOptions& o) {
    out.push_back(gradient_case(convolution_case(name, input, kernel, o), input, kernel, o, of_input));
  };
  add("images", {2, 5, 4, 2}, {3, 2, 2, 2},
      {.window_strides = {2, 1},
       .padding_low = {1, 0},
       .padding_high = {1, 1},
       .dimensions = channels_last(2)});
  add("feature groups, flipped", {2, 4, 5}, {4, 2, 2},
      {.window_reversal = {1}, .dimensions = channels_first(1), .feature_group_count = 2});
  add("batch groups", {4, 5, 2}, {2, 2, 4},
      {.lhs_dilation = {2}, .dimensions = channels_last(1), .batch_group_count = 2});
  add("one", {1, 1, 1}, {1, 1, 1}, {.dimensions = channels_first(1)});
  add("no batch", {0, 2, 3}, {3, 2, 2}, {.dimensions = channels_first(1)});
  return out;
}

OP_TEST(conv_gradient_input) { return {.cases = gradient_cases(true)}; }
OP_TEST(conv_gradient_kernel) { return {.cases = gradient_cases(false)}; }

TEST(Convolution, RefusesByLabel) {
  const Tensor x = full({1, 4, 3}, 1), k = full({2, 3, 2}, 1);
  const auto rule = [&](const Tensor& input, const Tensor& kernel, const ConvolutionOptions& o) {
    try {
      convolution(input, kernel, o);
    } catch (const Error& error) {
      return error.rule();
    }
    return std::string();
  };
  const ConvolutionDimensions d = channels_last(1);
  EXPECT_EQ(rule(x, k, {.dimensions = d}), "");
  EXPECT_EQ(rule(x, k, {.dimensions = channels_last(2)}), "convolution.c1");
  EXPECT_EQ(rule(x, k, {.dimensions = {0, 0, {1}, 1, 2, {0}, 0, 2, {1}}}), "convolution.c1");
  EXPECT_EQ(rule(x, k, {.window_strides = {1, 1}, .dimensions = d}), "convolution.c2");
  EXPECT_EQ(rule(x, k, {.window_strides = {0}, .dimensions = d}), "convolution.c3");
  EXPECT_EQ(rule(x, k, {.padding_low = {int64_t{1} << 60}, .dimensions = d}), "convolution.c3");
  EXPECT_EQ(rule(x, k, {.dimensions = d, .feature_group_count = 2}), "convolution.c4");
  EXPECT_EQ(rule(x, k, {.dimensions = d, .feature_group_count = 0}), "convolution.c4");
  EXPECT_EQ(rule(full({1, 4, 2}, 1), k, {.dimensions = d}), "convolution.c5");
  EXPECT_EQ(rule(x, full({2, 3, 2}, 1, DType::kF64), {.dimensions = d}), "convolution.c6");
}

}  // namespace
}  // namespace espalier
