#include <algorithm>

#include "ops/drawn_again.h"
#include "ops/elementwise.h"
#include "ops/rows_place.h"

namespace espalier {
namespace {

struct DropoutAttributes final : Attributes {
  double rate = 0;
  Shape global_shape;  // as random_bits'; empty: x's shape
  void fields(FieldVisitor& v) override {
    v.field("rate", rate);
    v.field("global_shape", global_shape);
  }
};

void infer_dropout(InferContext& c) {
  const auto& a = c.attributes<DropoutAttributes>();
  const TensorType& x = c.in(0);
  c.require(c.size() == 3 || c.size() == 3 + x.rank() || c.size() == 3 + 2 * x.rank(), "arity",
            "takes x, key, step and no offsets or one for each of ", x.rank(),
            " axes, behind them no sizes of the whole or one for each, got ", c.size(), " inputs");
  c.require_dtype(is_float(x.dtype), "c1", "takes floating-point elements, got ", x);
  c.require(a.rate >= 0 && a.rate < 1, "c2", "the rate must lie in [0, 1), got ", a.rate);
  for (size_t i = 1; i < c.size(); ++i) {
    const TensorType wanted{i < 3 ? DType::kU64 : DType::kI64, {}};
    c.require(
        c.in(i) == wanted, "c3",
        i < 3 ? "key and step must be u64 scalars, got " : "offsets and sizes must be i64 scalars, got ",
        c.in(i));
  }
  if (!a.global_shape.empty()) {
    c.require(a.global_shape.size() == x.rank(), "c4", "the global shape must have the rank of ", x, ", got ",
              a.global_shape);
    for (size_t i = 0; i < x.rank(); ++i) {
      c.require(x.shape[i] <= a.global_shape[i], "c4", "a part must not exceed the whole: ", x.shape, " of ",
                a.global_shape);
    }
  }
  c.result(x);
}

std::vector<Tensor> decompose_dropout(const DecomposeContext& c) {
  const auto& a = c.attributes<DropoutAttributes>();
  const Tensor& x = c.in(0);
  const auto threshold = static_cast<uint32_t>(std::min(std::ldexp(a.rate, 32), 4294967295.0));
  const auto offsets = c.inputs.begin() + 3,
             sizes = c.inputs.size() > 3 ? offsets + static_cast<std::ptrdiff_t>(x.rank()) : offsets;
  const DrawnPart part{{a.global_shape.empty() ? x.shape() : a.global_shape, {offsets, sizes}},
                       {sizes, c.inputs.end()}};
  const Tensor bits = drawn_bits(x.shape(), c.in(1), c.in(2), DType::kU32, part);
  return {select(compare(bits, threshold, Comparison::kGE), x * (1 / (1 - a.rate)), 0)};
}

// The same elements are dropped: their choice depends on key, step and place alone. Where x has an example's
// place the cotangent, perhaps one for all examples, has it too: the select says so, and passes take it away.
void gradient_dropout(GradientContext& c) {
  if (!c.wants(0)) return;
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  inputs[0] = select(Tensor::scalar(true), c.cotangent(), c.in(0));
  c.set(0, emit(op_dropout, c.attributes_ptr, inputs));
}

// Of one key the examples take the bits that the batch as a whole takes: each its own. With a key for each
// example the decomposition does.
void batch_dropout(BatchContext& c) {
  if (std::find(c.batched.begin() + 1, c.batched.end(), true) != c.batched.end()) return;
  auto attributes = std::make_shared<DropoutAttributes>(c.attributes<DropoutAttributes>());
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  const size_t of_example = inputs[0].rank() - 1;
  const bool is_given = !attributes->global_shape.empty() && inputs.size() <= 3 + of_example;
  // What an example drew has no place but that of the batch, which is asked whatever was taken for its rows.
  const DrawnPart part = is_given ? DrawnPart{} : drawn_part(inputs[0].shape());
  if (!part.global_shape.empty()) {
    inputs.resize(3);
    attributes->global_shape = part.global_shape;
    inputs.insert(inputs.end(), part.offsets.begin(), part.offsets.end());
    inputs.insert(inputs.end(), part.sizes.begin(), part.sizes.end());
  } else if (!attributes->global_shape.empty()) {
    attributes->global_shape.insert(0, c.size);
    const auto sizes = static_cast<std::ptrdiff_t>(3 + of_example);
    if (std::ssize(inputs) > sizes)
      inputs.insert(inputs.begin() + sizes, full({}, static_cast<double>(c.size), DType::kI64));
    if (inputs.size() > 3) inputs.insert(inputs.begin() + 3, full({}, 0, DType::kI64));
  }
  c.outputs.push_back(emit(op_dropout, attributes, inputs));
}

void sample_dropout(DType dtype) { dropout(full({1}, 1, dtype), 0.5, 0, 0); }

}  // namespace

const OpDef op_dropout = {
    .name = "dropout",
    .doc =
        "From (x, key, step, offset of each axis): each element is zero with probability `rate`, else x / (1 "
        "- "
        "rate). "
        "What is dropped is decided by random_bits(x's shape, key, step, offsets, sizes) < rate 2^32, whose "
        "`global_shape` is x's where it is empty: what is dropped does not depend on how the whole is cut, "
        "and "
        "examples of one batch, batched by vmap too, drop other elements. c1: floating-point elements. c2: "
        "rate in [0, 1). c3: u64 scalars key and step, i64 scalar offsets and sizes, all or none of each. "
        "c4: "
        "a part of the whole.",
    .composite = true,
    .attributes = make_attributes<DropoutAttributes>,
    .infer = infer_dropout,
    .decompose = decompose_dropout,
    .gradient = gradient_dropout,
    .batch = batch_dropout,
    .flops_per_output = 32,
    .sample = sample_dropout,
};

Tensor dropout(Operand x, double rate, Operand key, Operand step, const Shard& given) {
  CallScope scope(x.at());
  const DrawnPart part = given.global_shape.empty() ? drawn_part(x.tensor().shape()) : DrawnPart{given};
  auto attributes = std::make_shared<DropoutAttributes>();
  attributes->rate = rate;
  attributes->global_shape = part.global_shape;
  std::vector<Tensor> inputs{x.tensor(), convert(key.as(DType::kU64), DType::kU64),
                             convert(step.as(DType::kU64), DType::kU64)};
  for (const Tensor& offset : part.offsets) inputs.push_back(convert(offset, DType::kI64));
  inputs.insert(inputs.end(), part.sizes.begin(), part.sizes.end());
  return emit(op_dropout, attributes, inputs);
}

std::optional<Tensor> dropout_again(const Node& node, std::span<const Tensor> inputs) {
  if (node.op != &op_dropout) return std::nullopt;
  const auto& a = static_cast<const DropoutAttributes&>(*node.attributes);
  if (!a.global_shape.empty()) return std::nullopt;  // knows its place
  return dropout(inputs[0], a.rate, inputs[1], inputs[2]);
}

}  // namespace espalier
