// Training on the chips of a TPU of this host, as TensorFlow's TPUStrategy does.
//
//     const TPUClusterResolver resolver;
//     connect_to_cluster(resolver);
//     initialize_tpu_system(resolver);
//     const strategy::TPU tpu(resolver);
//     const auto scope = tpu.scope();
//     model.compile({...});
//     model.fit(x, y, {.batch_size = 1024});  // shared out to all chips
//
// The chips are reached by libtpu's PJRT plugin (docs/devices.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "espalier/cluster.h"
#include "espalier/strategy.h"

namespace espalier {

struct TPUResolverOptions {
  // "": this host's, as libtpu finds it, which asks the cloud's servers what it is part of. "local": the same
  // without asking them. Else the name of this host among TPU_WORKER_HOSTNAMES.
  std::string tpu = "";
  // Chips along each axis, "4x4", of a TPU of several hosts; "": TPU_TOPOLOGY. Where that is not set, the
  // topology follows from a TPU_ACCELERATOR_TYPE like "v5litepod-16" or "v6e-16", and is unknown otherwise.
  std::string topology = "";
  // Whose devices they are; "xla-cpu" stands in for a TPU where there is none.
  std::string device = "tpu";
  Environment environment = process_environment();
};

// Which host of a TPU this is: TPU_WORKER_ID, or CLOUD_TPU_TASK_ID, of TPU_WORKER_HOSTNAMES. Where they are
// not set, the place that a launcher gives (`espalier launch --hosts a:1,b:1`, srun and others: one process a
// host), and libtpu is told of it: TPU_WORKER_HOSTNAMES, TPU_WORKER_ID, CLOUD_TPU_TASK_ID,
// TPU_PROCESS_ADDRESSES and TPU_PROCESS_PORT (8471), for "local" TPU_SKIP_MDS_QUERY, and where the topology
// is known TPU_PROCESS_BOUNDS and TPU_CHIPS_PER_PROCESS_BOUNDS. One of one without either.
class TPUClusterResolver : public ClusterResolver {
 public:
  // Raises ValueError[tpu.address] for an address, "grpc://10.0.0.2:8470", which is a server of TensorFlow
  // beside a TPU, an architecture that has gone; [tpu.worker] for a name that is none of the hosts, or a
  // number that is none; [tpu.hosts] for several processes on a host, or hosts without names; [tpu.topology]
  // for a topology that hosts of 1, 4 or 8 chips do not make up.
  explicit TPUClusterResolver(TPUResolverOptions options = {}, Location at = Location::here());
  explicit TPUClusterResolver(const char* tpu, Location at = Location::here())
      : TPUClusterResolver(TPUResolverOptions{.tpu = tpu}, at) {}

  const std::string& device() const { return device_; }
  // TPU_ACCELERATOR_TYPE, "v5litepod-4"; "" where it is not set.
  const std::string& accelerator() const { return accelerator_; }
  // What libtpu is to be told beside what is set already, by the names of variables.
  const std::map<std::string, std::string>& variables() const { return variables_; }
  // Sets them where they are not set: before libtpu is loaded, or it does not see them. What takes a resolver
  // does so by itself.
  void set_variables() const;

 private:
  bool take_launched(const TPUResolverOptions& options, std::vector<std::string> hosts,
                     std::optional<int> number);
  void tell(const TPUResolverOptions& options, const char* variable, const std::string& value);
  std::string device_, accelerator_;
  std::map<std::string, std::string> variables_;
};

// Nothing: this process has the chips of its host. For programs that were written for TensorFlow.
void connect_to_cluster(const TPUClusterResolver& resolver);

// What was found.
struct TPUSystem {
  std::vector<std::string> devices;  // "tpu:0", ...
  std::string kind;                  // "TPU v5 lite"
};
// Sets resolver.variables() and begins the plugin, if it has not begun. Tensors and variables that are on its
// devices already are invalid from here on, as in TensorFlow: using one raises DeviceError[device.invalid],
// and a variable can be assigned anew. Raises DeviceError[device.unknown], [device.plugin], [device.client]
// with what is missing.
TPUSystem initialize_tpu_system(const TPUClusterResolver& resolver = TPUClusterResolver(),
                                Location at = Location::here());

namespace strategy {

struct TPUOptions {
  // As of MirroredOptions.
  size_t first_bucket = size_t{1} << 20, bucket = size_t{25} << 20;
  int64_t audit_steps = 100;
};

// A replica on each chip of a TPU: Mirrored over all of its devices, one program that all run. A batch that
// does not go round is padded by rows of weight 0. Under .dtype = "mixed_bfloat16" layers compute as TPUs do
// best. On several hosts (a pod) a process on each, which `espalier launch` starts, is a worker as under
// MultiWorkerMirrored, whose gradients meet in the TPU's own network.
class TPU : public Strategy {
 public:
  // Raises what initialize_tpu_system() raises, and StateError[tpu.pod] where the TPU has several hosts and
  // no launcher has started a process on each.
  explicit TPU(const TPUClusterResolver& resolver = TPUClusterResolver(), TPUOptions options = {},
               Location at = Location::here());
};

}  // namespace strategy
}  // namespace espalier
