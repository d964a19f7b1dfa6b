#pragma once

#include "ops/regions.h"

namespace espalier {

// Inputs are `operands` operands, then captures.
struct CustomGradientAttributes final : Attributes {
  int64_t operands = 0;
  void fields(FieldVisitor& v) override { v.field("operands", operands); }
};

}  // namespace espalier
