// The parts of a diagnosis.
#pragma once

#include "launch/doctor.h"

namespace espalier {

// What the parts share.
struct DoctorCase {
  const Environment& environment;
  const MachineFacts& machine;
  const DoctorPlan& plan;
  const DoctorAsks& asks;
  ClusterPlace place = {};  // rank 0 of 1 where the environment says none
  int ranks_here = 1;       // on this host
  int world = 1;            // as planned
  bool by_flags = false;    // so planned, whatever the environment says
  bool spans_hosts = false;
  std::string engine = "shm";  // what `auto` chooses
  std::vector<DoctorFinding> findings = {};

  std::string variable(const std::string& name) const { return environment(name).value_or(""); }
  // Whether ranks meet at an address that their launcher says: in runs that espalier launch has not started.
  bool joins_by_address() const;
  // Whether a rank finds the module of an engine by itself; else where, as espalier launch tells it, or "".
  bool finds(const std::string& engine) const;
  std::string handed_on(const std::string& engine) const;
  // Whether the affinity mask may be this rank's alone: mpirun and srun give each rank cores of its own.
  bool has_own_cores() const;
  // How many of this host its ranks have together.
  int cores_for_ranks() const { return has_own_cores() ? machine.processors : machine.allowed; }
  // The number in a variable; 0 where it is none.
  int number(const std::string& name) const;
  void ok(std::string topic, std::string what) { findings.push_back({DoctorGrade::kOk, topic, what}); }
  void add(DoctorGrade grade, std::string topic, std::string what, std::string why, std::string cure) {
    findings.push_back({grade, topic, what, why, cure});
  }
};
// Whether it is a name or an address of this host.
bool is_this_host(const std::string& host, const MachineFacts& machine);
// How many threads a rank may have.
int threads_that_fit(const DoctorCase& of);
// The interface that others reach this host by: the one that was asked for, else the one that leads to where
// ranks meet or to the first other host, else the first that is no loopback. Name and address may be "".
NetworkInterface chosen_interface(const DoctorCase& of);

void examine_cores(DoctorCase& of);
void examine_memory(DoctorCase& of);
void examine_network(DoctorCase& of);
void examine_engines(DoctorCase& of);
void examine_slurm(DoctorCase& of);
void examine_port(DoctorCase& of);
void examine_secret(DoctorCase& of);

// As Diagnosis::command.
std::string corrected_command(const DoctorCase& of);

}  // namespace espalier
