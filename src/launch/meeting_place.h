// Where ranks meet that something else than `espalier launch` started: at rank 0, by the name of its host.
#pragma once

#include <string>

#include "launch/cluster.h"

namespace espalier {

// For rank 0, before it listens: what keeps ranks of other hosts from reaching it, where the name of its host
// is a loopback address here, as in /etc/hosts of a Debian that its installer set up; "" where nothing does,
// or whoever says the place names a loopback address himself.
std::string loopback_problem(const ClusterPlace& place);
// What helps against it.
std::string loopback_cure(const ClusterPlace& place);
// Raises ValueError[strategy.coordinator] with both where other hosts have ranks. Where nobody says whether
// they have, all may be here: "" or the problem, as a warning.
std::string check_meeting_place(const ClusterPlace& place);

}  // namespace espalier
