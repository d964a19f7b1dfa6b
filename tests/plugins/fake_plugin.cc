// A PJRT plugin without devices, for tests: it answers as the test says, writes down what it is asked, and a
// program of it gives copies of its first arguments. A test takes the state by espalier_fake_state.
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/fake_plugin_state_test.h"

namespace espalier::pjrt {

struct AbiError {
  std::string message;
  AbiCode code;
};
struct AbiDevice {
  fake::Device is;
};
struct AbiClient {
  std::vector<AbiDevice> devices;
  std::vector<AbiDevice*> all, own;
};
struct AbiBuffer {
  AbiType type;
  std::vector<int64_t> dims;
  std::string bytes;
};
struct AbiEvent {
  std::string of;
};
struct AbiLoadedExecutable {
  int number = 0, runs = 0;
};
struct AbiTopology {};

namespace {

fake::State& state() {
  static auto* const one = new fake::State;
  return *one;
}

void log(const std::string& line) { state().log.push_back(line); }
template <class Numbers>
std::string list(const Numbers& numbers) {
  std::string out;
  for (const auto number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}
AbiError* refuse(const std::string& message, AbiCode code = AbiCode::kUnimplemented) {
  return new AbiError{message, code};
}

void error_destroy(ErrorDestroy* a) { delete a->error; }
void error_message(ErrorMessage* a) {
  a->message = a->error->message.c_str();
  a->message_size = a->error->message.size();
}
AbiError* error_code(ErrorGetCode* a) {
  a->code = a->error->code;
  return nullptr;
}
AbiError* initialize(PluginInitialize*) { return nullptr; }

AbiError* await(EventAwait* a) {
  if (!a->event->of.empty()) log("await " + a->event->of);
  return nullptr;
}
AbiError* event_destroy(EventDestroy* a) {
  delete a->event;
  return nullptr;
}

std::string text_of(const NamedValue& value) {
  std::string out(value.name, value.name_size);
  switch (value.kind) {
    case NamedValue::Kind::kBool:
      return out + (value.truth ? "=true" : "=false");
    case NamedValue::Kind::kInt:
      return out + "=" + std::to_string(value.integer);
    case NamedValue::Kind::kFloat:
      return out + "=" + std::to_string(value.number);
    case NamedValue::Kind::kInts:
      return out + "=" + list(std::vector<int64_t>(value.integers, value.integers + value.size));
    case NamedValue::Kind::kText:
      return out + "=\"" + std::string(value.text, value.size) + "\"";
  }
  return out;
}
AbiError* client_create(ClientCreate* a) {
  std::string line = "client";
  for (size_t i = 0; i < a->option_count; ++i) line += " " + text_of(a->options[i]);
  log(line);
  a->client = new AbiClient;
  for (const fake::Device& each : state().devices) a->client->devices.push_back({each});
  for (AbiDevice& each : a->client->devices) {
    a->client->all.push_back(&each);
    if (each.is.process == state().process) a->client->own.push_back(&each);
  }
  return nullptr;
}
AbiError* client_destroy(ClientDestroy* a) {
  log("client goes");
  delete a->client;
  return nullptr;
}
AbiError* platform_name(ClientPlatformName* a) {
  a->name = state().platform.data();
  a->name_size = state().platform.size();
  return nullptr;
}
AbiError* platform_version(ClientPlatformVersion* a) {
  a->version = state().version.data();
  a->version_size = state().version.size();
  return nullptr;
}
AbiError* own_process(ClientProcessIndex* a) {
  a->process = state().process;
  return nullptr;
}
AbiError* all_devices(ClientDevices* a) {
  a->devices = a->client->all.data();
  a->count = a->client->all.size() - state().unlisted;
  return nullptr;
}
AbiError* devices_here(ClientAddressableDevices* a) {
  a->devices = a->client->own.data();
  a->count = a->client->own.size();
  return nullptr;
}
const fake::Device& described(AbiDescription* description) {
  return reinterpret_cast<AbiDevice*>(description)->is;
}
AbiError* describe(DeviceGetDescription* a) {
  a->description = reinterpret_cast<AbiDescription*>(a->device);
  return nullptr;
}
AbiError* device_id(DescriptionId* a) {
  a->id = described(a->description).id;
  return nullptr;
}
AbiError* device_process(DescriptionProcessIndex* a) {
  a->process = described(a->description).process;
  return nullptr;
}
AbiError* device_kind(DescriptionKind* a) {
  a->kind = described(a->description).kind.data();
  a->kind_size = described(a->description).kind.size();
  return nullptr;
}
AbiError* device_memory(DeviceMemoryStats* a) {
  if (!state().memory) return refuse("no figures");
  a->in_use = state().memory->in_use + a->device->is.id;
  a->peak = state().memory->peak;
  a->limit = state().memory->limit;
  return nullptr;
}

AbiError* compile(ClientCompile* a) {
  state().options.emplace_back(a->options, a->options_size);
  if (const std::string& wrong = state().refused_option;
      !wrong.empty() && state().options.back().find(wrong) != std::string::npos)
    return refuse("No such compile option: '" + wrong + "'", AbiCode::kInvalidArgument);
  a->executable = new AbiLoadedExecutable{state().programs++};
  return nullptr;
}
AbiError* loaded_destroy(LoadedDestroy* a) {
  delete a->executable;
  return nullptr;
}
AbiError* executable_of(LoadedGetExecutable* a) {
  a->executable = reinterpret_cast<AbiExecutable*>(a->loaded);
  return nullptr;
}
AbiError* executable_destroy(ExecutableDestroy*) { return nullptr; }
AbiError* program_memory(ExecutableMemoryStats* a) {
  if (!state().estimate) return refuse("no estimate");
  a->code = a->host_temporary = 1 << 20;  // not of the device's arrays
  a->arguments = state().estimate->arguments;
  a->outputs = state().estimate->outputs;
  a->aliases = state().estimate->aliases;
  a->temporary = state().estimate->temporary;
  return nullptr;
}

AbiError* upload(ClientBufferFromHost* a) {
  static constexpr size_t kBytes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2};
  const std::vector<int64_t> dims(a->dims, a->dims + a->rank);
  size_t bytes = kBytes[static_cast<size_t>(a->type)];
  for (const int64_t size : dims) bytes *= static_cast<size_t>(size);
  log("upload " + std::to_string(static_cast<int>(a->type)) + " [" + list(dims) + "] to " +
      std::to_string(a->device->is.id));
  a->buffer = new AbiBuffer{a->type, dims, std::string(static_cast<const char*>(a->data), bytes)};
  a->done_with_host = new AbiEvent;
  return nullptr;
}
AbiError* buffer_destroy(BufferDestroy* a) {
  delete a->buffer;
  return nullptr;
}
AbiError* run_program(LoadedExecute* a) {
  const int run = a->executable->runs++;
  const std::string name = std::to_string(a->executable->number) + "." + std::to_string(run);
  const std::vector<int64_t> kept(a->options->kept_inputs, a->options->kept_inputs + a->options->kept_count);
  log("run " + name + " on " + std::to_string(a->device_count) + " keeping " + list(kept));
  for (size_t device = 0; device < a->device_count; ++device) {
    for (size_t i = 0; i < state().outputs; ++i)
      a->outputs[device][i] = new AbiBuffer(*a->arguments[device][i]);
    a->done[device] = new AbiEvent{name + " of " + std::to_string(device)};
  }
  return nullptr;
}
AbiError* download(BufferToHost* a) {
  const std::vector<int64_t> order(a->layout->minor_to_major,
                                   a->layout->minor_to_major + a->layout->axis_count);
  log("download of " + std::to_string(a->size) + " by " + list(order));
  std::memcpy(a->to, a->buffer->bytes.data(), a->size - state().withheld);
  a->done = new AbiEvent;
  return nullptr;
}

AbiError* describe_topology(TopologyCreate* a) {
  std::string line = "topology \"" + std::string(a->name, a->name_size) + "\"";
  for (size_t i = 0; i < a->option_count; ++i) line += " " + text_of(a->options[i]);
  log(line);
  a->topology = new AbiTopology;
  return nullptr;
}
AbiError* topology_destroy(TopologyDestroy* a) {
  delete a->topology;
  return nullptr;
}
AbiError* compile_for(TopologyCompile* a) {
  state().options.emplace_back(a->options, a->options_size);
  static int one = 0;
  a->executable = reinterpret_cast<AbiExecutable*>(&one);
  return nullptr;
}
AbiError* serialize(ExecutableSerialize* a) {
  static constexpr std::string_view kBytes = "a program";
  a->data = kBytes.data();
  a->size = kBytes.size();
  return nullptr;
}

constexpr size_t kAllFunctions = 100;
struct AnswerTable {
  AbiTable head;
  void* functions[kAllFunctions];
};

}  // namespace
}  // namespace espalier::pjrt

extern "C" espalier::pjrt::fake::State* espalier_fake_state() { return &espalier::pjrt::state(); }

extern "C" const espalier::pjrt::AbiTable* GetPjrtApi() {
  using namespace espalier::pjrt;
  static AnswerTable table;
  table.head.head.bytes = sizeof table;
  table.head.major = kAbiMajor;
  table.head.minor = kAbiMinor;
  const auto put = []<class A, class R>(R (*f)(A*)) {
    table.functions[A::kSlot] = reinterpret_cast<void*>(f);
  };
  const auto put_all = [&](auto... f) { (put(f), ...); };
  put_all(error_destroy, error_message, error_code, initialize, await, event_destroy, client_create,
          client_destroy, platform_name, platform_version, own_process, all_devices, devices_here, describe,
          device_id, device_process, device_kind, device_memory, compile, loaded_destroy, executable_of,
          executable_destroy, program_memory, upload, buffer_destroy, run_program, download,
          describe_topology, topology_destroy, compile_for, serialize);
  return &table.head;
}
