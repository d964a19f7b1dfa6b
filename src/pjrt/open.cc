#include "pjrt/open.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>

#include "base/format.h"
#include "base/shortened.h"

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
    out.cpu_devices = cpu_devices_asked();
    return out;
  }
};

// Of plugins of one name the second that is opened is "gpu.2", as find_plugins() calls those that it lists
// together.
std::string free_name(const OpenClients& all, const std::string& wanted) {
  std::string out = wanted;
  const auto is_taken = [&](const auto& open) { return open.second.client->device(0)->name() == out + ":0"; };
  for (int next = 2; std::ranges::any_of(all.clients, is_taken); ++next) out = cat(wanted, ".", next);
  return out;
}

}  // namespace

DevicePtr open_device(const std::string& name, const std::vector<std::string>& plugins) {
  if (const std::vector<std::string> all = single_devices(name); all.size() > 1)
    return open_several(all, plugins);
  // Of a plugin that was named by its file then.
  if (plugins.empty()) {
    const std::string plain = plain_name(name);
    for (const DevicePtr& device : open_devices())
      for (const std::string& known : {name, plain})
        if (device->name() == known || device->name() == known + ":0") return device;
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
    const ClientPtr client =
        Client::create(plugin, free_name(all, found.plugin.name), found.plugin.kind, options);
    it = all.clients.emplace(&plugin, OpenClients::One{found.plugin.name, options, client}).first;
  }
  // Its threads are not those of a child.
  if (it->second.process != ::getpid())
    throw DeviceError("device.forked",
                      cat("this process was forked by one that had used ", found.plugin.name),
                      "fork before the first use of a device, or start a program anew (exec)");
  const ClientPtr& client = it->second.client;
  if (found.number >= client->size())
    throw DeviceError("device.unknown",
                      cat("there is no device \"", shortened(name), "\": ", found.plugin.name, " has ",
                          counted(client->size(), "device"), " here, numbered from 0",
                          found.plugin.kind == "xla-cpu" ? "; ESPALIER_XLA_CPU_DEVICES makes it more" : ""));
  return client->device(found.number);
}

DevicePtr open_several(const std::vector<std::string>& names, const std::vector<std::string>& plugins) {
  ClientPtr client;
  std::vector<size_t> numbers;
  std::vector<std::string> single;
  for (const std::string& name : names) std::ranges::move(single_devices(name), std::back_inserter(single));
  for (const std::string& name : single) {
    const DevicePtr device = open_device(name, plugins);
    if (!client) client = device->client().shared_from_this();
    if (client.get() != &device->client())
      throw ValueError("device.several", cat("devices that train together are of one plugin, and ", single[0],
                                             " and ", name, " are of two"));
    const size_t number = client->number_of(*device);
    if (std::ranges::count(numbers, number))
      throw ValueError("device.several", cat(device->name(), " is named twice"));
    numbers.push_back(number);
  }
  if (!client) throw ValueError("device.several", "no device is named");
  return client->devices(numbers);
}

DevicePtr several_from(ClientDevice& first, size_t count) {
  Client& client = first.client();
  if (first.replicas() > 1) {
    if (count && count != first.replicas())
      throw ValueError("device.several", cat(first.name(), " are ", first.replicas(), " devices, and ", count,
                                             " are asked for"));
    return {client.shared_from_this(), &first};
  }
  const size_t begin = client.number_of(first), there = client.size() - begin;
  if (count > there)
    throw ValueError(
        "device.several",
        cat("there ", there == 1 ? "is " : "are ", counted(there, "device"), " from ", first.name(),
            " on, and ", count, " are asked for",
            first.name().starts_with("xla-cpu") ? "; ESPALIER_XLA_CPU_DEVICES makes it more" : ""));
  std::vector<size_t> numbers(count ? count : there);
  std::iota(numbers.begin(), numbers.end(), begin);
  return client.devices(numbers);
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
      throw StateError(
          "device.begun",
          cat("options of ", name, " are set after one of its devices was first used, as by a DeviceScope"),
          "set them where the program starts");
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
