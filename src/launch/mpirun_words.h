// `espalier launch --engine mpi`: the command of mpirun that starts the ranks.
#pragma once

#include <string>
#include <vector>

#include "launch/launch.h"
#include "launch/mpi_folders.h"

namespace espalier {

// mpirun with the hosts, ranks and variables of `options`: what mpirun refuses by itself (to run as root,
// more ranks than cores) is allowed, and with more ranks than cores they give their core away while they
// wait; files that it makes on this host lie in `folders`, unless the user says where. Raises
// IoError[launch.program] where there is no mpirun, ValueError[launch.agent] where it cannot
// call the agent.
std::vector<std::string> mpirun_words(const LaunchOptions& options, const MpiFolders& folders);

}  // namespace espalier
