// Pairs of columns against tests/golden/tfdv_crosses.py and against what they must be.
#include "validate/statistics_crosses.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rule_of_test.h"
#include "ir/golden_test.h"
#include "validate/statistics_tables_test.h"

namespace espalier {
namespace {

using nlohmann::json;

StatisticsOptions crossed(std::vector<std::string> columns = {}) {
  StatisticsOptions out = with_header();
  out.crosses = std::move(columns);
  return out;
}

TEST(Crosses, AreTfdvs) {
  for (const json& golden : read_golden("tfdv_crosses.json")) {
    const auto data = data_of(golden.at("text"), crossed());
    std::map<std::pair<std::string, std::string>, json> theirs;
    for (const json& pair : golden.at("pairs")) theirs[{pair[0], pair[1]}] = pair;
    std::pair<std::string, std::string> before;
    for (const tfmd::CrossFeatureStatistics& cross : data.cross_features()) {
      const std::pair<std::string, std::string> names = {cross.path_x().step(0), cross.path_y().step(0)};
      const std::string what = cat(names.first, ", ", names.second);
      EXPECT_LT(before, names);
      before = names;
      if (!theirs.contains(names)) {  // no row of a small table has one number in a column of lists
        EXPECT_EQ(cross.count(), 0u) << what;
        continue;
      }
      const json pair = theirs.extract(names).mapped();
      const double covariance = pair[3];
      EXPECT_EQ(cross.count(), pair[2].get<uint64_t>()) << what;
      EXPECT_NEAR(cross.num_cross_stats().covariance(), covariance, 1e-6 * std::fabs(covariance) + 1e-9)
          << what;
      EXPECT_NEAR(cross.num_cross_stats().correlation(), pair[4].get<double>(), 1e-6) << what;
    }
    EXPECT_TRUE(theirs.empty()) << theirs.begin()->second;
  }
}

// Means do not count, however large they are beside the deviations.
TEST(Crosses, OfLinesAreWholeWhateverTheMeansAre) {
  for (const int64_t offset : {int64_t{0}, int64_t{-1000000000}, int64_t{1} << 50}) {
    std::string text = "x,up,down\n";
    for (int64_t i = 0; i < 101; ++i) text += cat(offset + i, ",", offset + 2 * i, ",", 7 - 3 * i, "\n");
    const auto data = data_of(text, crossed());
    ASSERT_EQ(data.cross_features_size(), 3);
    const double variance = (101.0 * 101 - 1) / 12;
    const double slopes[] = {-3 * 2, -3, 2}, correlations[] = {-1, -1, 1};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(data.cross_features(i).num_cross_stats().covariance(),
                static_cast<float>(slopes[i] * variance));
      EXPECT_FLOAT_EQ(data.cross_features(i).num_cross_stats().correlation(),
                      static_cast<float>(correlations[i]));
    }
  }
}

TEST(Crosses, LeaveOutWhatIsNoNumber) {
  const auto data = data_of("a,b,c\n1,1.5,x\n2,nan,x\n3,,y\n4,2.5,\n,7.5,x\n", crossed());
  ASSERT_EQ(data.cross_features_size(), 1);
  EXPECT_EQ(data.cross_features(0).count(), 2u);
  EXPECT_EQ(data.cross_features(0).num_cross_stats().covariance(), 0.75F);
  const auto infinite = data_of("a,b\n1,1.5\n2,inf\n3,2.5\n", crossed()).cross_features(0);
  EXPECT_EQ(infinite.count(), 3u);
  EXPECT_TRUE(std::isnan(infinite.num_cross_stats().covariance()));
  EXPECT_EQ(infinite.num_cross_stats().correlation(), 0);
  EXPECT_EQ(data_of("a,b\n1,2\n", with_header()).cross_features_size(), 0);
  EXPECT_EQ(data_of("a,b,c\n1,2,3\n", crossed({"c", "a"})).cross_features_size(), 1);
}

TEST(Crosses, OfSlicesAreOfTheirRows) {
  StatisticsOptions options = crossed();
  options.slice = "kind";
  const auto list = list_of("kind,a,b\nx,1,1\ny,1,5\nx,2,3\ny,3,1\n", options);
  ASSERT_EQ(list.datasets_size(), 3);
  EXPECT_EQ(list.datasets(1).cross_features(0).num_cross_stats().covariance(), 0.5F);
  EXPECT_EQ(list.datasets(2).cross_features(0).num_cross_stats().covariance(), -2);
  EXPECT_EQ(list.datasets(0).cross_features(0).count(), 4u);
}

// A column that turns out to be of other numbers, or of texts, in the middle of the file.
TEST(Crosses, OfColumnsThatChangeTheirTypeAreOfAllRows) {
  std::string text = "late,words,x\n", whole = "late,x\n";
  for (int row = 0; row < 4000; ++row) {
    const std::string late = row < 3000 ? cat(row % 50) : cat(row % 50, ".5");
    text += cat(late, ",", row < 3500 ? cat(row) : "w", ",", row % 13, "\n");
    whole += cat(late, row < 3000 ? ".0" : "", ",", row % 13, "\n");
  }
  StatisticsOptions options = crossed();
  options.block = 1 << 10;
  const auto data = data_of(text, options);
  ASSERT_EQ(data.cross_features_size(), 1);
  EXPECT_EQ(data.cross_features(0).count(), 4000u);
  EXPECT_EQ(data.cross_features(0).SerializeAsString(),
            data_of(whole, options).cross_features(0).SerializeAsString());
}

TEST(Crosses, AreOfColumnsThatThereAreAndNotTooMany) {
  EXPECT_EQ(rule_of([] { data_of("a,b\n1,2\n", crossed({"c"})); }), "stats.crosses");
  const auto table = [](int columns) {
    std::string names = "kind", values;
    for (int c = 0; c < columns; ++c) names += cat(",c", c), values += cat(",", c);
    return cat(names, "\nx", values, "\ny", values, "\n");
  };
  EXPECT_EQ(data_of(table(128), crossed()).cross_features_size(), 128 * 127 / 2);
  EXPECT_EQ(rule_of([&] { data_of(table(129), crossed()); }), "stats.crosses");
  EXPECT_EQ(data_of(table(129), crossed({"c1", "c2"})).cross_features_size(), 1);
  StatisticsOptions sliced = crossed();
  sliced.slice = "kind";
  EXPECT_EQ(rule_of([&] { data_of(table(100), sliced); }), "stats.crosses");
  // All rows and two slices: 73 columns are 2628 pairs, 74 are 2701, 3 * 2701 = 8103, and 75 are 2775.
  EXPECT_EQ(data_of(table(74), sliced).cross_features_size(), 2701);
  EXPECT_EQ(rule_of([&] { data_of(table(75), sliced); }), "stats.crosses");
  const TableStatistics two({{"a", "b"}, {CellType::kInt, CellType::kFloat}}, crossed());
  EXPECT_TRUE(two.crossed(0) && two.crossed(1));
  const auto begun = [](size_t columns) {
    TableColumns named;
    for (size_t i = 0; i < columns; ++i) named.names.push_back(cat("c", i));
    named.types.assign(columns, CellType::kInt);
    return rule_of([&] { TableStatistics(named, crossed()); });
  };
  EXPECT_EQ(begun(128), "nothing");
  EXPECT_EQ(begun(129), "stats.crosses") << "before a row was read";
}

}  // namespace
}  // namespace espalier
