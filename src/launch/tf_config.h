// TF_CONFIG, the JSON by which TensorFlow's programs learn their place.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

struct TfConfig {
  // "host:port" of each task, by role: "chief", "worker", "ps", "evaluator".
  std::map<std::string, std::vector<std::string>> cluster;
  std::string type;
  int index = 0;

  // Of those that train: the chief is the first of them, where there is one; workers follow.
  std::vector<std::string> training() const;
  int rank() const;
};

// Nothing where it names no cluster, as it does for a program that runs alone. Raises
// ValueError[cluster.environment] for what is no such JSON; for a task that its cluster has not, or that is
// no chief or worker; for an address without a port.
std::optional<TfConfig> parse_tf_config(std::string_view text);

}  // namespace espalier
