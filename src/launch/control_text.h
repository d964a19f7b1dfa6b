// Sentences about ranks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch/control_message.h"

namespace espalier {

// "rank 2", "ranks 0-2", "ranks 0, 2-5": in order.
std::string ranks_text(const std::vector<int>& ranks);
// "5.2 s", "300 s".
std::string seconds_text(double seconds);
// "in step 812", "waiting for input in step 8".
std::string stage_text(const StageReport& at);
// "step 9", "call 9 of "step"".
std::string step_text(const StageReport& at);
// Facts by rank, of which some differ: "learning_rate is 0.1 on ranks 0-2 and 0.2 on rank 3", of the first
// that differs, "version" before all others. `odd` becomes the rank that stands against all others; -1 where
// there is none.
std::string mismatch_text(const std::map<int, std::map<std::string, std::string>>& facts, int& odd);

}  // namespace espalier
