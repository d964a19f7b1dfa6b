// Products, windows, reductions and gathers as nests of loops around one sum.
#pragma once

#include <functional>
#include <string>

#include "text/c_loops.h"

namespace espalier::c_text {

struct Read {
  ValueId value = kNone;
  Indices indices = {};
};
// A counter that the body sets: an element of an index array, held between 0 and `most`.
struct Start {
  Read read;
  int64_t most = 0;
};

struct Core {
  Nest nest;
  Indices result;  // the index of the result by the outer counters
  std::vector<Start> starts = {};
  std::vector<Read> reads = {};  // what the innermost loop reads
  // The first value of the sum: a text, or what is read.
  std::string initial = "";
  Read initial_read = {};
  // The statement that adds what is read to `sum`; null: the initial value is all there is.
  std::function<std::string(const std::vector<std::string>&)> update = nullptr;
};

// Raises UnsupportedError[c.window] for gaps between the elements of an operand, [c.batches] for groups of
// batches, [c.initial] for padding that is not the reducer's identity.
Core core_of(const Graph& graph, const Node& node);

}  // namespace espalier::c_text
