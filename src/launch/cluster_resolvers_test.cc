#include <cstdlib>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/cluster.h"
#include "strategy/worker.h"

namespace espalier {
namespace {

Environment resolver_environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

TEST(ClusterResolvers, OfAClusterThatTheProgramNames) {
  const ClusterSpec cluster{{"chief", {"a:1"}}, {"worker", {"b:1", "c:1"}}, {"ps", {"d:1"}}};
  const SimpleClusterResolver worker(cluster, "worker", 1);
  EXPECT_EQ(worker.rank(), 2);
  EXPECT_EQ(worker.task_id(), 1);
  EXPECT_EQ(worker.num_workers(), 3);
  EXPECT_EQ(worker.master(), "a:1");
  EXPECT_EQ(worker.cluster_spec(), cluster);
  EXPECT_EQ(SimpleClusterResolver(cluster, "chief", 0).rank(), 0);
  EXPECT_EQ(SimpleClusterResolver({{"worker", {"x", "y"}}}).master(), "x");
  for (const auto& [type, id] :
       {std::pair<std::string, int>{"worker", 2}, {"worker", -1}, {"chief", 1}, {"ps", 0}})
    EXPECT_EQ(rule_of([&] { SimpleClusterResolver(cluster, type, id); }), "cluster.task") << type << id;
  EXPECT_EQ(rule_of([] { SimpleClusterResolver({{"chief", {"a", "b"}}}, "chief", 0); }), "cluster.task");
  EXPECT_EQ(rule_of([] { SimpleClusterResolver({}); }), "cluster.task");
}

TEST(ClusterResolvers, OfTfConfig) {
  const TFConfigClusterResolver resolver(resolver_environment(
      {{"TF_CONFIG", R"({"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]},
                         "task": {"type": "worker", "index": 1}})"}}));
  EXPECT_EQ(resolver.task_type(), "worker");
  EXPECT_EQ(resolver.task_id(), 1);
  EXPECT_EQ(resolver.rank(), 2);
  EXPECT_EQ(resolver.num_workers(), 3);
  EXPECT_EQ(resolver.master(), "a:1");
  EXPECT_EQ(resolver.cluster_spec(),
            (ClusterSpec{{"chief", {"a:1"}}, {"worker", {"b:1", "c:1"}}, {"ps", {"d:1"}}}));
}

TEST(ClusterResolvers, OfLaunchers) {
  const SlurmClusterResolver slurm(resolver_environment({{"SLURM_STEP_ID", "0"},
                                                         {"SLURM_PROCID", "2"},
                                                         {"SLURM_STEP_NUM_TASKS", "3"},
                                                         {"SLURM_STEP_NODELIST", "n[1-2]"},
                                                         {"SLURM_JOB_ID", "4"}}));
  EXPECT_EQ(slurm.task_id(), 2);
  EXPECT_EQ(slurm.num_workers(), 3);
  EXPECT_EQ(slurm.master(), "n1:61444");
  EXPECT_EQ(slurm.cluster_spec(), (ClusterSpec{{"worker", {"n1", "n2"}}}));
  const OpenMPIClusterResolver mpi(
      resolver_environment({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}));
  EXPECT_EQ(mpi.task_id(), 1);
  EXPECT_EQ(mpi.master(), "");
  EXPECT_TRUE(mpi.cluster_spec().empty());
  const KubernetesClusterResolver pod(resolver_environment({{"JOB_COMPLETION_INDEX", "1"},
                                                            {"ESPALIER_PODS", "2"},
                                                            {"ESPALIER_SERVICE", "p-{index}.s"},
                                                            {"ESPALIER_PORT", "9"}}));
  EXPECT_EQ(pod.task_id(), 1);
  EXPECT_EQ(pod.master(), "p-0.s:9");
}

TEST(ClusterResolvers, OfLaunchersThatDidNotStartThisProcess) {
  const Environment empty = resolver_environment({});
  EXPECT_EQ(rule_of([&] { TFConfigClusterResolver{empty}; }), "cluster.environment");
  EXPECT_EQ(rule_of([&] { SlurmClusterResolver{empty}; }), "cluster.environment");
  EXPECT_EQ(rule_of([&] { OpenMPIClusterResolver{empty}; }), "cluster.environment");
  EXPECT_EQ(rule_of([&] { KubernetesClusterResolver{empty}; }), "cluster.environment");
}

TEST(ClusterResolvers, ReadTheEnvironmentOfTheProcess) {
  ::setenv("TF_CONFIG", R"({"cluster": {"worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}})",
           1);
  EXPECT_EQ(TFConfigClusterResolver().task_id(), 1);
  ::unsetenv("TF_CONFIG");
  EXPECT_EQ(rule_of([] { TFConfigClusterResolver(); }), "cluster.environment");
}

// It trains alone: there is nobody to meet.
TEST(ClusterResolvers, AProcessThatALauncherStartedByItselfIsNoWorker) {
  ::setenv("TF_CONFIG", R"({"cluster": {"worker": ["b:1"]}, "task": {"type": "worker", "index": 0}})", 1);
  EXPECT_EQ(Worker::from_environment(), nullptr);
  ::unsetenv("TF_CONFIG");
}

}  // namespace
}  // namespace espalier
