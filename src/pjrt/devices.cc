#include "espalier/devices.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/format.h"
#include "base/isa.h"
#include "espalier/threads.h"
#include "pjrt/open.h"

namespace espalier {
namespace {

constexpr char kCpu[] = "cpu";
bool is_cpu(const std::string& device) { return pjrt::plain_name(device) == kCpu; }

// What the system says of this process, in bytes: "VmRSS:", "VmHWM:".
int64_t own_memory(std::string_view what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(what)) return std::atoll(line.c_str() + what.size()) * 1024;
  return 0;
}

std::string upper(std::string text) {
  for (char& c : text) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

PhysicalDevice own_cpu() {
  PhysicalDevice out{.name = kCpu, .kind = "CPU"};
  out.description = cat(counted(static_cast<size_t>(threads()), "thread"), ", ", name(current_isa()));
  out.memory_bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  return out;
}

// Without its number: options are of all devices of a client.
std::string client_of(const std::string& device) { return pjrt::find_device(device, {}).plugin.name; }

void require_other_than_cpu(const char* rule, const std::string& device, const char* what) {
  if (is_cpu(device)) throw ValueError(rule, cat("\"cpu\" is this process's own: ", what));
}

}  // namespace

std::vector<PhysicalDevice> all_physical_devices(const std::vector<std::string>& plugins) {
  std::vector<PhysicalDevice> out{own_cpu()};
  for (const pjrt::Found& found : pjrt::find_plugins(plugins)) {
    PhysicalDevice device{.kind = upper(found.name.substr(0, found.name.find('.'))),
                          .plugin = found.path,
                          .from = found.from,
                          .problem = pjrt::missing_driver(found)};
    // A plugin is loaded, which says its version, and not begun. A TPU's looks for one in the cloud, for
    // minutes.
    try {
      if (found.kind != "tpu" || device.problem.empty())
        device.api = pjrt::Plugin::load(found.path).version();
    } catch (const DeviceError& error) {
      device.problem = error.message();
    }
    std::vector<pjrt::KnownDevice> known = pjrt::known_devices(found);
    if (known.empty()) known.resize(1);
    for (size_t i = 0; i < known.size(); ++i) {
      device.name = cat(found.name, ":", i);
      device.description = known[i].description;
      device.memory_bytes = known[i].memory_bytes;
      out.push_back(device);
    }
  }
  return out;
}

std::vector<PhysicalDevice> list_physical_devices(const std::string& kind) {
  std::vector<PhysicalDevice> out = all_physical_devices();
  std::string wanted = upper(kind);
  if (wanted == "CUDA" || wanted == "ROCM") wanted = "GPU";
  std::erase_if(out, [&](const PhysicalDevice& device) {
    return !device.problem.empty() || (!wanted.empty() && device.kind != wanted);
  });
  return out;
}

void set_memory_growth(const std::string& device, bool grows, Location at) {
  const CallScope call(at);
  if (is_cpu(device)) return;
  pjrt::change_client_options(client_of(device),
                              [&](pjrt::ClientOptions& options) { options.memory_grows = grows; });
}

void set_memory_fraction(const std::string& device, double fraction, Location at) {
  const CallScope call(at);
  require_other_than_cpu("device.limit", device, "its memory has no limit of ours");
  if (!(fraction > 0 && fraction <= 1))
    throw ValueError("device.limit",
                     cat("a fraction of a device's memory lies above 0 and is 1 at most, got ", fraction));
  pjrt::change_client_options(client_of(device),
                              [&](pjrt::ClientOptions& options) { options.memory_fraction = fraction; });
}

void set_memory_limit(const std::string& device, int64_t bytes, Location at) {
  const CallScope call(at);
  require_other_than_cpu("device.limit", device, "its memory has no limit of ours");
  if (bytes <= 0) throw ValueError("device.limit", cat("a limit is of 1 byte at least, got ", bytes));
  const pjrt::FoundDevice found = pjrt::find_device(device, {});
  const std::vector<pjrt::KnownDevice> known = pjrt::known_devices(found.plugin);
  const int64_t all = found.number < known.size() ? known[found.number].memory_bytes : 0;
  if (all == 0)
    throw DeviceError("device.memory",
                      cat("a limit of ", bytes, " bytes needs the memory of ", device,
                          " in all, which its driver does not tell"),
                      "set_memory_fraction()");
  if (bytes > all)
    throw ValueError("device.limit", cat(device, " has ", all, " bytes in all, and the limit is ", bytes));
  set_memory_fraction(device, static_cast<double>(bytes) / static_cast<double>(all));
}

void set_visible_devices(const std::vector<std::string>& devices, Location at) {
  const CallScope call(at);
  if (devices.empty()) throw ValueError("device.visible", "no device is named; this CPU needs no such call");
  std::string client;
  std::vector<int64_t> numbers;
  for (const std::string& device : devices) {
    const pjrt::FoundDevice found = pjrt::find_device(device, {});
    if (found.plugin.kind != "cuda" && found.plugin.kind != "rocm")
      throw ValueError("device.visible", cat("GPUs can be chosen, and ", device, " is none"));
    if (!client.empty() && client != found.plugin.name)
      throw ValueError("device.visible", cat(devices[0], " and ", device, " are of two plugins"));
    const auto number = static_cast<int64_t>(found.number);
    if (std::ranges::count(numbers, number))
      throw ValueError("device.visible", cat(device, " is named twice"));
    client = found.plugin.name;
    numbers.push_back(number);
  }
  pjrt::change_client_options(client, [&](pjrt::ClientOptions& options) { options.visible = numbers; });
}

MemoryInfo memory_info(const std::string& device, Location at) {
  const CallScope call(at);
  if (is_cpu(device))
    return {own_memory("VmRSS:"), own_memory("VmHWM:"),
            int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)};
  const DeviceMemory memory = pjrt::open_device(device)->memory();
  return {memory.current, memory.peak, memory.limit, memory.program};
}

void set_matmul_precision(const std::string& precision, Location at) {
  const CallScope call(at);
  const std::vector<std::string> known = {"highest", "high", "default"};
  const auto it = std::ranges::find(known, precision);
  if (it == known.end()) throw_unknown("device.precision", "precision", precision, known);
  set_matmul_precision(static_cast<MatmulPrecision>(it - known.begin()));
}

struct DeviceScope::State {
  explicit State(pjrt::DevicePtr chosen)
      : device(std::move(chosen)),
        context({.device = device.get(),
                 .rank = RunContext::current().rank,
                 .world = RunContext::current().world,
                 .communicator = RunContext::current().communicator,
                 .events = RunContext::current().events,
                 .shares = &RunContext::current()}),
        scope(context) {}
  const pjrt::DevicePtr device;  // null: this CPU
  const RunContext context;
  const RunScope scope;
};

DeviceScope::DeviceScope(const std::string& name, const std::vector<std::string>& plugins, Location at) {
  const CallScope call(at);
  state_ = std::make_unique<State>(is_cpu(name) ? nullptr : pjrt::open_device(name, plugins));
}
// Those that nobody has taken, as fit does.
DeviceScope::~DeviceScope() {
  if (!state_->device || !state_->device->has_notes()) return;
  for (const std::string& note : state_->device->take_notes())
    std::fputs(cat("note: ", note, "\n").c_str(), stderr);
}

Tensor to(const Tensor& tensor, const std::string& device, Location at) {
  const CallScope call(at);
  if (!tensor.concrete())
    throw StateError("device.traced", "a traced tensor has no place of its own",
                     "choose where the function runs: DeviceScope");
  const RemoteArrayPtr& remote = tensor.node()->remote();
  if (is_cpu(device)) return remote ? make_concrete(tensor.node()->dense()) : tensor;
  const pjrt::DevicePtr wanted = pjrt::open_device(device);
  if (remote && &remote->device() == wanted.get()) return tensor;
  return make_remote(tensor.node()->dense(), *wanted);
}

std::string device_of(const Tensor& tensor, Location at) {
  const CallScope call(at);
  if (!tensor.concrete()) throw StateError("device.traced", "a traced tensor has no place of its own");
  const RemoteArrayPtr& remote = tensor.node()->remote();
  return remote ? remote->device().name() : kCpu;
}

void synchronize(const std::string& device) {
  if (!is_cpu(device)) pjrt::open_device(device)->client().wait_for_runs();
}

DeviceCounters device_counters(const std::string& device) {
  if (is_cpu(device)) return {};
  const pjrt::Counters c = pjrt::open_device(device)->counters();
  return {c.compiles, c.loads, c.executes, c.uploads, c.downloads, c.uploaded_bytes, c.downloaded_bytes};
}

}  // namespace espalier
