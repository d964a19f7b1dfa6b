#include "dist/launch_environment.h"

#include <algorithm>
#include <string_view>

extern char** environ;  // NOLINT: of the C library

namespace espalier {

std::vector<std::string> outer_environment() {
  constexpr std::string_view kOurs[] = {
      "ESPALIER_RANK=",    "ESPALIER_WORLD=",          "ESPALIER_LOCAL_RANK=",  "ESPALIER_LOCAL_WORLD=",
      "ESPALIER_JOB=",     "ESPALIER_SEGMENTS=",       "ESPALIER_CONTROL=",     "ESPALIER_SECRET=",
      "ESPALIER_RESTART=", "ESPALIER_CHAOS=",          "ESPALIER_HOST=",        "ESPALIER_HOST_SIZES=",
      "ESPALIER_ENGINE=",  "ESPALIER_ENGINE_ADDRESS=", "ESPALIER_STALL_AFTER=", "ESPALIER_BOARD="};
  std::vector<std::string> out;
  for (char** at = environ; *at; ++at) {
    const std::string_view one = *at;
    if (std::ranges::none_of(kOurs, [&](std::string_view name) { return one.starts_with(name); }))
      out.emplace_back(one);
  }
  return out;
}

}  // namespace espalier
