#include "launch/cluster.h"

#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

using ClusterVariables = std::map<std::string, std::string>;

Environment environment_of(ClusterVariables variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

// What a launcher that ran here has set (tests/golden/environments).
ClusterVariables recorded(const std::string& section) {
  std::ifstream file("tests/golden/environments.txt");
  ClusterVariables out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("[")) {
      inside = line == cat("[", section, "]");
    } else if (const size_t sign = line.find('='); inside && sign != line.npos) {
      out[line.substr(0, sign)] = line.substr(sign + 1);
    }
  }
  EXPECT_FALSE(out.empty()) << section;
  return out;
}

ClusterVariables with(ClusterVariables some, const ClusterVariables& more) {
  for (const auto& [name, value] : more) some[name] = value;
  return some;
}

// "source rank/world local rank/local world hosts coordinator job".
std::string shown(const ClusterPlace& place) {
  std::string hosts;
  for (const std::string& host : place.hosts) hosts += (hosts.empty() ? "" : ",") + host;
  return cat(place.source, " ", place.rank, "/", place.world, " ", place.local_rank, "/", place.local_world,
             " ", hosts, " ", place.coordinator, " ", place.job);
}
std::string resolved(const ClusterVariables& variables) {
  const ResolvedPlace out = resolve(environment_of(variables));
  EXPECT_EQ(out.warning(), "");
  return shown(out.place);
}

// The message that refuses them.
std::string refusal_of(const ClusterVariables& variables) {
  try {
    return cat("taken: ", shown(resolve(environment_of(variables)).place));
  } catch (const ValueError& error) {
    EXPECT_TRUE(error.rule() == "cluster.environment" || error.rule() == "cluster.nodes") << error.what();
    return error.message();
  }
}

const ClusterVariables kTorchrun{{"RANK", "5"},
                                 {"WORLD_SIZE", "8"},
                                 {"LOCAL_RANK", "1"},
                                 {"LOCAL_WORLD_SIZE", "4"},
                                 {"MASTER_ADDR", "n1"},
                                 {"MASTER_PORT", "29500"},
                                 {"TORCHELASTIC_RUN_ID", "job7"}};

TEST(Cluster, NobodySaysAPlace) {
  EXPECT_EQ(resolved({}), " 0/1 -1/-1   ");
  EXPECT_EQ(resolved({{"MASTER_ADDR", "n1"}, {"LOCAL_RANK", "3"}, {"SLURM_JOB_ID", "7"}, {"RANK", ""}}),
            " 0/1 -1/-1   ");
}

TEST(Cluster, Torchrun) {
  EXPECT_EQ(resolved(kTorchrun), "torchrun 5/8 1/4  n1:29500 job7");
  EXPECT_EQ(resolved(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})),
            "torchrun 5/8 1/4  n1:29501 job7");
  EXPECT_EQ(resolved(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})),
            "torchrun 5/8 1/4  n1:29500 job7");
  EXPECT_EQ(resolved(with(kTorchrun, {{"MASTER_ADDR", "fd00::1"}})),
            "torchrun 5/8 1/4  [fd00::1]:29500 job7");
  EXPECT_EQ(resolved({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "torchrun 0/1 -1/-1   ");
}

TEST(Cluster, OpenMpiAsItRanHere) {
  // 1129709569 / 4096 % 4096 + 61440.
  EXPECT_EQ(resolved(recorded("mpirun -n 2")), "Open MPI 1/2 1/2  192.0.2.2:62816 1129709569");
  EXPECT_EQ(resolved(with(recorded("mpirun -n 2"),
                          {{"OMPI_MCA_orte_hnp_uri", "4096.0;tcp6://[fd00::2,fd00::3]:46401"},
                           {"OMPI_MCA_ess_base_jobid", "4097"}})),
            "Open MPI 1/2 1/2  [fd00::2]:61441 4097");
}

TEST(Cluster, SlurmAsItRanHere) {
  EXPECT_EQ(resolved(recorded("srun -n 2 --mpi=none")), "Slurm 1/2 1/2 vm vm:61445 5");
  EXPECT_EQ(resolved(recorded("srun -n 2 --mpi=pmix")), "Slurm 1/2 1/2 vm vm:61446 6");
  EXPECT_EQ(resolved(recorded("srun -n 2 in sbatch")), "Slurm 1/2 1/2 vm vm:61448 8");
  // PMI is asked before, and says no hosts.
  EXPECT_EQ(resolved(recorded("srun -n 2 --mpi=pmi2")), "PMI 1/2 1/2 vm vm:61447 7.0");
  // The script itself is no rank, though it has SLURM_PROCID=0 and SLURM_NTASKS=2.
  EXPECT_EQ(resolved(recorded("sbatch -n 2")), " 0/1 -1/-1   ");
}

TEST(Cluster, SlurmOverHosts) {
  const ClusterVariables step{{"SLURM_STEP_ID", "1"},
                              {"SLURM_PROCID", "6"},
                              {"SLURM_NTASKS", "9"},
                              {"SLURM_STEP_NUM_TASKS", "7"},
                              {"SLURM_LOCALID", "0"},
                              {"SLURM_NODEID", "3"},
                              {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                              {"SLURM_STEP_NODELIST", "n[08-10],m1"},
                              {"SLURM_JOB_ID", "8195"}};
  EXPECT_EQ(resolved(step), "Slurm 6/7 0/1 n08,n09,n10,m1 n08:61443 8195");
  EXPECT_EQ(refusal_of(with(step, {{"SLURM_NODEID", "4"}})),
            "SLURM_NODEID is 4, and SLURM_STEP_TASKS_PER_NODE, 2(x3),1, is of 4 hosts");
  EXPECT_EQ(
      refusal_of(with(step, {{"SLURM_LOCALID", "1"}})),
      "SLURM_STEP_TASKS_PER_NODE says 1 task on this host, SLURM_STEP_NUM_TASKS is 7 and SLURM_LOCALID 1");
  EXPECT_EQ(refusal_of(with(step, {{"SLURM_STEP_NODELIST", "n[08-"}})),
            "\"n[08-\" has a [ without its ], at character 2: no list of hosts");
  EXPECT_EQ(refusal_of({{"SLURM_STEP_ID", "0"}}),
            "SLURM_STEP_ID is set, and SLURM_PROCID and SLURM_NTASKS are not: srun sets all of them");
}

TEST(Cluster, Pmi) {
  EXPECT_EQ(
      resolved({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}}),
      "PMI 3/4 1/2   ");
  EXPECT_EQ(refusal_of({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "x"}}),
            "PMIX_RANK is 1, and PMIx has no variable for the number of ranks");
}

TEST(Cluster, TfConfig) {
  const auto config = [](const std::string& cluster, const std::string& task) {
    return ClusterVariables{{"TF_CONFIG", cat("{\"cluster\": ", cluster, ", \"task\": ", task, "}")}};
  };
  const std::string both =
      R"({"chief": ["a:2222"], "worker": ["a:2223", "b:2222"], "ps": ["c:1"], "evaluator": ["d:1"]})";
  EXPECT_EQ(resolved(config(both, R"({"type": "chief", "index": 0})")), "TF_CONFIG 0/3 0/2 a,b a:2222 ");
  EXPECT_EQ(resolved(config(both, R"({"type": "worker", "index": 0})")), "TF_CONFIG 1/3 1/2 a,b a:2222 ");
  EXPECT_EQ(resolved(config(both, R"({"type": "worker", "index": "1"})")), "TF_CONFIG 2/3 0/1 a,b a:2222 ");
  EXPECT_EQ(resolved(config(R"({"worker": ["localhost:12345", "localhost:23456"]})",
                            R"({"type": "worker", "index": 1})")),
            "TF_CONFIG 1/2 1/2 localhost localhost:12345 ");
  // Programs that run alone.
  EXPECT_EQ(resolved({{"TF_CONFIG", "{}"}}), " 0/1 -1/-1   ");
  EXPECT_EQ(resolved({{"TF_CONFIG", R"({"cluster": {}, "task": {}, "environment": "cloud"})"}}),
            " 0/1 -1/-1   ");

  const std::string prefix = "TF_CONFIG ";
  EXPECT_EQ(refusal_of({{"TF_CONFIG", "[]"}}), prefix + "is no JSON object");
  EXPECT_EQ(refusal_of({{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"]}})"}}),
            prefix + "has a cluster, and no task that says which of it this process is");
  EXPECT_EQ(refusal_of(config(both, R"({"type": "worker", "index": 2})")),
            prefix + "says that this is worker 2, and its cluster has 2 workers");
  EXPECT_EQ(refusal_of(config(both, R"({"type": "worker", "index": -1})")),
            prefix + "has a task whose index is -1, which is no whole number from 0 on");
  EXPECT_EQ(refusal_of(config(both, R"({"type": "ps", "index": 0})")),
            prefix +
                "has a task of type \"ps\": those that train by a multi-worker strategy are of type "
                "chief or worker");
  EXPECT_EQ(refusal_of(config(R"({"worker": ["a"]})", R"({"type": "worker", "index": 0})")),
            prefix + R"(has "a" as an address of "worker", which is no "host:port")");
  EXPECT_EQ(refusal_of(config(R"({"worker": "a:1"})", R"({"type": "worker", "index": 0})")),
            prefix + "has no list of addresses for \"worker\"");
  EXPECT_EQ(refusal_of(config(R"({"chief": ["a:1", "b:1"]})", R"({"type": "chief", "index": 0})")),
            prefix + "has 2 chiefs, and there is one at most");
  EXPECT_TRUE(refusal_of({{"TF_CONFIG", "{\"cluster\""}}).starts_with(prefix + "is not read as JSON: "));
}

TEST(Cluster, Kubernetes) {
  const ClusterVariables pod{{"JOB_COMPLETION_INDEX", "2"},
                             {"ESPALIER_PODS", "3"},
                             {"ESPALIER_SERVICE", "train-workers-0-{index}.train"}};
  EXPECT_EQ(resolved(pod),
            "Kubernetes 2/3 0/1 train-workers-0-0.train,train-workers-0-1.train,train-workers-0-2.train "
            "train-workers-0-0.train:29600 ");
  EXPECT_EQ(resolved({{"JOB_COMPLETION_INDEX", "2"}}), " 0/1 -1/-1   ");  // pods that work on their own
  EXPECT_EQ(refusal_of({{"ESPALIER_PODS", "3"}}),
            "ESPALIER_PODS is 3, and JOB_COMPLETION_INDEX is not set: Kubernetes sets both");
  EXPECT_EQ(refusal_of({{"ESPALIER_SERVICE", "train"}}),
            "ESPALIER_SERVICE is \"train\", and ESPALIER_PODS is not set: manifests set both");
  EXPECT_EQ(refusal_of(with(pod, {{"ESPALIER_SERVICE", "train"}})),
            "ESPALIER_SERVICE is \"train\", which is no host name with {index} for the number of a pod");
}

TEST(Cluster, ByHand) {
  EXPECT_EQ(
      resolved({{"ESPALIER_RANK", "1"}, {"ESPALIER_WORLD", "4"}, {"ESPALIER_COORDINATOR", "10.0.0.1:7"}}),
      "espalier 1/4 -1/-1  10.0.0.1:7 ");
  EXPECT_EQ(
      refusal_of({{"ESPALIER_RANK", "1"}, {"ESPALIER_WORLD", "4"}, {"ESPALIER_COORDINATOR", "10.0.0.1"}}),
      "ESPALIER_COORDINATOR is \"10.0.0.1\", which is no \"host:port\"");
  // Of another launcher: where it says no place to meet, and where it says one.
  EXPECT_EQ(resolved({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"ESPALIER_COORDINATOR", "10.0.0.1:7"}}),
            "PMI 1/4 -1/-1  10.0.0.1:7 ");
  EXPECT_EQ(
      resolve(environment_of(with(kTorchrun, {{"ESPALIER_COORDINATOR", "10.0.0.1:7"}}))).place.coordinator,
      "10.0.0.1:7");
  EXPECT_EQ(refusal_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"ESPALIER_COORDINATOR", "x"}}),
            "ESPALIER_COORDINATOR is \"x\", which is no \"host:port\"");
}

// Each pair of variables of each launcher: one of them alone, and values that are none.
TEST(Cluster, HalfAPlaceAndGarbageAreRefused) {
  struct Pair {
    std::string rank, world, who;
  };
  for (const Pair& pair :
       {Pair{"ESPALIER_RANK", "ESPALIER_WORLD", "espalier"}, Pair{"RANK", "WORLD_SIZE", "torchrun"},
        Pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"},
        Pair{"PMI_RANK", "PMI_SIZE", "PMI"}}) {
    EXPECT_EQ(refusal_of({{pair.rank, "1"}}),
              cat(pair.rank, " is 1, and ", pair.world, " is not set: ", pair.who, " sets both"));
    EXPECT_EQ(refusal_of({{pair.world, "2"}}),
              cat(pair.world, " is 2, and ", pair.rank, " is not set: ", pair.who, " sets both"));
    EXPECT_EQ(refusal_of({{pair.rank, "2"}, {pair.world, "2"}}),
              cat(pair.rank, " is 2 and ", pair.world, " is 2: ranks are from 0 to 1"));
    for (const std::string value :
         {"-1", "+1", "1.0", " 1", "1 ", "0x1", "one", "65536", "99999999999999999999"})
      EXPECT_EQ(refusal_of({{pair.rank, value}, {pair.world, "2"}}),
                cat(pair.rank, " is \"", value, "\", which is no whole number from 0 to 65535"));
    EXPECT_EQ(refusal_of({{pair.rank, "0"}, {pair.world, "0"}}),
              cat(pair.world, " is \"0\", which is no whole number from 1 to 65536"));
  }
  EXPECT_EQ(refusal_of(with(kTorchrun, {{"LOCAL_RANK", "4"}})), "LOCAL_RANK is 4 and LOCAL_WORLD_SIZE is 4");
  EXPECT_EQ(refusal_of(with(kTorchrun, {{"MASTER_PORT", ""}})),
            "MASTER_ADDR is \"n1\", and MASTER_PORT is not set: torchrun sets both");
  EXPECT_EQ(refusal_of(with(kTorchrun, {{"MASTER_PORT", "70000"}})),
            "MASTER_PORT is \"70000\", which is no whole number from 1 to 65535");
  EXPECT_EQ(refusal_of(with(kTorchrun, {{"MASTER_ADDR", "a b"}})),
            "MASTER_ADDR is \"a b\", which is no host");
}

TEST(Cluster, TheFirstOfTheOrderWins) {
  // Each adds one that is asked before all others.
  ClusterVariables all;
  const auto winner = [&](const ClusterVariables& more) {
    all = with(all, more);
    return resolve(environment_of(all)).place.source;
  };
  EXPECT_EQ(winner({{"JOB_COMPLETION_INDEX", "0"}, {"ESPALIER_PODS", "2"}}), "Kubernetes");
  EXPECT_EQ(
      winner({{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})"}}),
      "TF_CONFIG");
  EXPECT_EQ(winner(recorded("srun -n 2 --mpi=none")), "Slurm");
  EXPECT_EQ(winner({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), "PMI");
  EXPECT_EQ(winner(recorded("mpirun -n 2")), "Open MPI");
  EXPECT_EQ(winner(kTorchrun), "torchrun");
  EXPECT_EQ(winner({{"ESPALIER_RANK", "0"}, {"ESPALIER_WORLD", "2"}}), "espalier");
}

TEST(Cluster, ThoseThatDifferAreNamedWithTheirValues) {
  const ResolvedPlace mess =
      resolve(environment_of(with(recorded("srun -n 2 --mpi=none"),
                                  {{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}})));
  ASSERT_EQ(mess.others.size(), 2u);
  EXPECT_EQ(mess.others[0].source, "Open MPI");
  EXPECT_EQ(mess.others[1].place->world, 2);
  EXPECT_EQ(
      mess.warning(),
      "torchrun says rank 0 of 4 (RANK=0 WORLD_SIZE=4), which is believed; Open MPI: OMPI_COMM_WORLD_RANK "
      "is 3, and OMPI_COMM_WORLD_SIZE is not set: Open MPI sets both; Slurm says rank 1 of 2 "
      "(SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2)");
  // A process that believes that it is alone is the worst of them.
  EXPECT_NE(
      resolve(environment_of(with(recorded("mpirun -n 2"), {{"RANK", "0"}, {"WORLD_SIZE", "1"}}))).warning(),
      "");
}

TEST(Cluster, LaunchersBelowLaunchersDoNotDiffer) {
  // srun starts torchrun once on each of 2 hosts, which starts 4 ranks.
  const ClusterVariables outer{{"SLURM_STEP_ID", "0"},        {"SLURM_PROCID", "1"},
                               {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_LOCALID", "0"},
                               {"SLURM_NODEID", "1"},         {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}};
  EXPECT_EQ(resolved(with(outer, kTorchrun)), "torchrun 5/8 1/4  n1:29500 job7");
  EXPECT_NE(resolve(environment_of(with(outer, with(kTorchrun, {{"WORLD_SIZE", "6"}})))).warning(), "");
  // mpirun in a step of one task.
  EXPECT_EQ(resolved(with(recorded("mpirun -n 2"),
                          {{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}})),
            "Open MPI 1/2 1/2  192.0.2.2:62816 1129709569");
}

}  // namespace
}  // namespace espalier
