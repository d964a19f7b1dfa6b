// Which worker of a run this process is, by what a launcher has put into its environment.
//
//     const SlurmClusterResolver slurm;  // in a program that srun has started
//     std::cout << "worker " << slurm.task_id() << " of " << slurm.num_workers() << ", all meet at "
//               << slurm.master() << "\n";
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace espalier {

struct ClusterPlace;

// The value of a variable; nothing where it is not set. An empty value counts as not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
// That of this process.
Environment process_environment();

// Addresses, "host:port", or names of hosts, by role: "chief", "worker".
using ClusterSpec = std::map<std::string, std::vector<std::string>>;

// What all resolvers say. Those of launchers raise ValueError[cluster.environment] where theirs did not start
// this process, or says half of a place; [cluster.nodes] for a list of hosts that is none.
class ClusterResolver {
 public:
  // Those of tasks, by role, where the environment lists them; otherwise the hosts of workers, each once;
  // empty where it does not say those either.
  const ClusterSpec& cluster_spec() const { return spec_; }
  const std::string& task_type() const { return task_type_; }
  // The number of this process among those of its role, from 0.
  int task_id() const { return task_id_; }
  // The same among all that train: the chief first, where there is one, then workers.
  int rank() const { return rank_; }
  int num_workers() const { return num_workers_; }
  // Where workers meet, "host:port": at that of rank 0. "" where nothing says it.
  const std::string& master() const { return master_; }

 protected:
  ClusterResolver() = default;
  explicit ClusterResolver(const ClusterPlace& place);
  ClusterSpec spec_;
  std::string task_type_ = "worker", master_;
  int task_id_ = 0, rank_ = 0, num_workers_ = 1;
};

// A cluster that the program itself names.
class SimpleClusterResolver : public ClusterResolver {
 public:
  // Raises ValueError[cluster.task] for a task that the cluster has not, for a type other than chief and
  // worker, and for more than one chief.
  explicit SimpleClusterResolver(ClusterSpec cluster, const std::string& task_type = "worker",
                                 int task_id = 0);
};

// TF_CONFIG: roles chief and worker train; addresses of others stay in cluster_spec().
class TFConfigClusterResolver : public ClusterResolver {
 public:
  explicit TFConfigClusterResolver(const Environment& environment = process_environment());
};

// A step of srun.
class SlurmClusterResolver : public ClusterResolver {
 public:
  explicit SlurmClusterResolver(const Environment& environment = process_environment());
};

// mpirun of Open MPI.
class OpenMPIClusterResolver : public ClusterResolver {
 public:
  explicit OpenMPIClusterResolver(const Environment& environment = process_environment());
};

// A pod of an indexed Job, or of a JobSet, whose manifest sets ESPALIER_PODS and ESPALIER_SERVICE
// (docs/clusters.md).
class KubernetesClusterResolver : public ClusterResolver {
 public:
  explicit KubernetesClusterResolver(const Environment& environment = process_environment());
};

}  // namespace espalier
