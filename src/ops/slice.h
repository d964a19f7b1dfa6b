// Slices: a start, a limit and a stride an axis.
#pragma once

#include "ir/op.h"

namespace espalier {

struct SliceAttributes final : Attributes {
  Dims start, limit, strides;
  void fields(FieldVisitor& v) override {
    v.field("start_indices", start);
    v.field("limit_indices", limit);
    v.field("strides", strides);
  }
};

}  // namespace espalier
