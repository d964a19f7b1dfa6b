#include "ops/composite/custom_gradient.h"

#include "espalier/control.h"

namespace espalier {
namespace {

constexpr size_t kForward = 0, kBackward = 1;

// (operands..., results..., a cotangent of each float result..., captures...)
std::vector<TensorType> backward_inputs(const InferContext& c, size_t operands) {
  const Graph& forward = *c.region(kForward);
  std::vector<TensorType> out;
  for (size_t i = 0; i < operands; ++i) out.push_back(c.in(i));
  for (size_t i = 0; i < forward.outputs().size(); ++i) out.push_back(output_type(forward, i));
  for (size_t i = 0; i < forward.outputs().size(); ++i) {
    if (is_float(output_type(forward, i).dtype)) out.push_back(output_type(forward, i));
  }
  for (size_t i = operands; i < c.size(); ++i) out.push_back(c.in(i));
  return out;
}

void infer_custom_gradient(InferContext& c) {
  const int64_t operands = c.attributes<CustomGradientAttributes>().operands;
  require_regions(c, 2);
  c.require(operands >= 0 && operands <= static_cast<int64_t>(c.size()), "arity", operands,
            " operands do not fit ", c.size(), " inputs");
  require_region_inputs(c, kForward, 0, "c1");
  const Graph &forward = *c.region(kForward), &backward = *c.region(kBackward);
  const std::vector<TensorType> types = backward_inputs(c, static_cast<size_t>(operands));
  c.require(backward.inputs().size() == types.size(), "c2", "the backward region takes ",
            backward.inputs().size(), " values, operands, results, cotangents and captures are ",
            types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    c.require(input_type(backward, i) == types[i], "c2", "the backward region takes ",
              input_type(backward, i), " as value ", i, ", gets ", types[i]);
  }
  size_t next = 0;
  for (int64_t i = 0; i < operands; ++i) {
    if (!is_float(c.in(i).dtype)) continue;
    c.require(next < backward.outputs().size() && output_type(backward, next) == c.in(i), "c3",
              "the backward region must give one gradient for each floating-point operand: operand ", i,
              " is ", c.in(i), ", the gradients are ", output_types(backward));
    ++next;
  }
  c.require(next == backward.outputs().size(), "c3", "the backward region gives ", backward.outputs().size(),
            " gradients for ", next, " floating-point operands");
  for (size_t i = 0; i < forward.outputs().size(); ++i) c.result(output_type(forward, i));
}

void eval_custom_gradient(EvalContext& c) { c.runner->run(*c.regions[kForward], c.inputs, c.outputs); }
std::vector<Tensor> decompose_custom_gradient(const DecomposeContext& c) {
  return inline_graph(*c.regions[kForward], c.inputs);
}

void gradient_custom_gradient(GradientContext& c) {
  const auto operands = static_cast<size_t>(c.attributes<CustomGradientAttributes>().operands);
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.begin() + static_cast<std::ptrdiff_t>(operands));
  inputs.insert(inputs.end(), c.outputs.begin(), c.outputs.end());
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (is_float(c.out(i).dtype())) inputs.push_back(c.cotangent(i));
  }
  inputs.insert(inputs.end(), c.inputs.begin() + static_cast<std::ptrdiff_t>(operands), c.inputs.end());
  const std::vector<Tensor> gradients = inline_graph(*c.regions[kBackward], inputs);
  for (size_t i = 0, next = 0; i < operands; ++i) {
    if (is_float(c.in(i).dtype())) c.set(i, gradients[next++]);
  }
}

void batch_custom_gradient(BatchContext& c) {
  const auto operands = static_cast<size_t>(c.attributes<CustomGradientAttributes>().operands);
  const Graph &forward = *c.regions[kForward], &backward = *c.regions[kBackward];
  const size_t captures = c.inputs.size() - operands;
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  std::vector<bool> batched = c.batched;
  for (size_t i = 0; i < operands; ++i) {
    inputs[i] = batch_expand(c, i);
    batched[i] = true;
  }
  std::vector<TensorType> types;
  std::vector<bool> backward_batched(backward.inputs().size(), true);
  for (size_t i = 0; i < backward.inputs().size(); ++i) {
    const size_t from_end = backward.inputs().size() - i;
    const bool is_capture = from_end <= captures;
    if (is_capture) backward_batched[i] = batched[inputs.size() - from_end];
    TensorType type = input_type(backward, i);
    if (backward_batched[i]) type.shape.insert(0, c.size);
    types.push_back(std::move(type));
  }
  const auto rule = [&](const Graph& region, const std::vector<bool>& flags) {
    return [&region, flags, size = c.size](std::span<const Tensor> values) {
      return region_batch(region, values, flags, std::vector<bool>(region.outputs().size(), true), size);
    };
  };
  const RegionSpec specs[] = {{types_of(inputs), rule(forward, batched)},
                              {std::move(types), rule(backward, backward_batched)}};
  c.outputs = emit_regions(op_custom_gradient, c.attributes_ptr, inputs, specs);
}

}  // namespace

const OpDef op_custom_gradient = {
    .name = "custom_gradient",
    .doc =
        "The results of the first region on the inputs; the second one is its gradient. Inputs: operands, "
        "then "
        "captures, which are constants for differentiation. c1: the first region takes the inputs. c2: the "
        "second "
        "takes operands, results, a cotangent of each floating-point result, captures. c3: it gives one "
        "gradient "
        "for each floating-point operand.",
    .composite = true,
    .attributes = make_attributes<CustomGradientAttributes>,
    .infer = infer_custom_gradient,
    .eval = eval_custom_gradient,
    .decompose = decompose_custom_gradient,
    .gradient = gradient_custom_gradient,
    .batch = batch_custom_gradient,
    .sample =
        [](DType dtype) {
          const TensorFunction same = [](const Tensor& x) { return x; };
          const CustomBackward backward = [](auto, auto, auto cotangents) {
            return Tensors(cotangents.begin(), cotangents.end());
          };
          custom_gradient(same, backward)(constant_like({dtype, {2}}, 1));
        },
};

}  // namespace espalier
