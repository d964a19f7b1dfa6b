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

}  // namespace
}  // namespace espalier::pjrt
