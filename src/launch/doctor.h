// What is wrong with an environment, a machine or a plan of a run, found before the run does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/cluster.h"
#include "launch/host_address.h"
#include "launch/host_list.h"
#include "launch/machine_facts.h"

namespace espalier {

// kWarn: it runs, slower or otherwise than one may think. kWrong: it does not.
enum class DoctorGrade : uint8_t { kOk, kWarn, kWrong };
std::string_view name(DoctorGrade grade);

struct DoctorFinding {
  DoctorGrade grade = DoctorGrade::kOk;
  std::string topic;      // stable: "cores", "port"
  std::string what;       // with all values
  std::string why = {};   // what comes of it; "" where nothing does
  std::string cure = {};  // "" where none is needed
};
// "WRONG port: 29500 is in use; a rank could not listen there; fix: another one, as 40123".
std::string to_string(const DoctorFinding& finding);
bool any_wrong(const std::vector<DoctorFinding>& findings);

// The run that is meant.
struct DoctorPlan {
  std::vector<RunHost> hosts = {};        // none: this host alone
  int ranks = 0;                          // 0: a rank for each slot, or as the launcher says, or none planned
  std::string engine = "auto";            // "auto", "shm", "gloo", "mpi"
  std::string interface = {};             // "eth0" or an address; "": none was asked for
  int port = 0;                           // where rank 0 would listen; 0: that of the launcher
  std::vector<std::string> program = {};  // for the command; none: PROGRAM
};

// Questions to the machine, which tests answer for it.
struct DoctorAsks {
  std::function<std::string(int)> port_problem = espalier::port_problem;
  std::function<int()> free_port = espalier::free_port;
  std::function<std::string(const std::string&)> address_towards = [](const std::string& host) {
    return espalier::address_towards(host);
  };
};

// What one rank says of itself, for the others.
struct RankReport {
  int rank = 0, world = 1;
  std::string version, host;
  std::string interface, address;  // by which others would reach it; "": there is no way
};

struct Diagnosis {
  std::optional<ResolvedPlace> place = {};  // nothing where the environment is refused
  std::vector<DoctorFinding> findings = {};
  std::string command = {};  // the line that starts the run, with what was wrong put right
  RankReport report = {};    // of this process
};
Diagnosis diagnose(const Environment& environment, const MachineFacts& machine, const DoctorPlan& plan,
                   const DoctorAsks& asks = {});

// Two ranks with one id, missing ranks, worlds and versions that differ, addresses that others cannot reach.
std::vector<DoctorFinding> compare_reports(const std::vector<RankReport>& reports);

}  // namespace espalier
