// When the collectives of a graph begin and end: what others compute goes on meanwhile.
#pragma once

#include <functional>
#include <vector>

#include "runtime/fusion.h"

namespace espalier {

// A collective that runs in two parts, as unit `unit`: it begins before the step of unit `begin`, where what
// it sends is written and read by nobody else, and ends before that of `end`.
struct SplitCollective {
  uint32_t unit, begin, end;
};

// All collectives of the graph, in the order in which they begin, which is the one in which they end: an
// order of the graph alone, so that of all ranks. A collective ends just before the first result of any that
// began no earlier is read. None where one of them cannot begin apart, runs in a region, or sends what
// another received: then all stand where the graph has them. `in_place`: whether unit `unit`, a collective,
// works on the bytes of the value `root`, whose other readers are to come before it.
std::vector<SplitCollective> schedule_collectives(
    const Graph& graph, const Units& units, const std::function<bool(ValueId root, uint32_t unit)>& in_place);

}  // namespace espalier
