#include "strategy/whole_loop_test.h"

#include "strategy/loops_test.h"

namespace espalier {
namespace {

constexpr double kBound = 2e-6;  // of the largest value of each tensor

class WholeLoops : public testing::Test {
 protected:
  void expect_near_fit_and_one_device(const Strategy& strategy, const std::string& where) {
    const WholeRun found = program_.loop(strategy);
    EXPECT_LE(trained_distance(found.learned, fitted_.learned), kBound) << where;
    EXPECT_LE(trained_distance(found.learned, alone_.learned), kBound) << where;
  }
  const WholeLoop program_{true};
  const WholeRun fitted_ = program_.fit(), alone_ = program_.loop(strategy::OneDevice());
};

TEST_F(WholeLoops, AreFitAndOneDeviceOnPoolsAndWorkers) {
  EXPECT_LE(trained_distance(alone_.learned, fitted_.learned), kBound);
  for (const int count : {1, 2, 3}) {
    expect_near_fit_and_one_device(strategy::Mirrored({.devices = count}), cat(count, " pools"));
    on_each_worker(count, [&](const Strategy& strategy) {
      expect_near_fit_and_one_device(strategy, cat("worker ", strategy.worker(), " of ", count));
    });
  }
}

TEST_F(WholeLoops, SlowAreFitAndOneDeviceOnDevicesOfAPlugin) {
  ESPALIER_NEEDS_PLUGIN();
  ASSERT_TRUE(pjrt::tests_have_cpu_devices(8));
  const DeviceScope device(pjrt::test_plugin());
  for (const int count : {1, 2, 3})
    expect_near_fit_and_one_device(strategy::Mirrored({.devices = count}), cat(count, " devices"));
}

TEST(WholeLoopsInShards, HaveOneHashOnPoolsAndWorkers) {
  const WholeLoop program(false);
  const WholeRun wanted = program.loop(strategy::OneDevice({.logical_shards = 8}));
  EXPECT_GT(wanted.learned.logs.at("accuracy"), 0.6);
  for (const int count : {2, 3}) {
    EXPECT_EQ(program.loop(strategy::Mirrored({.devices = count, .logical_shards = 8})).sha256, wanted.sha256)
        << count << " pools";
    on_each_worker(count,
                   [&](const Strategy& strategy) { EXPECT_EQ(program.loop(strategy).sha256, wanted.sha256); },
                   {.logical_shards = 8});
  }
}

// XLA rounds otherwise than this CPU.
void expect_one_hash_on_plugin(std::initializer_list<int> counts) {
  const WholeLoop program(false);
  const WholeRun here = program.loop(strategy::OneDevice({.logical_shards = 8}));
  const DeviceScope device(pjrt::test_plugin());
  const WholeRun wanted = program.loop(strategy::OneDevice({.logical_shards = 8}));
  EXPECT_LE(trained_distance(wanted.learned, here.learned), kBound);
  for (const int count : counts)
    EXPECT_EQ(program.loop(strategy::Mirrored({.devices = count, .logical_shards = 8})).sha256, wanted.sha256)
        << count << " devices";
}

TEST(WholeLoopsInShards, SlowHaveOneHashOnDevicesOfAPlugin) {
  ESPALIER_NEEDS_PLUGIN();
  ASSERT_TRUE(pjrt::tests_have_cpu_devices(8));
  expect_one_hash_on_plugin({3});
}

TEST(WholeLoopsInShards, NightlyHaveOneHashOnAnyNumberOfDevices) {
  ESPALIER_NEEDS_PLUGIN();
  ASSERT_TRUE(pjrt::tests_have_cpu_devices(8));
  expect_one_hash_on_plugin({1, 2, 3, 4, 8});
}

}  // namespace
}  // namespace espalier
