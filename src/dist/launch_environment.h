// What the launcher gives its ranks in their environment.
#pragma once

#include <string>
#include <vector>

namespace espalier {

// Of this process, "NAME=VALUE", without what an outer launch has set.
std::vector<std::string> outer_environment();

// The same for another host: without what says who and where this process is (HOME, PWD, HOSTNAME, TMPDIR,
// the terminal, the session, the display, its place under another launcher) and what is no UTF-8.
std::vector<std::string> forwarded_environment();

}  // namespace espalier
