// What this machine gives to ranks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace espalier {

struct NetworkInterface {
  std::string name, address;
  bool loopback = false;
};

struct MachineFacts {
  std::string host = {};                    // its name
  std::vector<std::string> addresses = {};  // of that name; none: it is not resolved
  // Those there are; those that the affinity mask of this process has; how many its quota lets work at once.
  int processors = 1, affinity = 1, allowed = 1;
  // Bytes of /dev/shm, and how many of them are free; -1: there is none.
  int64_t shm_size = -1, shm_free = -1;
  // Bytes: the least limit of its cgroups, or all there are; and what is free now.
  int64_t memory = 0, memory_free = 0;
  bool root = false;                              // mpirun wants to be told that it may
  int64_t open_files = 0;                         // how many it may have
  std::vector<NetworkInterface> interfaces = {};  // that are up, an address each
  // "espalier", "mpirun", "srun" and packages; "" where it is not there.
  std::map<std::string, std::string> versions = {};
  // "gloo", "mpi": "" where the program of a rank finds the module by itself, otherwise why not.
  std::map<std::string, std::string> engines = {};
  // The folders in which this process finds those that it does find; `espalier launch` hands them on.
  std::map<std::string, std::string> command_engines = {};
};

// Of this process, now, and of ranks whose program lies in this folder; "" for this process as a rank. Takes
// seconds at most where a name server does not answer.
MachineFacts machine_facts(const std::string& program_folder = "");

// Why nobody can listen at this port of this host; "" where one can. Port 0 always can.
std::string port_problem(int port);
// One that was free a moment ago.
int free_port();

}  // namespace espalier
