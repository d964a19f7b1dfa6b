#include "espalier/tpu.h"

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/devices.h"
#include "espalier/espalier.h"
#include "pjrt/plugin_test.h"

namespace espalier {
namespace {

Environment tpu_environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) {
    const auto it = values.find(name);
    return it == values.end() || it->second.empty() ? std::nullopt : std::optional(it->second);
  };
}
// XLA for CPUs in the place of a TPU. REQUIRES: there is a plugin.
TPUClusterResolver resolver_of_three() {
  ::setenv("ESPALIER_PJRT_PLUGINS", pjrt::test_plugin().c_str(), 1);
  pjrt::tests_have_cpu_devices(3);
  return TPUClusterResolver({.device = "xla-cpu", .environment = tpu_environment({})});
}
const std::map<std::string, std::string> kPod = {{"TPU_WORKER_HOSTNAMES", "t0,t1,t2,t3"},
                                                 {"TPU_WORKER_ID", "2"},
                                                 {"TPU_ACCELERATOR_TYPE", "v5litepod-16"}};

TEST(TpuResolver, AHostByItselfIsOneOfOne) {
  const TPUClusterResolver here({.environment = tpu_environment({})});
  EXPECT_EQ(here.num_workers(), 1);
  EXPECT_EQ(here.rank(), 0);
  EXPECT_TRUE(here.cluster_spec().empty());
  EXPECT_TRUE(here.variables().empty());
  const TPUClusterResolver local({.tpu = "local", .environment = tpu_environment({})});
  EXPECT_EQ(local.variables(), (std::map<std::string, std::string>{{"TPU_SKIP_MDS_QUERY", "1"}}));
  const TPUClusterResolver told(
      {.tpu = "local", .environment = tpu_environment({{"TPU_SKIP_MDS_QUERY", "0"}})});
  EXPECT_TRUE(told.variables().empty());
}

TEST(TpuResolver, TheEnvironmentSaysWhichHostOfATpuItIs) {
  const TPUClusterResolver third({.environment = tpu_environment(kPod)});
  EXPECT_EQ(third.num_workers(), 4);
  EXPECT_EQ(third.rank(), 2);
  EXPECT_EQ(third.master(), "t0");
  EXPECT_EQ(third.accelerator(), "v5litepod-16");
  EXPECT_EQ(third.cluster_spec().at("worker").size(), 4u);
  auto unnumbered = kPod;
  unnumbered.erase("TPU_WORKER_ID");
  const TPUClusterResolver named({.tpu = "t1", .environment = tpu_environment(unnumbered)});
  EXPECT_EQ(named.rank(), 1);
  EXPECT_EQ(named.variables(),
            (std::map<std::string, std::string>{{"CLOUD_TPU_TASK_ID", "1"}, {"TPU_WORKER_ID", "1"}}));
}

TEST(TpuResolver, WhatIsNoneIsRefused) {
  const auto rule = [](const std::string& tpu, std::map<std::string, std::string> values) {
    return rule_of(
        [&] { const TPUClusterResolver none({.tpu = tpu, .environment = tpu_environment(values)}); });
  };
  EXPECT_EQ(rule("grpc://10.0.0.2:8470", {}), "tpu.address");
  EXPECT_EQ(rule("t9", kPod), "tpu.worker");
  EXPECT_EQ(rule("t0", {}), "tpu.worker");
  for (const char* number : {"4", "-1", "two", "1x"}) {
    auto other = kPod;
    other["TPU_WORKER_ID"] = number;
    EXPECT_EQ(rule("", other), "tpu.worker") << number;
  }
}

TEST(TpuResolver, AStrategyHasAReplicaOnEachDevice) {
  ESPALIER_NEEDS_PLUGIN();
  const TPUClusterResolver resolver = resolver_of_three();
  connect_to_cluster(resolver);
  const TPUSystem system = initialize_tpu_system(resolver);
  EXPECT_EQ(system.devices, (std::vector<std::string>{"xla-cpu:0", "xla-cpu:1", "xla-cpu:2"}));
  EXPECT_FALSE(system.kind.empty());
  EXPECT_EQ(initialize_tpu_system(resolver).devices, system.devices);
  EXPECT_EQ(strategy::TPU(resolver).num_replicas_in_sync(), 3);
  const TPUClusterResolver two({.device = "xla-cpu:1-2", .environment = tpu_environment({})});
  EXPECT_EQ(initialize_tpu_system(two).devices, (std::vector<std::string>{"xla-cpu:1", "xla-cpu:2"}));
}

// Where nobody has started a process on each host.
TEST(TpuResolver, AHostOfSeveralNeedsALauncher) {
  ESPALIER_NEEDS_PLUGIN();
  ::setenv("ESPALIER_PJRT_PLUGINS", pjrt::test_plugin().c_str(), 1);
  pjrt::tests_have_cpu_devices(3);
  const TPUClusterResolver pod({.device = "xla-cpu", .environment = tpu_environment(kPod)});
  EXPECT_EQ(rule_of([&] { const strategy::TPU tpu(pod); }), "tpu.pod");
}

TEST(TpuResolver, ALaunchersPlaceIsToldToTheTpu) {
  std::map<std::string, std::string> launched = {{"ESPALIER_RANK", "2"},
                                                 {"ESPALIER_WORLD", "4"},
                                                 {"ESPALIER_LOCAL_RANK", "0"},
                                                 {"ESPALIER_LOCAL_WORLD", "1"},
                                                 {"ESPALIER_HOSTS", "t0,t1,t2,t3"}};
  const auto variables = [&](const std::string& topology) {
    const TPUClusterResolver resolver({.topology = topology, .environment = tpu_environment(launched)});
    EXPECT_EQ(resolver.num_workers(), 4);
    EXPECT_EQ(resolver.rank(), 2);
    EXPECT_EQ(resolver.cluster_spec().at("worker"), (std::vector<std::string>{"t0", "t1", "t2", "t3"}));
    return resolver.variables();
  };
  std::map<std::string, std::string> wanted = {{"TPU_WORKER_HOSTNAMES", "t0,t1,t2,t3"},
                                               {"TPU_WORKER_ID", "2"},
                                               {"CLOUD_TPU_TASK_ID", "2"},
                                               {"TPU_PROCESS_PORT", "8471"},
                                               {"TPU_PROCESS_ADDRESSES", "t0:8471,t1:8471,t2:8471,t3:8471"}};
  EXPECT_EQ(variables(""), wanted);
  wanted["TPU_CHIPS_PER_PROCESS_BOUNDS"] = "2,2,1";
  wanted["TPU_PROCESS_BOUNDS"] = "2,2,1";
  EXPECT_EQ(variables("4x4"), wanted);
  wanted["TPU_PROCESS_BOUNDS"] = "1,1,4";
  EXPECT_EQ(variables("2x2x4"), wanted);
  launched["TPU_ACCELERATOR_TYPE"] = "v5litepod-16";
  wanted["TPU_PROCESS_BOUNDS"] = "2,2,1";
  EXPECT_EQ(variables(""), wanted);
  launched["TPU_TOPOLOGY"] = "2x2";  // a chip on each host
  wanted["TPU_CHIPS_PER_PROCESS_BOUNDS"] = "1,1,1";
  wanted["TPU_PROCESS_BOUNDS"] = "2,2,1";
  EXPECT_EQ(variables(""), wanted);
  // What is set already stays.
  launched["TPU_PROCESS_PORT"] = "9000";
  wanted.erase("TPU_PROCESS_PORT");
  wanted["TPU_PROCESS_ADDRESSES"] = "t0:9000,t1:9000,t2:9000,t3:9000";
  EXPECT_EQ(variables(""), wanted);
  const auto rule = [&](const char* topology) {
    return rule_of(
        [&] { TPUClusterResolver({.topology = topology, .environment = tpu_environment(launched)}); });
  };
  for (const char* topology : {"8", "4x", "3x5", "4x4x4x4", "8x8", "axb", "0x4"})
    EXPECT_EQ(rule(topology), "tpu.topology");
  // Of hosts that the environment names, which are as many.
  launched["TPU_TOPOLOGY"] = launched["TPU_WORKER_ID"] = "";
  launched["TPU_WORKER_HOSTNAMES"] = "a,b,c,d";
  wanted.erase("TPU_WORKER_HOSTNAMES");
  wanted["TPU_PROCESS_ADDRESSES"] = "a:9000,b:9000,c:9000,d:9000";
  {
    const TPUClusterResolver resolver({.topology = "2x2", .environment = tpu_environment(launched)});
    EXPECT_EQ(resolver.rank(), 2);
    EXPECT_EQ(resolver.variables(), wanted);
  }
  launched["TPU_WORKER_ID"] = "1";
  EXPECT_EQ(rule("2x2"), "tpu.worker");
  launched["TPU_WORKER_ID"] = "2";
  EXPECT_EQ(rule("2x2"), "nothing");
  launched["TPU_WORKER_HOSTNAMES"] = "a,b,c";
  EXPECT_EQ(rule("2x2"), "tpu.hosts");
  launched.erase("TPU_WORKER_HOSTNAMES");
  launched["ESPALIER_HOSTS"] = "t0,t1";
  EXPECT_EQ(rule("4x4"), "tpu.hosts");
  launched.erase("ESPALIER_HOSTS");
  EXPECT_EQ(rule("4x4"), "tpu.hosts");
}

TEST(TpuResolver, PlacesThatDifferAreRefused) {
  const auto rule = [](const char* tpu, std::map<std::string, std::string> set) {
    return rule_of([&] { TPUClusterResolver({.tpu = tpu, .environment = tpu_environment(std::move(set))}); });
  };
  EXPECT_EQ(rule("", {{"TPU_WORKER_ID", "5"}}), "tpu.worker");
  EXPECT_EQ(rule("", {{"TPU_WORKER_ID", "0"}}), "nothing");
  EXPECT_EQ(rule("", {{"TPU_WORKER_HOSTNAMES", "a,b"}}), "tpu.worker");
  EXPECT_EQ(rule("", {{"TPU_WORKER_HOSTNAMES", ""}, {"TPU_WORKER_ID", ""}}), "nothing");
  EXPECT_EQ(rule("a", {{"TPU_WORKER_HOSTNAMES", "a,b"}, {"TPU_WORKER_ID", "1"}}), "tpu.worker");
  EXPECT_EQ(rule("b", {{"TPU_WORKER_HOSTNAMES", "a,b"}, {"TPU_WORKER_ID", "1"}}), "nothing");
}

TEST(TpuResolver, InitializingInvalidatesWhatIsThere) {
  ESPALIER_NEEDS_PLUGIN();
  const TPUClusterResolver resolver = resolver_of_three();
  initialize_tpu_system(resolver);
  const DeviceScope scope("xla-cpu:0");
  const Tensor here = Tensor::of<float>({1, 2});
  const Tensor older = to(here, "xla-cpu:0") + 1, known = to(here, "xla-cpu:0") * 1;
  Variable weights(here * 3);
  weights.assign(to(here * 3, "xla-cpu:0"));
  EXPECT_EQ(known.to_vector<float>(), (std::vector<float>{1, 2}));
  initialize_tpu_system(resolver);
  EXPECT_EQ(rule_of([&] { older.to_vector<float>(); }), "device.invalid");
  EXPECT_EQ(rule_of([&] { tanh(older); }), "device.invalid");
  EXPECT_EQ(rule_of([&] { weights.read().to_vector<float>(); }), "device.invalid");
  // What the host had downloaded it keeps.
  EXPECT_EQ(known.to_vector<float>(), (std::vector<float>{1, 2}));
  weights.assign(here);
  EXPECT_EQ(weights.read().to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ((to(here, "xla-cpu:0") + to(here, "xla-cpu:0")).to_vector<float>(), (std::vector<float>{2, 4}));
}

}  // namespace
}  // namespace espalier
