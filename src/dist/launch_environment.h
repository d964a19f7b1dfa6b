// What the launcher gives its ranks in their environment.
#pragma once

#include <string>
#include <vector>

namespace espalier {

// Of this process, "NAME=VALUE", without what an outer launch has set.
std::vector<std::string> outer_environment();

}  // namespace espalier
