#include <vector>

#include "espalier/model.h"

namespace espalier {

double Logs::at(const std::string& name, Location at) const {
  const CallScope scope(at);
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [logged, value] : values_) known.push_back(logged);
  throw_unknown("logs.name", "value", name, known);
}

}  // namespace espalier
