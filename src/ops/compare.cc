#include "ops/elementwise.h"
#include "ops/total_order.h"

namespace espalier {
namespace {

constexpr const char* kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};

// How operands are compared. Unless TOTALORDER, it only repeats what their dtype says.
enum class Order : uint8_t { kByType, kFloat, kTotalOrder, kSigned, kUnsigned };
constexpr const char* kOrders[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};

struct CompareAttributes final : Attributes {
  Comparison direction = Comparison::kEQ;
  Order order = Order::kByType;
  void fields(FieldVisitor& v) override {
    v.word("comparison_direction", direction, kDirections);
    v.word("compare_type", order, kOrders);
  }
};

bool fits(Order order, DType dtype) {
  switch (order) {
    case Order::kByType:
      return true;
    case Order::kFloat:
    case Order::kTotalOrder:
      return is_float(dtype);
    case Order::kSigned:
      return is_signed_integer(dtype);
    case Order::kUnsigned:
      break;
  }
  return is_unsigned_integer(dtype) || dtype == DType::kBool;
}

void infer_compare(InferContext& c) {
  c.require_inputs(2);
  c.require(c.in(0) == c.in(1), "c1", "operands must have one type: ", c.in(0), " and ", c.in(1));
  const Order order = c.attributes<CompareAttributes>().order;
  c.require_dtype(fits(order, c.in(0).dtype), "c2", "compare_type ", kOrders[static_cast<int>(order)],
                  " does not fit ", c.in(0));
  c.result({DType::kBool, c.in(0).shape});
}

template <class T, class Key>
void loop_compare(EvalContext& c, Key key) {
  const T *a = c.in(0).as<T>(), *b = c.in(1).as<T>();
  bool* out = c.out(0).as<bool>();
  const int64_t n = c.out(0).type->elements();
  const auto each = [&](auto holds) {
    for (int64_t i = 0; i < n; ++i) out[i] = holds(key(a[i]), key(b[i]));
  };
  switch (c.attributes<CompareAttributes>().direction) {
    case Comparison::kEQ:
      return each([](auto x, auto y) { return x == y; });
    case Comparison::kNE:
      return each([](auto x, auto y) { return x != y; });
    case Comparison::kGE:
      return each([](auto x, auto y) { return x >= y; });
    case Comparison::kGT:
      return each([](auto x, auto y) { return x > y; });
    case Comparison::kLE:
      return each([](auto x, auto y) { return x <= y; });
    case Comparison::kLT:
      return each([](auto x, auto y) { return x < y; });
  }
}

void eval_compare(EvalContext& c) {
  visit_dtype(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating<T>) {
      if (c.attributes<CompareAttributes>().order == Order::kTotalOrder)
        return loop_compare<T>(c, total_order<T>);
    }
    loop_compare<T>(c, [](T x) { return static_cast<Compute<T>>(x); });
  });
}

Tensor call_compare(const Operand& a, const Operand& b, Comparison direction, Order order) {
  CallScope scope(a.at());
  const auto [x, y] = same_dtype("compare", a, b);
  const Shape shape = broadcast_shapes("compare", x.shape(), y.shape());
  auto attributes = std::make_shared<CompareAttributes>();
  attributes->direction = direction;
  attributes->order = order;
  return emit(op_compare, attributes, {broadcast_to(x, shape), broadcast_to(y, shape)});
}

}  // namespace

const OpDef op_compare = {
    .name = "compare",
    .doc =
        "Elementwise comparison by IEEE rules: NaN is unequal to all. compare_type TOTALORDER orders floats "
        "as "
        "-NaN < -inf < -0 < +0 < inf < NaN instead; the other words repeat the dtype. c1: operands have one "
        "type. c2: compare_type fits it. Gives bool.",
    .attributes = make_attributes<CompareAttributes>,
    .infer = infer_compare,
    .eval = eval_compare,
    .no_gradient = "the result is bool",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor compare(Operand a, Operand b, Comparison direction) {
  return call_compare(a, b, direction, Order::kByType);
}

Tensor compare_total_order(Operand a, Operand b, Comparison direction) {
  return call_compare(a, b, direction, Order::kTotalOrder);
}

}  // namespace espalier
