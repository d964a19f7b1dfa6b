// Devices that a command names: by a real PJRT plugin where there is one, and by one that fails.
#include <nlohmann/json.hpp>

#include "cli/verb_test.h"
#include "format/npy.h"
#include "pjrt/plugin_test.h"

namespace espalier::cli {
namespace {

constexpr const char* kSum = R"(func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%0) : (tensor<3xf32>) -> ()
})";

class Devices : public testing::Test {
 protected:
  Devices()
      : folder_(
            fresh_folder(cat("devices-", testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    write_file(folder_ + "/sum.mlir", kSum);
    write_npy(folder_ + "/a.npy", Literal::of<float>({1, 2, 3}));
    write_npy(folder_ + "/b.npy", Literal::of<float>({10, 2, -30}));
  }
  std::string sum_on(const std::string& device) const {
    return cat("run ", folder_, "/sum.mlir --inputs ", folder_, "/a.npy ", folder_, "/b.npy --device ",
               device);
  }
  // Of the plugin that fails so.
  Outcome broken(const std::string& fault, const std::string& words) const {
    return call_shell(cat("ESPALIER_BROKEN=", fault, " ", build_folder(), "/espalier ", words));
  }
  static std::string broken_plugin() { return build_folder() + "/broken_plugin.so"; }
  const std::string folder_;
};

void expect_device_refused(const Outcome& outcome, const std::string& text) {
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_NE(outcome.error.find(text), std::string::npos) << outcome.error;
  EXPECT_LE(std::ranges::count(outcome.error, '\n'), 2) << outcome.error;  // a fix may follow
}

TEST_F(Devices, TheCpuIsOneAndNeedsNoPlugin) {
  const Outcome listed = call_shell(cat("env -u ESPALIER_PJRT_PLUGINS HOME=/nowhere VIRTUAL_ENV=/nowhere ",
                                        build_folder(), "/espalier devices --json"));
  ASSERT_EQ(listed.code, 0) << listed.error;
  const auto devices = nlohmann::json::parse(listed.output).at("devices");
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].at("name"), "cpu");
  EXPECT_TRUE(devices[0].at("usable").get<bool>());
  EXPECT_GT(devices[0].at("memory_bytes").get<int64_t>(), 1 << 20);
  const Outcome sum = call_command(sum_on("cpu"));
  EXPECT_EQ(sum.code, 0) << sum.error;
  EXPECT_NE(sum.output.find("out0 result0 f32[3]: 11 4 -27\n"), std::string::npos) << sum.output;
}

TEST_F(Devices, APluginRunsTheProgram) {
  ESPALIER_NEEDS_PLUGIN();
  for (const std::string& device :
       {pjrt::test_plugin(), std::string("xla-cpu --plugin ") + pjrt::test_plugin()}) {
    const Outcome sum = call_command(sum_on(device));
    EXPECT_EQ(sum.code, 0) << sum.error;
    EXPECT_EQ(sum.error, "");
    EXPECT_NE(sum.output.find("out0 result0 f32[3]: 11 4 -27\n"), std::string::npos) << sum.output;
  }
  const Outcome listed = call_command(cat("devices --json --plugin ", pjrt::test_plugin()));
  ASSERT_EQ(listed.code, 0) << listed.error;
  const auto device = nlohmann::json::parse(listed.output).at("devices").at(1);
  EXPECT_EQ(device.at("name"), "xla-cpu:0");
  EXPECT_EQ(device.at("kind"), "XLA_CPU");
  EXPECT_TRUE(device.at("usable").get<bool>());
  EXPECT_TRUE(device.at("pjrt").get<std::string>().starts_with("0.")) << device;
}

TEST_F(Devices, WhatIsNoPluginIsRefusedInASentence) {
  expect_device_refused(call_command(sum_on("nope")), "there is no device \"nope\"");
  expect_device_refused(call_command(sum_on("/no/such/plugin.so")), "there is no plugin /no/such/plugin.so");
  expect_device_refused(call_command(sum_on(write_file(folder_ + "/text.so", "no library"))),
                        "cannot be loaded");
  if (std::filesystem::exists("/lib/x86_64-linux-gnu/libm.so.6"))
    expect_device_refused(call_command(sum_on("/lib/x86_64-linux-gnu/libm.so.6")), "it has no GetPjrtApi");
}

TEST_F(Devices, APluginThatFailsIsSaidInASentence) {
  const std::string sum = sum_on(broken_plugin());
  expect_device_refused(broken("old", sum), "speaks PJRT 0.50; needed is 0.81 or later of 0");
  expect_device_refused(broken("short", sum), "its table has no function 10");
  expect_device_refused(broken("begins", sum), "the driver is of yesterday (code 9");
  expect_device_refused(broken("client", sum),
                        "has no device: cannot begin: No visible GPU devices. (code 9");
  expect_device_refused(broken("throws", sum),
                        "threw an exception where it was to begin: out of the interface");
  expect_device_refused(broken("memory", sum), "Out of memory allocating 4398046511104 bytes.");
}

TEST_F(Devices, TheListSaysWhyAPluginCannotBeUsed) {
  const auto problem = [&](const std::string& fault) {
    const Outcome listed = broken(fault, cat("devices --json --plugin ", broken_plugin()));
    EXPECT_EQ(listed.code, 0) << listed.error;
    return nlohmann::json::parse(listed.output).at("devices").at(1).at("problem").get<std::string>();
  };
  EXPECT_EQ(problem("client"), "");  // it has not been asked
  EXPECT_NE(problem("old").find("speaks PJRT 0.50"), std::string::npos);
  EXPECT_NE(problem("begins").find("the driver is of yesterday"), std::string::npos);
}

TEST_F(Devices, WhatIsNamedAndNotThereIsRefused) {
  expect_device_refused(call_command(cat(sum_on("xla-cpu"), " --plugin ", folder_, "/nope.so")),
                        "/nope.so: it is no file");
  expect_device_refused(call_shell(cat("ESPALIER_PJRT_PLUGINS=", folder_, "/nope.so ", build_folder(),
                                       "/espalier ", sum_on("xla-cpu"))),
                        cat("ESPALIER_PJRT_PLUGINS names ", folder_, "/nope.so, which is no file"));
  expect_device_refused(call_command("devices --check cpu"), "cpu is what devices are checked against");
}

TEST_F(Devices, AFileHereNeedsNoFolder) {
  ESPALIER_NEEDS_PLUGIN();
  const std::string command = std::filesystem::absolute(build_folder() + "/espalier");
  const std::string plugin = std::filesystem::absolute(pjrt::test_plugin());
  const Outcome listed =
      call_shell(cat("cd ", folder_, " && ln -s ", plugin, " here_cpu.so && ESPALIER_XLA_CPU_DEVICES=3 ",
                     command, " devices --json --plugin here_cpu.so"));
  ASSERT_EQ(listed.code, 0) << listed.error;
  const auto devices = nlohmann::json::parse(listed.output).at("devices");
  ASSERT_EQ(devices.size(), 4u) << devices;
  EXPECT_EQ(devices[3].at("name"), "xla-cpu:2");
  EXPECT_EQ(devices[3].at("problem"), "");
}

}  // namespace
}  // namespace espalier::cli
