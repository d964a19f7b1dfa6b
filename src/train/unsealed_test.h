// Saved models whose files a test edits.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/env.h"

namespace espalier {

// Takes the checksums out of a saved model, as models of before had none.
inline void drop_checksums(const std::string& model) {
  auto description = nlohmann::ordered_json::parse(posix_env().read_file(model + "/model.json"));
  description.erase("crc32");
  posix_env().write_file(model + "/model.json", description.dump(2) + "\n");
}

}  // namespace espalier
