#include "ops/elementwise.h"

namespace espalier {
namespace {

constexpr const char* kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};

struct CompareAttributes final : Attributes {
  Comparison direction = Comparison::kEQ;
  void fields(FieldVisitor& v) override { v.word("comparison_direction", direction, kDirections); }
};

void infer(InferContext& c) {
  c.require_inputs(2);
  c.require(c.in(0) == c.in(1), "c1", "operands must have one type: ", c.in(0), " and ", c.in(1));
  c.result({DType::kBool, c.in(0).shape});
}

template <class T, class F>
void loop(const T* a, const T* b, bool* out, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) out[i] = f(static_cast<Compute<T>>(a[i]), static_cast<Compute<T>>(b[i]));
}

void eval(EvalContext& c) {
  const int64_t n = c.out(0).type->elements();
  bool* out = c.out(0).as<bool>();
  visit_dtype(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = c.in(0).as<T>(), *b = c.in(1).as<T>();
    switch (c.attributes<CompareAttributes>().direction) {
      case Comparison::kEQ:
        return loop(a, b, out, n, [](auto x, auto y) { return x == y; });
      case Comparison::kNE:
        return loop(a, b, out, n, [](auto x, auto y) { return x != y; });
      case Comparison::kGE:
        return loop(a, b, out, n, [](auto x, auto y) { return x >= y; });
      case Comparison::kGT:
        return loop(a, b, out, n, [](auto x, auto y) { return x > y; });
      case Comparison::kLE:
        return loop(a, b, out, n, [](auto x, auto y) { return x <= y; });
      case Comparison::kLT:
        return loop(a, b, out, n, [](auto x, auto y) { return x < y; });
    }
  });
}

}  // namespace

const OpDef op_compare = {
    .name = "compare",
    .doc =
        "Elementwise comparison by IEEE rules: NaN is unequal to all. c1: operands have one type. Gives "
        "bool.",
    .attributes = make_attributes<CompareAttributes>,
    .infer = infer,
    .eval = eval,
    .no_gradient = "the result is bool",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor compare(Operand a, Operand b, Comparison direction) {
  CallScope scope(a.at());
  if (a.is_scalar() && b.is_scalar()) a.tensor();
  const DType dtype = a.is_scalar() ? b.tensor().dtype() : a.tensor().dtype();
  const Tensor x = a.as(dtype), y = b.as(dtype);
  const Shape shape = broadcast_shapes("compare", x.shape(), y.shape());
  auto attributes = std::make_shared<CompareAttributes>();
  attributes->direction = direction;
  return emit(op_compare, attributes, {broadcast_to(x, shape), broadcast_to(y, shape)});
}

}  // namespace espalier
