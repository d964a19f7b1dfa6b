#include "espalier/ops.h"
#include "format/onnx/exporter.h"

namespace espalier::onnx {
namespace {

struct Named {
  const OpDef* op;
  const char* onnx;
};

// Ops that are one operator of the same operands.
const Named kSame[] = {{&op_abs, "Abs"},           {&op_acos, "Acos"},   {&op_acosh, "Acosh"},
                       {&op_asin, "Asin"},         {&op_asinh, "Asinh"}, {&op_atan, "Atan"},
                       {&op_atanh, "Atanh"},       {&op_ceil, "Ceil"},   {&op_cosh, "Cosh"},
                       {&op_cosine, "Cos"},        {&op_erf, "Erf"},     {&op_exponential, "Exp"},
                       {&op_floor, "Floor"},       {&op_log, "Log"},     {&op_logistic, "Sigmoid"},
                       {&op_negate, "Neg"},        {&op_relu, "Relu"},   {&op_round_nearest_even, "Round"},
                       {&op_sign, "Sign"},         {&op_sine, "Sin"},    {&op_sinh, "Sinh"},
                       {&op_softplus, "Softplus"}, {&op_sqrt, "Sqrt"},   {&op_tan, "Tan"},
                       {&op_tanh, "Tanh"},         {&op_divide, "Div"},  {&op_power, "Pow"},
                       {&op_subtract, "Sub"},      {&op_select, "Where"}};

// The same with another operator for bool, where that exists; null where there is none.
struct ByKind {
  const OpDef* op;
  const char *number, *boolean;
};
const ByKind kByKind[] = {{&op_add, "Add", "Or"},     {&op_multiply, "Mul", "And"},
                          {&op_maximum, "Max", "Or"}, {&op_minimum, "Min", "And"},
                          {&op_and, nullptr, "And"},  {&op_or, nullptr, "Or"},
                          {&op_xor, nullptr, "Xor"},  {&op_not, nullptr, "Not"}};

const char* const kComparisons[] = {"Equal", "Equal", "GreaterOrEqual", "Greater", "LessOrEqual", "Less"};
constexpr int64_t kTotalOrder = 2;

using Names = std::span<const std::string>;

std::string compare(Exporter& e, const espalier::Node& node, Names x) {
  const int64_t direction = read_integer(node.attributes.get(), "comparison_direction");
  const DType dtype = e.type(e.graph().inputs(node)[0]).dtype;
  if (read_integer(node.attributes.get(), "compare_type") == kTotalOrder && is_float(dtype))
    e.refuse(node, "ONNX has no total order of floats");
  const bool equality = direction <= static_cast<int64_t>(Comparison::kNE);
  std::string a = x[0], b = x[1];
  if (dtype == DType::kBool && !equality) {
    a = e.cast(a, dtype, DType::kI32);
    b = e.cast(b, dtype, DType::kI32);
  }
  const std::string out = e.emit(kComparisons[direction], {a, b});
  return direction == static_cast<int64_t>(Comparison::kNE) ? e.emit("Not", {out}) : out;
}

// The ones of more than one operator, or with attributes.
struct Composed {
  const OpDef* op;
  std::string (*emit)(Exporter& e, const espalier::Node& node, Names x);
};

DType operand_dtype(const Exporter& e, const espalier::Node& node) {
  return e.type(e.graph().inputs(node)[0]).dtype;
}
float real(const espalier::Node& node, const char* name) {
  return static_cast<float>(read_real(node.attributes.get(), name));
}
std::string convert(Exporter& e, const espalier::Node& node, Names x) {
  return e.cast(x[0], operand_dtype(e, node), e.type(node.first_result).dtype);
}
std::string clamp(Exporter& e, const espalier::Node&, Names x) {
  return e.emit("Min", {e.emit("Max", {x[1], x[0]}), x[2]});
}
std::string elu(Exporter& e, const espalier::Node& node, Names x) {
  return e.emit("Elu", {x[0]}, {{"alpha", real(node, "alpha")}});
}
std::string leaky_relu(Exporter& e, const espalier::Node& node, Names x) {
  return e.emit("LeakyRelu", {x[0]}, {{"alpha", real(node, "negative_slope")}});
}
std::string erfc(Exporter& e, const espalier::Node& node, Names x) {
  return e.emit("Sub", {e.scalar(operand_dtype(e, node), 1), e.emit("Erf", {x[0]})});
}
// tanh(x / 2) (e^x + 1): e^x - 1 would be 0 for what is small.
std::string exponential_minus_one(Exporter& e, const espalier::Node& node, Names x) {
  const DType dtype = operand_dtype(e, node);
  const std::string above = e.emit("Add", {e.emit("Exp", {x[0]}), e.scalar(dtype, 1)});
  return e.emit("Mul", {e.emit("Tanh", {e.emit("Mul", {x[0], e.scalar(dtype, 0.5)})}), above});
}
// 2 atanh(x / (2 + x)) below 1/2: 1 + x would be 1 for what is small.
std::string log_plus_one(Exporter& e, const espalier::Node& node, Names x) {
  const DType dtype = operand_dtype(e, node);
  const std::string two = e.scalar(dtype, 2), ratio = e.emit("Div", {x[0], e.emit("Add", {x[0], two})});
  return e.emit("Where", {e.emit("Less", {e.emit("Abs", {x[0]}), e.scalar(dtype, 0.5)}),
                          e.emit("Mul", {e.emit("Atanh", {ratio}), two}),
                          e.emit("Log", {e.emit("Add", {x[0], e.scalar(dtype, 1)})})});
}
std::string rsqrt(Exporter& e, const espalier::Node&, Names x) {
  return e.emit("Reciprocal", {e.emit("Sqrt", {x[0]})});
}
std::string is_finite(Exporter& e, const espalier::Node&, Names x) {
  return e.emit("Not", {e.emit("Or", {e.emit("IsInf", {x[0]}), e.emit("IsNaN", {x[0]})})});
}
std::string remainder(Exporter& e, const espalier::Node&, Names x) {
  return e.emit("Mod", {x[0], x[1]}, {{"fmod", int64_t{1}}});
}

// f(operands, dtype) where 16-bit floats are computed in f32.
std::string widened(Exporter& e, const espalier::Node& node, Names x,
                    std::string (*f)(Exporter& e, Names x, DType dtype)) {
  const DType dtype = operand_dtype(e, node), wide = size_of(dtype) == 2 ? DType::kF32 : dtype;
  std::vector<std::string> operands;
  for (const std::string& operand : x) operands.push_back(e.cast(operand, dtype, wide));
  return e.cast(f(e, operands, wide), wide, dtype);
}
// Below zero, or the zero with a sign.
std::string is_negative(Exporter& e, const std::string& x, DType dtype) {
  const std::string zero = e.scalar(dtype, 0), inverse = e.emit("Reciprocal", {x});
  return e.emit("Or", {e.emit("Less", {x, zero}), e.emit("Less", {inverse, zero})});
}
// `size` with the sign of x. By a product: onnxruntime's Where loses the sign of zero.
std::string with_sign_of(Exporter& e, const std::string& x, const std::string& size, DType dtype) {
  const std::string sign =
      e.emit("Where", {is_negative(e, x, dtype), e.scalar(dtype, -1), e.scalar(dtype, 1)});
  return e.emit("Mul", {size, sign});
}
// The angle in the first quadrant, turned into that of the point. Equal sizes may be both zero or infinite.
std::string atan2(Exporter& e, const espalier::Node& node, Names operands) {
  return widened(e, node, operands, [](Exporter& e, Names x, DType dtype) {
    const std::string up = e.emit("Abs", {x[0]}), along = e.emit("Abs", {x[1]});
    const std::string slope =
        e.emit("Where", {e.emit("Equal", {up, along}), e.emit("Sign", {up}), e.emit("Div", {up, along})});
    const std::string first = e.emit("Atan", {slope});
    const std::string mirrored = e.emit("Sub", {e.scalar(dtype, 3.141592653589793), first});
    const std::string upper = e.emit("Where", {is_negative(e, x[1], dtype), mirrored, first});
    return with_sign_of(e, x[0], upper, dtype);
  });
}
// A step of Newton's method mends the power, whose exponent is no exact third. Zeros and infinities, which
// alone are equal to their double, stay.
std::string cbrt(Exporter& e, const espalier::Node& node, Names operands) {
  return widened(e, node, operands, [](Exporter& e, Names x, DType dtype) {
    const std::string size = e.emit("Abs", {x[0]}), third = e.scalar(dtype, 1.0 / 3);
    const std::string root = e.emit("Pow", {size, third});
    const std::string excess = e.emit("Sub", {root, e.emit("Div", {size, e.emit("Mul", {root, root})})});
    const std::string better = e.emit("Sub", {root, e.emit("Mul", {excess, third})});
    const std::string same = e.emit("Equal", {size, e.emit("Add", {size, size})});
    return with_sign_of(e, x[0], e.emit("Where", {same, size, better}), dtype);
  });
}
// Halves away from zero. The fraction is exact; |x| + 1/2 would round.
std::string round_nearest_afz(Exporter& e, const espalier::Node& node, Names x) {
  const DType dtype = operand_dtype(e, node);
  const std::string size = e.emit("Abs", {x[0]}), whole = e.emit("Floor", {size});
  const std::string up = e.emit("GreaterOrEqual", {e.emit("Sub", {size, whole}), e.scalar(dtype, 0.5)});
  const std::string above = e.emit("Add", {whole, e.scalar(dtype, 1)});
  return with_sign_of(e, x[0], e.emit("Where", {up, above, whole}), dtype);
}

const Composed kComposed[] = {{&op_compare, compare},
                              {&op_convert, convert},
                              {&op_clamp, clamp},
                              {&op_elu, elu},
                              {&op_leaky_relu, leaky_relu},
                              {&op_erfc, erfc},
                              {&op_exponential_minus_one, exponential_minus_one},
                              {&op_log_plus_one, log_plus_one},
                              {&op_rsqrt, rsqrt},
                              {&op_is_finite, is_finite},
                              {&op_atan2, atan2},
                              {&op_cbrt, cbrt},
                              {&op_round_nearest_afz, round_nearest_afz},
                              {&op_remainder, remainder}};

}  // namespace

bool export_elementwise(Exporter& e, const espalier::Node& node) {
  if (node.op == &op_optimization_barrier) {
    for (uint32_t i = 0; i < node.result_count; ++i)
      e.set(node.first_result + i, Stored(e.stored(e.graph().inputs(node)[i])));
    return true;
  }
  if (node.result_count != 1) return false;
  const char* name = nullptr;
  for (const Named& one : kSame) {
    if (one.op == node.op) name = one.onnx;
  }
  for (const ByKind& one : kByKind) {
    if (one.op != node.op) continue;
    const DType dtype = e.type(node.first_result).dtype;
    name = dtype == DType::kBool ? one.boolean : one.number;
    if (!name) e.refuse(node, cat("ONNX has no such operator on ", dtype, " in operator set ", kOpset));
  }
  if (name) {
    e.elementwise(node, [&](Names x) { return e.emit(name, {x.begin(), x.end()}); });
    return true;
  }
  for (const Composed& one : kComposed) {
    if (one.op != node.op) continue;
    e.elementwise(node, [&](Names x) { return one.emit(e, node, x); });
    return true;
  }
  return false;
}

}  // namespace espalier::onnx
