// Cores, memory, engines.
#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "base/shortened.h"
#include "launch/doctor_findings.h"

namespace espalier {
namespace {

// What Open MPI 4.1 makes in /dev/shm for each rank (btl_vader_segment_size, and its head).
constexpr int64_t kSegment = 4194312;
// Below it, ranks of small models end for want of memory.
constexpr int64_t kLeastMemory = int64_t{128} << 20;
// Libraries, control, shared memory; and a connection to each other rank.
constexpr int64_t kFilesOfRank = 128;

std::string in_mib(int64_t bytes) { return cat(bytes >> 20, " MiB"); }

std::string version_of(const MachineFacts& machine, const std::string& what) {
  const auto found = machine.versions.find(what);
  return found == machine.versions.end() ? "" : found->second;
}

}  // namespace

int threads_that_fit(const DoctorCase& of) {
  return std::max(1, of.machine.allowed / std::max(of.has_own_cores() ? 1 : of.ranks_here, 1));
}

void examine_cores(DoctorCase& of) {
  const MachineFacts& machine = of.machine;
  std::string cores = cat(counted(machine.processors, "core"), ", of which this process may use ",
                          machine.affinity, " (affinity mask)");
  if (machine.allowed < machine.affinity)
    cores += cat(", ", machine.allowed, " at once (CPU quota of its cgroup)");
  const int ranks = of.ranks_here, told = of.number("ESPALIER_THREADS");
  const int threads = told > 0 ? told : std::max(1, machine.allowed / std::max(ranks, 1));
  const std::string plan = cat(counted(ranks, "rank"), " here with ", counted(threads, "thread"), " each");
  const int for_all = of.cores_for_ranks();
  if (ranks > for_all)
    of.add(DoctorGrade::kWarn, "slots", cat(plan, ", and ", cores),
           "ranks wait for each other's cores: MPI's waits are 16 times as long then",
           cat(counted(for_all, "rank"), " on this host"));
  else if (threads > threads_that_fit(of))
    of.add(DoctorGrade::kWarn, "threads", cat(plan, ", and ", cores), "threads take cores from each other",
           cat("ESPALIER_THREADS=", threads_that_fit(of), ", or leave it unset"));
  else
    of.ok("cores", cat(cores, "; ", plan));
}

void examine_memory(DoctorCase& of) {
  const MachineFacts& machine = of.machine;
  const int64_t ranks = std::max(of.ranks_here, 1);
  const bool mpi = of.engine == "mpi";
  if (machine.shm_free < ranks * kSegment)
    of.add(mpi ? DoctorGrade::kWrong : DoctorGrade::kWarn, "shm",
           machine.shm_size < 0 ? cat("there is no /dev/shm")
                                : cat("/dev/shm has ", machine.shm_free, " bytes free of ", machine.shm_size),
           mpi ? cat("Open MPI takes ", kSegment, " for each of ", counted(ranks, "rank"),
                     ": it slows down or ends")
               : cat("engine ", of.engine, " takes none of it; Open MPI would take ", kSegment, " a rank"),
           "more of it, as docker run --shm-size=1g, or a volume of medium Memory at /dev/shm");
  else
    of.ok("shm", cat(in_mib(machine.shm_free), " free in /dev/shm"));
  if (machine.memory_free < ranks * kLeastMemory)
    of.add(DoctorGrade::kWarn, "memory",
           cat(in_mib(machine.memory_free), " free of ", in_mib(machine.memory), " for ",
               counted(ranks, "rank")),
           cat("below ", in_mib(kLeastMemory), " a rank the system may end them"),
           "fewer ranks, or a higher limit");
  else
    of.ok("memory", cat(in_mib(machine.memory_free), " free of ", in_mib(machine.memory)));
  const int64_t files = kFilesOfRank + (of.spans_hosts || of.engine != "shm" ? 2 * int64_t{of.world} : 0);
  if (machine.open_files < files)
    of.add(DoctorGrade::kWarn, "files", cat("a process may have ", machine.open_files, " files open"),
           cat("a rank of ", of.world, " may need ", files), cat("ulimit -n ", files));
  else
    of.ok("files", cat("a process may have ", machine.open_files, " files open"));
}

void examine_engines(DoctorCase& of) {
  std::string there = "shm", not_there;
  for (const auto& [engine, why] : of.machine.engines) {
    const std::string handed_on = of.handed_on(engine);
    const auto here = of.machine.command_engines.find(engine);
    if (why.empty()) {
      there += cat(", ", engine);
    } else if (!handed_on.empty()) {
      there += cat(", ", engine, " (of ", handed_on, ", which espalier launch tells its ranks)");
    } else if (engine == of.engine) {
      of.add(DoctorGrade::kWrong, "engine", why, "the run cannot start",
             here == of.machine.command_engines.end() ? "install it, or another --engine"
                                                      : cat("ESPALIER_MODULES=", here->second));
    } else {
      not_there += cat("; ", why);
    }
  }
  of.ok("engines", there + not_there);
  if (of.engine != "shm" && !of.machine.engines.contains(of.engine))
    of.add(DoctorGrade::kWrong, "engine", cat("ESPALIER_ENGINE is ", shortened(of.engine)),
           "no rank knows an engine of this name", "ESPALIER_ENGINE=auto");
  if (of.engine == "shm" && of.spans_hosts)
    of.add(DoctorGrade::kWrong, "engine",
           cat("engine shm for ", counted(of.world, "rank"), " on several hosts"),
           "shared memory ends at its host", "--engine auto");
  if (of.engine == "mpi" && version_of(of.machine, "mpirun").empty() &&
      version_of(of.machine, "srun").empty())
    of.add(DoctorGrade::kWrong, "engine", "neither mpirun nor srun is there", "nothing starts ranks of MPI",
           "apt-get install openmpi-bin");
  std::string versions = cat("espalier ", version_of(of.machine, "espalier"));
  for (const auto& [name, version] : of.machine.versions) {
    if (name != "espalier") versions += cat(", ", name, ": ", version.empty() ? "none" : version);
  }
  of.ok("versions", versions);
}

void examine_slurm(DoctorCase& of) {
  if (of.variable("SLURM_JOB_ID").empty()) return;
  if (of.variable("SLURM_STEP_ID").empty()) {
    of.add(DoctorGrade::kWarn, "slurm",
           cat("in job ", of.variable("SLURM_JOB_ID"), " of Slurm, outside of srun"),
           "what is called so is one process, not a task for each of SLURM_NTASKS",
           "put srun before the program");
    return;
  }
  const bool by_slurm = of.place.source == "Slurm" || of.place.source == "PMI";
  if (of.engine != "mpi" || !by_slurm || of.world < 2) return;
  const std::string kind = of.variable("SLURM_MPI_TYPE");
  const bool pmix = kind.starts_with("pmix") || !of.variable("PMIX_RANK").empty();
  if (pmix)
    of.ok("slurm", cat("srun --mpi=", kind.empty() ? "pmix" : kind));
  else
    of.add(DoctorGrade::kWrong, "slurm",
           kind.empty() || kind == "none" ? cat("srun has no --mpi=pmix, and the engine is mpi")
                                          : cat("srun has --mpi=", kind, ", and the engine is mpi"),
           kind == "pmi2" ? "Open MPI of Debian has no PMI-2 and ends"
                          : cat("each of ", of.world, " tasks is an MPI job of one rank"),
           "srun --mpi=pmix, or ESPALIER_ENGINE=gloo");
}

}  // namespace espalier
