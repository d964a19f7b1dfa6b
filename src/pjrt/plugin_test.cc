#include "pjrt/plugin.h"

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "pjrt/program_cache_test.h"

namespace espalier::pjrt {
namespace {

TEST(Plugins, AnErrorHasTheRuleOfItsCode) {
  const Plugin& plugin = Plugin::load(build_folder() + "/broken_plugin.so");
  const auto rule = [&](const char* fault) {
    const EnvironmentVariable broken("ESPALIER_BROKEN", fault);
    ClientCreate create;
    return rule_of([&] { plugin.call(create, "begin"); });
  };
  EXPECT_EQ(rule("memory"), "device.memory");
  EXPECT_EQ(rule("lacks"), "device.unsupported");
  EXPECT_EQ(rule("client"), "device.call");
  EXPECT_EQ(rule("throws"), "device.call");
}

TEST(Plugins, AFileThatIsNoneSaysWhy) {
  const std::string folder = std::filesystem::absolute(fresh_folder("plugins-refused")).string();
  const auto said = [](const std::string& file) -> std::string {
    try {
      Plugin::load(file);
    } catch (const DeviceError& error) {
      return cat(error.rule(), ": ", error.message());
    }
    return "";
  };
  // Each load has a file of its own: what was loaded stays.
  const auto broken = [&](const char* fault) {
    const std::string file = cat(folder, "/", fault, ".so");
    std::filesystem::copy_file(build_folder() + "/broken_plugin.so", file);
    const EnvironmentVariable is("ESPALIER_BROKEN", fault);
    return said(file);
  };
  EXPECT_EQ(said(folder + "/none.so"), cat("device.plugin: there is no plugin ", folder, "/none.so"));
  write_bytes(folder + "/empty.so", "");
  EXPECT_TRUE(
      said(folder + "/empty.so").starts_with(cat("device.plugin: ", folder, "/empty.so cannot be loaded: ")));
  EXPECT_EQ(said(build_folder() + "/fake_nvml.so"),
            cat("device.plugin: ", build_folder(), "/fake_nvml.so is no PJRT plugin: it has no GetPjrtApi"));
  EXPECT_EQ(broken("old"),
            cat("device.plugin: ", folder, "/old.so speaks PJRT 0.50; needed is 0.81 or later of 0"));
  EXPECT_EQ(broken("begins"),
            "device.call: cannot begin: the driver is of yesterday (code 9 of begins.so, "
            "PJRT 0.81)");
  // One that was refused is none yet.
  EXPECT_EQ(said(folder + "/begins.so"), "");
  EXPECT_EQ(broken("short"), "");
  ClientCreate create;
  try {
    Plugin::load(folder + "/short.so").call(create, "begin");
    ADD_FAILURE() << "it has no such call";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.rule(), "device.call");
    EXPECT_EQ(error.message(), cat(folder,
                                   "/short.so cannot begin: its table has no function 10; it speaks "
                                   "PJRT 0.81"));
  }
}

TEST(Plugins, AFileIsLoadedOnceByWhateverName) {
  const std::string folder = fresh_folder("plugins-once"), file = folder + "/one.so";
  std::filesystem::copy_file(build_folder() + "/broken_plugin.so", file);
  std::filesystem::create_symlink(std::filesystem::absolute(file), folder + "/two.so");
  const Plugin& one = Plugin::load(file);
  EXPECT_EQ(&Plugin::load(folder + "/two.so"), &one);
  EXPECT_EQ(&Plugin::load(folder + "/../plugins-once/one.so"), &one);
  EXPECT_EQ(one.path(), file);
  EXPECT_EQ(one.version(), "0.81");
}

}  // namespace
}  // namespace espalier::pjrt
