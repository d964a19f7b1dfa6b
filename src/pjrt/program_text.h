// A graph as the text that a plugin is given.
#pragma once

#include <string>

#include "ir/device.h"

namespace espalier::pjrt {

// StableHLO without composites, of which XLA computes what StableHLO's specification says. Raises
// UnsupportedError[device.program], naming the node, for what it computes otherwise:
// - scatter, where a window of more than one element may hang over the operand's edge: XLA drops the whole
//   window, the specification the elements outside;
// - reduce_window of padded operands from an initial value that is not the reducer's identity: XLA counts it
//   once a window, the specification once a padded element too;
// - all_to_all without replica groups, and groups of more replicas than there are.
// Collectives of several operands, where XLA's have one, are printed one an operand. A stride of which one
// element is taken is printed as 1: XLA throws over the largest. A constant operand of atan2 stands behind a
// barrier: XLA of jaxlib 0.11.2 gives other numbers for CPUs where it sees its value.
// `replicas`: how many run it; 0: that is not known.
std::string program_text(const Graph& graph, const ProgramOptions& options = {}, size_t replicas = 0);

}  // namespace espalier::pjrt
