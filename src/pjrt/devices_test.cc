#include "espalier/devices.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "comm/local.h"
#include "espalier/array.h"
#include "ir/builder.h"
#include "pjrt/open.h"
#include "pjrt/plugin_test.h"
#include "pjrt/program_text.h"

namespace espalier {
namespace {

// Whose plugin the environment names.
class DevicesByName : public testing::Test {
 protected:
  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    ::setenv("ESPALIER_PJRT_PLUGINS", pjrt::test_plugin().c_str(), 1);
  }
};

TEST(DevicesListed, TheCpuComesFirstAndNeedsNothing) {
  const std::vector<PhysicalDevice> all = list_physical_devices();
  ASSERT_GE(all.size(), 1u);
  EXPECT_EQ(all[0].name, "cpu");
  EXPECT_EQ(all[0].kind, "CPU");
  EXPECT_EQ(list_physical_devices("CPU").size(), 1u);
  EXPECT_TRUE(list_physical_devices("QPU").empty());
}

TEST(DevicesListed, WhatIsMissingIsSaid) {
  const auto message = [](const char* name) {
    try {
      const DeviceScope scope(name);
    } catch (const DeviceError& error) {
      return error.message();
    }
    return std::string();
  };
  ::setenv("VIRTUAL_ENV", "/nowhere", 1);
  ::unsetenv("ESPALIER_PJRT_PLUGINS");
  EXPECT_NE(message("gpu").find("pip install jax-cuda13-pjrt"), std::string::npos) << message("gpu");
  EXPECT_NE(message("gpu:3").find("pip install jax-cuda13-pjrt"), std::string::npos);
  EXPECT_NE(message("tpu").find("pip install libtpu"), std::string::npos);
  EXPECT_NE(message("qpu").find("no PJRT plugin was found"), std::string::npos);
  ::unsetenv("VIRTUAL_ENV");
}

TEST_F(DevicesByName, TensorsMoveAndKnowTheirPlace) {
  const Tensor here = Tensor::of<float>({1, 2, 3});
  const Tensor there = to(here, "xla-cpu");
  EXPECT_EQ(device_of(here), "cpu");
  EXPECT_EQ(device_of(there), "xla-cpu:0");
  EXPECT_EQ(to(there, "xla-cpu:0").node(), there.node());
  EXPECT_EQ(device_of(to(there, "cpu")), "cpu");
  EXPECT_EQ(there.to_vector<float>(), here.to_vector<float>());
  EXPECT_EQ(rule_of([&] { to(here, "xla-cpu:7"); }), "device.unknown");
}

// A rank stays one of its run.
TEST(DevicesListed, AScopeKeepsThePlaceAmongRanks) {
  const auto ranks = local_communicators(2);
  const RunContext context({.threads = 1, .communicator = ranks[1].get()});
  const RunScope in(context);
  const DeviceScope scope("cpu");
  EXPECT_EQ(RunContext::current().communicator, ranks[1].get());
  EXPECT_EQ(RunContext::current().rank, 1);
  EXPECT_EQ(RunContext::current().world, 2);
}

TEST_F(DevicesByName, BytesOfTensorsAreCounted) {
  constexpr int64_t kElements = 1 << 18, kBytes = 4 * kElements;
  const auto current = [] { return memory_info("xla-cpu").current; };
  const int64_t before = current();
  {
    const Tensor there = to(full({kElements}, 1.0), "xla-cpu");
    EXPECT_EQ(current(), before + kBytes);
    const Tensor twice = there + there;
    EXPECT_EQ(current(), before + 2 * kBytes);
  }
  EXPECT_EQ(current(), before);
  EXPECT_GE(memory_info("xla-cpu").peak, before + 2 * kBytes);
  EXPECT_GT(memory_info("cpu").current, 1 << 20);
  EXPECT_GE(memory_info("cpu").peak, memory_info("cpu").current);
}

TEST_F(DevicesByName, OptionsAreOfTheTimeBeforeTheFirstUse) {
  set_memory_growth("xla-cpu", false);  // as it is
  to(Tensor::scalar(1.0f), "xla-cpu");
  EXPECT_EQ(rule_of([] { set_memory_growth("xla-cpu", true); }), "device.begun");
  EXPECT_EQ(rule_of([] { set_memory_fraction("xla-cpu", 0.5); }), "device.begun");
  set_memory_growth("xla-cpu", false);
}

TEST_F(DevicesByName, OptionsOutsideOfTheirRangeAreRefused) {
  EXPECT_EQ(rule_of([] { set_memory_fraction("xla-cpu", 0); }), "device.limit");
  EXPECT_EQ(rule_of([] { set_memory_fraction("xla-cpu", 1.5); }), "device.limit");
  EXPECT_EQ(rule_of([] { set_memory_fraction("xla-cpu", std::nan("")); }), "device.limit");
  EXPECT_EQ(rule_of([] { set_memory_limit("xla-cpu", 0); }), "device.limit");
  EXPECT_EQ(rule_of([] { set_memory_limit("xla-cpu", 1 << 20); }), "device.memory");
  EXPECT_EQ(rule_of([] { set_visible_devices({}); }), "device.visible");
  EXPECT_EQ(rule_of([] { set_visible_devices({"xla-cpu:0"}); }), "device.visible");
  EXPECT_EQ(rule_of([] { set_matmul_precision("exact"); }), "device.precision");
}

TEST_F(DevicesByName, AForkedChildIsRefused) {
  const Tensor far = to(Tensor::of<float>({1, 2}), "xla-cpu"), twice = far + far;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto refused = [](const auto& call) {
      try {
        call();
      } catch (const DeviceError& error) {
        return error.rule() == "device.forked";
      }
      return false;
    };
    ::alarm(30);  // what its threads should do, nobody does here
    ::_exit(refused([] { pjrt::open_device("xla-cpu"); }) && refused([&] { twice.to_vector<float>(); }) &&
                    refused([&] { far + far; })
                ? 0
                : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Two files of one kind, each named by itself: neither is taken for the other.
TEST_F(DevicesByName, PluginsOfOneNameHaveDevicesOfTwo) {
  const std::string folder = std::filesystem::absolute(fresh_folder("two-plugins")).string();
  ::setenv("ESPALIER_SHIM_PLUGIN", std::filesystem::absolute(pjrt::test_plugin()).c_str(), 1);
  std::vector<pjrt::DevicePtr> devices;
  for (const char* name : {"/first_cpu.so", "/second_cpu.so"}) {
    std::filesystem::copy_file(build_folder() + "/shim_plugin.so", folder + name);
    devices.push_back(pjrt::open_device(folder + name));
  }
  EXPECT_TRUE(devices[0]->name().starts_with("xla-cpu")) << devices[0]->name();
  EXPECT_NE(devices[0]->name(), devices[1]->name());
  for (const pjrt::DevicePtr& device : devices) {
    const std::string name = device->name();
    EXPECT_EQ(pjrt::open_device(name).get(), device.get()) << name;
    EXPECT_EQ(pjrt::open_device(name.substr(0, name.rfind(':'))).get(), device.get()) << name;
    EXPECT_EQ(device_of(to(Tensor::scalar(1.0f), name)), name);
  }
  // Opened again by its file it keeps its name.
  EXPECT_EQ(pjrt::open_device(folder + "/second_cpu.so").get(), devices[1].get());
}

// TensorFlow's rule.
TEST_F(DevicesByName, TheEnvironmentsGrowthComesFirst) {
  ::setenv("TF_FORCE_GPU_ALLOW_GROWTH", "true", 1);
  EXPECT_TRUE(pjrt::client_options("gpu").memory_grows);
  ::setenv("TF_FORCE_GPU_ALLOW_GROWTH", "false", 1);
  EXPECT_FALSE(pjrt::client_options("gpu").memory_grows);
  ::unsetenv("TF_FORCE_GPU_ALLOW_GROWTH");
}

std::string text_of_product() {
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {2, 2}});
    builder.result("y", matmul(x, x));
  }
  return pjrt::program_text(*builder.finish());
}

TEST(DevicesListed, NamesOfSeveral) {
  const auto sentence_of = [](const auto& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(pjrt::single_devices("gpu:0-2"), (Names{"gpu:0", "gpu:1", "gpu:2"}));
  EXPECT_EQ(pjrt::single_devices("gpu:0, gpu:2"), (Names{"gpu:0", "gpu:2"}));
  EXPECT_EQ(pjrt::single_devices("/GPU:0,/device:GPU:3"), (Names{"gpu:0", "gpu:3"}));
  EXPECT_EQ(pjrt::single_devices("/a,b.so:0,2"), (Names{"/a,b.so:0", "/a,b.so:2"}));
  const std::string file = testing::TempDir() + "/named_cpu.so";
  std::ofstream(file) << "";
  EXPECT_EQ(pjrt::single_devices(file + ":0," + file + ":1"), (Names{file + ":0", file + ":1"}));
  EXPECT_EQ(pjrt::joined_name({"gpu:0", "gpu:1", "gpu:2"}), "gpu:0-2");
  EXPECT_EQ(pjrt::joined_name({"gpu:0", "gpu:2"}), "gpu:0,2");
  for (const char* name :
       {"gpu:4294967290-4294967295", "gpu:0-", "gpu:2-1", "gpu:0-5000", "gpu:0,,1", "gpu:0,-1"})
    EXPECT_EQ(rule_of([&] { pjrt::single_devices(name); }), "device.several") << name;
  EXPECT_EQ(pjrt::plain_name("/nowhere.so:0"), "/nowhere.so:0");
  const std::string several = sentence_of([] { pjrt::find_device("cpu:1", {}); });
  EXPECT_NE(several.find("the CPU is one device, \"cpu\", with all cores"), several.npos) << several;
  const std::string lines = sentence_of([] { pjrt::find_device("no\nsuch", {}); });
  EXPECT_NE(lines.find("no\\nsuch"), lines.npos) << lines;
}

TEST(MatmulPrecisions, StandInTheProgram) {
  for (const auto& [name, word] :
       {std::pair{"high", "HIGH"}, {"default", "DEFAULT"}, {"highest", "HIGHEST"}}) {
    set_matmul_precision(name);
    const std::string each = std::string("#stablehlo<precision ") + word + ">";
    EXPECT_NE(text_of_product().find("precision_config = [" + each + ", " + each + "]"), std::string::npos)
        << text_of_product();
  }
}

TEST_F(DevicesByName, SlowSeveralDevicesOfOneClient) {
  pjrt::ClientOptions options;
  options.cpu_devices = 3;
  const auto client =
      pjrt::Client::create(pjrt::Plugin::load(pjrt::test_plugin()), "many", "xla-cpu", options);
  ASSERT_EQ(client->size(), 3u);
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {4}});
    builder.result("y", x + x);
  }
  const auto graph = builder.finish();
  const Literal four = Literal::of<float>({1, 2, 3, 4});
  for (size_t i = 0; i < client->size(); ++i) {
    const pjrt::DevicePtr device = client->device(i);
    const RemoteArrayPtr x = device->upload(four);
    const RemoteArrayPtr y = device->compile(*graph)->run({&x, 1}, {}, RunContext::current())[0];
    EXPECT_EQ(&y->device(), device.get());
    EXPECT_EQ(make_concrete(y->download()).to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
    EXPECT_EQ(device->counters().executes, 1);
  }
  const RemoteArrayPtr elsewhere = client->device(1)->upload(four);
  EXPECT_EQ(rule_of([&] {
              client->device(0)->compile(*graph)->run({&elsewhere, 1}, {}, RunContext::current());
            }),
            "device.inputs");
  // Several are counted from the one that is named.
  const pjrt::DevicePtr two = pjrt::several_from(*client->device(1), 2),
                        rest = pjrt::several_from(*client->device(1), 0);
  ASSERT_EQ(two->replicas(), 2u);
  EXPECT_EQ(rest->replicas(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(two->replica_name(i), client->device(i + 1)->name());
  EXPECT_EQ(rule_of([&] { pjrt::several_from(*client->device(1), 3); }), "device.several");
}

TEST_F(DevicesByName, OneOfAClientsIsThatDevice) {
  pjrt::ClientOptions options;
  options.cpu_devices = 3;
  const auto client =
      pjrt::Client::create(pjrt::Plugin::load(pjrt::test_plugin()), "three", "xla-cpu", options);
  ASSERT_EQ(client->size(), 3u);
  for (size_t i = 0; i < client->size(); ++i) {
    const pjrt::DevicePtr device = client->device(i);
    EXPECT_EQ(client->devices({i}).get(), device.get()) << i;
    EXPECT_EQ(pjrt::several_from(*device, 1).get(), device.get()) << i;
  }
}

TEST_F(DevicesByName, WhatIsNotDonatedStays) {
  const pjrt::DevicePtr device = pjrt::open_device(pjrt::test_plugin());
  GraphBuilder builder;
  {
    const SinkScope scope(builder);
    const Tensor a = builder.argument("a", {DType::kF32, {4}}), b = builder.argument("b", {DType::kF32, {4}});
    builder.result("y", a + b);
    builder.result("z", a * b);
  }
  const Alias pair{0, 0};
  const auto program = device->compile(*builder.finish(), {.aliases = {&pair, 1}});
  const RemoteArrayPtr a = device->upload(Literal::of<float>({1, 2, 3, 4})),
                       b = device->upload(Literal::of<float>({5, 6, 7, 8})), inputs[] = {a, b};
  const char donated[] = {true, false};
  const std::vector<RemoteArrayPtr> outputs = program->run(inputs, donated, RunContext::current());
  EXPECT_EQ(make_concrete(outputs[0]->download()).to_vector<float>(), (std::vector<float>{6, 8, 10, 12}));
  EXPECT_EQ(make_concrete(b->download()).to_vector<float>(), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(rule_of([&] { a->download(); }), "device.lost");
  // And may be used again.
  const RemoteArrayPtr again[] = {b, b};
  EXPECT_EQ(make_concrete(program->run(again, {}, RunContext::current())[1]->download()).to_vector<float>(),
            (std::vector<float>{25, 36, 49, 64}));
}

}  // namespace
}  // namespace espalier
