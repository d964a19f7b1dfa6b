// Machines, environments and plans for the doctor, in tests.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/doctor.h"

namespace espalier {

// A machine on which nothing is wrong.
inline MachineFacts healthy() {
  return {.host = "a",
          .addresses = {"10.0.0.1"},
          .processors = 8,
          .affinity = 8,
          .allowed = 8,
          .shm_size = int64_t{1} << 30,
          .shm_free = int64_t{1} << 30,
          .memory = int64_t{16} << 30,
          .memory_free = int64_t{8} << 30,
          .open_files = 1024,
          .interfaces = {{"lo", "127.0.0.1", true}, {"eth0", "10.0.0.1"}, {"ib0", "10.1.0.1"}},
          .versions = {{"espalier", "1.0"}, {"mpirun", "4.1"}, {"srun", ""}},
          .engines = {{"gloo", ""}, {"mpi", ""}}};
}

struct Planted {
  std::map<std::string, std::string> variables = {};
  MachineFacts machine = healthy();
  DoctorPlan plan = {};
  DoctorAsks asks = {.port_problem = [](int) { return std::string(); },
                     .free_port = [] { return 40000; },
                     .address_towards = [](const std::string&) { return std::string("10.0.0.1"); }};

  Diagnosis diagnosis() const {
    return diagnose(
        [this](const std::string& name) {
          const auto found = variables.find(name);
          if (found != variables.end()) return std::optional<std::string>(found->second);
          return name == "ESPALIER_SECRET" ? std::optional<std::string>("secret") : std::nullopt;
        },
        machine, plan, asks);
  }
};

// What is not OK, a line each.
inline std::string troubles(const std::vector<DoctorFinding>& findings) {
  std::string out;
  for (const DoctorFinding& finding : findings) {
    if (finding.grade != DoctorGrade::kOk) out += to_string(finding) + "\n";
  }
  return out;
}
inline std::string troubles(const Planted& planted) { return troubles(planted.diagnosis().findings); }

inline const std::vector<RunHost> kTwoHosts{{"a", 2}, {"b", 2}};

inline std::map<std::string, std::string> slurm_step(const std::string& mpi = "") {
  std::map<std::string, std::string> out{{"SLURM_JOB_ID", "7"},        {"SLURM_STEP_ID", "0"},
                                         {"SLURM_PROCID", "1"},        {"SLURM_STEP_NUM_TASKS", "4"},
                                         {"SLURM_STEP_NODELIST", "a"}, {"SLURM_STEP_TASKS_PER_NODE", "4"},
                                         {"SLURM_NODEID", "0"},        {"SLURM_LOCALID", "1"}};
  if (!mpi.empty()) out["SLURM_MPI_TYPE"] = mpi;
  return out;
}

}  // namespace espalier
