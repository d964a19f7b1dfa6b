#include "text/c_expression.h"

#include <unordered_map>

#include "ir/attribute_reader.h"
#include "ops/registry.h"
#include "text/c_types.h"

namespace espalier::c_text {
namespace {

struct Operands {
  const Graph& graph;
  const Node& node;
  std::span<const std::string> text;
  std::set<std::string>& functions;

  const std::string& operator[](size_t i) const { return text[i]; }
  DType dtype(size_t i = 0) const { return graph.type(graph.inputs(node)[i]).dtype; }
  DType result() const { return graph.type(node.first_result).dtype; }
  bool floating() const { return is_float(dtype()); }
  std::string zero() const { return number(dtype(), 0.0); }

  [[noreturn]] void refuse() const {
    throw UnsupportedError("c.dtype", cat(node.op->name, " of ", dtype(), " has no C form"));
  }
  std::string call(const char* function) const {
    if (dtype() != DType::kF32) refuse();
    functions.insert(function);
    std::string arguments;
    for (const std::string& operand : text) arguments += (arguments.empty() ? "" : ", ") + operand;
    return cat(function, "(", arguments, ")");
  }
};
using Expression = std::string (*)(const Operands&);

// x (op) y: integers through their unsigned twins, because they wrap.
std::string arithmetic(const Operands& x, const char* op) {
  if (x.floating()) return cat(x[0], " ", op, " ", x[1]);
  if (x.dtype() == DType::kBool) x.refuse();
  const std::string wide = sum_type(x.dtype());
  return cat("(", c_type(x.dtype()), ")((", wide, ")", x[0], " ", op, " (", wide, ")", x[1], ")");
}
std::string bitwise(const Operands& x, const char* op) {
  return cat("(", c_type(x.dtype()), ")(", x[0], " ", op, " ", x[1], ")");
}

// NaN wins. Compilers warn of what is compared with itself.
std::string choose(const Operands& x, const char* op) {
  if (x[0] == x[1]) return x[0];
  const std::string other = x.floating() ? cat(" || ", x[0], " != ", x[0]) : "";
  return cat(x[0], " ", op, " ", x[1], other, " ? ", x[0], " : ", x[1]);
}

std::string negative(const Operands& x) {
  if (x.floating()) return "-" + x[0];
  return cat("(", c_type(x.dtype()), ")(0u - (", sum_type(x.dtype()), ")", x[0], ")");
}

std::string absolute(const Operands& x) {
  // 0 - x, so that no zero has a sign.
  if (x.floating()) return cat(x[0], " <= ", x.zero(), " ? ", x.zero(), " - ", x[0], " : ", x[0]);
  return cat(x[0], " < ", x.zero(), " ? ", negative(x), " : ", x[0]);
}

std::string quotient(const Operands& x) {
  if (x.floating()) return cat(x[0], " / ", x[1]);
  const std::string type = c_type(x.dtype());
  const std::string wrap = is_signed_integer(x.dtype()) ? cat(x[1], " == -1 ? ", negative(x), " : ") : "";
  return cat("(", type, ")(", x[1], " == 0 ? (", type, ")-1 : ", wrap, x[0], " / ", x[1], ")");
}

std::string remaining(const Operands& x) {
  if (x.floating()) return x.call("remainder_f32");
  const std::string wrap = is_signed_integer(x.dtype()) ? cat(x[1], " == -1 ? 0 : ") : "";
  return cat("(", c_type(x.dtype()), ")(", x[1], " == 0 ? ", x[0], " : ", wrap, x[0], " % ", x[1], ")");
}

std::string compared(const Operands& x) {
  constexpr const char* kSigns[] = {"==", "!=", ">=", ">", "<=", "<"};
  constexpr int64_t kTotalOrder = 2;
  if (read_integer(x.node.attributes.get(), "compare_type") == kTotalOrder) x.refuse();
  const std::string sign = kSigns[read_integer(x.node.attributes.get(), "comparison_direction")];
  if (x[0] == x[1] && !x.floating()) {
    const bool holds = sign == "==" || sign == ">=" || sign == "<=";
    return cat("(uint8_t)(", x[0], " - ", x[1], holds ? " == 0)" : " != 0)");
  }
  return cat("(uint8_t)(", x[0], " ", sign, " ", x[1], ")");
}

std::string clamped(const Operands& x) {
  const std::string &low = x[0], &value = x[1], &high = x[2];
  const std::string raised = cat("(", value, " < ", low, " ? ", low, " : ", value, ")");
  const std::string out = cat(high, " < ", raised, " ? ", high, " : ", raised);
  if (!x.floating()) return out;
  return cat(value, " != ", value, " ? ", value, " : ", low, " != ", low, " ? ", low, " : ", high,
             " != ", high, " ? ", high, " : ", out);
}

// Floats to integers: toward zero, what does not fit as the nearest that does, NaN as 0.
std::string converted(const Operands& x) {
  const DType to = x.result();
  const std::string type = c_type(to);
  if (to == DType::kBool) return cat("(uint8_t)(", x[0], " != ", x.zero(), ")");
  if (!x.floating() || is_float(to)) return cat("(", type, ")", x[0]);
  const int bits = static_cast<int>(8 * size_of(to)) - is_signed_integer(to);
  const double above = std::ldexp(1.0, bits), below = is_signed_integer(to) ? -above : 0;
  const std::string high =
      is_signed_integer(to) ? cat("INT", 8 * size_of(to), "_MAX") : cat("UINT", 8 * size_of(to), "_MAX");
  const std::string low = is_signed_integer(to) ? cat("INT", 8 * size_of(to), "_MIN") : "0";
  return cat("(", type, ")(", x[0], " != ", x[0], " ? 0 : ", x[0], " <= ", number(x.dtype(), below), " ? ",
             low, " : ", x[0], " >= ", number(x.dtype(), above), " ? ", high, " : (", type, ")", x[0], ")");
}

std::string sign_of(const Operands& x) {
  const std::string zero = x.zero(), one = number(x.dtype(), 1.0), minus = number(x.dtype(), -1.0);
  return cat(x[0], " > ", zero, " ? ", one, " : ", x[0], " < ", zero, " ? ", minus, " : ", x[0]);
}

std::string inverted(const Operands& x) {
  if (x.dtype() == DType::kBool) return "(uint8_t)!" + x[0];
  return cat("(", c_type(x.dtype()), ")~", x[0]);
}

std::string unsigned_type(DType dtype) { return cat("uint", 8 * size_of(dtype), "_t"); }

// By as many bits as the type has, or more, all go. What is shifted to the left is promoted without a sign.
std::string shifted(const Operands& x, const char* op, const std::string& as) {
  return cat("(", c_type(x.dtype()), ")((", unsigned_type(x.dtype()), ")", x[1], " < ",
             8 * size_of(x.dtype()), " ? (", as, ")", x[0], " ", op, " ", x[1], " : 0)");
}

// The sign enters. C leaves open what >> does with a number below zero.
std::string shifted_with_sign(const Operands& x) {
  const size_t bits = 8 * size_of(x.dtype());
  const std::string number = is_signed_integer(x.dtype()) ? x[0] : cat("(int", bits, "_t)", x[0]);
  const std::string by =
      cat("((", unsigned_type(x.dtype()), ")", x[1], " < ", bits, " ? ", x[1], " : ", bits - 1, ")");
  return cat("(", c_type(x.dtype()), ")(", number, " < 0 ? ~(~", number, " >> ", by, ") : ", number, " >> ",
             by, ")");
}

std::string counted_bits(const Operands& x, const char* function, const std::string& from) {
  x.functions.insert(function);
  return cat("(", c_type(x.dtype()), ")(", from, function, "((", unsigned_type(x.dtype()), ")", x[0], "))");
}

std::string recast(const Operands& x) {
  if (x.dtype() == x.result()) return x[0];
  if (!x.floating() && !is_float(x.result())) return cat("(", c_type(x.result()), ")", x[0]);
  if (x.dtype() == DType::kF64 || x.result() == DType::kF64) x.refuse();
  const std::string function = x.floating() ? "bits_f32" : "from_bits_f32";
  x.functions.insert(function);
  return cat("(", c_type(x.result()), ")", function, "(", x[0], ")");
}

std::string reduced(const Operands& x) {
  if (x.dtype() != DType::kF32) x.refuse();
  x.functions.insert("reduced_f32");
  const auto bits = [&](const char* name) { return read_integer(x.node.attributes.get(), name); };
  return cat("reduced_f32(", x[0], ", ", std::min<int64_t>(bits("exponent_bits"), 8), ", ",
             std::min<int64_t>(bits("mantissa_bits"), 23), ")");
}

// A difference of a number with itself is zero, of infinity or NaN it is NaN.
std::string finite(const Operands& x) { return cat("(uint8_t)(", x[0], " - ", x[0], " == ", x.zero(), ")"); }

const std::unordered_map<const OpDef*, Expression>& expressions() {
  static const std::unordered_map<const OpDef*, Expression> table = {
      {&op_add, [](const Operands& x) { return arithmetic(x, "+"); }},
      {&op_subtract, [](const Operands& x) { return arithmetic(x, "-"); }},
      {&op_multiply, [](const Operands& x) { return arithmetic(x, "*"); }},
      {&op_divide, quotient},
      {&op_remainder, remaining},
      {&op_maximum, [](const Operands& x) { return choose(x, ">"); }},
      {&op_minimum, [](const Operands& x) { return choose(x, "<"); }},
      {&op_and, [](const Operands& x) { return bitwise(x, "&"); }},
      {&op_or, [](const Operands& x) { return bitwise(x, "|"); }},
      {&op_xor, [](const Operands& x) { return bitwise(x, "^"); }},
      {&op_not, inverted},
      {&op_shift_left, [](const Operands& x) { return shifted(x, "<<", sum_type(x.dtype())); }},
      {&op_shift_right_logical, [](const Operands& x) { return shifted(x, ">>", unsigned_type(x.dtype())); }},
      {&op_shift_right_arithmetic, shifted_with_sign},
      {&op_popcnt, [](const Operands& x) { return counted_bits(x, "ones_u64", ""); }},
      {&op_count_leading_zeros,
       [](const Operands& x) { return counted_bits(x, "width_u64", cat(8 * size_of(x.dtype()), "u - ")); }},
      {&op_bitcast_convert, recast},
      {&op_reduce_precision, reduced},
      {&op_negate, negative},
      {&op_abs, absolute},
      {&op_sign, sign_of},
      {&op_is_finite, finite},
      {&op_compare, compared},
      {&op_select, [](const Operands& x) { return cat(x[0], " ? ", x[1], " : ", x[2]); }},
      {&op_clamp, clamped},
      {&op_convert, converted},
      {&op_relu, [](const Operands& x) { return cat(x[0], " <= ", x.zero(), " ? ", x.zero(), " : ", x[0]); }},
      {&op_exponential, [](const Operands& x) { return x.call("exp_f32"); }},
      {&op_exponential_minus_one, [](const Operands& x) { return x.call("expm1_f32"); }},
      {&op_log, [](const Operands& x) { return x.call("log_f32"); }},
      {&op_log_plus_one, [](const Operands& x) { return x.call("log1p_f32"); }},
      {&op_tanh, [](const Operands& x) { return x.call("tanh_f32"); }},
      {&op_logistic, [](const Operands& x) { return x.call("logistic_f32"); }},
      {&op_erf, [](const Operands& x) { return x.call("erf_f32"); }},
      {&op_erfc, [](const Operands& x) { return x.call("erfc_f32"); }},
      {&op_lgamma, [](const Operands& x) { return x.call("lgamma_f32"); }},
      {&op_sine, [](const Operands& x) { return x.call("sine_f32"); }},
      {&op_cosine, [](const Operands& x) { return x.call("cosine_f32"); }},
      {&op_tan, [](const Operands& x) { return x.call("tan_f32"); }},
      {&op_atan2, [](const Operands& x) { return x.call("atan2_f32"); }},
      {&op_cbrt, [](const Operands& x) { return x.call("cbrt_f32"); }},
      {&op_sqrt, [](const Operands& x) { return x.call("sqrt_f32"); }},
      {&op_rsqrt, [](const Operands& x) { return "1.0f / " + x.call("sqrt_f32"); }},
      {&op_floor, [](const Operands& x) { return x.call("floor_f32"); }},
      {&op_ceil, [](const Operands& x) { return x.call("ceil_f32"); }},
      {&op_round_nearest_even, [](const Operands& x) { return x.call("rint_f32"); }},
      {&op_round_nearest_afz, [](const Operands& x) { return x.call("round_f32"); }},
      {&op_power, [](const Operands& x) { return x.call("pow_f32"); }},
  };
  return table;
}

}  // namespace

bool has_expression(const OpDef& op) { return expressions().contains(&op); }

std::string expression(const Graph& graph, const Node& node, std::span<const std::string> operands,
                       std::set<std::string>& functions) {
  return expressions().at(node.op)({graph, node, operands, functions});
}

}  // namespace espalier::c_text
