#include "strategy/mesh.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Mesh, ReplicasOfThisProcessHaveTheirNamesAndOthersNumbers) {
  const Mesh mesh{.world = 6, .first = 2, .count = 2, .names = {"gpu:0", "gpu:1"}};
  const char* const wanted[] = {"replica 0", "replica 1", "gpu:0", "gpu:1", "replica 4", "replica 5"};
  for (int replica = 0; replica < 6; ++replica) EXPECT_EQ(mesh.name(replica), wanted[replica]);
  EXPECT_EQ(Mesh().name(0), "replica 0") << "the one of this CPU";
}

TEST(Mesh, OneReplicaIsNotMany) {
  EXPECT_FALSE(Mesh().many());
  EXPECT_TRUE(Mesh{.world = 2}.many());
}

}  // namespace
}  // namespace espalier
