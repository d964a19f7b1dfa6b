// This CPU, whose programs are plans.
#pragma once

#include "place/place.h"

namespace espalier {

class HostPlace final : public Place {
 public:
  // For contexts of a world. `replicas`: for one of those of a strategy; compile() raises
  // ValueError[strategy.variable] where the new value of a variable would differ between them.
  explicit HostPlace(int world, bool replicas = false)
      : Place({.world = world, .replicas = replicas}, nullptr) {}

 private:
  std::shared_ptr<Program> make(std::span<const PlacedGraph> graphs) const override;
};

}  // namespace espalier
