#include "pjrt/open.h"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "base/format.h"

namespace espalier::pjrt {
namespace {

// Kept until the process ends: a plugin's threads are.
struct OpenClients {
  struct One {
    std::string name;
    ClientOptions options;
    ClientPtr client;
    pid_t process = ::getpid();
  };
  std::mutex mutex;
  std::map<const Plugin*, One> clients;
  std::map<std::string, ClientOptions> options;

  static OpenClients& of_process() {
    static auto* const all = new OpenClients;
    return *all;
  }
  ClientOptions options_of(const std::string& name) {
    ClientOptions out = options[name];
    if (const char* grows = std::getenv("TF_FORCE_GPU_ALLOW_GROWTH"); grows && *grows)
      out.memory_grows = std::string_view(grows) == "true";
    if (const char* devices = std::getenv("ESPALIER_XLA_CPU_DEVICES"); devices && *devices) {
      out.cpu_devices = std::atoi(devices);
      if (out.cpu_devices < 1 || out.cpu_devices > 1024)
        throw ValueError("device.count", cat("ESPALIER_XLA_CPU_DEVICES is \"", devices,
                                             "\", and needed is a number of devices from 1 to 1024"));
    }
    return out;
  }
};

}  // namespace

DevicePtr open_device(const std::string& name, const std::vector<std::string>& plugins) {
  // Of a plugin that was named by its file then.
  if (plugins.empty()) {
    for (const DevicePtr& device : open_devices())
      if (device->name() == name || device->name() == name + ":0") return device;
  }
  const FoundDevice found = find_device(name, plugins);
  if (const std::string why = missing_driver(found.plugin); !why.empty())
    throw DeviceError("device.client", cat(found.plugin.path, " has no device: ", why));
  const Plugin& plugin = Plugin::load(found.plugin.path);
  OpenClients& all = OpenClients::of_process();
  const std::lock_guard<std::mutex> lock(all.mutex);
  auto it = all.clients.find(&plugin);
  if (it == all.clients.end()) {
    const ClientOptions options = all.options_of(found.plugin.name);
    const ClientPtr client = Client::create(plugin, found.plugin.name, found.plugin.kind, options);
    it = all.clients.emplace(&plugin, OpenClients::One{found.plugin.name, options, client}).first;
  }
  // Its threads are not those of a child.
  if (it->second.process != ::getpid())
    throw DeviceError("device.forked",
                      cat("this process was forked by one that had used ", found.plugin.name),
                      "fork before the first use of a device, or start a program anew (exec)");
  const ClientPtr& client = it->second.client;
  if (found.number >= client->size())
    throw DeviceError("device.unknown", cat("there is no device \"", name, "\": ", found.plugin.name, " has ",
                                            counted(client->size(), "device"), " here, numbered from 0"));
  return client->device(found.number);
}

ClientOptions client_options(const std::string& name) {
  OpenClients& all = OpenClients::of_process();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.options_of(name);
}

void change_client_options(const std::string& name, const std::function<void(ClientOptions&)>& change) {
  OpenClients& all = OpenClients::of_process();
  const std::lock_guard<std::mutex> lock(all.mutex);
  ClientOptions options = all.options_of(name);
  change(options);
  for (const auto& [plugin, one] : all.clients) {
    if (one.name == name && !(one.options == options))
      throw StateError("device.begun",
                       cat("options of ", name, " are set behind the first use of one of its devices"),
                       "set them at the program's begin");
  }
  all.options[name] = options;
}

std::vector<DevicePtr> open_devices() {
  OpenClients& all = OpenClients::of_process();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<DevicePtr> out;
  for (const auto& [plugin, one] : all.clients) {
    if (one.process != ::getpid()) continue;
    for (size_t i = 0; i < one.client->size(); ++i) out.push_back(one.client->device(i));
  }
  return out;
}

}  // namespace espalier::pjrt
