#include "ops/elementwise.h"

namespace espalier {
namespace {

struct IotaAttributes final : Attributes {
  TensorType type;
  int64_t axis = 0;
  void fields(FieldVisitor& v) override {
    v.field("type", type);
    v.field("iota_dimension", axis);
  }
};

void infer_iota(InferContext& c) {
  c.require_inputs(0);
  const auto& a = c.attributes<IotaAttributes>();
  c.require_dtype(in_set(a.type.dtype, kNumbers), "c1", "takes number types, got ", a.type);
  c.require_axis(a.axis, a.type.rank(), "c2");
  c.result(a.type);
}

void eval_iota(EvalContext& c) {
  const auto& a = c.attributes<IotaAttributes>();
  const int64_t inner = row_major_strides(a.type.shape)[a.axis], size = a.type.shape[a.axis];
  visit_dtype(a.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = c.out(0).as<T>();
    for (int64_t i = 0; i < a.type.elements(); ++i) {
      const int64_t index = i / inner % size;
      if constexpr (is_half<T>) {
        out[i] = T(static_cast<double>(index));
      } else {
        out[i] = static_cast<T>(index);
      }
    }
  });
}

}  // namespace

const OpDef op_iota = {
    .name = "iota",
    .doc =
        "0, 1, ... along `iota_dimension`, repeated along the other axes. c1: number types. c2: axis in "
        "range.",
    .attributes = make_attributes<IotaAttributes>,
    .infer = infer_iota,
    .eval = eval_iota,
    .no_gradient = "has no inputs",
    .batch = batch_elementwise,
};

Tensor iota(const TensorType& type, int64_t axis, Location at) {
  CallScope scope(at);
  auto attributes = std::make_shared<IotaAttributes>();
  attributes->type = type;
  attributes->axis = axis;
  return emit(op_iota, attributes, {});
}

}  // namespace espalier
