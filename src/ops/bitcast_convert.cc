#include "ops/elementwise.h"

namespace espalier {
namespace {

struct BitcastAttributes final : Attributes {
  DType dtype = DType::kF32;
  void fields(FieldVisitor& v) override { v.field("dtype", dtype); }
};

void infer_bitcast_convert(InferContext& c) {
  c.require_inputs(1);
  const TensorType& x = c.in(0);
  const DType to = c.attributes<BitcastAttributes>().dtype;
  c.require_dtype((x.dtype == DType::kBool) == (to == DType::kBool), "c1",
                  "bool has one bit and converts to bool alone: ", x.dtype, " to ", to);
  const auto from_size = static_cast<int64_t>(size_of(x.dtype)), to_size = static_cast<int64_t>(size_of(to));
  TensorType result{to, x.shape};
  if (from_size > to_size) {
    result.shape.push_back(from_size / to_size);
  } else if (from_size < to_size) {
    c.require(x.rank() > 0 && x.shape.back() == to_size / from_size, "c2",
              "to a wider type the last axis holds its parts: ", x, " has not ", to_size / from_size,
              " of them for ", to);
    result.shape.erase(result.shape.size() - 1);
  }
  c.result(result);
}

void eval_bitcast_convert(EvalContext& c) {
  if (const size_t bytes = c.out(0).type->bytes()) std::memmove(c.out(0).data, c.in(0).data, bytes);
}

}  // namespace

const OpDef op_bitcast_convert = {
    .name = "bitcast_convert",
    .doc =
        "The same bits read as `dtype`. To a narrower type a last axis is added that holds the parts, the "
        "low "
        "bits first; to a wider one the last axis is such parts and disappears. c1: bool converts to bool "
        "alone. c2: the last axis has as many elements as the wider type has parts.",
    .attributes = make_attributes<BitcastAttributes>,
    .infer = infer_bitcast_convert,
    .eval = eval_bitcast_convert,
    .no_gradient = "bits have no gradient",
    .batch = batch_elementwise,
};

Tensor bitcast_convert(Operand x, DType dtype) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<BitcastAttributes>();
  attributes->dtype = dtype;
  return emit(op_bitcast_convert, attributes, {x.tensor()});
}

}  // namespace espalier
