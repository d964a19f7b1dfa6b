// What launchers say at the edges: half of what they may, the largest numbers, and what each leaves to
// others.
#include <map>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/error.h"
#include "launch/cluster.h"
#include "launch/worker_engine.h"

namespace espalier {
namespace {

using EdgeVariables = std::map<std::string, std::string>;

Environment edge_environment(EdgeVariables variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

// "source rank/world local rank/local world hosts coordinator job (said)", or what refuses them.
std::string place_of(const EdgeVariables& variables) {
  try {
    const ResolvedPlace found = resolve(edge_environment(variables));
    const ClusterPlace& place = found.place;
    std::string hosts;
    for (const std::string& host : place.hosts) hosts += (hosts.empty() ? "" : ",") + host;
    return cat(place.source, " ", place.rank, "/", place.world, " ", place.local_rank, "/", place.local_world,
               " ", hosts, " ", place.coordinator, " ", place.job, " (", place.said, ")",
               found.warning().empty() ? "" : "; " + found.warning());
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "cluster.environment");
    return error.message();
  }
}

EdgeVariables and_also(EdgeVariables some, const EdgeVariables& more) {
  for (const auto& [name, value] : more) some[name] = value;
  return some;
}

const EdgeVariables kSlurmTask{{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "3"}};

TEST(ClusterEdges, AllThatEachSays) {
  EXPECT_EQ(place_of({{"ESPALIER_RANK", "1"},
                      {"ESPALIER_WORLD", "4"},
                      {"ESPALIER_LOCAL_RANK", "0"},
                      {"ESPALIER_LOCAL_WORLD", "2"},
                      {"ESPALIER_JOB", "j"},
                      {"ESPALIER_HOSTS", "a,b"}}),
            "espalier 1/4 0/2 a,b  j (ESPALIER_RANK=1 ESPALIER_WORLD=4)");
  EXPECT_EQ(place_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "9"}, {"MPI_LOCALRANKID", "0"}}),
            "PMI 1/2 0/-1   9 (PMI_RANK=1 PMI_SIZE=2)");
  EXPECT_EQ(place_of({{"TF_CONFIG", R"({"cluster": {"chief": ["a:1"], "worker": ["b:1", "a:2"]},
                                        "task": {"type": "worker", "index": 1}})"}}),
            "TF_CONFIG 2/3 1/2 a,b a:1  (task worker 1 of 3)");
  EXPECT_EQ(place_of({{"JOB_COMPLETION_INDEX", "1"},
                      {"ESPALIER_PODS", "2"},
                      {"ESPALIER_SERVICE", "p{index}"},
                      {"ESPALIER_PORT", "65535"}}),
            "Kubernetes 1/2 0/1 p0,p1 p0:65535  (JOB_COMPLETION_INDEX=1 ESPALIER_PODS=2)");
  EXPECT_EQ(place_of({{"JOB_COMPLETION_INDEX", "1"}, {"ESPALIER_PODS", "2"}}),
            "Kubernetes 1/2 0/1    (JOB_COMPLETION_INDEX=1 ESPALIER_PODS=2)");
  EXPECT_EQ(place_of({{"JOB_COMPLETION_INDEX", "1"}, {"ESPALIER_PODS", "2"}, {"ESPALIER_PORT", "65536"}}),
            "ESPALIER_PORT is \"65536\", which is no whole number from 1 to 65535");
  // Nobody's place has nowhere to meet, and what is no address is refused all the same.
  EXPECT_EQ(place_of({{"ESPALIER_COORDINATOR", "a:7"}}), " 0/1 -1/-1    ()");
  EXPECT_EQ(place_of({{"ESPALIER_COORDINATOR", "a"}}),
            "ESPALIER_COORDINATOR is \"a\", which is no \"host:port\"");
}

TEST(ClusterEdges, TheLargestAndTheLocalNumbers) {
  EXPECT_EQ(place_of({{"RANK", "65535"}, {"WORLD_SIZE", "65536"}}),
            "torchrun 65535/65536 -1/-1    (RANK=65535 WORLD_SIZE=65536)");
  EXPECT_EQ(place_of({{"RANK", "0"}, {"WORLD_SIZE", "65537"}}),
            "WORLD_SIZE is \"65537\", which is no whole number from 1 to 65536");
  const EdgeVariables rank{{"RANK", "1"}, {"WORLD_SIZE", "4"}};
  const std::string said = "(RANK=1 WORLD_SIZE=4)";
  EXPECT_EQ(place_of(and_also(rank, {{"LOCAL_RANK", "3"}})), "torchrun 1/4 3/-1    " + said);
  EXPECT_EQ(place_of(and_also(rank, {{"LOCAL_RANK", "4"}})),
            "LOCAL_RANK is \"4\", which is no whole number from 0 to 3");
  EXPECT_EQ(place_of(and_also(rank, {{"LOCAL_WORLD_SIZE", "4"}})), "torchrun 1/4 -1/4    " + said);
  EXPECT_EQ(place_of(and_also(rank, {{"LOCAL_WORLD_SIZE", "5"}})),
            "LOCAL_WORLD_SIZE is \"5\", which is no whole number from 1 to 4");
  EXPECT_EQ(place_of(and_also(rank, {{"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}})),
            "torchrun 1/4 1/2    " + said);
  EXPECT_EQ(place_of(and_also(rank, {{"MASTER_PORT", "29500"}})),
            "MASTER_PORT is \"29500\", and MASTER_ADDR is not set: torchrun sets both");
  // torchrun listens at a port, and ranks at the one behind it.
  const EdgeVariables meets =
      and_also(rank, {{"MASTER_ADDR", "n"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(place_of(and_also(meets, {{"MASTER_PORT", "65534"}})), "torchrun 1/4 -1/-1  n:65535  " + said);
  EXPECT_EQ(place_of(and_also(meets, {{"MASTER_PORT", "65535"}})),
            "MASTER_PORT is \"65535\", which is no whole number from 1 to 65534");
}

TEST(ClusterEdges, WhereRanksOfOpenMpiMeet) {
  const EdgeVariables rank{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  const std::string said = " (OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2)";
  const auto of = [&](const std::string& job, const std::string& uri) {
    return place_of(and_also(rank, {{"OMPI_MCA_ess_base_jobid", job}, {"OMPI_MCA_orte_hnp_uri", uri}}));
  };
  const std::string uri = "9.0;tcp://10.96.0.1,10.148.0.1:34911;tcp6://[fe80::1]:43370";
  EXPECT_EQ(of("4095", uri), "Open MPI 1/2 -1/-1  10.96.0.1:61440 4095" + said);
  EXPECT_EQ(of("16777215", uri), "Open MPI 1/2 -1/-1  10.96.0.1:65535 16777215" + said);
  EXPECT_EQ(of("16777216", uri), "Open MPI 1/2 -1/-1  10.96.0.1:61440 16777216" + said);
  EXPECT_EQ(of("7", ""), "Open MPI 1/2 -1/-1   7" + said);
  EXPECT_EQ(of("7", "9.0;usock"), "Open MPI 1/2 -1/-1   7" + said);
  EXPECT_EQ(of("", uri), "Open MPI 1/2 -1/-1   " + said);
}

TEST(ClusterEdges, TasksOfSlurm) {
  const std::string said = " (SLURM_PROCID=2 SLURM_NTASKS=3)";
  EXPECT_EQ(place_of(kSlurmTask), "Slurm 2/3 -1/-1   " + said);
  EXPECT_EQ(place_of(and_also(kSlurmTask, {{"SLURM_JOB_ID", "4096"}})), "Slurm 2/3 -1/-1   4096" + said);
  EXPECT_EQ(place_of(and_also(kSlurmTask, {{"SLURM_JOB_ID", "4096"}, {"SLURM_STEP_NODELIST", "m,n"}})),
            "Slurm 2/3 -1/-1 m,n m:61440 4096" + said);
  EXPECT_EQ(place_of(and_also(kSlurmTask, {{"SLURM_JOB_ID", "4095"}, {"SLURM_STEP_NODELIST", "m,n"}})),
            "Slurm 2/3 -1/-1 m,n m:65535 4095" + said);
  EXPECT_EQ(place_of(and_also(kSlurmTask, {{"SLURM_STEP_TASKS_PER_NODE", "2,1"}})),
            "Slurm 2/3 -1/-1   " + said)
      << "of no host that is known";
  EXPECT_EQ(place_of(and_also(kSlurmTask, {{"SLURM_STEP_TASKS_PER_NODE", "3"}, {"SLURM_NODEID", "0"}})),
            "Slurm 2/3 -1/3   " + said);
  EXPECT_EQ(place_of(and_also(kSlurmTask, {{"SLURM_STEP_TASKS_PER_NODE", "4"}, {"SLURM_NODEID", "0"}})),
            "SLURM_STEP_TASKS_PER_NODE says 4 tasks on this host, SLURM_NTASKS is 3 and SLURM_LOCALID -1");
  EXPECT_EQ(place_of(and_also(kSlurmTask, {{"SLURM_STEP_TASKS_PER_NODE", "3"}, {"SLURM_NODEID", "1"}})),
            "SLURM_NODEID is 1, and SLURM_STEP_TASKS_PER_NODE, 3, is of 1 host");
  EXPECT_EQ(place_of(and_also(kSlurmTask, {{"SLURM_LOCALID", "3"}})),
            "SLURM_LOCALID is \"3\", which is no whole number from 0 to 2");
}

// A source that agrees fills what the first one leaves open, and replaces nothing.
TEST(ClusterEdges, WhatIsOpenIsTakenFromThoseWhoAgree) {
  const EdgeVariables task = and_also(kSlurmTask, {{"SLURM_LOCALID", "1"},
                                                   {"SLURM_NODEID", "0"},
                                                   {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                                                   {"SLURM_STEP_NODELIST", "m,n"},
                                                   {"SLURM_JOB_ID", "5"}});
  const std::string said = " (RANK=2 WORLD_SIZE=3)";
  EXPECT_EQ(place_of(and_also(task, {{"RANK", "2"}, {"WORLD_SIZE", "3"}})),
            "torchrun 2/3 1/2 m,n m:61445 5" + said);
  EXPECT_EQ(place_of(and_also(task, {{"RANK", "2"},
                                     {"WORLD_SIZE", "3"},
                                     {"LOCAL_RANK", "0"},
                                     {"LOCAL_WORLD_SIZE", "1"},
                                     {"MASTER_ADDR", "h"},
                                     {"MASTER_PORT", "7"},
                                     {"TORCHELASTIC_RUN_ID", "run"}})),
            "torchrun 2/3 0/1 m,n h:7 run" + said);
  // One process a host, started by srun, is no launcher of other ranks.
  const EdgeVariables a_host =
      and_also(kSlurmTask, {{"SLURM_NODEID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "1(x3)"}});
  EXPECT_EQ(place_of(and_also(a_host, {{"RANK", "0"}, {"WORLD_SIZE", "3"}, {"LOCAL_WORLD_SIZE", "1"}})),
            "torchrun 0/3 -1/1    (RANK=0 WORLD_SIZE=3); torchrun says rank 0 of 3 (RANK=0 WORLD_SIZE=3), "
            "which is believed; Slurm says rank 2 of 3 (SLURM_PROCID=2 SLURM_NTASKS=3)");
  EXPECT_EQ(place_of(and_also(a_host, {{"RANK", "0"}, {"WORLD_SIZE", "6"}, {"LOCAL_WORLD_SIZE", "2"}})),
            "torchrun 0/6 -1/2    (RANK=0 WORLD_SIZE=6)");
  // PMIx alone is refused, and not below who says how many there are.
  EXPECT_EQ(place_of(and_also(kSlurmTask, {{"PMIX_RANK", "2"}})),
            "Slurm 2/3 -1/-1    (SLURM_PROCID=2 SLURM_NTASKS=3)");
}

TEST(ClusterEdges, WhetherOtherHostsHaveRanks) {
  EXPECT_FALSE(spans_hosts({.world = 4}));
  EXPECT_FALSE(spans_hosts({.world = 4, .local_world = 4, .hosts = {"a"}}));
  EXPECT_TRUE(spans_hosts({.world = 4, .local_world = 3}));
  EXPECT_TRUE(spans_hosts({.world = 4, .hosts = {"a", "b"}}));
}

TEST(ClusterEdges, TasksThatAreNoneAreRefused) {
  const auto of = [](const std::string& task, const std::string& cluster = R"({"chief": ["a:1"]})") {
    return place_of({{"TF_CONFIG", cat("{\"cluster\": ", cluster, ", \"task\": ", task, "}")}});
  };
  const std::string prefix = "TF_CONFIG ", no_task = prefix +
                                                     "has a cluster, and no task that says which of it "
                                                     "this process is";
  EXPECT_EQ(of("{}"), no_task);
  EXPECT_EQ(of("[]"), no_task);
  EXPECT_EQ(of(R"({"index": 0})"), prefix + "has a task without a type");
  EXPECT_EQ(of(R"({"type": 0, "index": 0})"), prefix + "has a task without a type");
  EXPECT_EQ(of(R"({"type": "chief"})"), prefix + "has a task without an index");
  for (const char* index :
       {"\"x\"", "\"0x\"", "\"\"", "\"-1\"", "0.0", "-1", "65537", "\"65537\"", "null", "[]"})
    EXPECT_EQ(of(cat(R"({"type": "chief", "index": )", index, "}")),
              cat(prefix, "has a task whose index is ", index, ", which is no whole number from 0 on"));
  EXPECT_EQ(of(R"({"type": "chief", "index": 65536})"),
            prefix + "says that this is chief 65536, and its cluster has 1 chief");
  EXPECT_EQ(of(R"({"type": "worker", "index": "0"})"),
            prefix + "says that this is worker 0, and its cluster has 0 workers");
  EXPECT_EQ(of(R"({"type": "chief", "index": 0})", "[1]"), prefix + "has a cluster that is no JSON object");
  EXPECT_EQ(of(R"({"type": "chief", "index": 0})", R"({"chief": [7]})"),
            prefix + R"(has 7 as an address of "chief", which is no "host:port")");
  EXPECT_EQ(of(R"({"type": "chief", "index": 0})", R"({"ps": [], "chief": ["a:1"]})"),
            "TF_CONFIG 0/1 0/1 a a:1  (task chief 0 of 1)");
}

TEST(ClusterEdges, WhatRanksTalkThrough) {
  const auto of = [](const EdgeVariables& variables, const ClusterPlace& place, bool has_mpi,
                     const std::string& apart = {}) {
    const EngineChoice choice = chosen_engine(
        edge_environment(variables), place, [&] { return has_mpi; }, apart);
    return cat(choice.engine, " since ", choice.why);
  };
  const ClusterPlace here{.world = 2, .local_world = 2}, apart{.world = 2, .local_world = 1};
  const EdgeVariables by_pmix{{"PMIX_RANK", "0"}}, by_pmi{{"PMI_RANK", "0"}};
  EXPECT_EQ(of({{"ESPALIER_ENGINE", "gloo"}}, here, true), "gloo since ESPALIER_ENGINE says so");
  EXPECT_EQ(of({{"ESPALIER_ENGINE", "auto"}}, here, true), "shm since all ranks are on one host");
  EXPECT_EQ(of({{"ESPALIER_ENGINE", ""}}, here, true), "shm since all ranks are on one host");
  EXPECT_EQ(of(by_pmix, apart, true), "mpi since an MPI launcher started them");
  EXPECT_EQ(of(by_pmi, apart, true), "mpi since an MPI launcher started them");
  EXPECT_EQ(of(by_pmi, apart, false), "gloo since the module mpi is not there");
  EXPECT_EQ(of({}, apart, true), "gloo since no MPI launcher started them");
  EXPECT_EQ(of({}, {.world = 2}, false), "gloo since the module mpi is not there");
  EXPECT_EQ(of({}, here, true, "they differ"),
            "gloo since no MPI launcher started them; not shm, since they differ");
  EXPECT_EQ(launched_engine(1), "shm");
  EXPECT_EQ(launched_engine(2), "gloo");
}

}  // namespace
}  // namespace espalier
