// A program of one process of several, each of which has a device of its own: collectives meet the others.
#pragma once

#include <memory>
#include <span>

#include "ir/device.h"

namespace espalier {

// Whether it meets other processes, or asks which one it is.
bool meets_processes(const Graph& graph);

// For the process of a context. The graph is cut where it meets others: a stage on the device for what
// each collective needs and was not computed yet, in their order, and one for the rest. What a collective
// takes is downloaded, met in host memory by the communicator of the run's context, on a thread beside it,
// and what it gives is uploaded, while the device computes the next stage. Old values of variables give their
// memory in the last stage alone, behind all that may fail. Raises UnsupportedError[device.program] for a
// collective in a region, and what Device::compile raises.
std::shared_ptr<const DeviceProgram> compile_in_stages(const Graph& graph, const ProgramOptions& options,
                                                       Device& device, const RunContext& context);

}  // namespace espalier
