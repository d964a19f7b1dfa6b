// Hosts and how many ranks each has room for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier {

struct HostSlots {
  std::string host;
  int slots = 1;
  friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

// "a:2,b:2"; a host without a number has one slot. Raises ValueError[launch.hosts] with the part that is
// none, for a host that comes twice, for none, and for more than 4096.
std::vector<HostSlots> parse_host_slots(std::string_view list);
// Lines "a slots=2", as Open MPI has them, "a:2", as Horovod, or "a"; blanks around them, and what is behind
// a #, do not count. Raises ValueError[launch.hosts] with the number of the line.
std::vector<HostSlots> parse_hostfile(std::string_view text);
// "a:2,b:2".
std::string to_string(const std::vector<HostSlots>& hosts);
int slots_of(const std::vector<HostSlots>& hosts);

}  // namespace espalier
