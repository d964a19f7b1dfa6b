// Which plugins and devices names stand for; nothing is loaded.
#include "pjrt/find.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "espalier/error.h"
#include "pjrt/program_cache_test.h"

namespace espalier::pjrt {
namespace {

class FoundPlugins : public testing::Test {
 protected:
  // An empty file is a plugin as far as names go.
  std::string plugin(const std::string& name) const {
    std::ofstream(folder_ + "/" + name) << "";
    return folder_ + "/" + name;
  }
  // Of files, how often each is found.
  static int64_t times(const std::vector<Found>& all, const std::string& path) {
    return std::ranges::count_if(all, [&](const Found& one) {
      return std::filesystem::weakly_canonical(one.path) == std::filesystem::weakly_canonical(path);
    });
  }

  const std::string folder_ = fresh_folder(std::string("found-plugins-") +
                                           testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(FoundPlugins, AFileIsNamedOnceWhoeverNamesIt) {
  const std::string file = plugin("some_plugin.so"), other = plugin("other_plugin.so");
  std::filesystem::create_symlink(file, folder_ + "/link.so");
  EXPECT_EQ(times(find_plugins({file, file}), file), 1);
  EXPECT_EQ(times(find_plugins({file, folder_ + "/link.so"}), file), 1);
  ::setenv("ESPALIER_PJRT_PLUGINS", cat(file, ":", other).c_str(), 1);
  const std::vector<Found> all = find_plugins({file});
  ::unsetenv("ESPALIER_PJRT_PLUGINS");
  EXPECT_EQ(times(all, file), 1);
  EXPECT_EQ(times(all, other), 1);
  std::set<std::string> names;
  for (const Found& one : all) EXPECT_TRUE(names.insert(one.name).second) << one.name;
}

TEST_F(FoundPlugins, ADeviceHasAWholeNumber) {
  const std::string file = plugin("numbered_plugin.so");
  const std::string name = find_plugins({file})[0].name;
  EXPECT_EQ(find_device(name, {file}).number, 0u);
  EXPECT_EQ(find_device(name + ":2", {file}).number, 2u);
  EXPECT_EQ(find_device(name + ":2", {file}).plugin.path, file);
  for (const char* const wrong : {":", ":x", ":0x", ":1 ", ":-1", ":1.5"})
    EXPECT_EQ(rule_of([&] { find_device(name + wrong, {file}); }), "device.unknown") << wrong;
}

// The wheels that are known, each in its folder of an environment of Python.
class FoundWheels : public FoundPlugins {
 protected:
  FoundWheels() {
    unset_.emplace_back(std::make_unique<EnvironmentVariable>("ESPALIER_PJRT_PLUGINS", nullptr));
    unset_.emplace_back(std::make_unique<EnvironmentVariable>("CONDA_PREFIX", nullptr));
  }
  void put(const std::string& path) const {
    const std::string file = environment_ + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << "";
  }
  // Name, kind, path below the environment, and what named it.
  std::vector<std::string> found(const std::vector<std::string>& given = {}) const {
    std::vector<std::string> out;
    for (const Found& one : find_plugins(given)) {
      const auto below = [&](const std::string& path) {
        return path.starts_with(environment_) ? path.substr(environment_.size() + 1) : path;
      };
      out.push_back(cat(one.name, " ", one.kind, " ", below(one.path), " ", below(one.from)));
    }
    return out;
  }
  const std::string environment_ = folder_ + "/environment";
  std::vector<std::unique_ptr<EnvironmentVariable>> unset_;
  EnvironmentVariable virtual_env_{"VIRTUAL_ENV", environment_.c_str()};
};
using Lines = std::vector<std::string>;

TEST_F(FoundWheels, AreFoundInTheOrderOfPreference) {
  const std::string packages = "lib/python3.11/site-packages";
  for (const char* file :
       {"xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so", "fastatomstruct_xla_cpu/libpjrt_cpu.so",
        "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so", "libtpu/libtpu.so",
        "jax_plugins/xla_rocm7/xla_rocm_plugin.so", "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
        "jax_plugins/xla_cuda12/xla_cuda_plugin.so", "jax_plugins/other/xla_cuda_plugin.so",
        "libtpu/other.so"})
    put(cat(packages, "/", file));
  put("lib/python2.7/site-packages/libtpu/libtpu.so");
  put("lib/python3.11/dist-packages/libtpu/libtpu.so");
  put("lib/python3.9/site-packages/libtpu/libtpu.so");
  const auto at = [&](const std::string& what, const std::string& file) {
    return cat(what, " ", packages, "/", file, " ", packages);
  };
  const Lines wanted = {at("gpu cuda", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"),
                        at("gpu.2 cuda", "jax_plugins/xla_cuda13/xla_cuda_plugin.so"),
                        at("gpu.3 rocm", "jax_plugins/xla_rocm7/xla_rocm_plugin.so"),
                        at("tpu tpu", "libtpu/libtpu.so"),
                        at("xla-cpu xla-cpu", "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"),
                        at("xla-cpu.2 xla-cpu", "fastatomstruct_xla_cpu/libpjrt_cpu.so"),
                        at("xla-cpu.3 xla-cpu", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"),
                        "tpu.2 tpu lib/python3.9/site-packages/libtpu/libtpu.so lib/python3.9/site-packages"};
  EXPECT_EQ(found(), wanted);
  // Of one environment: the first that is named.
  virtual_env_.set("");
  unset_[1]->set(environment_.c_str());
  EXPECT_EQ(found(), wanted);
  virtual_env_.set((folder_ + "/none").c_str());
  EXPECT_EQ(found(), Lines());
}

TEST_F(FoundWheels, AFileHasTheKindThatItsNameTells) {
  unset_[0]->set(":/b/libtpu.so::/b/d_plugin.so:");
  EXPECT_EQ(found({"/a/my_cuda.so", "/a/my_rocm.so", "/cuda/a_cpu_plugin.so", "/cuda/plugin.so", "here.so"}),
            (Lines{"gpu cuda /a/my_cuda.so --plugin", "gpu.2 rocm /a/my_rocm.so --plugin",
                   "xla-cpu xla-cpu /cuda/a_cpu_plugin.so --plugin", "plugin  /cuda/plugin.so --plugin",
                   "here  here.so --plugin", "tpu tpu /b/libtpu.so ESPALIER_PJRT_PLUGINS",
                   "d_plugin  /b/d_plugin.so ESPALIER_PJRT_PLUGINS"}));
}

TEST_F(FoundWheels, WhatIsMissingIsSaidWithWhatIsThere) {
  const auto said = [](const std::string& name, const std::vector<std::string>& given = {}) -> std::string {
    try {
      find_device(name, given);
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.message());
    }
    return "";
  };
  const auto missing = [](const char* name, const char* kind, const char* wheel) {
    return cat("device.unknown: there is no device \"", name, "\": no plugin ", kind,
               " was found: pip install ", wheel, ", or name one by --plugin or ESPALIER_PJRT_PLUGINS");
  };
  EXPECT_EQ(said("GPU:1"), missing("gpu:1", "for GPUs", "jax-cuda13-pjrt"));
  EXPECT_EQ(said("cuda"), missing("cuda", "for GPUs", "jax-cuda13-pjrt"));
  EXPECT_EQ(said("rocm"), missing("rocm", "for AMD GPUs", "jax-rocm7-pjrt"));
  EXPECT_EQ(said("tpu:0"), missing("tpu:0", "for TPUs", "libtpu"));
  EXPECT_EQ(said("XLA_CPU"), missing("xla-cpu", "of XLA for CPUs", "lammps-jax-pjrt-cpu"));
  EXPECT_EQ(said("qpu"),
            "device.unknown: there is no device \"qpu\": no PJRT plugin was found beside our own cpu");
  const std::string gpu = plugin("a_cuda.so"), other = plugin("b_plugin.so");
  EXPECT_EQ(said("tpu", {gpu}), missing("tpu", "for TPUs", "libtpu"));
  EXPECT_EQ(said("qpu", {gpu, other}),
            "device.unknown: there is no device \"qpu\": known are cpu, gpu, b_plugin");
  EXPECT_EQ(said("qpu", {gpu, "/none.so"}), "device.plugin: there is no plugin /none.so: it is no file");
  unset_[0]->set(cat(gpu, ":/none/libtpu.so").c_str());
  EXPECT_EQ(said("rocm"),
            "device.unknown: there is no device \"rocm\": known are cpu, gpu; ESPALIER_PJRT_PLUGINS names "
            "/none/libtpu.so, which is no file");
  // A kind names the first plugin of it, a file itself.
  EXPECT_EQ(find_device("cuda:3", {}).plugin.path, gpu);
  EXPECT_EQ(find_device("cuda:3", {}).number, 3u);
  EXPECT_EQ(find_device(other + ":4", {}).plugin.name, "b_plugin");
  EXPECT_EQ(find_device(other + ":4", {}).plugin.from, "--device");
  EXPECT_EQ(find_device(other + ":4", {}).number, 4u);
}

TEST(DeviceNames, AsTensorFlowAndTheListSpellThem) {
  for (const auto& [given, plain] : {std::pair{"GPU:0", "gpu:0"},
                                     {"/GPU:0", "gpu:0"},
                                     {"/device:GPU:0", "gpu:0"},
                                     {"XLA_CPU", "xla-cpu"},
                                     {"/device:XLA_CPU:1", "xla-cpu:1"},
                                     {"cpu:0", "cpu"},
                                     {"/CPU:0", "cpu"},
                                     {"cpu:1", "cpu:1"},
                                     {"/Folder/Plugin.so", "/Folder/Plugin.so"},
                                     {"/Plugin.so:1", "/Plugin.so:1"},
                                     {"Plugin.so", "Plugin.so"}})
    EXPECT_EQ(plain_name(given), plain) << given;
}

TEST(DeviceNames, ListsHaveALength) {
  const auto count = [](const std::string& names) { return single_devices(names).size(); };
  EXPECT_EQ(count("gpu:0-1023"), 1024u);
  EXPECT_EQ(rule_of([&] { count("gpu:0-1024"); }), "device.several");
  EXPECT_EQ(count("gpu:1048576-1048576"), 1u);
  EXPECT_EQ(rule_of([&] { count("gpu:1048576-1048577"); }), "device.several");
  EXPECT_EQ(single_devices("gpu"), Lines{"gpu"});
  EXPECT_EQ(single_devices("gpu:3-3,1"), (Lines{"gpu:3", "gpu:1"}));
  EXPECT_EQ(single_devices("gpu:1,tpu:0-1"), (Lines{"gpu:1", "tpu:0", "tpu:1"}));
  EXPECT_EQ(joined_name({"gpu:4", "gpu:5"}), "gpu:4-5");
  EXPECT_EQ(joined_name({"gpu:5", "gpu:4"}), "gpu:5,4");
  EXPECT_EQ(joined_name({"gpu.2:9", "gpu.2:10"}), "gpu.2:9-10");
}

TEST(DeviceNames, XlaForCpusHasAsManyAsTheEnvironmentSays) {
  EnvironmentVariable devices("ESPALIER_XLA_CPU_DEVICES", nullptr);
  const auto known = [] { return known_devices({"xla-cpu", "xla-cpu", "", ""}).size(); };
  EXPECT_EQ(cpu_devices_asked(), 1);
  EXPECT_EQ(known(), 1u);
  for (const auto& [text, number] : {std::pair{"", 1}, {"1", 1}, {"8", 8}, {"1024", 1024}}) {
    devices.set(text);
    EXPECT_EQ(cpu_devices_asked(), number) << text;
    EXPECT_EQ(known(), static_cast<size_t>(number)) << text;
  }
  for (const char* wrong : {"0", "-1", "1025", "2x", " 2", "2 ", "99999999999"}) {
    devices.set(wrong);
    try {
      cpu_devices_asked();
      ADD_FAILURE() << wrong;
    } catch (const ValueError& error) {
      EXPECT_EQ(error.rule(), "device.count");
      EXPECT_EQ(error.message(), cat("ESPALIER_XLA_CPU_DEVICES is \"", wrong,
                                     "\", and needed is a number of devices from 1 to 1024"));
    }
  }
}

TEST(Drivers, AreToldByTheirFiles) {
  const auto there = [](const char* path) { return std::filesystem::exists(path); };
  const auto why = [](const char* kind) { return missing_driver({"", kind, "", ""}); };
  EXPECT_EQ(why("cuda"), there("/dev/nvidiactl") ? ""
                                                 : "no NVIDIA driver: there is no /dev/nvidiactl; in a "
                                                   "container, give it the GPUs (--gpus all)");
  EXPECT_EQ(why("rocm"), there("/dev/kfd") ? "" : "no AMD driver: there is no /dev/kfd");
  if (!there("/dev/vfio") && !there("/dev/accel0")) {
    EXPECT_EQ(why("tpu"), "no TPU: there is neither /dev/accel* nor /dev/vfio/*");
    EXPECT_EQ(known_devices({"", "tpu", "", ""}).size(), 0u);
  }
  EXPECT_EQ(why("xla-cpu"), "");
  EXPECT_EQ(why(""), "");
  EXPECT_EQ(known_devices({}).size(), 1u) << "one, as far as anybody knows";
}

}  // namespace
}  // namespace espalier::pjrt
