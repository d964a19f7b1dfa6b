// The chance of values beyond all others, against all orders of a few and against draws.
#include "evaluate/envelope.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"

namespace espalier {
namespace {

TEST(Envelope, ChancesAreThoseOfAllOrders) {
  for (const auto& [before, now] : {std::pair{2, 3}, {3, 4}, {4, 3}, {1, 5}}) {
    // The first `before` places are values seen, the others are new; ranks in every order.
    std::vector<int> ranks(static_cast<size_t>(before + now));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int64_t> orders(static_cast<size_t>(now) + 1);
    int64_t all = 0;
    do {
      const int most = *std::max_element(ranks.begin(), ranks.begin() + before);
      const auto above =
          std::count_if(ranks.begin() + before, ranks.end(), [&](int rank) { return rank > most; });
      for (int64_t k = 0; k <= above; ++k) ++orders[static_cast<size_t>(k)];
      ++all;
    } while (std::next_permutation(ranks.begin(), ranks.end()));
    for (int64_t k = 0; k <= now; ++k) {
      EXPECT_NEAR(beyond_chance(k, before, now),
                  static_cast<double>(orders[static_cast<size_t>(k)]) / static_cast<double>(all), 1e-12)
          << before << now << k;
    }
  }
}

CsvTable sizes(uint64_t seed, int rows, int far, double by = 1000) {
  Philox random(seed);
  std::string text = "size,kind,weight\n";
  for (int i = 0; i < rows; ++i) {
    const double size = static_cast<double>(random.uniform()) * (i < far ? by : 1);
    text += cat(size, ",", random.below(2) ? "a" : "b", ",", random.uniform(), "\n");
  }
  return parse_csv(text);
}

TEST(Envelope, AFewOfAnotherUnitAreFound) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto all = find_beyond(sizes(seed, 1000, 0), sizes(1000 + seed, 500, 15));
    ASSERT_EQ(all.size(), 2U);  // words are not compared
    EXPECT_EQ(all[0].column, "size");
    EXPECT_TRUE(all[0].far);
    EXPECT_GE(all[0].above, 14);
    EXPECT_EQ(all[0].of, 500);
    EXPECT_LE(all[1].above + all[1].below, 10);
    const auto negative = find_beyond(sizes(seed, 1000, 0), sizes(1000 + seed, 500, 15, -1000));
    EXPECT_TRUE(negative[0].far);
    EXPECT_GE(negative[0].below, 14);
  }
}

TEST(Envelope, EqualLawsRaiseFewAlarms) {
  int alarms = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (const ColumnBeyond& column : find_beyond(sizes(seed, 300, 0), sizes(5000 + seed, 300, 0)))
      alarms += column.far;
  }
  EXPECT_LE(alarms, 14);
  EXPECT_TRUE(find_beyond(sizes(1, 10, 0), sizes(2, 10, 10)).empty());
}

}  // namespace
}  // namespace espalier
