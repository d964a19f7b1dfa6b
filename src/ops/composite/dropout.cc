#include "ops/elementwise.h"

namespace espalier {
namespace {

struct DropoutAttributes final : Attributes {
  double rate = 0;
  void fields(FieldVisitor& v) override { v.field("rate", rate); }
};

void infer_dropout(InferContext& c) {
  c.require_inputs(3);
  const double rate = c.attributes<DropoutAttributes>().rate;
  c.require_dtype(is_float(c.in(0).dtype), "c1", "takes floating-point elements, got ", c.in(0));
  c.require(rate >= 0 && rate < 1, "c2", "the rate must lie in [0, 1), got ", rate);
  for (size_t i = 1; i < 3; ++i) {
    c.require(c.in(i) == TensorType{DType::kU64, {}}, "c3", "key and step must be u64 scalars, got ",
              c.in(i));
  }
  c.result(c.in(0));
}

std::vector<Tensor> decompose_dropout(const DecomposeContext& c) {
  const double rate = c.attributes<DropoutAttributes>().rate;
  const Tensor& x = c.in(0);
  const auto threshold = static_cast<uint32_t>(std::min(std::ldexp(rate, 32), 4294967295.0));
  const Tensor kept = compare(random_bits(x.shape(), c.in(1), c.in(2)), threshold, Comparison::kGE);
  return {select(kept, x * (1 / (1 - rate)), 0)};
}

// The same elements are dropped: their choice depends on key and step alone.
void gradient_dropout(GradientContext& c) {
  if (c.wants(0)) c.set(0, dropout(c.cotangent(), c.attributes<DropoutAttributes>().rate, c.in(1), c.in(2)));
}

void sample_dropout(DType dtype) { dropout(full({1}, 1, dtype), 0.5, 0, 0); }

}  // namespace

const OpDef op_dropout = {
    .name = "dropout",
    .doc =
        "From (x, key, step): each element is zero with probability `rate`, else x / (1 - rate). What is "
        "dropped is "
        "decided by random_bits(x's shape, key, step) < rate 2^32. c1: floating-point elements. c2: rate in "
        "[0, 1). "
        "c3: u64 scalars key and step.",
    .composite = true,
    .attributes = make_attributes<DropoutAttributes>,
    .infer = infer_dropout,
    .decompose = decompose_dropout,
    .gradient = gradient_dropout,
    .color = Color::kInfer,
    .flops_per_output = 32,
    .sample = sample_dropout,
};

Tensor dropout(Operand x, double rate, Operand key, Operand step) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<DropoutAttributes>();
  attributes->rate = rate;
  return emit(
      op_dropout, attributes,
      {x.tensor(), convert(key.as(DType::kU64), DType::kU64), convert(step.as(DType::kU64), DType::kU64)});
}

}  // namespace espalier
