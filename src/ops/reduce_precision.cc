#include "ops/elementwise.h"

namespace espalier {
namespace {

struct PrecisionAttributes final : Attributes {
  int64_t exponent_bits = 8, mantissa_bits = 7;
  void fields(FieldVisitor& v) override {
    v.field("exponent_bits", exponent_bits);
    v.field("mantissa_bits", mantissa_bits);
  }
};

void infer_reduce_precision(InferContext& c) {
  c.require_inputs(1);
  const auto& a = c.attributes<PrecisionAttributes>();
  c.require_dtype(is_float(c.in(0).dtype), "c1", "takes floating-point elements, got ", c.in(0));
  c.require(a.exponent_bits >= 1, "c2", "exponent_bits must be at least 1, got ", a.exponent_bits);
  c.require(a.mantissa_bits >= 0, "c3", "mantissa_bits must not be negative, got ", a.mantissa_bits);
  c.result(c.in(0));
}

// Bits of a binary format with `kMantissa` stored bits, rounded to fewer and held to a smaller range.
template <class U, int kMantissa>
U reduce_bits(U bits, const PrecisionAttributes& a) {
  constexpr int kExponent = sizeof(U) * 8 - 1 - kMantissa;
  constexpr U kSign = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));
  constexpr U kInfinity = static_cast<U>(((U{1} << kExponent) - 1) << kMantissa);
  const U sign = bits & kSign;
  U magnitude = static_cast<U>(bits & ~kSign);
  if (magnitude > kInfinity) return bits;
  if (a.mantissa_bits < kMantissa) {
    const int drop = kMantissa - static_cast<int>(a.mantissa_bits);
    const U last = (magnitude >> drop) & 1, half = static_cast<U>((U{1} << (drop - 1)) - 1);
    magnitude = static_cast<U>(magnitude + half + last);
    magnitude = static_cast<U>(magnitude >> drop << drop);
  }
  if (a.exponent_bits < kExponent && magnitude < kInfinity) {
    const int bias = (1 << (kExponent - 1)) - 1, range = (1 << (a.exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(magnitude >> kMantissa) - bias;
    if (exponent > range) magnitude = kInfinity;
    if (exponent < 1 - range) magnitude = 0;
  }
  return sign | magnitude;
}

template <class U, int kMantissa>
void loop_reduce_precision(EvalContext& c) {
  const U* x = c.in(0).as<U>();
  U* out = c.out(0).as<U>();
  const int64_t n = c.out(0).type->elements();
  for (int64_t i = 0; i < n; ++i)
    out[i] = reduce_bits<U, kMantissa>(x[i], c.attributes<PrecisionAttributes>());
}

void eval_reduce_precision(EvalContext& c) {
  switch (c.in(0).type->dtype) {
    case DType::kF16:
      return loop_reduce_precision<uint16_t, 10>(c);
    case DType::kBF16:
      return loop_reduce_precision<uint16_t, 7>(c);
    case DType::kF32:
      return loop_reduce_precision<uint32_t, 23>(c);
    default:
      return loop_reduce_precision<uint64_t, 52>(c);
  }
}

void gradient_reduce_precision(GradientContext& c) {
  const auto& a = c.attributes<PrecisionAttributes>();
  c.set(0, reduce_precision(c.cotangent(), a.exponent_bits, a.mantissa_bits));
}

}  // namespace

const OpDef op_reduce_precision = {
    .name = "reduce_precision",
    .doc =
        "x rounded to nearest even as if to a float of `exponent_bits` and `mantissa_bits`, in its own "
        "dtype: "
        "beyond the range infinity, below the normal range zero, NaN stays. The gradient is rounded in the "
        "same way. c1: floating-point elements. c2: exponent_bits >= 1. c3: mantissa_bits >= 0.",
    .attributes = make_attributes<PrecisionAttributes>,
    .infer = infer_reduce_precision,
    .eval = eval_reduce_precision,
    .gradient = gradient_reduce_precision,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 4,
};

Tensor reduce_precision(Operand x, int64_t exponent_bits, int64_t mantissa_bits) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<PrecisionAttributes>();
  attributes->exponent_bits = exponent_bits;
  attributes->mantissa_bits = mantissa_bits;
  return emit(op_reduce_precision, attributes, {x.tensor()});
}

}  // namespace espalier
