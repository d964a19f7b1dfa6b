// Every op, from the list that the build makes of this folder.
#pragma once

#include <span>
#include <string_view>

#include "ir/op.h"

namespace espalier {

#define ESPALIER_OP_ENTRY(op) extern const OpDef op_##op;
#include "ops/op_list.inc"
#undef ESPALIER_OP_ENTRY

// In the order of their names.
std::span<const OpDef* const> all_ops();
// Null when unknown.
const OpDef* find_op(std::string_view name);

}  // namespace espalier
