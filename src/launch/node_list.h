// Lists of hosts as Slurm writes them: "n[01-03,7],m2".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// The names in their order; repeated ones stay. Several brackets of one name multiply, the last one fastest;
// numbers have at least the digits of the first of their range: n[08-10] is n08, n09, n10. Raises
// ValueError[cluster.nodes] with the list and why, also for more than 65536 names, and for names of more than
// 255 bytes.
std::vector<std::string> expand_node_list(std::string_view list);

// How many tasks each host has, "2(x3),1": {2, 2, 2, 1}. Raises ValueError[cluster.nodes].
std::vector<int> expand_task_counts(std::string_view list);

}  // namespace espalier
