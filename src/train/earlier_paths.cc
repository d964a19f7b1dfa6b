#include "train/earlier_paths.h"

#include <mutex>
#include <unordered_map>

namespace espalier {
namespace {

constexpr const char* kEarlier = "earlier/";

struct KeptPath {
  std::weak_ptr<VariableState> variable;
  std::string path;
};
struct KeptPaths {
  std::mutex mutex;
  std::unordered_map<const VariableState*, KeptPath> kept;
};
KeptPaths& kept_paths() {
  static KeptPaths all;
  return all;
}

}  // namespace

std::string earlier_path(const Variable& variable) {
  KeptPaths& all = kept_paths();
  const std::lock_guard lock(all.mutex);
  const auto found = all.kept.find(variable.state().get());
  // Another variable may live where one was.
  const bool its = found != all.kept.end() && found->second.variable.lock() == variable.state();
  return its ? found->second.path : variable.path();
}

void keep_earlier_path(const Variable& variable, const std::string& path) {
  KeptPaths& all = kept_paths();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.kept, [](const auto& one) { return one.second.variable.expired(); });
  all.kept.insert_or_assign(variable.state().get(), KeptPath{variable.state(), path});
}

std::map<std::string, std::string> earlier_paths(
    std::span<const std::pair<std::string, Variable>> variables) {
  std::map<std::string, std::string> out;
  for (const auto& [name, variable] : variables) {
    const std::string earlier = earlier_path(variable);
    if (earlier != variable.path()) out.emplace(kEarlier + name, earlier);
  }
  return out;
}

std::string earlier_path_in(const std::map<std::string, std::string>& said, const std::string& name) {
  const auto found = said.find(kEarlier + name);
  return found == said.end() ? "" : found->second;
}

bool tells_earlier_paths(const std::map<std::string, std::string>& said) {
  const auto first = said.lower_bound(kEarlier);
  return first != said.end() && first->first.starts_with(kEarlier);
}

}  // namespace espalier
