#include "pjrt/client_device.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/shortest.h"
#include "pjrt/client_array.h"
#include "pjrt/client_program.h"
#include "pjrt/compile_options.h"
#include "pjrt/find.h"
#include "pjrt/program_cache.h"
#include "pjrt/program_text.h"

namespace espalier::pjrt {
namespace {

ProgramCache& user_cache() {
  static auto* const cache = new ProgramCache(ProgramCache::of_user());
  return *cache;
}

std::string name_of(const std::vector<ClientDevice*>& members) {
  std::vector<std::string> names;
  for (const ClientDevice* const member : members) names.push_back(member->name());
  return joined_name(names);
}

// Buffers on their way to an array.
struct Uploads {
  explicit Uploads(const Plugin& plugin) : plugin(plugin) {}
  ~Uploads() {
    for (AbiBuffer* const buffer : buffers) plugin.destroy(BufferDestroy{.buffer = buffer});
  }
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;
  std::vector<AbiBuffer*> take() { return std::exchange(buffers, {}); }
  const Plugin& plugin;
  std::vector<AbiBuffer*> buffers;
};

// The first device alone needs no name, and the program then runs on any plugin's first.
std::vector<int> named(std::vector<int> ids) { return ids == std::vector<int>{0} ? std::vector<int>() : ids; }

// Many replicas on few cores are slow and not stuck, and who waits for a process that is gone hears of it
// from us.
constexpr int64_t kCollectiveSeconds = 3600;

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
    : client_(client), device_(device), members_{this}, name_(std::move(name)) {
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

ClientDevice::ClientDevice(Client& client, std::vector<ClientDevice*> members)
    : client_(client), members_(std::move(members)), name_(name_of(members_)), kind_(members_[0]->kind_) {}

ClientDevice::ClientDevice(Client& client, std::vector<ClientDevice*> members, std::vector<int> ids,
                           size_t first)
    : client_(client),
      members_(std::move(members)),
      world_ids_(std::move(ids)),
      first_(first),
      name_(members_.size() == 1 ? members_[0]->name() : name_of(members_)),
      kind_(members_[0]->kind_) {}

std::vector<int> ClientDevice::ids() const {
  if (!world_ids_.empty()) return world_ids_;
  std::vector<int> out;
  for (const ClientDevice* const member : members_) out.push_back(member->id_);
  return out;
}

void ClientDevice::count(int64_t Counters::*what, int64_t by) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    counters_.*what += by;
  }
  if (device_) return;
  for (ClientDevice* const member : members_) member->count(what, by);
}

void ClientDevice::count_of(size_t replica, int64_t Counters::*what, int64_t by) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    counters_.*what += by;
  }
  if (!device_) members_[replica]->count(what, by);
}

void ClientDevice::count_bytes(int64_t by) {
  for (ClientDevice* const member : members_) {
    const std::lock_guard<std::mutex> lock(member->mutex_);
    DeviceMemory& counted = member->counted_;
    counted.current += by;
    counted.peak = std::max(counted.peak, counted.current);
  }
}

Counters ClientDevice::counters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

DeviceMemory ClientDevice::memory() const {
  if (!device_) return members_[0]->memory();
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
    const std::vector<AbiEvent*> oldest = std::move(runs_.front());
    runs_.pop_front();
    for (AbiEvent* const event : oldest) {
      try {
        client_.plugin().wait(event, "run the program");
      } catch (const DeviceError&) {
        // Who needs what it was to give hears of it.
      }
    }
  }
}

void ClientDevice::in_flight(std::vector<AbiEvent*> done) {
  const std::lock_guard<std::mutex> lock(runs_mutex_);
  runs_.push_back(std::move(done));
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
    for (ClientDevice* const member : members_) {
      const std::lock_guard<std::mutex> lock(member->mutex_);
      member->counted_.program = std::max(member->counted_.program, bytes);
    }
  } catch (const DeviceError&) {
    // Not all tell.
  }
  if (get.executable) plugin.destroy(ExecutableDestroy{.executable = get.executable});
}

RemoteArrayPtr ClientDevice::keep(std::span<const Literal> values) {
  constexpr const char* kWhat = "upload an array";
  const Plugin& plugin = client_.plugin();
  const TensorType& type = values[0].type();
  // Held before anything is raised: what came is given back.
  Uploads uploads(plugin);
  for (size_t i = 0; i < values.size(); ++i) {
    const Literal dense = values[i].expanded();
    ClientBufferFromHost arguments{.client = client_.handle(),
                                   .data = dense.raw(),
                                   .type = abi_type(type.dtype),
                                   .dims = type.shape.data(),
                                   .rank = type.shape.size(),
                                   .device = members_[i]->device_};
    plugin.call(arguments, kWhat);
    if (arguments.buffer) uploads.buffers.push_back(arguments.buffer);
    plugin.wait(arguments.done_with_host, kWhat);
    plugin.require(arguments.buffer, "array", kWhat);
    count_of(i, &Counters::uploads);
    count_of(i, &Counters::uploaded_bytes, static_cast<int64_t>(type.bytes()));
  }
  return std::make_shared<ClientArray>(DevicePtr(client_.shared_from_this(), this), uploads.take(), type);
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
                                                           const ProgramOptions& program_options) {
  CompileOptions wanted{.devices = named(ids()), .replicas = static_cast<int>(world())};
  if (client_.takes_options_of_cpus()) {
    wanted.keeps_nan = true;
    if (world() > 1) wanted.collective_seconds = kCollectiveSeconds;
  }
  const std::string text = program_text(graph, program_options, world()), options = encode(wanted);
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
    try {
      program = compiled(graph, text, options, seconds);
    } catch (const DeviceError& error) {
      if (!wanted.keeps_nan || error.message().find("No such compile option") == std::string::npos) throw;
      // Of a version that has other names for them.
      client_.takes_no_options_of_cpus();
      note(cat(name_, ": this version of XLA takes no option that keeps NaN in a maximum or minimum"));
      wanted.keeps_nan = false;
      wanted.collective_seconds = 0;
      program = compiled(graph, text, encode(wanted), seconds);
    }
    count(&Counters::compiles);
    if (key) {
      if (const std::string bytes = serialized(program); !bytes.empty()) cache.put(*key, bytes, seconds);
    }
  }
  note_estimate(program);
  return std::make_shared<ClientProgram>(DevicePtr(client_.shared_from_this(), this), program, graph);
}

}  // namespace espalier::pjrt
