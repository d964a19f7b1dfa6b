// An array on a device of a client.
#pragma once

#include <atomic>

#include "pjrt/client_device.h"

namespace espalier::pjrt {

AbiType abi_type(DType dtype);

// It keeps its client.
class ClientArray final : public RemoteArray {
 public:
  // REQUIRES: `buffer` is not null.
  ClientArray(DevicePtr device, AbiBuffer* buffer, TensorType type);
  ~ClientArray() override;
  ClientArray(const ClientArray&) = delete;
  ClientArray& operator=(const ClientArray&) = delete;

  const TensorType& type() const override { return type_; }
  Device& device() const override { return *device_; }
  AbiBuffer* handle() const { return buffer_; }
  Literal download() const override;
  // Its memory is a program's now.
  void donated() const;

 private:
  Literal download_to(const Buffer& bytes) const;

  DevicePtr device_;
  AbiBuffer* buffer_;
  TensorType type_;
  mutable std::atomic<bool> gone_ = false;
};

}  // namespace espalier::pjrt
