// The place of a context.
#pragma once

#include <optional>

#include "place/device_place.h"
#include "place/host_place.h"

namespace espalier {

// Of a call: no longer than the context.
class PlaceOf {
 public:
  explicit PlaceOf(const RunContext& context) {
    if (context.device)
      there_.emplace(context);
    else
      here_.emplace(context.world);
  }
  const Place& operator*() const { return there_ ? static_cast<const Place&>(*there_) : *here_; }
  const Place* operator->() const { return &**this; }

 private:
  std::optional<HostPlace> here_;
  std::optional<DevicePlace> there_;
};

}  // namespace espalier
