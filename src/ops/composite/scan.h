// Calls of scan for those who build loops.
#pragma once

#include "ops/regions.h"

namespace espalier {

struct ScanAttributes final : Attributes {
  int64_t carries = 0, scanned = 0, length = 0;
  bool reverse = false;
  void fields(FieldVisitor& v) override {
    v.field("carries", carries);
    v.field("scanned", scanned);
    v.field("length", length);
    v.field("reverse", reverse);
  }
};

// A scan of `body` over inputs (carries..., scanned...); captures of the body are added after them.
std::vector<Tensor> emit_scan(const ScanAttributes& attributes, std::vector<Tensor> inputs,
                              const RegionSpec& body);
// `type` without its leading axis, and with a leading axis of `length`.
TensorType slice_type(const TensorType& type);
TensorType stack_type(const TensorType& type, int64_t length);

}  // namespace espalier
