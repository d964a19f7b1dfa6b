// A PJRT plugin in the place of one whose devices belong to several processes, for tests. A real one, which
// ESPALIER_POD_PLUGIN names, has the devices of all; each process gets as many of them, two at least, and a
// run of a program on all devices begins when each process has called it.
//   Threads in the place of processes: each says which one it is, before its client is made, by
// espalier_pod_enter.
//   Processes, where ESPALIER_POD_FOLDER names a folder: TPU_WORKER_ID of TPU_WORKER_HOSTNAMES. Each has a
// real client with all devices, gives its arguments to the others through files, and runs the whole program:
// one that waits for others waits for good, as a TPU does.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/real_plugin.h"

namespace espalier::pjrt {

struct AbiError {
  std::string message;
};
struct AbiClient {
  int process = 0;
};

namespace {

thread_local int entered = 0;
int processes = 1;

// Never destroyed: threads of the real plugin outlive main.
RealPlugin& plugin_of_all() {
  static auto* const one = new RealPlugin;
  return *one;
}
template <class Arguments>
AbiError* on_all(Arguments& arguments) {
  return plugin_of_all().call<AbiError*>(arguments);
}

struct Round {
  explicit Round(size_t count) : arguments(count), outputs(count), done(count) {}
  std::vector<AbiBuffer* const* const*> arguments;
  std::vector<AbiBuffer** const*> outputs;
  std::vector<AbiEvent**> done;
  size_t came = 0, left = 0;
  bool ran = false;
  AbiError* error = nullptr;
};
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  AbiClient* real = nullptr;
  int clients = 0;
  AbiDevice* const* devices = nullptr;
  size_t each = 0;
  std::map<AbiDescription*, int> process_of;
  Round* round = nullptr;
  int64_t rounds = 0;
};
// Never destroyed either.
Shared& shared() {
  static auto* const one = new Shared;
  return *one;
}

const char* folder() { return std::getenv("ESPALIER_POD_FOLDER"); }

AbiError* create(ClientCreate* a) {
  const std::lock_guard lock(shared().mutex);
  const char *const names = std::getenv("TPU_WORKER_HOSTNAMES"), *const own = std::getenv("TPU_WORKER_ID");
  if (folder() && names && own) {
    const std::string_view hosts = names;
    entered = std::atoi(own);
    processes = 1 + static_cast<int>(std::ranges::count(hosts, ','));
  }
  if (!shared().real) {
    if (AbiError* error = on_all(*a)) return error;
    shared().real = a->client;
    ClientDevices all{.client = a->client};
    if (AbiError* error = on_all(all)) return error;
    shared().devices = all.devices;
    shared().each = all.count / static_cast<size_t>(processes);
    for (size_t i = 0; i < all.count; ++i) {
      DeviceGetDescription get{.device = all.devices[i]};
      if (AbiError* error = on_all(get)) return error;
      shared().process_of[get.description] = static_cast<int>(i / shared().each);
    }
  }
  ++shared().clients;
  a->client = new AbiClient{entered};
  return nullptr;
}
AbiError* destroy(ClientDestroy* a) {
  delete a->client;
  const std::lock_guard lock(shared().mutex);
  if (--shared().clients) return nullptr;
  ClientDestroy last{.client = std::exchange(shared().real, nullptr)};
  return on_all(last);
}
AbiError* process_of_client(ClientProcessIndex* a) {
  a->process = a->client->process;
  return nullptr;
}
AbiError* process_of_device(DescriptionProcessIndex* a) {
  a->process = shared().process_of.at(a->description);
  return nullptr;
}
AbiError* own_devices(ClientAddressableDevices* a) {
  a->devices = shared().devices + static_cast<size_t>(a->client->process) * shared().each;
  a->count = shared().each;
  return nullptr;
}
// Of the real client.
template <class A>
AbiError* of_real(A* a) {
  A given = *a;
  given.client = shared().real;
  AbiError* const error = on_all(given);
  AbiClient* const own = a->client;
  *a = given;
  a->client = own;
  return error;
}

// What `call` is about cannot be: a test that is wrong.
template <class A>
A done(A call) {
  if (on_all(call)) std::abort();
  return call;
}

void write_value(std::ostream& out, AbiBuffer* buffer) {
  const AbiType type = done(BufferElementType{.buffer = buffer}).type;
  const BufferDimensions shape = done(BufferDimensions{.buffer = buffer});
  std::string bytes(done(BufferToHost{.buffer = buffer}).size, '\0');
  AbiEvent* const there = done(BufferToHost{.buffer = buffer, .to = bytes.data(), .size = bytes.size()}).done;
  done(EventAwait{.event = there});
  done(EventDestroy{.event = there});
  const size_t sizes[] = {shape.rank, bytes.size()};
  out.write(reinterpret_cast<const char*>(&type), sizeof type);
  out.write(reinterpret_cast<const char*>(sizes), sizeof sizes);
  out.write(reinterpret_cast<const char*>(shape.dims), static_cast<std::streamsize>(shape.rank * 8));
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
AbiBuffer* read_value(std::istream& in, AbiDevice* device) {
  AbiType type = {};
  size_t sizes[2] = {};
  in.read(reinterpret_cast<char*>(&type), sizeof type);
  in.read(reinterpret_cast<char*>(sizes), sizeof sizes);
  std::vector<int64_t> dims(sizes[0]);
  std::string bytes(sizes[1], '\0');
  in.read(reinterpret_cast<char*>(dims.data()), static_cast<std::streamsize>(sizes[0] * 8));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!in) std::abort();
  const ClientBufferFromHost call = done(ClientBufferFromHost{.client = shared().real,
                                                              .data = bytes.data(),
                                                              .type = type,
                                                              .dims = dims.data(),
                                                              .rank = dims.size(),
                                                              .device = device});
  done(EventAwait{.event = call.done_with_host});
  done(EventDestroy{.event = call.done_with_host});
  return call.buffer;
}

AbiError* execute_with_processes(LoadedExecute* a) {
  namespace fs = std::filesystem;
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  const auto file = [](int process, int64_t round) {
    std::string name;
    for (const char* variable : {"ESPALIER_JOB", "ESPALIER_RESTART"})
      if (const char* const value = std::getenv(variable)) name += value + std::string(".");
    return fs::path(folder()) / (name + std::to_string(process) + "." + std::to_string(round));
  };
  const fs::path own = file(entered, all.rounds), half = own.string() + ".half";
  {
    std::ofstream out(half, std::ios::binary);
    for (size_t i = 0; i < all.each; ++i)
      for (size_t k = 0; k < a->argument_count; ++k) write_value(out, a->arguments[i][k]);
  }
  fs::rename(half, own);
  std::vector<std::vector<AbiBuffer*>> given(all.each * static_cast<size_t>(processes));
  for (int process = 0; process < processes; ++process) {
    if (process == entered) continue;
    while (!fs::exists(file(process, all.rounds))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::ifstream in(file(process, all.rounds), std::ios::binary);
    for (size_t i = static_cast<size_t>(process) * all.each, end = i + all.each; i < end; ++i)
      for (size_t k = 0; k < a->argument_count; ++k) given[i].push_back(read_value(in, all.devices[i]));
  }
  // Others have read what was for the round before, or they would not be in this one.
  fs::remove(file(entered, all.rounds++ - 1));
  const ExecutableNumOutputs outputs{.executable =
                                         done(LoadedGetExecutable{.loaded = a->executable}).executable};
  const size_t count = done(outputs).count;
  done(ExecutableDestroy{.executable = outputs.executable});
  std::vector<std::vector<AbiBuffer*>> results(given.size(), std::vector<AbiBuffer*>(count));
  std::vector<AbiEvent*> ends(given.size());
  std::vector<AbiBuffer* const*> from;
  std::vector<AbiBuffer**> to;
  const size_t first = static_cast<size_t>(entered) * all.each;
  const auto is_own = [&](size_t i) { return i >= first && i < first + all.each; };
  for (size_t i = 0; i < given.size(); ++i) {
    from.push_back(is_own(i) ? a->arguments[i - first] : given[i].data());
    to.push_back(is_own(i) ? a->outputs[i - first] : results[i].data());
  }
  LoadedExecute whole = *a;
  whole.arguments = from.data();
  whole.outputs = to.data();
  whole.done = ends.data();
  whole.device_count = given.size();
  if (AbiError* error = on_all(whole)) return error;
  for (size_t i = 0; i < given.size(); ++i) {
    if (is_own(i)) {
      a->done[i - first] = ends[i];
      continue;
    }
    done(EventDestroy{.event = ends[i]});
    for (AbiBuffer* const buffer : given[i]) done(BufferDestroy{.buffer = buffer});
    for (AbiBuffer* const buffer : results[i]) done(BufferDestroy{.buffer = buffer});
  }
  return nullptr;
}

AbiError* execute(LoadedExecute* a) {
  Shared& all = shared();
  if (a->device_count != all.each || processes == 1) return on_all(*a);
  if (folder()) return execute_with_processes(a);
  std::unique_lock lock(all.mutex);
  if (!all.round) all.round = new Round(static_cast<size_t>(processes));
  Round& round = *all.round;
  const auto own = static_cast<size_t>(entered);
  round.arguments[own] = a->arguments;
  round.outputs[own] = a->outputs;
  round.done[own] = a->done;
  if (++round.came == static_cast<size_t>(processes)) {
    std::vector<AbiBuffer* const*> arguments;
    std::vector<AbiBuffer**> outputs;
    std::vector<AbiEvent*> done(all.each * round.came);
    for (size_t process = 0; process < round.came; ++process) {
      for (size_t i = 0; i < all.each; ++i) {
        arguments.push_back(round.arguments[process][i]);
        outputs.push_back(round.outputs[process][i]);
      }
    }
    LoadedExecute together = *a;
    together.arguments = arguments.data();
    together.outputs = outputs.data();
    together.done = done.data();
    together.device_count = done.size();
    round.error = on_all(together);
    for (size_t i = 0; i < done.size(); ++i) round.done[i / all.each][i % all.each] = done[i];
    round.ran = true;
    all.round = nullptr;
    all.changed.notify_all();
  } else if (!all.changed.wait_for(lock, std::chrono::seconds(60), [&] { return round.ran; })) {
    std::abort();  // a test whose processes do not call the same
  }
  AbiError* const error = round.error;
  if (++round.left == static_cast<size_t>(processes)) delete &round;
  return error;
}

}  // namespace
}  // namespace espalier::pjrt

extern "C" const espalier::pjrt::AbiTable* GetPjrtApi() {
  using namespace espalier::pjrt;
  RealPlugin& plugin = plugin_of_all();
  if (plugin.is_open()) return plugin.table();
  if (!plugin.open("ESPALIER_POD_PLUGIN")) return nullptr;
  plugin.put<ClientCreate>(create);
  plugin.put<ClientDestroy>(destroy);
  plugin.put<ClientProcessIndex>(process_of_client);
  plugin.put<DescriptionProcessIndex>(process_of_device);
  plugin.put<ClientAddressableDevices>(own_devices);
  plugin.put<ClientDevices>(of_real<ClientDevices>);
  plugin.put<ClientPlatformName>(of_real<ClientPlatformName>);
  plugin.put<ClientPlatformVersion>(of_real<ClientPlatformVersion>);
  plugin.put<ClientCompile>(of_real<ClientCompile>);
  plugin.put<ClientBufferFromHost>(of_real<ClientBufferFromHost>);
  plugin.put<ExecutableDeserializeAndLoad>(of_real<ExecutableDeserializeAndLoad>);
  plugin.put<LoadedExecute>(execute);
  return plugin.table();
}

extern "C" void espalier_pod_enter(int process, int count) {
  espalier::pjrt::entered = process;
  espalier::pjrt::processes = count;
}
