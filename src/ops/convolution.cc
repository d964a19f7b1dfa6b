#include "ops/convolution.h"

#include "ops/elementwise.h"
#include "ops/movement.h"

namespace espalier {
namespace {

// `batch`, `feature` and `spatial` must name every axis once.
void require_axes(const InferContext& c, size_t rank, int64_t batch, int64_t feature, const Dims& spatial,
                  const char* what) {
  Dims seen{batch, feature};
  for (const int64_t axis : spatial) seen.push_back(axis);
  c.require(seen.size() == rank, "c1", what, " has ", rank, " axes, dimension_numbers name ", seen);
  for (size_t i = 0; i < seen.size(); ++i) {
    c.require_axis(seen[i], rank, "c1");
    for (size_t k = 0; k < i; ++k)
      c.require(seen[i] != seen[k], "c1", "dimension_numbers name axis ", seen[i], " of ", what, " twice");
  }
}

void infer_convolution(InferContext& c) {
  c.require_inputs(2);
  const auto& a = c.attributes<ConvolutionAttributes>();
  const ConvolutionOptions& o = a.options;
  const ConvolutionDimensions& d = o.dimensions;
  const TensorType &input = c.in(0), &kernel = c.in(1);
  c.require(input.rank() == kernel.rank() && input.rank() >= 2, "c1",
            "operands must have one rank of 2 or more: ", input, " and ", kernel);
  require_axes(c, input.rank(), d.input_batch, d.input_feature, d.input_spatial, "the input");
  require_axes(c, input.rank(), d.kernel_input_feature, d.kernel_output_feature, d.kernel_spatial,
               "the kernel");
  require_axes(c, input.rank(), d.output_batch, d.output_feature, d.output_spatial, "the result");
  const Window window = window_of(o, kernel.shape);
  const Shape base = pick(input.shape, d.input_spatial);
  require_window(c, window, base, "c2", "c3");
  c.require(o.window_reversal.empty() || o.window_reversal.size() == base.size(), "c2",
            "window_reversal must have one entry for each of ", base.size(), " axes, got ",
            o.window_reversal);
  const int64_t groups = o.feature_group_count, batches = o.batch_group_count;
  c.require(groups >= 1 && batches >= 1 && (groups == 1 || batches == 1), "c4",
            "group counts must be positive and one of them 1: features ", groups, ", batches ", batches);
  const int64_t features = input.shape[d.input_feature], results = kernel.shape[d.kernel_output_feature];
  const int64_t batch = input.shape[d.input_batch];
  c.require(batch % batches == 0 && results % batches == 0, "c4", "batch_group_count ", batches,
            " must divide the batch ", batch, " and the kernel's output features ", results);
  c.require(features % groups == 0 && results % groups == 0, "c4", "feature_group_count ", groups,
            " must divide the input's features ", features, " and the kernel's output features ", results);
  c.require(features / groups == kernel.shape[d.kernel_input_feature], "c5", "the kernel must take ",
            features / groups, " features, ", features, " in ", groups, " groups, and takes ",
            kernel.shape[d.kernel_input_feature], ": ", input, " and ", kernel);
  c.require_dtype(input.dtype == kernel.dtype, "c6", "dtypes must be equal: ", input, " and ", kernel);
  const bool one_kind =
      (is_float(input.dtype) && is_float(a.dtype)) || (is_integer(input.dtype) && is_integer(a.dtype));
  c.require_dtype(a.dtype == input.dtype || (one_kind && size_of(a.dtype) > size_of(input.dtype)), "c7",
                  "the result is of the operands' dtype or a wider one of its kind: ", a.dtype, " from ",
                  input);
  Shape shape = Dims::filled(input.rank(), 0);
  shape[d.output_batch] = batch / batches;
  shape[d.output_feature] = results;
  const Shape counts = window_counts(window, base);
  for (size_t i = 0; i < counts.size(); ++i) shape[d.output_spatial[i]] = counts[i];
  c.result({a.dtype, shape});
}

// One product of a window: offsets into kernel and input.
struct Tap {
  int64_t kernel, input;
};

// Calls f(offset into the result, taps) for each place of the window.
template <class F>
void walk_windows_convolution(const ConvolutionOptions& o, const Shape& input, const Shape& kernel,
                              const Shape& result, F f) {
  const ConvolutionDimensions& d = o.dimensions;
  const Window window = window_of(o, kernel);
  const Shape base = pick(input, d.input_spatial), counts = window_counts(window, base);
  const Dims input_strides = pick(row_major_strides(input), d.input_spatial);
  const Dims kernel_strides = pick(row_major_strides(kernel), d.kernel_spatial);
  const Dims result_strides = pick(row_major_strides(result), d.output_spatial);
  std::vector<Tap> taps, next;
  walk(counts, result_strides, 0, [&](int64_t index, int64_t offset) {
    taps.assign(1, {0, 0});
    for (size_t i = counts.size(); i-- > 0; index /= counts[i]) {
      next.clear();
      for (int64_t k = 0; k < window.sizes[i]; ++k) {
        const int64_t place = window.position(i, base[i], index % counts[i], k);
        if (place < 0) continue;
        const bool reversed = !o.window_reversal.empty() && o.window_reversal[i];
        const int64_t element = reversed ? window.sizes[i] - 1 - k : k;
        for (const Tap& tap : taps)
          next.push_back({tap.kernel + element * kernel_strides[i], tap.input + place * input_strides[i]});
      }
      taps.swap(next);
    }
    f(offset, taps);
  });
}

template <class A, class In>
A multiply_add(A sum, In x, In y) {
  const A p = static_cast<A>(x), q = static_cast<A>(y);
  if constexpr (std::is_same_v<A, bool>) {
    return sum || (p && q);
  } else if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<Wrapping<A>>(sum) +
                          static_cast<Wrapping<A>>(p) * static_cast<Wrapping<A>>(q));
  } else if constexpr (std::is_same_v<A, float>) {
    return static_cast<float>(double{sum} + double{p} * double{q});
  } else {
    return sum + p * q;
  }
}

template <class In, class Out>
void convolve(EvalContext& c) {
  using A = std::conditional_t<is_half<In> || std::is_same_v<In, float>, float, Out>;
  const ConvolutionOptions& o = c.attributes<ConvolutionAttributes>().options;
  const ConvolutionDimensions& d = o.dimensions;
  const Shape &input = c.in(0).type->shape, &kernel = c.in(1).type->shape, &result = c.out(0).type->shape;
  const Dims is = row_major_strides(input), ks = row_major_strides(kernel), rs = row_major_strides(result);
  const int64_t features = kernel[d.kernel_input_feature], results = result[d.output_feature];
  const int64_t batch = result[d.output_batch];
  const int64_t input_step = is[d.input_feature], kernel_step = ks[d.kernel_input_feature];
  const In *x = c.in(0).as<In>(), *weights = c.in(1).as<In>();
  Out* out = c.out(0).as<Out>();
  walk_windows_convolution(o, input, kernel, result, [&](int64_t place, const std::vector<Tap>& taps) {
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t r = 0; r < results; ++r) {
        const int64_t group = r / (results / o.feature_group_count);
        const int64_t example = r / (results / o.batch_group_count) * batch + b;
        const In* from = x + example * is[d.input_batch] + group * features * input_step;
        const In* by = weights + r * ks[d.kernel_output_feature];
        A sum{};
        for (const Tap& tap : taps) {
          for (int64_t i = 0; i < features; ++i)
            sum = multiply_add(sum, from[tap.input + i * input_step], by[tap.kernel + i * kernel_step]);
        }
        out[place + b * rs[d.output_batch] + r * rs[d.output_feature]] = static_cast<Out>(sum);
      }
    }
  });
}

void eval_convolution(EvalContext& c) {
  visit_dtype(c.in(0).type->dtype, [&](auto in_tag) {
    using In = typename decltype(in_tag)::type;
    visit_dtype(c.out(0).type->dtype, [&](auto out_tag) {
      using Out = typename decltype(out_tag)::type;
      constexpr bool one_kind =
          is_floating<In> == is_floating<Out> && std::is_same_v<In, bool> == std::is_same_v<Out, bool>;
      if constexpr (one_kind && sizeof(Out) >= sizeof(In)) convolve<In, Out>(c);
    });
  });
}

void gradient_convolution(GradientContext& c) {
  const ConvolutionOptions& o = c.attributes<ConvolutionAttributes>().options;
  const Tensor g = c.cotangent();
  const auto widen = [&](const Tensor& t) { return convert(t, g.dtype()); };
  if (c.wants(0))
    c.set(0, convert(conv_gradient_input(g, widen(c.in(1)), o, c.in(0).shape()), c.in(0).dtype()));
  if (c.wants(1))
    c.set(1, convert(conv_gradient_kernel(widen(c.in(0)), g, o, c.in(1).shape()), c.in(1).dtype()));
}

// Axis `axis` of one example is [count, n]; the leading axis of examples goes between the two.
Tensor fold_examples(const Tensor& x, int64_t axis, int64_t count) {
  Shape shape = x.shape();
  const int64_t size = shape[0];
  shape[axis + 1] /= count;
  shape.insert(axis + 1, count);
  Dims permutation = Dims::range(shape.size());
  permutation.erase(0);
  permutation.insert(axis + 1, 0);
  Shape folded = x.shape();
  folded.erase(0);
  folded[axis] *= size;
  return reshape(transpose(reshape(x, shape), permutation), folded);
}

// The inverse of fold_examples.
Tensor unfold_examples(const Tensor& x, int64_t axis, int64_t count, int64_t size) {
  Shape shape = x.shape();
  const int64_t rest = shape[axis] / (count * size);
  shape[axis] = rest;
  shape.insert(axis, size);
  shape.insert(axis, count);
  Dims permutation = Dims::range(shape.size());
  permutation.erase(axis + 1);
  permutation.insert(0, axis + 1);
  Shape unfolded = x.shape();
  unfolded[axis] = count * rest;
  unfolded.insert(0, size);
  return reshape(transpose(reshape(x, shape), permutation), unfolded);
}

// Examples become more batch, more output features, or, where both operands have them, more groups.
void batch_convolution(BatchContext& c) {
  const auto& a = c.attributes<ConvolutionAttributes>();
  ConvolutionOptions o = a.options;
  const ConvolutionDimensions& d = o.dimensions;
  const int64_t groups = o.feature_group_count, batches = o.batch_group_count;
  if (!c.batched[1]) {
    const Tensor out = convolution(fold_examples(c.in(0), d.input_batch, batches), c.in(1), o, a.dtype);
    c.outputs = {unfold_examples(out, d.output_batch, 1, c.size)};
    return;
  }
  const bool both = c.batched[0];
  Tensor input = c.in(0);
  if (both && batches > 1) {
    input = fold_examples(input, d.input_batch, 1);
    o.batch_group_count *= c.size;
  } else if (both) {
    input = fold_examples(input, d.input_feature, 1);
    o.feature_group_count *= c.size;
  }
  const int64_t count = both ? 1 : groups * batches;
  const Tensor out = convolution(input, fold_examples(c.in(1), d.kernel_output_feature, count), o, a.dtype);
  c.outputs = {unfold_examples(out, d.output_feature, count, c.size)};
}

Cost cost_convolution(const Attributes* attributes, std::span<const TensorType* const> inputs,
                      std::span<const TensorType> outputs) {
  const auto& d = static_cast<const ConvolutionAttributes*>(attributes)->options.dimensions;
  const double products = static_cast<double>(inputs[1]->elements()) /
                          std::max(1.0, static_cast<double>(inputs[1]->shape[d.kernel_output_feature]));
  return {2 * products * static_cast<double>(outputs[0].elements()),
          static_cast<double>(inputs[0]->bytes() + inputs[1]->bytes() + outputs[0].bytes())};
}

void sample(DType dtype) {
  const Tensor x = full({1, 1, 1}, 1, dtype);
  convolution(x, x, {.dimensions = channels_first(1)});
}

}  // namespace

const OpDef op_convolution = {
    .name = "convolution",
    .doc =
        "Sums, for each place of the kernel's window over the spatial axes of the input, the products of "
        "the elements under it, over the input features of a group. lhs_dilation spreads the input, "
        "rhs_dilation the kernel, padding (low and high, negative ones crop) surrounds the spread input with "
        "zeros, window_reversal flips the kernel. feature_group_count splits features of both operands, "
        "batch_group_count splits the batch and the output features. f32, f16 and bf16 accumulate fused "
        "products "
        "in f32, in the order of the window, then of the features; integers wrap. c1: dimension_numbers name "
        "every axis once. c2: window lists "
        "have one entry a spatial axis or none. c3: positive strides and dilations, all up to 2^30. c4: "
        "groups divide. c5: the kernel's input features are the input's in a group. c6: one operand dtype. "
        "c7: the result dtype is the operands' or a wider one.",
    .attributes = make_attributes<ConvolutionAttributes>,
    .infer = infer_convolution,
    .eval = eval_convolution,
    .gradient = gradient_convolution,
    .batch = batch_convolution,
    .cost = cost_convolution,
    .sample = sample,
};

Tensor convolution(Operand input, Operand kernel, const ConvolutionOptions& options, DType dtype) {
  CallScope scope(input.at());
  auto attributes = std::make_shared<ConvolutionAttributes>();
  attributes->options = options;
  attributes->dtype = dtype;
  return emit(op_convolution, attributes, {input.tensor(), kernel.tensor()});
}

Tensor convolution(Operand input, Operand kernel, const ConvolutionOptions& options) {
  const DType dtype = input.tensor().dtype();
  return convolution(std::move(input), std::move(kernel), options, dtype);
}

}  // namespace espalier
