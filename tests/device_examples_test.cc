// The programs of examples/ that train on a device.
#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "cli/verb_test.h"
#include "pjrt/plugin_test.h"

namespace espalier::cli {
namespace {

std::string device_example(const std::string& name) { return cat(build_folder(), "/example_", name); }

TEST(DeviceExamples, WithoutADeviceASentenceSaysWhatIsMissing) {
  for (const std::string name : {"gpu", "mixed_precision", "tpu"}) {
    const std::string text = posix_env().read_file(cat("examples/", name, ".cc"));
    EXPECT_LE(std::ranges::count(text, '\n'), 25) << name;
    const Outcome none = call_shell(cat("env -u ESPALIER_PJRT_PLUGINS HOME=/nowhere VIRTUAL_ENV=/nowhere ",
                                        device_example(name), name == "mixed_precision" ? " gpu" : ""));
    EXPECT_EQ(none.code, 1) << name;
    const std::string device = name == "tpu" ? "tpu" : "gpu";
    EXPECT_NE(none.error.find(cat("there is no device \"", device, "\": no plugin for ",
                                  device == "tpu" ? "TPUs" : "GPUs", " was found: pip install")),
              std::string::npos)
        << none.error;
    if (name == "tpu") {
      EXPECT_EQ(std::ranges::count(none.error, '\n'), 1) << none.error;
    }
  }
}

TEST(DeviceExamples, SlowLearnOnTheDeviceThatIsNamed) {
  ESPALIER_NEEDS_PLUGIN();
  const std::string given =
      cat("ESPALIER_XLA_CPU_DEVICES=4 ESPALIER_PJRT_PLUGINS=", pjrt::test_plugin(), " ");
  for (const char* name : {"gpu", "mixed_precision", "tpu"}) {
    const Outcome there = call_shell(cat(given, device_example(name), " xla-cpu"));
    EXPECT_EQ(there.code, 0) << there.error;
    const size_t at = there.output.find("loss ");
    ASSERT_NE(at, std::string::npos) << there.output;
    double last = 0, first = 0;
    ASSERT_EQ(std::sscanf(there.output.c_str() + at, "loss %lf, at first %lf", &last, &first), 2);
    EXPECT_LT(last, first / 2) << there.output;
    if (std::string(name) == "tpu") {
      EXPECT_EQ(there.output.substr(0, 11), "4 replicas ") << there.output;
    }
    const bool lists = there.output.find("xla-cpu:0") != std::string::npos;
    EXPECT_EQ(lists, std::string(name) == "gpu") << there.output;
  }
}

}  // namespace
}  // namespace espalier::cli
