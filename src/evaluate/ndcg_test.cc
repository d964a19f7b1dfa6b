// NDCG against scikit-learn, TensorFlow Model Analysis, and what follows from its definition.
#include "evaluate/ndcg.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/rule_of_test.h"
#include "espalier/error.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

constexpr double kNdcgBound = 1e-12;

struct Golden {
  nlohmann::json json = read_golden("ndcg.json");
  std::vector<double> scores = column<double>("score"), tied = column<double>("tied"),
                      gains = column<double>("gain"), weights = column<double>("weight");
  std::vector<uint32_t> queries = column<uint32_t>("query");

  template <class T>
  std::vector<T> column(const char* name) const {
    return json.at("rows").at(name).get<std::vector<T>>();
  }
};

std::string name_of(const std::string& first) { return first == "None" ? "ndcg" : "ndcg@" + first; }

const Estimate& named(const Estimates& all, const std::string& name) {
  return *std::ranges::find(all.of, name, &Estimate::metric);
}

TEST(Ndcg, OfEachQueryIsScikitLearns) {
  const Golden golden;
  // A slice for each query, and one for all.
  CategoryColumn each{"query", {}, golden.queries};
  for (int query = 0; query < 60; ++query) each.values.push_back(std::to_string(query));
  const Slicing slicing = slice_by({&each}), all = overall(golden.queries.size());
  for (const auto& [of, scores] : {std::pair("score", &golden.scores), std::pair("tied", &golden.tied)}) {
    const QueryRows rows(*scores, golden.gains, golden.queries);
    const std::vector<Estimates> got = ndcg_estimates(rows, slicing);
    const Estimates total = ndcg_estimates(rows, all)[0];
    for (const auto& [first, wanted] : golden.json.at("sklearn").at(of).items()) {
      const auto values = wanted.get<std::vector<double>>();
      size_t at = 0;
      double sum = 0, squares = 0;
      for (const Estimates& query : got) {
        const Estimate& estimate = named(query, name_of(first));
        if (!estimate.value) continue;  // no gain above 0
        EXPECT_NEAR(*estimate.value, values.at(at++), kNdcgBound) << of << first;
      }
      ASSERT_EQ(at, values.size());
      for (const double value : values) sum += value;
      const auto n = static_cast<double>(values.size());
      for (const double value : values) squares += (value - sum / n) * (value - sum / n);
      const Estimate& mean = named(total, name_of(first));
      EXPECT_NEAR(*mean.value, sum / n, kNdcgBound);
      EXPECT_NEAR(*mean.variance, squares / (n - 1) / n, kNdcgBound);  // of a mean
      EXPECT_EQ(mean.rows, std::ssize(values));
    }
  }
}

TEST(Ndcg, OfWeightedQueriesInSlicesIsTensorflowModelAnalysis) {
  const Golden golden;
  CategoryColumn place{"place", {"north", "south"}, {}};
  for (const auto& of : golden.column<std::string>("place")) place.codes.push_back(of == "south");
  const QueryRows rows(golden.scores, golden.gains, golden.queries, golden.weights);
  std::map<std::string, Estimates> got = {{"", ndcg_estimates(rows, overall(rows.size()))[0]}};
  const Slicing slicing = slice_by({&place});
  const std::vector<Estimates> by = ndcg_estimates(rows, slicing);
  for (size_t i = 0; i < by.size(); ++i) got[slicing.slices[i].values[0]] = by[i];
  for (const auto& [slice, figures] : golden.json.at("tfma").items()) {
    for (const auto& [first, value] : figures.items())
      EXPECT_NEAR(*named(got.at(slice), name_of(first)).value, value.get<double>(), kNdcgBound)
          << slice << first;
  }
}

TEST(Ndcg, OfOneQueryIsItsDefinition) {
  const std::vector<double> scores = {0.9, 0.8, 0.1}, gains = {0, 1, 2};
  const Estimates got = ndcg_estimates({scores, gains, std::vector<uint32_t>(3)}, overall(3))[0];
  const double log3 = std::log2(3.0);
  EXPECT_NEAR(*named(got, "ndcg").value, (1 / log3 + 2 / 2.0) / (2 + 1 / log3), kNdcgBound);
  EXPECT_EQ(*named(got, "ndcg@1").value, 0);
  EXPECT_EQ(named(got, "ndcg").variance, std::nullopt);
  // Scores that are alike say nothing of the order: each order is as likely.
  const std::vector<double> same = {1, 1, 1};
  const Estimates mean = ndcg_estimates({same, gains, std::vector<uint32_t>(3)}, overall(3))[0];
  EXPECT_NEAR(*named(mean, "ndcg@1").value, (0 + 1 + 2) / 3.0 / 2, kNdcgBound);
  // Of no gain there is none.
  const std::vector<double> nothing = {0, 0, 0};
  EXPECT_EQ(named(ndcg_estimates({same, nothing, std::vector<uint32_t>(3)}, overall(3))[0], "ndcg").value,
            std::nullopt);
}

TEST(Ndcg, BeyondTheRowsOfAQueryIsThatOfAll) {
  const std::vector<double> scores = {0.9, 0.8, 0.1}, gains = {0, 1e308, 2e307}, small = {0, 5, 1};
  const std::vector<uint32_t> queries(3);
  const Estimates got = ndcg_estimates({scores, gains, queries}, overall(3))[0];
  for (const char* name : {"ndcg@3", "ndcg@5", "ndcg@50", "ndcg@100"})
    EXPECT_EQ(named(got, name).value, named(got, "ndcg").value) << name;
  // It is the same in any unit, however large.
  const Estimates same = ndcg_estimates({scores, small, queries}, overall(3))[0];
  EXPECT_NEAR(*named(got, "ndcg").value, *named(same, "ndcg").value, kNdcgBound);
}

TEST(Ndcg, RowsOfNoUseAreRefused) {
  const std::vector<double> two = {0, 1}, negative = {0, -1}, none = {0, NAN};
  const std::vector<uint32_t> queries = {0, 0}, one = {0};
  EXPECT_EQ(rule_of([&] { QueryRows(two, negative, queries); }), "evaluate.label");
  EXPECT_EQ(rule_of([&] { QueryRows(two, none, queries); }), "evaluate.label");
  EXPECT_EQ(rule_of([&] { QueryRows(none, two, queries); }), "evaluate.score");
  EXPECT_EQ(rule_of([&] { QueryRows(two, two, one); }), "evaluate.rows");
  EXPECT_EQ(rule_of([&] { QueryRows(two, two, queries, negative); }), "evaluate.weight");
}

}  // namespace
}  // namespace espalier
