// A plugin's client: its devices, arrays on them, and programs compiled for them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"
#include "pjrt/compile_options.h"
#include "pjrt/plugin.h"

namespace espalier::pjrt {

class Client;
using ClientPtr = std::shared_ptr<Client>;

struct DeviceInfo {
  int id = 0;
  std::string kind;  // "cpu", "NVIDIA H100 80GB HBM3", "TPU v5 lite"
};

// An array on a device. It keeps its client alive. A donated one is gone: see Executable::run.
class DeviceArray {
 public:
  DeviceArray(ClientPtr client, AbiBuffer* buffer, TensorType type);
  ~DeviceArray();
  DeviceArray(DeviceArray&& other) noexcept;
  DeviceArray& operator=(DeviceArray&&) = delete;
  const TensorType& type() const { return type_; }
  AbiBuffer* handle() const { return buffer_; }
  // Waits until it is computed and copies it to the host. Raises DeviceError of the run that should have
  // given it, too.
  Literal download() const;
  bool is_deleted() const;

 private:
  ClientPtr client_;
  AbiBuffer* buffer_;
  TensorType type_;
};

// A program on one device.
class Executable {
 public:
  Executable(ClientPtr client, AbiLoadedExecutable* loaded, std::vector<TensorType> inputs,
             std::vector<TensorType> outputs, std::string name);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  // Runs, without waiting for the end. Raises ShapeError or DTypeError[device.inputs] for an input that is
  // not the program's (plugins check the size in bytes alone), DeviceError[device.call] where the plugin
  // refuses.
  std::vector<DeviceArray> run(std::span<const DeviceArray* const> inputs) const;

 private:
  ClientPtr client_;
  AbiLoadedExecutable* loaded_;
  std::vector<TensorType> inputs_, outputs_;
  std::string name_;
};

class Client : public std::enable_shared_from_this<Client> {
 public:
  // Raises DeviceError[device.client] where the plugin has no device, or refuses.
  static ClientPtr create(const Plugin& plugin);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Plugin& plugin() const { return plugin_; }
  const std::string& platform() const { return platform_; }
  // What this process may use.
  const std::vector<DeviceInfo>& devices() const { return infos_; }
  // Onto its first device. `value` need not outlive the call. Splats are expanded.
  DeviceArray upload(const Literal& value);
  // Compiles the graph, given as StableHLO text, for the first device. Raises
  // UnsupportedError[device.program] for what XLA computes otherwise than StableHLO says,
  // DeviceError[device.call] where the plugin refuses.
  std::unique_ptr<Executable> compile(const Graph& graph, const CompileOptions& options = {});

 private:
  Client(const Plugin& plugin, AbiClient* client) : plugin_(plugin), client_(client) {}
  const Plugin& plugin_;
  AbiClient* client_;
  std::string platform_;
  std::vector<AbiDevice*> devices_;
  std::vector<DeviceInfo> infos_;
};

}  // namespace espalier::pjrt
