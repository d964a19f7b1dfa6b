#include "pjrt/client.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "pjrt/program_text.h"

namespace espalier::pjrt {
namespace {

constexpr std::pair<DType, AbiType> kTypes[] = {
    {DType::kBool, AbiType::kBool}, {DType::kI8, AbiType::kI8},   {DType::kI16, AbiType::kI16},
    {DType::kI32, AbiType::kI32},   {DType::kI64, AbiType::kI64}, {DType::kU8, AbiType::kU8},
    {DType::kU16, AbiType::kU16},   {DType::kU32, AbiType::kU32}, {DType::kU64, AbiType::kU64},
    {DType::kF16, AbiType::kF16},   {DType::kF32, AbiType::kF32}, {DType::kF64, AbiType::kF64},
    {DType::kBF16, AbiType::kBF16},
};

AbiType abi_type(DType dtype) {
  for (const auto& [ours, theirs] : kTypes)
    if (ours == dtype) return theirs;
  throw InternalError(cat("no PJRT type for ", dtype));
}

void check_input(const std::string& program, size_t i, const TensorType& wanted, const TensorType& got) {
  if (wanted == got) return;
  const std::string text = cat("input ", i, " of ", program, " is ", wanted, ", got ", got);
  if (wanted.dtype != got.dtype) throw DTypeError("device.inputs", text);
  throw ShapeError("device.inputs", text);
}

}  // namespace

// It keeps its client.
class ClientArray final : public RemoteArray {
 public:
  ClientArray(ClientPtr client, AbiBuffer* buffer, TensorType type)
      : client_(std::move(client)), buffer_(buffer), type_(std::move(type)) {}
  ~ClientArray() override { client_->plugin().destroy(BufferDestroy{.buffer = buffer_}); }
  ClientArray(const ClientArray&) = delete;
  ClientArray& operator=(const ClientArray&) = delete;

  const TensorType& type() const override { return type_; }
  Device& device() const override { return *client_; }
  AbiBuffer* handle() const { return buffer_; }
  Literal download() const override {
    Buffer bytes = allocate_buffer(type_.bytes());
    Dims axes = Dims::range(type_.rank());
    std::reverse(axes.begin(), axes.end());
    AxisLayout layout{.minor_to_major = axes.data(), .axis_count = axes.size()};
    layout.head.bytes = sizeof layout;
    layout.axes_head.bytes = offsetof(AxisLayout, kind) - offsetof(AxisLayout, axes_head);
    BufferToHost arguments{.buffer = buffer_, .layout = &layout, .to = bytes.get(), .size = type_.bytes()};
    client_->plugin().call(arguments, "download an array");
    client_->plugin().wait(arguments.done, "download an array");
    client_->count(&Counters::downloads);
    client_->count(&Counters::downloaded_bytes, static_cast<int64_t>(type_.bytes()));
    return Literal(type_, std::move(bytes));
  }

 private:
  ClientPtr client_;
  AbiBuffer* buffer_;
  TensorType type_;
};

class ClientProgram final : public DeviceProgram {
 public:
  ClientProgram(ClientPtr client, AbiLoadedExecutable* loaded, const Graph& graph)
      : client_(std::move(client)), loaded_(loaded), name_(graph.name()) {
    for (const auto& input : graph.inputs()) inputs_.push_back(graph.type(input.value));
    for (const auto& output : graph.outputs()) outputs_.push_back(graph.type(output.value));
  }
  ~ClientProgram() override { client_->plugin().destroy(LoadedDestroy{.executable = loaded_}); }
  ClientProgram(const ClientProgram&) = delete;
  ClientProgram& operator=(const ClientProgram&) = delete;

  std::vector<RemoteArrayPtr> run(std::span<const RemoteArrayPtr> inputs,
                                  std::span<const char> donated) const override {
    if (inputs.size() != inputs_.size())
      throw ShapeError("device.inputs",
                       cat(name_, " takes ", counted(inputs_.size(), "input"), ", got ", inputs.size()));
    std::vector<AbiBuffer*> arguments, results(outputs_.size());
    std::vector<int64_t> kept;
    for (size_t i = 0; i < inputs.size(); ++i) {
      check_input(name_, i, inputs_[i], inputs[i]->type());
      const auto* array = dynamic_cast<const ClientArray*>(inputs[i].get());
      if (!array || &array->device() != client_.get())
        throw DeviceError("device.inputs",
                          cat("input ", i, " of ", name_, " lies on ", inputs[i]->device().name(),
                              ", and the program runs on ", client_->name()));
      arguments.push_back(array->handle());
      if (donated.empty() || !donated[i]) kept.push_back(static_cast<int64_t>(i));
    }
    ExecuteOptions options{.kept_inputs = kept.data(), .kept_count = kept.size()};
    options.head.bytes = sizeof options;
    AbiBuffer* const* const argument_lists[] = {arguments.data()};
    AbiBuffer** const result_lists[] = {results.data()};
    AbiEvent* done[] = {nullptr};
    LoadedExecute call{.executable = loaded_,
                       .options = &options,
                       .arguments = argument_lists,
                       .device_count = 1,
                       .argument_count = arguments.size(),
                       .outputs = result_lists,
                       .done = done};
    client_->plugin().call(call, "run the program");
    client_->plugin().destroy(EventDestroy{.event = done[0]});
    client_->count(&Counters::executes);
    std::vector<RemoteArrayPtr> out;
    out.reserve(results.size());
    for (size_t i = 0; i < results.size(); ++i)
      out.push_back(std::make_shared<ClientArray>(client_, results[i], outputs_[i]));
    return out;
  }

 private:
  ClientPtr client_;
  AbiLoadedExecutable* loaded_;
  std::vector<TensorType> inputs_, outputs_;
  std::string name_;
};

ClientPtr Client::create(const Plugin& plugin, std::string name) {
  ClientCreate create;
  try {
    plugin.call(create, "begin");
  } catch (const DeviceError& error) {
    throw DeviceError("device.client", cat(plugin.path(), " has no device: ", error.message()));
  }
  ClientPtr client(new Client(plugin, create.client, std::move(name)));
  ClientAddressableDevices devices{.client = create.client};
  plugin.call(devices, "list its devices");
  if (devices.count == 0) throw DeviceError("device.client", cat(plugin.path(), " has no device"));
  client->device_ = devices.devices[0];
  return client;
}

Client::~Client() { plugin_.destroy(ClientDestroy{.client = client_}); }

void Client::count(int64_t Counters::*what, int64_t by) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counters_.*what += by;
}

Counters Client::counters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

RemoteArrayPtr Client::upload(const Literal& value) {
  const Literal dense = value.expanded();
  const TensorType& type = dense.type();
  ClientBufferFromHost arguments{.client = client_,
                                 .data = dense.raw(),
                                 .type = abi_type(type.dtype),
                                 .dims = type.shape.data(),
                                 .rank = type.shape.size(),
                                 .device = device_};
  plugin_.call(arguments, "upload an array");
  auto array = std::make_shared<ClientArray>(shared_from_this(), arguments.buffer, type);
  plugin_.wait(arguments.done_with_host, "upload an array");
  count(&Counters::uploads);
  count(&Counters::uploaded_bytes, static_cast<int64_t>(type.bytes()));
  return array;
}

std::shared_ptr<const DeviceProgram> Client::compile(const Graph& graph, std::span<const Alias> aliases) {
  static constexpr std::string_view kFormat = "mlir";
  const std::string text = program_text(graph, aliases), bytes = encode({});
  Program program{
      .code = text.data(), .code_size = text.size(), .format = kFormat.data(), .format_size = kFormat.size()};
  program.head.bytes = sizeof program;
  ClientCompile arguments{
      .client = client_, .program = &program, .options = bytes.data(), .options_size = bytes.size()};
  plugin_.call(arguments, "compile the program");
  count(&Counters::compiles);
  return std::make_shared<ClientProgram>(shared_from_this(), arguments.executable, graph);
}

}  // namespace espalier::pjrt
