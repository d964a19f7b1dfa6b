// Data sets of others, which not every machine has: where they are not, a test skips and says so.
#pragma once

#include <cstdlib>
#include <string>

namespace espalier {

// `name`, a file or folder of the data sets; ESPALIER_DATA says where these are. The one place that names
// another.
inline std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("ESPALIER_DATA");
  return (folder && *folder ? std::string(folder) : "../shared/data") + "/" + name;
}

}  // namespace espalier
