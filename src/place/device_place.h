// A device of a plugin, or several of one, alone or beside the communicator of a process.
#pragma once

#include "place/place.h"

namespace espalier {

// What a program gives stays on the device. Replicas are those of several devices, which run one program:
// compile() raises ShapeError[strategy.values] for graphs of other types. Errors over memory name the largest
// tensors it needs.
class DevicePlace final : public Place {
 public:
  // See HostPlace. REQUIRES: the context has a device. It outlives the place.
  explicit DevicePlace(const RunContext& context, bool replicas = false)
      : Place({context.device->number, context.rank, context.world, replicas, matmul_precision()},
              context.device),
        context_(context) {}
  Tensor value_of(const Tensor& result, size_t replica) const override;
  RowsPolicy rows() const override { return {.adds = true, .equal_parts = device->world() > 1}; }
  ReadsPolicy reads() const override { return {.at_once = false}; }
  std::vector<std::string> take_notes() const override {
    return device->has_notes() ? device->take_notes() : std::vector<std::string>();
  }

 private:
  std::shared_ptr<Program> make(std::span<const PlacedGraph> graphs) const override;

  const RunContext& context_;
};

bool lies_on(const Tensor& tensor, const Device& device);
// The tensor on the device: the same, where it lies there.
RemoteArrayPtr array_on(const Tensor& tensor, Device& device);
// An array of which each of its replicas has one of the tensors. REQUIRES: there are as many, of one type.
RemoteArrayPtr array_of_each(std::span<const Tensor> tensors, Device& device);

}  // namespace espalier
