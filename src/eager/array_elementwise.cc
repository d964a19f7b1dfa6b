#include "eager/array.h"

namespace espalier {

Tensor where(Operand condition, Operand a, Operand b) { return select(condition, a, b); }

Tensor equal(Operand a, Operand b) { return compare(a, b, Comparison::kEQ); }
Tensor not_equal(Operand a, Operand b) { return compare(a, b, Comparison::kNE); }
Tensor greater(Operand a, Operand b) { return compare(a, b, Comparison::kGT); }
Tensor greater_equal(Operand a, Operand b) { return compare(a, b, Comparison::kGE); }
Tensor less(Operand a, Operand b) { return compare(a, b, Comparison::kLT); }
Tensor less_equal(Operand a, Operand b) { return compare(a, b, Comparison::kLE); }

Tensor clip(Operand x, Operand low, Operand high) {
  CallScope scope(x.at());
  return minimum(maximum(x, low), high);
}

}  // namespace espalier
