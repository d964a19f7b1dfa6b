#include <limits>

#include "ops/elementwise.h"

namespace espalier {
namespace {

struct ConvertAttributes final : Attributes {
  DType dtype = DType::kF32;
  void fields(FieldVisitor& v) override { v.field("dtype", dtype); }
};

template <class To, class From>
To convert_one(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_floating<From> && std::is_integral_v<To>) {
    if (std::isnan(x)) return 0;
    constexpr double kLow = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double kHigh = static_cast<double>(std::numeric_limits<To>::max());
    if (x <= kLow) return std::numeric_limits<To>::min();
    if (x >= kHigh) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else if constexpr (is_half<To> && std::is_integral_v<From> && sizeof(From) == 8) {
    // Beyond 2^53 the low bits become one sticky bit, so that the rounding to 16 bits is the only one.
    constexpr auto kExact = static_cast<From>(int64_t{1} << 53);
    constexpr auto kLow = static_cast<From>(0xfff);
    if (x > kExact || (std::is_signed_v<From> && x < From(0) - kExact))
      x = (x & ~kLow) | (x & kLow ? kLow + 1 : From(0));
    return To(static_cast<double>(x));
  } else if constexpr (is_half<To> && std::is_integral_v<From>) {
    return To(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

void infer_convert(InferContext& c) {
  c.require_inputs(1);
  c.result({c.attributes<ConvertAttributes>().dtype, c.in(0).shape});
}

void eval_convert(EvalContext& c) {
  const int64_t n = c.out(0).type->elements();
  visit_dtype(c.in(0).type->dtype, [&](auto from) {
    using From = typename decltype(from)::type;
    visit_dtype(c.out(0).type->dtype, [&](auto to) {
      using To = typename decltype(to)::type;
      const From* x = c.in(0).as<From>();
      To* out = c.out(0).as<To>();
      for (int64_t i = 0; i < n; ++i) out[i] = convert_one<To>(static_cast<Compute<From>>(x[i]));
    });
  });
}

void gradient_convert(GradientContext& c) {
  if (is_float(c.in(0).dtype()) && is_float(c.out(0).dtype()))
    c.set(0, convert(c.cotangent(), c.in(0).dtype()));
}

}  // namespace

const OpDef op_convert = {
    .name = "convert",
    .doc =
        "Elements as `dtype`. To a smaller float: nearest even, once. Float to integer: toward zero, "
        "saturating, NaN "
        "gives 0. To bool: x != 0. Between integers: modulo.",
    .attributes = make_attributes<ConvertAttributes>,
    .infer = infer_convert,
    .eval = eval_convert,
    .gradient = gradient_convert,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor convert(Operand x, DType dtype) {
  CallScope scope(x.at());
  if (x.is_scalar()) return x.as(dtype);
  if (x.tensor().dtype() == dtype) return x.tensor();
  auto attributes = std::make_shared<ConvertAttributes>();
  attributes->dtype = dtype;
  return emit(op_convert, attributes, {x.tensor()});
}

}  // namespace espalier
