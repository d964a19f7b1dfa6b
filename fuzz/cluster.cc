// Mutated lists of hosts, hostfiles, TF_CONFIGs and environments, of a TPU's host, too: refused with a
// ValueError, or places in their range and names that are read as themselves.
#include "launch/cluster.h"

#include <sstream>

#include "espalier/error.h"
#include "espalier/tpu.h"
#include "fuzz/mutate.h"
#include "launch/host_list.h"
#include "launch/node_list.h"
#include "launch/tf_config.h"

using namespace espalier;

namespace {

// Whether it is taken.
bool take(const std::function<void()>& call) {
  try {
    call();
    return true;
  } catch (const ValueError&) {
    return false;
  }
}

void check_place(const ClusterPlace& place) {
  const bool local = place.local_rank < std::max(place.local_world, place.world) && place.local_rank >= -1 &&
                     place.local_world <= place.world;
  if (place.rank < 0 || place.rank >= place.world || !local) throw InternalError("a place out of its range");
}

bool accept(const std::string& bytes) {
  const bool nodes = take([&] {
    const std::vector<std::string> names = expand_node_list(bytes);
    if (names.size() > 1000) return;
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
    if (expand_node_list(list) != names) throw InternalError("names that are other names");
  });
  const bool counts = take([&] { expand_task_counts(bytes); });
  const bool config = take([&] {
    if (const auto out = parse_tf_config(bytes);
        out && static_cast<size_t>(out->rank()) >= out->training().size())
      throw InternalError("a task that is none of its cluster");
  });
  const bool hosts = take([&] {
    const std::vector<RunHost> list = parse_hosts(bytes);
    if (parse_hosts(to_string(list)) != list) throw InternalError("hosts that are other hosts");
  });
  const bool file = take([&] {
    const std::vector<RunHost> list = parse_hostfile(bytes);
    if (parse_hosts(to_string(list)) != list) throw InternalError("lines that are other hosts");
  });
  std::map<std::string, std::string> variables{{"TF_CONFIG", bytes}};
  std::istringstream lines(bytes);
  for (std::string line; std::getline(lines, line);) {
    if (const size_t sign = line.find('='); sign != line.npos)
      variables[line.substr(0, sign)] = line.substr(sign + 1);
  }
  if (variables.size() > 1) variables.erase("TF_CONFIG");
  const Environment environment = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  const bool place = take([&] {
    const ResolvedPlace out = resolve(environment);
    check_place(out.place);
    for (const OtherPlace& other : out.others) {
      if (other.place) check_place(*other.place);
    }
    if (out.warning().empty() != out.others.empty()) throw InternalError("a warning of nothing");
  });
  const bool tpu = take([&] {
    const TPUClusterResolver out({.environment = environment});
    if (out.rank() < 0 || out.rank() >= out.num_workers()) throw InternalError("a worker out of its range");
    for (const auto& [name, value] : out.variables()) {
      if (name.find("TPU_") == name.npos || value.empty() || variables.contains(name))
        throw InternalError("a variable that is none of a TPU's, or was set");
    }
  });
  return nodes || counts || config || hosts || file || place || tpu;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds{
      "n[01-03,7],m2",
      "rack[1-2]n[01-02],gpu-node-7.cluster.example.org",
      "2(x3),1",
      "a:2,b.example.org:16,10.0.0.3",
      "# two\na slots=2\n  b:3  # as Horovod\nc\n",
      R"({"cluster": {"chief": ["a:2222"], "worker": ["a:2223", "[::1]:2"]}, "task": {"type": "worker", "index": 1}})",
      R"({"cluster": {}, "task": {}, "environment": "cloud"})",
      "RANK=1\nWORLD_SIZE=2\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=n1\nMASTER_PORT=29500\n"
      "SLURM_STEP_ID=0\nSLURM_PROCID=1\nSLURM_NTASKS=2\n",
      "SLURM_STEP_ID=0\nSLURM_PROCID=6\nSLURM_STEP_NUM_TASKS=7\nSLURM_LOCALID=0\nSLURM_NODEID=3\n"
      "SLURM_STEP_TASKS_PER_NODE=2(x3),1\nSLURM_STEP_NODELIST=n[08-10],m1\nSLURM_JOB_ID=8195\n",
      "OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_RANK=1\n"
      "OMPI_COMM_WORLD_LOCAL_SIZE=2\nOMPI_MCA_ess_base_jobid=4097\n"
      "OMPI_MCA_orte_hnp_uri=4096.0;tcp://10.0.0.1,10.0.0.2:34911;tcp6://[fe80::1]:43370\n",
      "JOB_COMPLETION_INDEX=2\nESPALIER_PODS=3\nESPALIER_SERVICE=train-{index}.train\nESPALIER_PORT=7\n"
      "PMI_RANK=2\nPMI_SIZE=3\n",
      "ESPALIER_RANK=0\nESPALIER_WORLD=2\nESPALIER_COORDINATOR=[fd00::1]:7\nPMIX_RANK=1\n",
      "ESPALIER_RANK=1\nESPALIER_WORLD=4\nESPALIER_HOSTS=t0,t1,t2,t3\nTPU_TOPOLOGY=4x4\n",
      "ESPALIER_RANK=3\nESPALIER_WORLD=4\nESPALIER_HOSTS=a,b,c,d\nTPU_ACCELERATOR_TYPE=v5litepod-16\n",
      "TPU_WORKER_HOSTNAMES=t0,t1\nTPU_WORKER_ID=1\nCLOUD_TPU_TASK_ID=0\n"};
  return fuzz::run(argc, argv, "fuzz_cluster", seeds,
                   {"slots=",
                    "#",
                    "[",
                    "]",
                    "-",
                    ",",
                    "[1-65536]",
                    "[1-99]",
                    "(x65536)",
                    "{index}",
                    "65535",
                    "=",
                    "\n",
                    "RANK=",
                    "TF_CONFIG={",
                    "\"worker\"",
                    "\"chief\"",
                    "\"ps\"",
                    ":0",
                    ":65536",
                    "18446744073709551615",
                    "-9223372036854775808",
                    "1e9",
                    "\\u0000",
                    "\xff",
                    "SLURM_STEP_NODELIST=",
                    "PMIX_RANK=0\n",
                    "TPU_TOPOLOGY=2x2x64\n",
                    "TPU_WORKER_ID=-1\n",
                    "ESPALIER_HOSTS=,"},
                   accept);
}
