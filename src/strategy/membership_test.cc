#include "strategy/membership.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "comm/local.h"
#include "espalier/espalier.h"
#include "strategy/replicas.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// Others do not wait for one that cannot go on.
TEST(Replica, OneThatFailsEndsTheRunOfOthers) {
  const auto errors = errors_of_workers(3, [](const Strategy& workers) {
    if (workers.worker() == 1) {
      const ValueError error("x.y", "no such file");
      workers.replicas()->membership().failed(error);
      throw error;
    }
    workers.replicas()->hosts().tensors({full({2}, 1)});
  });
  for (const std::string& error : errors) EXPECT_NE(error.find("no such file"), std::string::npos) << error;
}

TEST(Membership, OfNoRunSaysNothingAndHearsItself) {
  const Membership alone;
  alone.describe({{"seed", "1"}});
  alone.begin_step(1);
  alone.failed(std::runtime_error("nobody hears it"));
  alone.left();
  EXPECT_FALSE(alone.to_describe() || alone.listen() || alone.asked_to_go() || alone.goes());
  EXPECT_TRUE(alone.lateness().empty());
  alone.go();
  EXPECT_TRUE(alone.asked_to_go() && !alone.goes());
  alone.agree_to_go();
  EXPECT_TRUE(alone.goes());
}

}  // namespace
}  // namespace espalier
