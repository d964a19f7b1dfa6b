#include "place/place.h"

namespace espalier {

std::shared_ptr<const Program> Place::compile(std::span<const PlacedGraph> graphs, RunEvents* events) const {
  const std::string& name = graphs[0].graph->name();
  const Told told(events, {Activity::Kind::kCompile, name});
  std::shared_ptr<Program> out = make(graphs);
  out->name_ = name;
  return out;
}

}  // namespace espalier
