// Which values of a graph are read from memory and until when, and which outputs may take places of inputs.
#pragma once

#include <span>
#include <vector>

#include "ir/alias.h"
#include "runtime/fusion.h"

namespace espalier {

// Inputs and the outputs that they are donated to; kNone where there is none.
struct Donations {
  std::vector<uint32_t> output_of;  // per input: the output that it is donated to
  std::vector<uint32_t> input_of;   // per output: the input that is donated to it
};
// Raises InternalError for types that differ, and an input or output that stands in two pairs.
Donations find_donations(const Graph& graph, std::span<const Alias> pairs);

// Whether output `index` is the very input that is donated to it.
bool is_unchanged(const Graph& graph, const Units& units, const Donations& donations, uint32_t index);

struct Uses {
  static constexpr uint32_t kNever = kNone;
  // Per root: the last unit that reads it from memory; the number of units: an output does.
  std::vector<uint32_t> last;
  std::vector<uint32_t> reads;     // per root: how often it is read; an output is one, too
  std::vector<ValueId> constants;  // read from memory, in ascending order
};
Uses find_uses(const Graph& graph, const Units& units, const Donations& donations);

// Whether who reads the constant by element needs no more than its first.
inline bool is_one_element(const Literal& literal) {
  return literal.is_splat() || literal.type().elements() == 1;
}

}  // namespace espalier
