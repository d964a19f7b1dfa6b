#pragma once

#include "ops/regions.h"

namespace espalier {

struct CallAttributes final : Attributes {
  std::string callee;
  void fields(FieldVisitor& v) override { v.field("callee", callee); }
};

}  // namespace espalier
