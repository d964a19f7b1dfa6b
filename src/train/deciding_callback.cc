#include "train/deciding_callback.h"

#include "base/format.h"

namespace espalier {

std::map<std::string, std::string> facts_of(std::span<const std::shared_ptr<Callback>> callbacks) {
  std::map<std::string, std::string> out;
  std::map<std::string, int> counts;
  for (const std::shared_ptr<Callback>& callback : callbacks) {
    const auto* const deciding = dynamic_cast<const DecidingCallback*>(callback.get());
    if (!deciding) continue;
    const int count = ++counts[deciding->name()];
    const std::string name = count == 1 ? deciding->name() : cat(deciding->name(), " ", count);
    out[name] = "set";
    for (const auto& [option, value] : deciding->options()) out[cat(name, " ", option)] = value;
  }
  return out;
}

}  // namespace espalier
