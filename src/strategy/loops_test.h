// Loops of one's own in every place, against one device.
#pragma once

#include <cmath>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/devices.h"
#include "espalier/espalier.h"
#include "pjrt/plugin_test.h"
#include "strategy/workers_test.h"

namespace espalier {

using Loop = std::function<std::vector<float>(const Strategy&)>;

// What `loop` gives on eight logical shards has the same bits wherever they run.
inline void expect_equal_bits_by_shards(const Loop& loop) {
  const std::vector<float> wanted = loop(strategy::OneDevice({.logical_shards = 8}));
  ASSERT_FALSE(wanted.empty());
  for (const int world : {2, 3}) {
    EXPECT_EQ(loop(strategy::Mirrored({.devices = world, .logical_shards = 8})), wanted) << world << " pools";
    on_each_worker(world, [&](const Strategy& strategy) { EXPECT_EQ(loop(strategy), wanted) << world; },
                   {.logical_shards = 8});
  }
}

// The same of devices of a plugin, which round otherwise than this CPU.
inline void expect_equal_bits_by_shards_on_plugin(const Loop& loop) {
  const DeviceScope device(pjrt::test_plugin());
  const std::vector<float> wanted = loop(strategy::OneDevice({.logical_shards = 8}));
  ASSERT_FALSE(wanted.empty());
  for (const int count : {1, 2, 3})
    EXPECT_EQ(loop(strategy::Mirrored({.devices = count, .logical_shards = 8})), wanted) << count;
}

// What `loop` gives on one device, on pools, workers and, of parts that go round, devices of a plugin, each
// within `bound` of the largest value of one device's. 0: the same numbers.
inline void expect_as_on_one_device(const Loop& loop, double bound = 0, bool on_plugin = true) {
  const std::vector<float> wanted = loop(strategy::OneDevice());
  ASSERT_FALSE(wanted.empty());
  float largest = 0;
  for (const float value : wanted) largest = std::max(largest, std::fabs(value));
  const auto expect = [&](const std::vector<float>& found, const std::string& where, double rounding = 0) {
    ASSERT_EQ(found.size(), wanted.size()) << where;
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_LE(std::fabs(found[i] - wanted[i]), (bound + rounding) * largest)
          << where << ", number " << i << " of " << wanted.size() << ": " << found[i] << ", not "
          << wanted[i];
  };
  for (const int world : {2, 3}) {
    expect(loop(strategy::Mirrored({.devices = world})), cat(world, " pools"));
    std::mutex mutex;
    on_each_worker(world, [&](const Strategy& strategy) {
      const std::vector<float> found = loop(strategy);
      const std::lock_guard lock(mutex);
      expect(found, cat("worker ", strategy.worker(), " of ", world));
    });
  }
  if (!on_plugin || pjrt::test_plugin().empty() || !pjrt::tests_have_cpu_devices(8)) return;
  const DeviceScope device(pjrt::test_plugin());
  expect(loop(strategy::Mirrored({.devices = 2})), "two devices of a plugin", 1e-6);  // XLA's logarithms
}

inline std::vector<float> numbers(const Tensor& tensor) {
  return convert(reshape(tensor, {tensor.type().elements()}), DType::kF32).to_vector<float>();
}

}  // namespace espalier
