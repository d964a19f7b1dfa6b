// A program compiled for a device of a client, or for the replicas of several.
#pragma once

#include "pjrt/client_device.h"

namespace espalier::pjrt {

// It keeps its client.
class ClientProgram final : public DeviceProgram {
 public:
  // REQUIRES: `loaded` is not null.
  ClientProgram(DevicePtr device, AbiLoadedExecutable* loaded, const Graph& graph);
  ~ClientProgram() override;
  ClientProgram(const ClientProgram&) = delete;
  ClientProgram& operator=(const ClientProgram&) = delete;

  std::vector<RemoteArrayPtr> run(std::span<const RemoteArrayPtr> inputs, std::span<const char> donated,
                                  const RunContext& context) const override;

 private:
  DevicePtr device_;
  AbiLoadedExecutable* loaded_;
  std::vector<TensorType> inputs_, outputs_;
  std::string name_;
};

}  // namespace espalier::pjrt
