// The one op that the graph itself needs: a literal.
#pragma once

#include "ir/op.h"

namespace espalier {

extern const OpDef op_constant;  // ops/constant.cc

struct ConstantAttributes final : Attributes {
  Literal value;
  void fields(FieldVisitor& v) override { v.field("value", value); }
};

inline AttributesPtr constant_attributes(Literal value) {
  auto attributes = std::make_shared<ConstantAttributes>();
  attributes->value = std::move(value);
  return attributes;
}

}  // namespace espalier
