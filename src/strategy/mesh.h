// Who there is: the replicas of all workers, and which of them are this process's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"

namespace espalier {

struct Mesh {
  int world = 1;             // replicas, of all workers
  int first = 0, count = 1;  // those of this process have neighbouring numbers, from the first on
  int worker = 0, workers = 1;
  bool launched = false;                // whether this process is a worker of a run, perhaps the only one
  std::string place_text = {};          // see Worker::place_text()
  std::string_view kind = "devices";    // what a note calls several replicas: "devices" or "workers"
  std::vector<std::string> names = {};  // of those of this process, as a user names them, where he does

  // Whether what replicas find is combined.
  bool many() const { return world > 1; }
  std::string name(int replica) const {
    const auto i = static_cast<size_t>(replica - first);
    return replica >= first && i < names.size() ? names[i] : cat("replica ", replica);
  }
};

}  // namespace espalier
