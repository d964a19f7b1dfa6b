#include "pjrt/client.h"

#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "pjrt/client_device.h"
#include "pjrt/nvml.h"

namespace espalier::pjrt {
namespace {

// Keeps what the values point at.
class CreateOptions {
 public:
  CreateOptions(const std::string& kind, const ClientOptions& options) {
    if (kind == "cuda" || kind == "rocm") {
      add("preallocate", NamedValue::Kind::kBool).truth = !options.memory_grows;
      if (options.memory_fraction > 0)
        add("memory_fraction", NamedValue::Kind::kFloat).number = static_cast<float>(options.memory_fraction);
      if (!options.visible.empty()) {
        add("visible_devices", NamedValue::Kind::kInts).integers = options.visible.data();
        values_.back().size = options.visible.size();
      }
    }
    if (kind == "xla-cpu") add("cpu_device_count", NamedValue::Kind::kInt).integer = options.cpu_devices;
  }
  std::span<const NamedValue> values() const { return values_; }

 private:
  NamedValue& add(std::string_view name, NamedValue::Kind kind) {
    NamedValue& value = values_.emplace_back();
    value.head.bytes = sizeof value;
    value.name = name.data();
    value.name_size = name.size();
    value.kind = kind;
    return value;
  }
  std::vector<NamedValue> values_;
};

}  // namespace

ClientPtr Client::create(const Plugin& plugin, const std::string& name, const std::string& kind,
                         const ClientOptions& options) {
  const CreateOptions values(kind, options);
  ClientCreate create{.options = values.values().data(), .option_count = values.values().size()};
  try {
    plugin.call(create, "begin");
    plugin.require(create.client, "client", "begin");
  } catch (const DeviceError& error) {
    throw DeviceError("device.client", cat(plugin.path(), " has no device: ", error.message()));
  }
  ClientPtr client(new Client(plugin, create.client));
  client->describe(kind);
  ClientAddressableDevices devices{.client = create.client};
  plugin.call(devices, "list its devices");
  if (devices.count == 0 || !devices.devices)
    throw DeviceError("device.client", cat(plugin.path(), " has no device"));
  for (size_t i = 0; i < devices.count; ++i) plugin.require(devices.devices[i], "device", "list its devices");
  for (size_t i = 0; i < devices.count; ++i)
    client->devices_.push_back(
        std::make_unique<ClientDevice>(*client, devices.devices[i], cat(name, ":", i)));
  client->count_processes();
  return client;
}

Client::~Client() {
  wait_for_runs();
  plugin_.destroy(ClientDestroy{.client = client_});
}

DevicePtr Client::device(size_t i) { return {shared_from_this(), devices_.at(i).get()}; }

size_t Client::number_of(const ClientDevice& device) const {
  const auto is_it = [&](const std::unique_ptr<ClientDevice>& each) { return each.get() == &device; };
  return static_cast<size_t>(std::ranges::find_if(devices_, is_it) - devices_.begin());
}

DevicePtr Client::devices(const std::vector<size_t>& numbers) {
  if (numbers.size() == 1) return device(numbers[0]);
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<ClientDevice>& out = several_[numbers];
  if (!out) {
    std::vector<ClientDevice*> members;
    for (const size_t i : numbers) members.push_back(devices_.at(i).get());
    out = std::make_unique<ClientDevice>(*this, std::move(members));
  }
  return {shared_from_this(), out.get()};
}

void Client::wait_for_runs() {
  for (const auto& device : devices_) device->wait_for_runs();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [numbers, device] : several_) device->wait_for_runs();
  if (everywhere_) everywhere_->wait_for_runs();
}

DevicePtr Client::everywhere() {
  if (processes_ == 1) {
    std::vector<size_t> all(size());
    std::iota(all.begin(), all.end(), size_t{0});
    return devices(all);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!everywhere_) {
    std::vector<ClientDevice*> members;
    for (const auto& device : devices_) members.push_back(device.get());
    // In the order of their numbers, as programs count them.
    std::ranges::sort(members, {}, &ClientDevice::id);
    everywhere_ = std::make_unique<ClientDevice>(*this, std::move(members), ids_,
                                                 static_cast<size_t>(process_) * size());
  }
  return {shared_from_this(), everywhere_.get()};
}

void Client::count_processes() {
  ClientProcessIndex own{.client = client_};
  plugin_.call(own, "say which process this is");
  ClientDevices all{.client = client_};
  plugin_.call(all, "list the devices of all processes");
  if (all.count < size() || !all.devices)
    throw DeviceError("device.client", cat(plugin_.path(), " lists ", counted(all.count, "device"),
                                           " of all processes, and this one has ", size()));
  std::map<int, std::vector<int>> of_processes;
  for (size_t i = 0; i < all.count; ++i) {
    plugin_.require(all.devices[i], "device", "list the devices of all processes");
    DeviceGetDescription description{.device = all.devices[i]};
    plugin_.call(description, "describe a device");
    plugin_.require(description.description, "description", "describe a device");
    DescriptionId id{.description = description.description};
    plugin_.call(id, "number a device");
    DescriptionProcessIndex process{.description = description.description};
    plugin_.call(process, "say the process of a device");
    of_processes[process.process].push_back(id.id);
  }
  if (of_processes.size() < 2) return;
  process_ = own.process;
  processes_ = static_cast<int>(of_processes.size());
  for (auto& [process, ids] : of_processes) {
    if (ids.size() != of_processes.begin()->second.size() || process < 0 || process >= processes_)
      throw DeviceError("device.client", cat(plugin_.path(), " has ", counted(ids.size(), "device"),
                                             " in process ", process, " of ", processes_, ", and ",
                                             of_processes.begin()->second.size(), " in another"));
    std::ranges::sort(ids);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }
}

void Client::describe(const std::string& kind) {
  ClientPlatformName name{.client = client_};
  plugin_.call(name, "say its platform");
  ClientPlatformVersion version{.client = client_};
  plugin_.call(version, "say its platform's version");
  platform_ = cat(
      std::string_view(name.name ? name.name : "", name.name ? name.name_size : 0), " ",
      std::string_view(version.version ? version.version : "", version.version ? version.version_size : 0));
  if (kind != "cuda") return;
  const Gpus found = nvidia_gpus();
  platform_ += cat(", driver ", found.driver);
  for (const Gpu& gpu : found.gpus) platform_ += cat(", ", gpu.major, ".", gpu.minor);
}

}  // namespace espalier::pjrt
