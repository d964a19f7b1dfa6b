// The secret of the run in the environment of a process that joins it.
#pragma once

#include <string>

namespace espalier {

// What ESPALIER_SECRET says; "" where nothing does. From then on it is in this process alone, for those who
// ask again: the programs that it starts do not get it, and /proc/PID/environ does not show it. REQUIRES: no
// other thread changes the environment.
std::string take_secret();

}  // namespace espalier
