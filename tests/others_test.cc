// What another user of the host can do to what the command writes: nothing.
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/format.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

// Each attack in a folder that the system does not protect; scripts/check-others by itself tries /tmp's kind,
// too.
TEST(Others, SlowGetNothingOfWhatACallWrites) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two other users";
  const Outcome run =
      call_shell(cat("scripts/check-others --folders open --races 100 --build ", build_folder()));
  if (run.code == 2) GTEST_SKIP() << run.error;
  EXPECT_EQ(run.code, 0) << run.output << run.error;
  EXPECT_NE(run.output.find(", 0 problems\n"), std::string::npos) << run.output;
}

}  // namespace
}  // namespace espalier::cli
