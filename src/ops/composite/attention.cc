#include "ops/dot_general.h"
#include "ops/elementwise.h"

namespace espalier {
namespace {

struct AttentionAttributes final : Attributes {
  AttentionOptions options;
  void fields(FieldVisitor& v) override {
    v.field("causal", options.causal);
    v.field("scale", options.scale);
  }
};

void infer_attention(InferContext& c) {
  c.require(c.size() == 3 || c.size() == 4, "arity", "takes query, key, value and perhaps a mask, got ",
            c.size(), " inputs");
  const TensorType &q = c.in(0), &k = c.in(1), &v = c.in(2);
  c.require_dtype(is_float(q.dtype) && k.dtype == q.dtype && v.dtype == q.dtype, "c1",
                  "query, key and value must have one floating-point dtype: ", q, ", ", k, ", ", v);
  const size_t rank = q.rank();
  c.require(rank >= 2 && k.rank() == rank && v.rank() == rank, "c2",
            "query, key and value must have one rank of 2 or more: ", q, ", ", k, ", ", v);
  for (size_t i = 0; i + 2 < rank; ++i)
    c.require(q.shape[i] == k.shape[i] && q.shape[i] == v.shape[i], "c2", "leading axes must be equal: ", q,
              ", ", k, ", ", v);
  c.require(q.shape[rank - 1] == k.shape[rank - 1], "c3", "query and key must have one depth: ", q, " and ",
            k);
  c.require(k.shape[rank - 2] == v.shape[rank - 2], "c3", "key and value must have one length: ", k, " and ",
            v);
  Shape scores = q.shape, result = q.shape;
  scores[rank - 1] = k.shape[rank - 2];
  result[rank - 1] = v.shape[rank - 1];
  if (c.size() == 4)
    c.require(c.in(3) == TensorType{DType::kBool, scores}, "c4", "the mask must be ",
              TensorType{DType::kBool, scores}, ", got ", c.in(3));
  c.result({q.dtype, result});
}

std::vector<Tensor> decompose_attention(const DecomposeContext& c) {
  const AttentionOptions& o = c.attributes<AttentionAttributes>().options;
  const Tensor &q = c.in(0), &k = c.in(1), &v = c.in(2);
  const auto last = static_cast<int64_t>(q.rank()) - 1;
  const Dims stack = Dims::range(q.rank() - 2);
  const DType wide = q.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  // Scores of no depth are all 0, not 0 / 0.
  const auto depth = static_cast<double>(std::max<int64_t>(q.shape().back(), 1));
  const double scale = o.scale != 0 ? o.scale : 1 / std::sqrt(depth);
  Tensor scores = dot_general(q, k, {stack, stack, {last}, {last}}, wide) * scale;
  const double never = wide == DType::kF64 ? -1e300 : -1e38;
  if (c.inputs.size() == 4) scores = select(c.in(3), scores, never);
  if (o.causal) {
    const TensorType index{DType::kI64, scores.shape()};
    const int64_t ahead = scores.shape()[last] - scores.shape()[last - 1];
    scores =
        select(compare(iota(index, last - 1) + ahead, iota(index, last), Comparison::kGE), scores, never);
  }
  const Tensor weights = convert(softmax(scores), q.dtype());
  return {dot_general(weights, v, {stack, stack, {last}, {last - 1}})};
}

Cost cost_attention(const Attributes*, std::span<const TensorType* const> inputs,
                    std::span<const TensorType> outputs) {
  const Shape &q = inputs[0]->shape, &v = inputs[2]->shape;
  const double pairs = static_cast<double>(outputs[0].elements()) /
                       std::max<double>(1, static_cast<double>(v.back())) *
                       static_cast<double>(v[v.size() - 2]);
  const double bytes =
      static_cast<double>(inputs[0]->bytes() + inputs[1]->bytes() + inputs[2]->bytes() + outputs[0].bytes());
  return {pairs * (2 * static_cast<double>(q.back() + v.back()) + 14), bytes};
}

}  // namespace

const OpDef op_attention = {
    .name = "attention",
    .doc =
        "softmax(query key^T * scale) value, from query [..., T, D], key [..., S, D], value [..., S, E] and "
        "perhaps a "
        "bool mask [..., T, S], true where a query may look; scale 0 stands for 1 / sqrt D. Causal: query t "
        "sees keys "
        "up to t + S - T. A query that sees nothing gets the mean of what is hidden. Scores are in f32, or "
        "f64 for "
        "f64. c1: one floating-point dtype. c2: one rank, equal leading axes. c3: depths and lengths agree. "
        "c4: the "
        "mask's type.",
    .composite = true,
    .attributes = make_attributes<AttentionAttributes>,
    .infer = infer_attention,
    .decompose = decompose_attention,
    .cost = cost_attention,
};

Tensor attention(Operand query, Operand key, Operand value, const AttentionOptions& options, Tensor mask) {
  CallScope scope(query.at());
  auto attributes = std::make_shared<AttentionAttributes>();
  attributes->options = options;
  std::vector<Tensor> inputs{query.tensor(), key.tensor(), value.tensor()};
  if (mask.defined()) inputs.push_back(std::move(mask));
  return emit(op_attention, attributes, inputs);
}

}  // namespace espalier
