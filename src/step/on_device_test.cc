// The tests of this room on a fake device.
#include <gtest/gtest.h>

#include "runtime/on_fake_device_test.h"

namespace espalier {
namespace {

constexpr std::string_view kMixes = "variables on the device meet rows that lie here (device.mix)";
constexpr NotOnDevice kNotOnDevice[] = {
    {"Ids.ThoseOutsideAreRefusedBeforeTheFirstStep", kMixes},
    {"StepPrograms.GradientsAreWeighedByTheSeed", kMixes},
};
[[maybe_unused]] const bool on_fake_device = run_on_fake_device(kNotOnDevice);

TEST(StepOnFakeDevice, EachTestThatIsLeftOutExists) { expect_tests_of(kNotOnDevice); }

}  // namespace
}  // namespace espalier
