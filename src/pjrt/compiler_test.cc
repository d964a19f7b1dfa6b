#include "pjrt/compiler_test.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/ops.h"
#include "ir/builder.h"
#include "pjrt/plugin_test.h"

namespace espalier::pjrt {
namespace {

// What opening it is refused with; "" where it is not.
std::string refusal_of(const std::string& file, const std::string& topology,
                       const Compiler::Options& options = {}) {
  try {
    const Compiler compiler(Plugin::load(file), topology, options);
    return "";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.rule(), "device.topology");
    return error.message();
  }
}

std::shared_ptr<const Graph> sum_of_two() {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    const TensorType type{DType::kF32, {8, 128}};
    const Tensor x = builder.argument("x", type);
    builder.result("sum", add(x, builder.argument("y", type)));
  }
  return builder.finish();
}

TEST(Compilers, APluginThatCompilesForNoOtherMachineSaysSo) {
  ESPALIER_NEEDS_PLUGIN();
  const std::string said = refusal_of(test_plugin(), "v5e:1x1");
  EXPECT_TRUE(said.starts_with(
      cat(test_plugin(), " does not compile for \"v5e:1x1\": cannot describe devices that are not there: ")))
      << said;
}

// 4096 bytes an array.
void expect_memory(const TestCompiler& wanted) {
  const Compiler compiler = wanted.open();
  const Alias alias{0, 0};
  const Compiled kept = compiler.compile(*sum_of_two()),
                 given = compiler.compile(*sum_of_two(), {.aliases = {&alias, 1}});
  for (const Compiled& each : {kept, given}) {
    EXPECT_EQ(each.arguments, 2 * 4096);
    EXPECT_EQ(each.outputs, 4096);
    EXPECT_GT(each.serialized, 0u);
  }
  EXPECT_EQ(kept.aliases, 0);
  EXPECT_EQ(given.aliases, 4096);
}

TEST(Compilers, SlowTheH100sSaysWhatAProgramTakes) {
  ESPALIER_NEEDS_COMPILER(kH100);
  expect_memory(kH100);
  const std::string said = refusal_of(kH100.file(), "", {{"target_config", "colour: \"red\""}});
  EXPECT_TRUE(said.starts_with(cat(kH100.file(), " does not compile for \"\": "))) << said;
}

TEST(Compilers, SlowTheTpuV5esSaysWhatAProgramTakes) {
  ESPALIER_NEEDS_COMPILER(kTpuV5e);
  expect_memory(kTpuV5e);
  const std::string said = refusal_of(kTpuV5e.file(), "v0:1x1");
  EXPECT_TRUE(said.starts_with(cat(kTpuV5e.file(), " does not compile for \"v0:1x1\": "))) << said;
}

}  // namespace
}  // namespace espalier::pjrt
