// Which launcher started this process, and what place in a run it says that the process has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "espalier/cluster.h"

namespace espalier {

struct ClusterPlace {
  std::string source = {};                // "torchrun"; "" where nobody says a place
  int rank = 0, world = 1;                // 0 <= rank < world
  int local_rank = -1, local_world = -1;  // the same among the ranks of this host; -1: unknown
  std::vector<std::string> hosts = {};    // where ranks are, each once, that of rank 0 first; none: unknown
  std::string coordinator = {};           // "host:port" of rank 0, for ranks to meet; "": unknown
  std::string job = {};                   // a name that runs beside it do not have; "": unknown
  std::string said = {};                  // by which variables: "RANK=1 WORLD_SIZE=2"
};

// Whether it says that other hosts have ranks, too.
bool spans_hosts(const ClusterPlace& place);

// What each launcher says, in the order in which they are asked; nothing where it did not start this process.
// Each raises ValueError[cluster.environment] for a rank without a number of ranks or the other way round,
// for what is no number, and for a rank beyond its world; [cluster.nodes] for a list of hosts that is none.
//
// espalier: ESPALIER_RANK, ESPALIER_WORLD, ESPALIER_LOCAL_RANK, ESPALIER_LOCAL_WORLD, ESPALIER_JOB,
// ESPALIER_HOSTS; where
// ranks meet is ESPALIER_COORDINATOR, "host:port". `espalier launch` sets them, or anybody by hand.
std::optional<ClusterPlace> place_of_espalier(const Environment& environment);
// torchrun: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RUN_ID.
// Ranks meet at MASTER_PORT, or at the port behind it where TORCHELASTIC_USE_AGENT_STORE is True: torchrun
// itself listens at MASTER_PORT then.
std::optional<ClusterPlace> place_of_torchrun(const Environment& environment);
// Open MPI's mpirun: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE. Ranks meet at the host of mpirun
// (OMPI_MCA_orte_hnp_uri), where rank 0 is unless a hostfile says otherwise, at port
// 61440 + (job / 4096) mod 4096.
std::optional<ClusterPlace> place_of_open_mpi(const Environment& environment);
// mpirun of MPICH and Intel MPI, srun --mpi=pmi2: PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS. PMIx
// has no variable for the number of ranks: PMIX_RANK alone is refused, unless mpirun or srun set theirs.
std::optional<ClusterPlace> place_of_pmi(const Environment& environment);
// A step of srun (SLURM_STEP_ID): SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID,
// SLURM_STEP_TASKS_PER_NODE with SLURM_NODEID, SLURM_STEP_NODELIST, SLURM_JOB_ID. Ranks meet at the first
// host, port 61440 + job mod 4096: one step of a job at a time. A batch script outside of srun is no step.
std::optional<ClusterPlace> place_of_slurm(const Environment& environment);
// TF_CONFIG (launch/tf_config.h): the chief is rank 0 where there is one, workers follow. Ranks meet at the
// address of rank 0, which TensorFlow's server would listen at.
std::optional<ClusterPlace> place_of_tf_config(const Environment& environment);
// Pods of an indexed Job or JobSet: JOB_COMPLETION_INDEX, which Kubernetes sets, and what the manifest sets:
// ESPALIER_PODS, how many there are, and ESPALIER_SERVICE, the host name of a pod by its headless service
// with {index} for its number, "train-workers-0-{index}.train". Ranks meet at pod 0, port ESPALIER_PORT
// (29600). An index alone is no place: jobs of pods that have nothing to do with each other have one too.
std::optional<ClusterPlace> place_of_kubernetes(const Environment& environment);

// What another source says that is not what the winner says.
struct OtherPlace {
  std::string source;
  std::optional<ClusterPlace> place = {};  // nothing where it says half of one
  std::string problem = {};                // which half is missing
};
struct ResolvedPlace {
  // Of the first source that has one. What it leaves open is taken from sources that agree in rank and world.
  // Where ranks meet is ESPALIER_COORDINATOR, "host:port", of any source, where it is set.
  ClusterPlace place = {};
  std::vector<OtherPlace> others = {};
  // One that names the winner and all others with their values; "" where none differs.
  std::string warning() const;
};
// The place of this process. A source that started one process for each host, or one in all, does not differ
// from a launcher which that process started: torchrun or mpirun below srun. Raises what the functions above
// raise for the source that would have won.
ResolvedPlace resolve(const Environment& environment);

}  // namespace espalier
