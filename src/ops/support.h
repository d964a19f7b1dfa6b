// Which dtypes an op takes, found by asking its rule.
#pragma once

#include <array>

#include "ir/op.h"

namespace espalier {

using DTypeFlags = std::array<bool, kDTypeCount>;

// The dtypes for which the op's `sample` succeeds, or, without one, for which its rule takes some small
// operands of that dtype (the first may be bool) under default attributes.
DTypeFlags supported_dtypes(const OpDef& op);

}  // namespace espalier
