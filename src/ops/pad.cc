#include <algorithm>

#include "ops/call.h"
#include "ops/movement.h"
#include "ops/registry.h"

namespace espalier {
namespace {

struct PadAttributes final : Attributes {
  Dims low, high, interior;
  void fields(FieldVisitor& v) override {
    v.field("edge_padding_low", low);
    v.field("edge_padding_high", high);
    v.field("interior_padding", interior);
  }
};

// Up to these, sizes and positions cannot overflow.
constexpr int64_t kLargestInterior = int64_t{1} << 30, kLargestEdge = int64_t{1} << 60;

int64_t dilated(int64_t size, int64_t interior) { return size ? (size - 1) * (interior + 1) + 1 : 0; }

void infer_pad(InferContext& c) {
  c.require_inputs(2);
  const auto& a = c.attributes<PadAttributes>();
  const size_t rank = c.in(0).rank();
  c.require(c.in(1).rank() == 0 && c.in(1).dtype == c.in(0).dtype, "c1",
            "the padding value must be a scalar of the operand's dtype: ", c.in(0), " and ", c.in(1));
  c.require(a.low.size() == rank && a.high.size() == rank && a.interior.size() == rank, "c2",
            "needs low, high and interior padding for each axis of ", c.in(0), ", got ", a.low, ", ", a.high,
            " and ", a.interior);
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = c.in(0).shape[i];
    c.require(a.interior[i] == 0 ||
                  (a.interior[i] > 0 && a.interior[i] <= kLargestInterior && size <= kLargestInterior),
              "c3", "interior padding must lie in 0 to ", kLargestInterior, ", got ", a.interior, " for ",
              c.in(0));
    c.require(std::max(a.low[i], a.high[i]) <= kLargestEdge && std::min(a.low[i], a.high[i]) >= -kLargestEdge,
              "c4", "edge padding is too large: ", a.low, " and ", a.high);
    shape.push_back(dilated(size, a.interior[i]) + a.low[i] + a.high[i]);
    c.require(shape[i] >= 0, "c4", "axis ", i, " of ", c.in(0), " would get the negative size ", shape[i]);
  }
  c.result({c.in(0).dtype, shape});
}

void eval_pad(EvalContext& c) {
  const auto& a = c.attributes<PadAttributes>();
  const Shape &in = c.in(0).type->shape, &out = c.out(0).type->shape;
  fill_elements(c.out(0).data, c.in(1).data, size_of(c.out(0).type->dtype), num_elements(out));
  const Dims in_strides = row_major_strides(in);
  Dims out_strides = row_major_strides(out);
  Shape box;
  int64_t in_base = 0, out_base = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    // Operand indices [first, end) land inside of the result: 0 <= low + index * step < out.
    const int64_t step = a.interior[i] + 1;
    const int64_t first = a.low[i] < 0 ? (-a.low[i] + step - 1) / step : 0;
    const int64_t room = out[i] - a.low[i];
    const int64_t end = std::min(in[i], room > 0 ? (room + step - 1) / step : 0);
    box.push_back(std::max<int64_t>(end - first, 0));
    in_base += first * in_strides[i];
    out_base += (a.low[i] + first * step) * out_strides[i];
    out_strides[i] *= step;
  }
  copy_box(c.in(0), in_strides, in_base, c.out(0), out_strides, out_base, box);
}

// True where the padded array holds operand elements.
Tensor data_mask(const Shape& shape, const PadAttributes& a) {
  return pad(constant_like({DType::kBool, shape}, 1), constant_like({DType::kBool, {}}, 0), a.low, a.high,
             a.interior);
}

void gradient_pad(GradientContext& c) {
  const auto& a = c.attributes<PadAttributes>();
  const Tensor g = c.cotangent();
  if (c.wants(0)) {
    const Shape& in = c.in(0).shape();
    Dims low, high, limit, strides;
    for (size_t i = 0; i < in.size(); ++i) {
      low.push_back(-a.low[i]);
      high.push_back(-a.high[i]);
      limit.push_back(dilated(in[i], a.interior[i]));
      strides.push_back(a.interior[i] + 1);
    }
    c.set(0, slice(pad(g, 0, low, high), Dims::filled(in.size(), 0), limit, strides));
  }
  if (c.wants(1)) {
    const Tensor around = select(data_mask(c.in(0).shape(), a), constant_like(g.type(), 0), g);
    c.set(1, reduce_sum(around, Dims::range(g.rank())));
  }
}

void batch_pad(BatchContext& c) {
  auto a = c.attributes<PadAttributes>();
  a.low.insert(0, 0);
  a.high.insert(0, 0);
  a.interior.insert(0, 0);
  const Tensor x = batch_expand(c, 0);
  if (!c.batched[1]) {
    c.outputs = {pad(x, c.in(1), a.low, a.high, a.interior)};
    return;
  }
  const Tensor data = pad(x, constant_like({x.dtype(), {}}, 0), a.low, a.high, a.interior);
  c.outputs = {select(data_mask(x.shape(), a), data, broadcast_in_dim(c.in(1), data.shape(), {0}))};
}

}  // namespace

const OpDef op_pad = {
    .name = "pad",
    .doc =
        "`interior_padding` copies of the padding value between elements, then `edge_padding_low` before "
        "and `edge_padding_high` behind; negative edges remove elements. c1: a scalar padding value of the "
        "operand's dtype. c2: one of each per axis. c3: interior in 0 to 2^30. c4: edges of at most 2^60, "
        "no negative size.",
    .attributes = make_attributes<PadAttributes>,
    .infer = infer_pad,
    .eval = eval_pad,
    .gradient = gradient_pad,
    .batch = batch_pad,
};

Tensor pad(Operand x, Operand value, const Dims& low, const Dims& high, const Dims& interior) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<PadAttributes>();
  attributes->low = low;
  attributes->high = high;
  attributes->interior = interior.empty() ? Dims::filled(low.size(), 0) : interior;
  return emit(op_pad, attributes, {x.tensor(), value.as(x.tensor().dtype())});
}

}  // namespace espalier
