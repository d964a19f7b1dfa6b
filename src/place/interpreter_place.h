// Replicas in the reference interpreter: what the other places are held against.
#pragma once

#include "place/place.h"

namespace espalier {

// compile() raises ShapeError[strategy.values] for graphs of other types.
class InterpreterPlace final : public Place {
 public:
  explicit InterpreterPlace(int replicas)
      : Place({.where = new_place_number(), .world = replicas, .replicas = true}, nullptr) {}

 private:
  std::shared_ptr<Program> make(std::span<const PlacedGraph> graphs) const override;
};

}  // namespace espalier
