// A plugin's client: its devices, arrays on them, and programs compiled for them.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ir/device.h"
#include "pjrt/compile_options.h"
#include "pjrt/plugin.h"

namespace espalier::pjrt {

// What the devices of a client have done since it was created.
struct Counters {
  int64_t compiles = 0, executes = 0, uploads = 0, downloads = 0;
  int64_t uploaded_bytes = 0, downloaded_bytes = 0;
};

// The client of one plugin in this process, and its first device. Whatever it has made keeps it alive. Safe
// from several threads.
class Client final : public Device, public std::enable_shared_from_this<Client> {
 public:
  // Raises DeviceError[device.client] where the plugin has no device, or refuses. `name`: as the device is
  // called.
  static std::shared_ptr<Client> create(const Plugin& plugin, std::string name);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Plugin& plugin() const { return plugin_; }
  Counters counters() const;

  const std::string& name() const override { return name_; }
  RemoteArrayPtr upload(const Literal& value) override;
  // Raises DeviceError[device.call], or [device.unsupported], too.
  std::shared_ptr<const DeviceProgram> compile(const Graph& graph,
                                               std::span<const Alias> aliases = {}) override;

 private:
  friend class ClientArray;
  friend class ClientProgram;
  Client(const Plugin& plugin, AbiClient* client, std::string name)
      : plugin_(plugin), client_(client), name_(std::move(name)) {}
  void count(int64_t Counters::*what, int64_t by = 1);

  const Plugin& plugin_;
  AbiClient* client_;
  const std::string name_;
  AbiDevice* device_ = nullptr;
  mutable std::mutex mutex_;
  Counters counters_;
};
using ClientPtr = std::shared_ptr<Client>;

}  // namespace espalier::pjrt
