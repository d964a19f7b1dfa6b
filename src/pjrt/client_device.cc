#include "pjrt/client_device.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/format.h"
#include "base/shortest.h"
#include "pjrt/client_array.h"
#include "pjrt/client_program.h"
#include "pjrt/compile_options.h"
#include "pjrt/program_cache.h"
#include "pjrt/program_text.h"

namespace espalier::pjrt {
namespace {

ProgramCache& user_cache() {
  static auto* const cache = new ProgramCache(ProgramCache::of_user());
  return *cache;
}

// A compilation that takes longer is told of.
constexpr double kNotedSeconds = 2;

}  // namespace

Counters operator-(const Counters& a, const Counters& b) {
  return {a.compiles - b.compiles,
          a.loads - b.loads,
          a.executes - b.executes,
          a.uploads - b.uploads,
          a.downloads - b.downloads,
          a.uploaded_bytes - b.uploaded_bytes,
          a.downloaded_bytes - b.downloaded_bytes};
}

ClientDevice::ClientDevice(Client& client, AbiDevice* device, std::string name)
    : client_(client), device_(device), name_(std::move(name)) {
  DeviceGetDescription description{.device = device};
  client.plugin().call(description, "describe its device");
  client.plugin().require(description.description, "description", "describe its device");
  DescriptionKind kind{.description = description.description};
  client.plugin().call(kind, "say its device's kind");
  if (kind.kind) kind_.assign(kind.kind, kind.kind_size);
  DescriptionId id{.description = description.description};
  client.plugin().call(id, "number its device");
  id_ = id.id;
}

void ClientDevice::count(int64_t Counters::*what, int64_t by) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counters_.*what += by;
}

void ClientDevice::count_bytes(int64_t by) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counted_.current += by;
  counted_.peak = std::max(counted_.peak, counted_.current);
}

Counters ClientDevice::counters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

DeviceMemory ClientDevice::memory() const {
  DeviceMemoryStats stats;
  stats.device = device_;
  try {
    client_.plugin().call(stats, "say its memory");
    const std::lock_guard<std::mutex> lock(mutex_);
    return {stats.in_use, stats.peak.known ? stats.peak.value : stats.in_use,
            stats.limit.known ? stats.limit.value : 0, counted_.program};
  } catch (const DeviceError&) {
    // CPUs do not tell.
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  return counted_;
}

void ClientDevice::wait_for_runs(size_t left) {
  const std::lock_guard<std::mutex> lock(runs_mutex_);
  while (runs_.size() > left) {
    AbiEvent* const oldest = runs_.front();
    runs_.pop_front();
    try {
      client_.plugin().wait(oldest, "run the program");
    } catch (const DeviceError&) {
      // Who needs what it was to give hears of it.
    }
  }
}

void ClientDevice::in_flight(AbiEvent* done) {
  const std::lock_guard<std::mutex> lock(runs_mutex_);
  runs_.push_back(done);
}

void ClientDevice::note_estimate(AbiLoadedExecutable* loaded) {
  const Plugin& plugin = client_.plugin();
  LoadedGetExecutable get{.loaded = loaded};
  try {
    plugin.call(get, "describe a program");
    plugin.require(get.executable, "executable", "describe a program");
    ExecutableMemoryStats stats{.executable = get.executable};
    plugin.call(stats, "say what a program takes");
    const int64_t bytes = stats.arguments + stats.outputs - stats.aliases + stats.temporary;
    const std::lock_guard<std::mutex> lock(mutex_);
    counted_.program = std::max(counted_.program, bytes);
  } catch (const DeviceError&) {
    // Not all tell.
  }
  if (get.executable) plugin.destroy(ExecutableDestroy{.executable = get.executable});
}

RemoteArrayPtr ClientDevice::upload(const Literal& value) {
  const Plugin& plugin = client_.plugin();
  const Literal dense = value.expanded();
  const TensorType& type = dense.type();
  ClientBufferFromHost arguments{.client = client_.handle(),
                                 .data = dense.raw(),
                                 .type = abi_type(type.dtype),
                                 .dims = type.shape.data(),
                                 .rank = type.shape.size(),
                                 .device = device_};
  plugin.call(arguments, "upload an array");
  // Held before anything is raised: what came is given back.
  const auto array =
      arguments.buffer
          ? std::make_shared<ClientArray>(DevicePtr(client_.shared_from_this(), this), arguments.buffer, type)
          : nullptr;
  plugin.wait(arguments.done_with_host, "upload an array");
  plugin.require(array.get(), "array", "upload an array");
  count(&Counters::uploads);
  count(&Counters::uploaded_bytes, static_cast<int64_t>(type.bytes()));
  return array;
}

AbiLoadedExecutable* ClientDevice::compiled(const Graph& graph, const std::string& text,
                                            const std::string& options, double& seconds) {
  static constexpr std::string_view kFormat = "mlir";
  Program program{
      .code = text.data(), .code_size = text.size(), .format = kFormat.data(), .format_size = kFormat.size()};
  program.head.bytes = sizeof program;
  ClientCompile arguments{.client = client_.handle(),
                          .program = &program,
                          .options = options.data(),
                          .options_size = options.size()};
  const auto begin = std::chrono::steady_clock::now();
  client_.plugin().call(arguments, "compile the program");
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  client_.plugin().require(arguments.executable, "executable", "compile the program");
  if (seconds > kNotedSeconds)
    note(cat(graph.name(), " was compiled for ", name_, " in ", fixed(seconds, 1), " s"));
  return arguments.executable;
}

AbiLoadedExecutable* ClientDevice::loaded(const std::string& bytes) const {
  ExecutableDeserializeAndLoad arguments{
      .client = client_.handle(), .data = bytes.data(), .size = bytes.size()};
  try {
    client_.plugin().call(arguments, "load a program");
  } catch (const DeviceError&) {
    return nullptr;  // it is compiled instead
  }
  return arguments.loaded;
}

std::string ClientDevice::serialized(AbiLoadedExecutable* loaded) const {
  const Plugin& plugin = client_.plugin();
  LoadedGetExecutable get{.loaded = loaded};
  std::string out;
  try {
    plugin.call(get, "describe a program");
    plugin.require(get.executable, "executable", "describe a program");
    ExecutableSerialize arguments{.executable = get.executable};
    plugin.call(arguments, "serialize a program");
    if (arguments.data) out.assign(arguments.data, arguments.size);
    if (arguments.destroy && arguments.serialized) arguments.destroy(arguments.serialized);
  } catch (const DeviceError&) {
    // Not all can; it is compiled anew the next time.
  }
  if (get.executable) plugin.destroy(ExecutableDestroy{.executable = get.executable});
  return out;
}

std::shared_ptr<const DeviceProgram> ClientDevice::compile(const Graph& graph,
                                                           std::span<const Alias> aliases) {
  const std::string text = program_text(graph, aliases), options = encode({.device = id_});
  ProgramCache& cache = user_cache();
  std::optional<ProgramKey> key;
  AbiLoadedExecutable* program = nullptr;
  if (cache.why_not().empty()) {
    try {
      key = ProgramKey{text,
                       options,
                       compiler_flags(),
                       cache.content_of_plugin(client_.plugin().path()),
                       client_.platform(),
                       kind_,
                       host_features()};
      if (const std::optional<std::string> found = cache.find(*key)) program = loaded(*found);
    } catch (const IoError&) {
      key.reset();  // a plugin whose file has gone
    }
  }
  if (program) {
    count(&Counters::loads);
  } else {
    double seconds = 0;
    program = compiled(graph, text, options, seconds);
    count(&Counters::compiles);
    if (key) {
      if (const std::string bytes = serialized(program); !bytes.empty()) cache.put(*key, bytes, seconds);
    }
  }
  note_estimate(program);
  return std::make_shared<ClientProgram>(DevicePtr(client_.shared_from_this(), this), program, graph);
}

}  // namespace espalier::pjrt
