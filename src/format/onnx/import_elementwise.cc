#include <limits>

#include "format/onnx/importer.h"
#include "ops/call.h"

namespace espalier::onnx {
namespace {

// Folds an operator of any number of operands from the left.
template <class F>
Results fold(const Operator& o, F f) {
  Tensor out = o.in(0);
  for (size_t i = 1; i < o.inputs().size(); ++i) out = f(out, o.in(i));
  return {out};
}

Tensor mod(const Tensor& a, const Tensor& b, bool by_sign_of_dividend) {
  const Tensor rest = remainder(a, b);
  if (by_sign_of_dividend) return rest;
  const auto negative = [](const Tensor& x) { return compare(x, 0, Comparison::kLT); };
  const Tensor moved = compare(rest, 0, Comparison::kNE) & (negative(rest) ^ negative(b));
  return select(moved, rest + b, rest);
}

// The result has the base's type; an exponent keeps its fraction until then.
Tensor pow(const Tensor& base, const Tensor& exponent) {
  if (is_float(base.dtype()) || !is_float(exponent.dtype()))
    return power(base, convert(exponent, base.dtype()));
  return convert(power(convert(base, DType::kF64), convert(exponent, DType::kF64)), base.dtype());
}

Tensor where(const Tensor& predicate, const Tensor& yes, const Tensor& no) {
  const Shape shape =
      broadcast_shapes("where", broadcast_shapes("where", yes.shape(), no.shape()), predicate.shape());
  return select(broadcast_like(predicate, shape), broadcast_like(yes, shape), broadcast_like(no, shape));
}

Tensor clip(const Operator& o) {
  Tensor x = o.in(0);
  if (o.has(1)) x = maximum(x, o.in(1));
  if (o.has(2)) x = minimum(x, o.in(2));
  return x;
}

Tensor hard_sigmoid(const Tensor& x, double alpha, double beta) { return clamp(0, x * alpha + beta, 1); }

Tensor cast(const Operator& o) {
  if (!o.has_attribute("to")) bad_node("needs the attribute to");
  return convert(o.in(0), dtype_of_data_type(o.integer("to", 0), "its result"));
}

Tensor gelu(const Operator& o) {
  const std::string approximate = o.word("approximate", "none");
  if (approximate != "none" && approximate != "tanh") bad_node(cat("approximate is \"", approximate, "\""));
  return espalier::gelu(o.in(0), approximate == "tanh");
}

Tensor dropout(const Operator& o) {
  if (o.has(2)) {
    const Tensor& training = o.in(2);
    if (training.dtype() != DType::kBool || !training.concrete() || training.type().elements() != 1 ||
        *static_cast<const bool*>(training.bytes()))
      unread_node("dropout in training");
  }
  return o.in(0);
}

#define UNARY(onnx, function)                                              \
  {                                                                        \
    onnx, [](const Operator& o) -> Results { return {function(o.in(0))}; } \
  }
#define BINARY(onnx, function)                                                      \
  {                                                                                 \
    onnx, [](const Operator& o) -> Results { return {function(o.in(0), o.in(1))}; } \
  }
#define COMPARE(onnx, direction)                                                                          \
  {                                                                                                       \
    onnx, [](const Operator& o) -> Results { return {compare(o.in(0), o.in(1), Comparison::direction)}; } \
  }

const ImportRule kElementwiseRules[] = {
    UNARY("Abs", abs),
    UNARY("Acos", acos),
    UNARY("Acosh", acosh),
    UNARY("Asin", asin),
    UNARY("Asinh", asinh),
    UNARY("Atan", atan),
    UNARY("Atanh", atanh),
    UNARY("Ceil", ceil),
    UNARY("Cos", cosine),
    UNARY("Cosh", cosh),
    UNARY("Erf", erf),
    UNARY("Exp", exponential),
    UNARY("Floor", floor),
    UNARY("Identity", Tensor),
    UNARY("Log", log),
    UNARY("Neg", negate),
    UNARY("Not", bitwise_not),
    UNARY("Relu", relu),
    UNARY("Round", round_nearest_even),
    UNARY("Sigmoid", logistic),
    UNARY("Sign", sign),
    UNARY("Sin", sine),
    UNARY("Sinh", sinh),
    UNARY("Softplus", softplus),
    UNARY("Sqrt", sqrt),
    UNARY("Tan", tan),
    UNARY("Tanh", tanh),
    BINARY("Add", add),
    BINARY("Sub", subtract),
    BINARY("Mul", multiply),
    BINARY("Div", divide),
    BINARY("And", bitwise_and),
    BINARY("Or", bitwise_or),
    BINARY("Xor", bitwise_xor),
    COMPARE("Equal", kEQ),
    COMPARE("Less", kLT),
    COMPARE("LessOrEqual", kLE),
    COMPARE("Greater", kGT),
    COMPARE("GreaterOrEqual", kGE),
    {"Sum", [](const Operator& o) { return fold(o, add); }},
    {"Max", [](const Operator& o) { return fold(o, maximum); }},
    {"Min", [](const Operator& o) { return fold(o, minimum); }},
    {"Pow", [](const Operator& o) -> Results { return {pow(o.in(0), o.in(1))}; }},
    {"Mod", [](const Operator& o) -> Results { return {mod(o.in(0), o.in(1), o.integer("fmod", 0) != 0)}; }},
    {"Where", [](const Operator& o) -> Results { return {where(o.in(0), o.in(1), o.in(2))}; }},
    {"Clip", [](const Operator& o) -> Results { return {clip(o)}; }},
    {"Cast", [](const Operator& o) -> Results { return {cast(o)}; }},
    {"Dropout", [](const Operator& o) -> Results { return {dropout(o)}; }},
    {"Elu", [](const Operator& o) -> Results { return {elu(o.in(0), o.real("alpha", 1))}; }},
    {"Gelu", [](const Operator& o) -> Results { return {gelu(o)}; }},
    {"LeakyRelu", [](const Operator& o) -> Results { return {leaky_relu(o.in(0), o.real("alpha", 0.01))}; }},
    {"PRelu",
     [](const Operator& o) -> Results {
       const Tensor& x = o.in(0);
       return {where(compare(x, 0, Comparison::kLT), x * o.in(1), x)};
     }},
    {"HardSigmoid",
     [](const Operator& o) -> Results {
       return {hard_sigmoid(o.in(0), o.real("alpha", 0.2), o.real("beta", 0.5))};
     }},
    {"HardSwish",
     [](const Operator& o) -> Results { return {o.in(0) * hard_sigmoid(o.in(0), 1.0 / 6, 0.5)}; }},
    {"Reciprocal", [](const Operator& o) -> Results { return {1 / o.in(0)}; }},
    {"IsNaN", [](const Operator& o) -> Results { return {compare(o.in(0), o.in(0), Comparison::kNE)}; }},
    {"IsInf",
     [](const Operator& o) -> Results {
       if (o.integer("detect_negative", 1) != 1 || o.integer("detect_positive", 1) != 1)
         unread_node("IsInf of one sign");
       return {compare(abs(o.in(0)), std::numeric_limits<double>::infinity(), Comparison::kEQ)};
     }},
};

#undef UNARY
#undef BINARY
#undef COMPARE

}  // namespace

std::span<const ImportRule> elementwise_imports() { return kElementwiseRules; }

}  // namespace espalier::onnx
