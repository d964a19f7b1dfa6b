// An array on a device of a client, or one on each of several.
#pragma once

#include <atomic>

#include "pjrt/client_device.h"

namespace espalier::pjrt {

AbiType abi_type(DType dtype);

// It keeps its client.
class ClientArray final : public RemoteArray {
 public:
  // REQUIRES: there is a buffer for each replica, of this type, and none is null.
  ClientArray(DevicePtr device, std::vector<AbiBuffer*> buffers, TensorType type);
  ~ClientArray() override;
  ClientArray(const ClientArray&) = delete;
  ClientArray& operator=(const ClientArray&) = delete;

  const TensorType& type() const override { return type_; }
  Device& device() const override { return *device_; }
  AbiBuffer* handle(size_t replica) const { return buffers_[replica]; }
  // Raises DeviceError[device.invalid] where its client has begun anew since.
  void check_valid() const;
  // Its memory is a program's now.
  void donated() const;

 private:
  Literal copy_of(size_t replica) const override;
  Literal download_to(const Buffer& bytes, size_t replica) const;

  DevicePtr device_;
  std::vector<AbiBuffer*> buffers_;
  TensorType type_;
  const uint64_t generation_;
  mutable std::atomic<bool> gone_ = false;
};

}  // namespace espalier::pjrt
