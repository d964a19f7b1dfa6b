#include "pjrt/client_program.h"

#include "base/format.h"
#include "pjrt/client_array.h"

namespace espalier::pjrt {
namespace {

// Steps of a loop overlap with two under way: one runs, and what the next one needs is there. More would fill
// the memory with their inputs.
constexpr size_t kRunsBefore = 1;

void check_input(const std::string& program, size_t i, const TensorType& wanted, const TensorType& got) {
  if (wanted == got) return;
  const std::string text = cat("input ", i, " of ", program, " is ", wanted, ", got ", got);
  if (wanted.dtype != got.dtype) throw DTypeError("device.inputs", text);
  throw ShapeError("device.inputs", text);
}

}  // namespace

ClientProgram::ClientProgram(DevicePtr device, AbiLoadedExecutable* loaded, const Graph& graph)
    : device_(std::move(device)), loaded_(loaded), name_(graph.name()) {
  for (const auto& input : graph.inputs()) inputs_.push_back(graph.type(input.value));
  for (const auto& output : graph.outputs()) outputs_.push_back(graph.type(output.value));
}

ClientProgram::~ClientProgram() { device_->client().plugin().destroy(LoadedDestroy{.executable = loaded_}); }

std::vector<RemoteArrayPtr> ClientProgram::run(std::span<const RemoteArrayPtr> inputs,
                                               std::span<const char> donated, const RunContext&) const {
  const Plugin& plugin = device_->client().plugin();
  if (inputs.size() != inputs_.size())
    throw ShapeError("device.inputs",
                     cat(name_, " takes ", counted(inputs_.size(), "input"), ", got ", inputs.size()));
  const size_t replicas = device_->replicas();
  std::vector<int64_t> kept;
  std::vector<const ClientArray*> arrays, given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_input(name_, i, inputs_[i], inputs[i]->type());
    const auto* array = dynamic_cast<const ClientArray*>(inputs[i].get());
    if (!array || &array->device() != device_.get())
      throw DeviceError("device.inputs",
                        cat("input ", i, " of ", name_, " lies on ", inputs[i]->device().name(),
                            ", and the program runs on ", device_->name()));
    array->check_valid();
    arrays.push_back(array);
    if (donated.empty() || !donated[i])
      kept.push_back(static_cast<int64_t>(i));
    else
      given.push_back(array);
  }
  // Replica after replica.
  std::vector<AbiBuffer*> arguments, results(outputs_.size() * replicas);
  std::vector<AbiBuffer* const*> argument_lists;
  std::vector<AbiBuffer**> result_lists;
  std::vector<AbiEvent*> done(replicas);
  arguments.reserve(arrays.size() * replicas);
  for (size_t replica = 0; replica < replicas; ++replica) {
    argument_lists.push_back(arguments.data() + arguments.size());
    result_lists.push_back(results.data() + replica * outputs_.size());
    for (const ClientArray* const array : arrays) arguments.push_back(array->handle(replica));
  }
  device_->wait_for_runs(kRunsBefore);
  ExecuteOptions options{.kept_inputs = kept.data(), .kept_count = kept.size()};
  options.head.bytes = sizeof options;
  LoadedExecute call{.executable = loaded_,
                     .options = &options,
                     .arguments = argument_lists.data(),
                     .device_count = replicas,
                     .argument_count = arrays.size(),
                     .outputs = result_lists.data(),
                     .done = done.data()};
  {
    std::unique_lock lock(device_->client().starting(), std::defer_lock);
    if (replicas > 1) lock.lock();
    plugin.call(call, "run the program");
    device_->in_flight(done);
  }
  // Before anything is thrown: from here on their memory is not theirs.
  for (const ClientArray* array : given) array->donated();
  device_->count(&Counters::executes);
  std::vector<RemoteArrayPtr> out;
  out.reserve(outputs_.size());
  // All that are there are held, and given back, before one that is not is said.
  bool whole = true;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::vector<AbiBuffer*> buffers;
    for (size_t replica = 0; replica < replicas; ++replica)
      if (AbiBuffer* const buffer = result_lists[replica][i]) buffers.push_back(buffer);
    whole = whole && buffers.size() == replicas;
    out.push_back(std::make_shared<ClientArray>(device_, std::move(buffers), outputs_[i]));
  }
  try {
    for (AbiEvent* const event : done) plugin.require(event, "event", "run the program");
    plugin.require(whole ? this : nullptr, "array", "run the program");
  } catch (const DeviceError& error) {
    throw DeviceError("device.lost", cat("what ", name_, " was to update is lost: ", error.message()));
  }
  return out;
}

}  // namespace espalier::pjrt
