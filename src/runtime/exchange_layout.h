// Memory that other ranks reach: what of the values of a plan lies there.
#pragma once

#include <unordered_map>

#include "runtime/uses.h"

namespace espalier {

struct ExchangeLayout {
  std::unordered_map<ValueId, uint64_t> of_value;  // offsets
  std::unordered_map<uint32_t, uint64_t> of_unit;  // of collectives that work there in place: their first
  uint64_t bytes = 0;
};

// Operands and results of a collective that works in place lie one behind the other. An operand that is read
// later, or that another collective sends, is copied there.
ExchangeLayout lay_out_exchange(const Graph& graph, const Units& units, const Uses& uses);

}  // namespace espalier
