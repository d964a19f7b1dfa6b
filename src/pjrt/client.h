// A plugin's client: the devices of one plugin in this process.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ir/device.h"
#include "pjrt/plugin.h"

namespace espalier::pjrt {

struct ClientOptions {
  bool memory_grows = false;     // of GPUs: memory is taken when needed, not most of it at once
  double memory_fraction = 0;    // of a GPU's memory, the most that is taken; 0: the plugin's choice
  std::vector<int64_t> visible;  // GPUs by their numbers in the driver's order; none: all
  int64_t cpu_devices = 1;       // that XLA for CPUs makes of this machine
  bool operator==(const ClientOptions&) const = default;
};

class ClientDevice;
using DevicePtr = std::shared_ptr<ClientDevice>;

// Whatever it has made keeps it alive. Safe from several threads.
class Client final : public std::enable_shared_from_this<Client> {
 public:
  // `kind` is the plugin's of find.h: it tells which options it knows; others count for nothing. Devices are
  // called `name`:0 and on. Raises DeviceError[device.client] where the plugin has no device, or refuses.
  static std::shared_ptr<Client> create(const Plugin& plugin, const std::string& name,
                                        const std::string& kind = "", const ClientOptions& options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Plugin& plugin() const { return plugin_; }
  AbiClient* handle() const { return client_; }
  size_t size() const { return devices_.size(); }
  // It keeps its client. REQUIRES: i < size().
  DevicePtr device(size_t i);
  // REQUIRES: a single one of this client.
  size_t number_of(const ClientDevice& device) const;
  // These as one, replica after replica: the same one for the same numbers in the same order. Of one number
  // it is the single one. REQUIRES: each is below size(), and none stands twice.
  DevicePtr devices(const std::vector<size_t>& numbers);
  // Of several processes that run programs together, as of the hosts of a TPU: this one's number, from 0, and
  // how many they are.
  int process() const { return process_; }
  int processes() const { return processes_; }
  // One device that stands for the devices of all processes; its members are those of this process. Each
  // process runs the same programs on it in the same order. With one process: the device of all its devices.
  DevicePtr everywhere();
  // Until no run of any of its devices is under way.
  void wait_for_runs();
  // Held while a program is started on several devices: each of them has the same one next, or collectives of
  // two would wait for each other.
  std::mutex& starting() { return starting_; }
  // Arrays that its devices hold cannot be used from here on: DeviceError[device.invalid] says so.
  void invalidate_arrays() { ++generation_; }
  uint64_t generation() const { return generation_; }
  // Name and version of what it drives, and of its driver: what compiled programs depend on.
  const std::string& platform() const { return platform_; }
  // Whether that is XLA for CPUs, and knows by their names the options that we give it.
  bool takes_options_of_cpus() const { return cpu_options_ && platform_.starts_with("cpu"); }
  void takes_no_options_of_cpus() { cpu_options_ = false; }

 private:
  Client(const Plugin& plugin, AbiClient* client) : plugin_(plugin), client_(client) {}
  void describe(const std::string& kind);
  void count_processes();

  const Plugin& plugin_;
  AbiClient* client_;
  std::string platform_;
  std::atomic<bool> cpu_options_ = true;
  std::atomic<uint64_t> generation_ = 0;
  std::vector<std::unique_ptr<ClientDevice>> devices_;
  std::mutex mutex_;
  std::mutex starting_;
  std::map<std::vector<size_t>, std::unique_ptr<ClientDevice>> several_;
  int process_ = 0, processes_ = 1;
  std::vector<int> ids_;  // of the devices of all processes, one process after the other
  std::unique_ptr<ClientDevice> everywhere_;
};
using ClientPtr = std::shared_ptr<Client>;

}  // namespace espalier::pjrt
