#include "train/latest_worker.h"

#include <vector>

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(LatestWorker, IsNamedFromATwentiethOfTheEpochOn) {
  const auto text = [](std::vector<double> late, double seconds) { return latest_worker(late, seconds); };
  EXPECT_EQ(text({0, 0.1, 0.49}, 10), "");
  EXPECT_EQ(text({0.1, 0, 1.2, 0.6}, 10), "rank 2 late 12 %");
  EXPECT_EQ(text({0.5, 0}, 10), "rank 0 late 5 %");
  EXPECT_EQ(text({0, 11}, 10), "rank 1 late 100 %") << "clocks of two ranks";
  EXPECT_EQ(text({}, 10), "");
}

}  // namespace
}  // namespace espalier
