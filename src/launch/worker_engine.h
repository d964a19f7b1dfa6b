// What ranks talk through where it is up to the library: said by those who choose and by who foretells it.
#pragma once

#include <functional>
#include <string>

#include "launch/cluster.h"

namespace espalier {

struct EngineChoice {
  std::string engine;  // "shm", "gloo", "mpi", or what ESPALIER_ENGINE says
  std::string why;     // behind "since"
};

// Of ranks that another launcher than `espalier launch` has started: what ESPALIER_ENGINE says, unless that
// is "auto" or not there; else shm where the launcher says that all are on one host; else mpi, below an MPI
// launcher and where its module is; else gloo. `has_mpi`: whether a rank finds that module. `apart`: why
// ranks of one host do not meet in shared memory, once they have found that out.
EngineChoice chosen_engine(const Environment& environment, const ClusterPlace& place,
                           const std::function<bool()>& has_mpi, const std::string& apart = {});

// Of ranks that `espalier launch` starts on so many hosts.
std::string launched_engine(size_t hosts);

}  // namespace espalier
