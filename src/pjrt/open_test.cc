// Devices by their names: of one plugin's client, several as one, and what is asked of them by name.
#include "pjrt/open.h"

#include <sys/mman.h>

#include <filesystem>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/devices.h"
#include "pjrt/fake_plugin_test.h"
#include "pjrt/program_cache_test.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// A plugin in a file of its own, with a client of its own, that stays open.
struct OwnPlugin {
  explicit OwnPlugin(const std::string& name) : file(fs::absolute(folder() + "/" + name + ".so").string()) {
    fs::copy_file(build_folder() + "/fake_plugin.so", file, fs::copy_options::skip_existing);
    pjrt::Plugin::load(file);
    void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    state = reinterpret_cast<pjrt::fake::State* (*)()>(::dlsym(handle, "espalier_fake_state"))();
  }
  static const std::string& folder() {
    static const std::string one = fresh_folder("own-plugins");
    return one;
  }
  const std::string file;
  pjrt::fake::State* state = nullptr;
};

struct OpenByName : testing::Test {
  OpenByName() {
    static OwnPlugin three("three"), other("other");
    three.state->devices = {{.id = 0}, {.id = 1}, {.id = 2}};
    state = three.state;
    plugins.set((three.file + ":" + other.file).c_str());
    pjrt::open_device("three:0");
    pjrt::open_device("other:0");
    state->log.clear();
  }
  pjrt::EnvironmentVariable plugins{"ESPALIER_PJRT_PLUGINS", nullptr};
  pjrt::fake::State* state = nullptr;
};

TEST_F(OpenByName, ANumberIsOneOfThoseThereAre) {
  EXPECT_EQ(pjrt::open_device("three")->name(), "three:0");
  EXPECT_EQ(pjrt::open_device("three:2")->name(), "three:2");
  EXPECT_EQ(pjrt::open_device("three:2").get(), pjrt::open_device("/device:THREE:2").get());
  EXPECT_EQ(error_said([] { pjrt::open_device("three:3"); }),
            "device.unknown: there is no device \"three:3\": three has 3 devices here, numbered from 0");
  EXPECT_EQ(error_said([] { pjrt::open_device("other:1"); }),
            "device.unknown: there is no device \"other:1\": other has 1 device here, numbered from 0");
  Names open;
  for (const pjrt::DevicePtr& device : pjrt::open_devices()) open.push_back(device->name());
  for (const char* name : {"three:0", "three:1", "three:2", "other:0"})
    EXPECT_EQ(std::ranges::count(open, name), 1) << name;
}

TEST_F(OpenByName, SeveralAreOfOnePluginAndEachStandsOnce) {
  EXPECT_EQ(pjrt::open_device("three:0,2")->name(), "three:0,2");
  EXPECT_EQ(pjrt::open_several({"three:2", "three:0-1"})->name(), "three:2,0,1");
  EXPECT_EQ(pjrt::open_several({"three:1"}).get(), pjrt::open_device("three:1").get());
  EXPECT_EQ(error_said([] { pjrt::open_several({}); }), "device.several: no device is named");
  EXPECT_EQ(error_said([] {
              pjrt::open_several({"three:0-1", "three:1"});
            }),
            "device.several: three:1 is named twice");
  EXPECT_EQ(error_said([] {
              pjrt::open_several({"three:1", "other:0"});
            }),
            "device.several: devices that train together are of one plugin, and three:1 and other:0 are of "
            "two");
}

TEST_F(OpenByName, SeveralAreCountedFromOneOn) {
  const pjrt::DevicePtr last = pjrt::open_device("three:2"), middle = pjrt::open_device("three:1"),
                        two = pjrt::open_device("three:0,2");
  EXPECT_EQ(pjrt::several_from(*middle, 0)->name(), "three:1-2");
  EXPECT_EQ(pjrt::several_from(*middle, 2)->name(), "three:1-2");
  EXPECT_EQ(pjrt::several_from(*middle, 1).get(), middle.get());
  EXPECT_EQ(pjrt::several_from(*last, 0).get(), last.get());
  for (const size_t count : {0, 2}) EXPECT_EQ(pjrt::several_from(*two, count).get(), two.get());
  EXPECT_EQ(error_said([&] { pjrt::several_from(*two, 3); }),
            "device.several: three:0,2 are 2 devices, and 3 are asked for");
  EXPECT_EQ(error_said([&] { pjrt::several_from(*middle, 3); }),
            "device.several: there are 2 devices from three:1 on, and 3 are asked for");
  EXPECT_EQ(error_said([&] { pjrt::several_from(*last, 2); }),
            "device.several: there is 1 device from three:2 on, and 2 are asked for");
}

TEST_F(OpenByName, FiguresAreThoseOfTheDeviceAndItsClient) {
  const DeviceCounters before = device_counters("three:1");
  const Tensor here = Tensor::of<float>({1, 2, 3}), there = to(here, "three:1");
  const Tensor sum = there + there;
  sum.to_vector<float>();
  const DeviceCounters now = device_counters("three:1");
  EXPECT_EQ(now.compiles, before.compiles + 1);
  EXPECT_EQ(now.loads, before.loads);
  EXPECT_EQ(now.executes, before.executes + 1);
  EXPECT_EQ(now.uploads, before.uploads + 1);
  EXPECT_EQ(now.downloads, before.downloads + 1);
  EXPECT_EQ(now.uploaded_bytes, before.uploaded_bytes + 12);
  EXPECT_EQ(now.downloaded_bytes, before.downloaded_bytes + 12);
  EXPECT_EQ(device_counters("cpu").uploads, 0);
  state->log.clear();
  synchronize("cpu");
  EXPECT_EQ(state->log, Names());
  synchronize("three:0");
  ASSERT_EQ(state->log.size(), 1u) << "a client's devices are waited for together";
  EXPECT_TRUE(state->log[0].starts_with("await ")) << state->log[0];

  state->memory = {.in_use = 100, .peak = {300, true}, .limit = {1000, true}};
  const MemoryInfo memory = memory_info("three:1");
  state->memory.reset();
  EXPECT_EQ(memory.current, 101);
  EXPECT_EQ(memory.peak, 300);
  EXPECT_EQ(memory.limit, 1000);
  EXPECT_EQ(memory.program, 0);
}

TEST_F(OpenByName, TensorsGoToTheDeviceThatIsNamed) {
  const Tensor there = to(Tensor::of<float>({1, 2}), "three:1"), elsewhere = to(there, "three:2");
  EXPECT_EQ(device_of(elsewhere), "three:2");
  EXPECT_EQ(device_of(there), "three:1");
  EXPECT_EQ(device_of(to(elsewhere, "cpu")), "cpu");
  EXPECT_EQ(elsewhere.to_vector<float>(), (std::vector<float>{1, 2}));
  GraphBuilder builder;
  const SinkScope scope(builder);
  const Tensor traced = builder.argument("x", {DType::kF32, {2}});
  EXPECT_EQ(error_said([&] { to(traced, "three:1"); }),
            "device.traced: a traced tensor has no place of its own");
  EXPECT_EQ(error_said([&] { device_of(traced); }), "device.traced: a traced tensor has no place of its own");
}

TEST(MemoryOfTheCpu, IsWhatTheProcessTakesAndNotItsAddresses) {
  constexpr size_t kAddresses = size_t{1} << 42, kTaken = size_t{64} << 20, kAbout = size_t{8} << 20;
  const auto map = [](size_t bytes, int protection) {
    return ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  const MemoryInfo before = memory_info("cpu");
  void* const addresses = map(kAddresses, PROT_NONE);
  ASSERT_NE(addresses, MAP_FAILED);
  ::munmap(addresses, kAddresses);
  void* const taken = map(kTaken, PROT_READ | PROT_WRITE);
  ASSERT_NE(taken, MAP_FAILED);
  std::memset(taken, 1, kTaken);
  ::munmap(taken, kTaken);
  const MemoryInfo now = memory_info("cpu");
  EXPECT_GE(now.peak, before.current + static_cast<int64_t>(kTaken - kAbout));
  EXPECT_LT(now.peak, before.peak + static_cast<int64_t>(kTaken + kTaken));
  EXPECT_LT(now.current, now.peak - static_cast<int64_t>(kTaken / 2));
  EXPECT_EQ(now.program, 0);
  std::ifstream system("/proc/meminfo");
  std::string word;
  int64_t kib = 0;
  system >> word >> kib;
  ASSERT_EQ(word, "MemTotal:");
  EXPECT_EQ(now.limit, kib * 1024);
}

// Nothing is loaded for a name: an empty file is a plugin.
struct DeviceOptions : testing::Test {
  const std::string folder = fs::absolute(fresh_folder("option-plugins")).string();
  const std::string gpus = file("a_cuda.so"), others = file("b_rocm.so"), tpu = file("c_tpu.so");
  pjrt::EnvironmentVariable plugins{"ESPALIER_PJRT_PLUGINS", cat(gpus, ":", others, ":", tpu).c_str()};
  pjrt::EnvironmentVariable grows{"TF_FORCE_GPU_ALLOW_GROWTH", nullptr};

  std::string file(const char* name) const {
    pjrt::write_bytes(cat(folder, "/", name), "");
    return cat(folder, "/", name);
  }
};

TEST_F(DeviceOptions, AreOfThePluginThatTheDeviceIsOf) {
  EXPECT_EQ(pjrt::client_options("gpu"), pjrt::ClientOptions());
  set_memory_growth("gpu:1", true);
  EXPECT_EQ(pjrt::client_options("gpu"), (pjrt::ClientOptions{.memory_grows = true, .visible = {}}));
  set_memory_fraction("GPU", 1);
  set_visible_devices({"gpu:2", "gpu:0"});
  EXPECT_EQ(pjrt::client_options("gpu"),
            (pjrt::ClientOptions{.memory_grows = true, .memory_fraction = 1, .visible = {2, 0}}));
  set_visible_devices({"rocm:1"});
  set_memory_fraction(others, 0.5);
  EXPECT_EQ(pjrt::client_options("gpu.2"), (pjrt::ClientOptions{.memory_fraction = 0.5, .visible = {1}}));
  EXPECT_EQ(pjrt::client_options("tpu"), pjrt::ClientOptions());
  set_memory_growth("gpu", false);
  EXPECT_FALSE(pjrt::client_options("gpu").memory_grows);
  set_memory_growth("cpu", true);
}

TEST_F(DeviceOptions, AreRefusedWithASentence) {
  EXPECT_EQ(error_said([] { set_memory_fraction("cpu", 0.5); }),
            "device.limit: \"cpu\" is this process's own: its memory has no limit of ours");
  EXPECT_EQ(error_said([] { set_memory_limit("CPU:0", 1); }),
            "device.limit: \"cpu\" is this process's own: its memory has no limit of ours");
  EXPECT_EQ(error_said([] { set_memory_fraction("gpu", 1.25); }),
            "device.limit: a fraction of a device's memory lies above 0 and is 1 at most, got 1.250000");
  EXPECT_EQ(error_said([] { set_memory_limit("gpu", 0); }),
            "device.limit: a limit is of 1 byte at least, got 0");
  EXPECT_EQ(error_said([] { set_memory_limit("tpu:1000", 4096); }),
            "device.memory: a limit of 4096 bytes needs the memory of tpu:1000 in all, which its driver does "
            "not tell");
  EXPECT_EQ(error_said([] { set_visible_devices({}); }),
            "device.visible: no device is named; this CPU needs no such call");
  EXPECT_EQ(error_said([] { set_visible_devices({"tpu:0"}); }),
            "device.visible: GPUs can be chosen, and tpu:0 is none");
  EXPECT_EQ(error_said([] {
              set_visible_devices({"gpu:1", "gpu:0", "gpu:1"});
            }),
            "device.visible: gpu:1 is named twice");
  EXPECT_EQ(error_said([] {
              set_visible_devices({"gpu:1", "rocm:1"});
            }),
            "device.visible: gpu:1 and rocm:1 are of two plugins");
}

}  // namespace
}  // namespace espalier
