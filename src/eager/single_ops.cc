#include "eager/single_ops.h"

#include "base/format.h"
#include "base/told.h"
#include "espalier/error.h"
#include "ir/op.h"
#include "place/device_place.h"
#include "runtime/execute.h"

namespace espalier {
namespace {

constexpr size_t kNotedOps = 20;

std::string place_of(const Tensor& tensor) {
  const RemoteArrayPtr& remote = tensor.node()->remote();
  return remote ? remote->device().name() : "the CPU";
}

std::vector<RemoteArrayPtr> operands_there(const Call& call, Device& device) {
  std::vector<RemoteArrayPtr> out;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& input = call.inputs[i];
    if (lies_on(input, device) || (!input.node()->remote() && input.node()->moves())) {
      out.push_back(array_on(input, device));
    } else {
      throw DeviceError("device.mix",
                        cat(call.op.name, " has operands on ", device.name(), ", and input ", i, ", ",
                            input.type(), ", lies on ", place_of(input)),
                        cat("to(tensor, \"", device.name(), "\")"));
    }
  }
  return out;
}

std::shared_ptr<const DeviceProgram> program_there(const Call& call, Device& device,
                                                   const RunContext& context) {
  const GraphPtr graph = graph_of(call, std::string(call.op.name));
  const uint64_t hash = graph->content_hash() * 4 + static_cast<uint64_t>(matmul_precision());
  return device.single_ops.find(graph, hash)->get([&] {
    std::shared_ptr<const DeviceProgram> program;
    try {
      const Told told(context.events, {Activity::Kind::kCompile, call.op.name});
      program = device.compile(*graph);
    } catch (Error& error) {
      error.add(cat("; ", device.name(), " was asked for one op, ", call.op.name));
      throw;
    }
    if (device.single_ops.count_compiled() == kNotedOps)
      device.note(cat(kNotedOps, " single ops were compiled for ", device.name(),
                      ": function() compiles the ops of a whole C++ function at once"));
    return program;
  });
}

}  // namespace

std::vector<Tensor> execute_there(const Call& call, Device& device, const RunContext& context) {
  const std::vector<RemoteArrayPtr> operands = operands_there(call, device);
  const std::shared_ptr<const DeviceProgram> program = program_there(call, device, context);
  const Told told(context.events, {Activity::Kind::kRun, call.op.name});
  std::vector<Tensor> out;
  for (RemoteArrayPtr& result : program->run(operands, {}, context))
    out.push_back(make_remote(std::move(result)));
  return out;
}

}  // namespace espalier
