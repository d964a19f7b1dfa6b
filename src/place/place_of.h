// The place of a context.
#pragma once

#include <optional>

#include "place/device_place.h"
#include "place/host_place.h"

namespace espalier {

// No longer than the context. `replicas`: see HostPlace.
class PlaceOf {
 public:
  explicit PlaceOf(const RunContext& context, bool replicas = false) {
    if (context.device)
      there_.emplace(context, replicas);
    else
      here_.emplace(context.world, replicas);
  }
  const Place& operator*() const { return there_ ? static_cast<const Place&>(*there_) : *here_; }
  const Place* operator->() const { return &**this; }

 private:
  std::optional<HostPlace> here_;
  std::optional<DevicePlace> there_;
};

}  // namespace espalier
