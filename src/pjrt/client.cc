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

DeviceArray::DeviceArray(ClientPtr client, AbiBuffer* buffer, TensorType type)
    : client_(std::move(client)), buffer_(buffer), type_(std::move(type)) {}
DeviceArray::DeviceArray(DeviceArray&& other) noexcept
    : client_(std::move(other.client_)),
      buffer_(std::exchange(other.buffer_, nullptr)),
      type_(std::move(other.type_)) {}
DeviceArray::~DeviceArray() {
  if (buffer_) client_->plugin().destroy(BufferDestroy{.buffer = buffer_});
}

Literal DeviceArray::download() const {
  Buffer bytes = allocate_buffer(type_.bytes());
  Dims axes = Dims::range(type_.rank());
  std::reverse(axes.begin(), axes.end());
  AxisLayout layout{.minor_to_major = axes.data(), .axis_count = axes.size()};
  layout.head.bytes = sizeof layout;
  layout.axes_head.bytes = offsetof(AxisLayout, kind) - offsetof(AxisLayout, axes_head);
  BufferToHost arguments{.buffer = buffer_, .layout = &layout, .to = bytes.get(), .size = type_.bytes()};
  client_->plugin().call(arguments, "download an array");
  client_->plugin().wait(arguments.done, "download an array");
  return Literal(type_, std::move(bytes));
}

bool DeviceArray::is_deleted() const {
  BufferIsDeleted arguments{.buffer = buffer_};
  client_->plugin().call(arguments, "ask about an array");
  return arguments.is_deleted;
}

Executable::Executable(ClientPtr client, AbiLoadedExecutable* loaded, std::vector<TensorType> inputs,
                       std::vector<TensorType> outputs, std::string name)
    : client_(std::move(client)),
      loaded_(loaded),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      name_(std::move(name)) {}
Executable::~Executable() { client_->plugin().destroy(LoadedDestroy{.executable = loaded_}); }

std::vector<DeviceArray> Executable::run(std::span<const DeviceArray* const> inputs) const {
  if (inputs.size() != inputs_.size())
    throw ShapeError("device.inputs",
                     cat(name_, " takes ", counted(inputs_.size(), "input"), ", got ", inputs.size()));
  std::vector<AbiBuffer*> arguments, results(outputs_.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_input(name_, i, inputs_[i], inputs[i]->type());
    arguments.push_back(inputs[i]->handle());
  }
  ExecuteOptions options;
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
  std::vector<DeviceArray> out;
  out.reserve(results.size());
  for (size_t i = 0; i < results.size(); ++i) out.emplace_back(client_, results[i], outputs_[i]);
  return out;
}

ClientPtr Client::create(const Plugin& plugin) {
  ClientCreate create;
  try {
    plugin.call(create, "begin");
  } catch (const DeviceError& error) {
    throw DeviceError("device.client", cat(plugin.path(), " has no device: ", error.message()));
  }
  ClientPtr client(new Client(plugin, create.client));
  ClientPlatformName name{.client = create.client};
  plugin.call(name, "name its platform");
  client->platform_.assign(name.name, name.name_size);
  ClientAddressableDevices devices{.client = create.client};
  plugin.call(devices, "list its devices");
  for (size_t i = 0; i < devices.count; ++i) {
    DeviceGetDescription description{.device = devices.devices[i]};
    plugin.call(description, "describe a device");
    DescriptionId id{.description = description.description};
    plugin.call(id, "describe a device");
    DescriptionKind kind{.description = description.description};
    plugin.call(kind, "describe a device");
    client->devices_.push_back(devices.devices[i]);
    client->infos_.push_back({id.id, std::string(kind.kind, kind.kind_size)});
  }
  if (client->devices_.empty()) throw DeviceError("device.client", cat(plugin.path(), " has no device"));
  return client;
}

Client::~Client() { plugin_.destroy(ClientDestroy{.client = client_}); }

DeviceArray Client::upload(const Literal& value) {
  const Literal dense = value.expanded();
  const TensorType& type = dense.type();
  ClientBufferFromHost arguments{.client = client_,
                                 .data = dense.raw(),
                                 .type = abi_type(type.dtype),
                                 .dims = type.shape.data(),
                                 .rank = type.shape.size(),
                                 .device = devices_[0]};
  plugin_.call(arguments, "upload an array");
  DeviceArray array(shared_from_this(), arguments.buffer, type);
  plugin_.wait(arguments.done_with_host, "upload an array");
  return array;
}

std::unique_ptr<Executable> Client::compile(const Graph& graph, const CompileOptions& options) {
  static constexpr std::string_view kFormat = "mlir";
  const std::string text = program_text(graph), bytes = encode(options);
  Program program{
      .code = text.data(), .code_size = text.size(), .format = kFormat.data(), .format_size = kFormat.size()};
  program.head.bytes = sizeof program;
  ClientCompile arguments{
      .client = client_, .program = &program, .options = bytes.data(), .options_size = bytes.size()};
  plugin_.call(arguments, "compile the program");
  std::vector<TensorType> inputs, outputs;
  for (const auto& input : graph.inputs()) inputs.push_back(graph.type(input.value));
  for (const auto& output : graph.outputs()) outputs.push_back(graph.type(output.value));
  return std::make_unique<Executable>(shared_from_this(), arguments.executable, std::move(inputs),
                                      std::move(outputs), std::string(graph.name()));
}

}  // namespace espalier::pjrt
