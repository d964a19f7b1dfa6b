#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "launch/cluster.h"
#include "launch/tf_config.h"

namespace espalier {
namespace {

ClusterPlace required_place(const std::optional<ClusterPlace>& place, std::string_view launcher,
                            std::string_view variable) {
  if (!place)
    throw ValueError("cluster.environment",
                     cat(launcher, " did not start this process: ", variable, " is not set"));
  return *place;
}

}  // namespace

ClusterResolver::ClusterResolver(const ClusterPlace& place)
    : master_(place.coordinator), task_id_(place.rank), rank_(place.rank), num_workers_(place.world) {
  if (!place.hosts.empty()) spec_["worker"] = place.hosts;
}

SimpleClusterResolver::SimpleClusterResolver(ClusterSpec cluster, const std::string& task_type, int task_id) {
  const auto refuse = [](const std::string& why) { throw ValueError("cluster.task", why); };
  TfConfig config{std::move(cluster), task_type, task_id};
  if (task_type != "chief" && task_type != "worker")
    refuse(cat("a task of type \"", shortened(task_type), "\" does not train: those of chief and worker do"));
  if (config.cluster["chief"].size() > 1)
    refuse(cat("a cluster has at most one chief, and this one has ", config.cluster["chief"].size()));
  const size_t known = config.cluster[task_type].size();
  if (task_id < 0 || static_cast<size_t>(task_id) >= known)
    refuse(cat("task ", task_id, " of type ", task_type, " is none of a cluster with ",
               counted(known, task_type)));
  const std::vector<std::string> training = config.training();
  task_type_ = task_type;
  task_id_ = task_id;
  rank_ = config.rank();
  num_workers_ = static_cast<int>(training.size());
  master_ = training[0];
  spec_ = std::move(config.cluster);
  std::erase_if(spec_, [](const auto& role) { return role.second.empty(); });
}

TFConfigClusterResolver::TFConfigClusterResolver(const Environment& environment)
    : ClusterResolver(
          required_place(place_of_tf_config(environment), "what TF_CONFIG describes", "its cluster")) {
  const std::optional<TfConfig> config = parse_tf_config(environment("TF_CONFIG").value_or(""));
  spec_ = config->cluster;
  task_type_ = config->type;
  task_id_ = config->index;
}

SlurmClusterResolver::SlurmClusterResolver(const Environment& environment)
    : ClusterResolver(required_place(place_of_slurm(environment), "srun", "SLURM_STEP_ID")) {}

OpenMPIClusterResolver::OpenMPIClusterResolver(const Environment& environment)
    : ClusterResolver(required_place(place_of_open_mpi(environment), "mpirun", "OMPI_COMM_WORLD_RANK")) {}

KubernetesClusterResolver::KubernetesClusterResolver(const Environment& environment)
    : ClusterResolver(required_place(place_of_kubernetes(environment), "Kubernetes", "ESPALIER_PODS")) {}

}  // namespace espalier
