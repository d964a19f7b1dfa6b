#include "evaluate/ndcg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "evaluate/scored_rows.h"

namespace espalier {
namespace {

constexpr size_t kWhole = std::numeric_limits<size_t>::max();
// As ndcg_metrics() has them.
constexpr std::array<size_t, 8> kFirst = {kWhole, 1, 3, 5, 10, 20, 50, 100};

double discount(size_t rank) { return 1 / std::log2(static_cast<double>(rank) + 2); }

// One query: its gains by falling score.
struct Query {
  std::vector<double> scores, gains;
  Tally rows;

  // No sum of gains overflows where the largest is 1.
  void scale() {
    const double most = std::ranges::max(gains);
    for (double& gain : gains) gain /= most;
  }
  double dcg(size_t first) const {
    double out = 0;
    for (size_t begin = 0, end = 0; begin < std::min(first, gains.size()); begin = end) {
      double gain = 0, discounts = 0;
      for (; end < gains.size() && scores[end] == scores[begin]; ++end) {
        gain += gains[end];
        if (end < first) discounts += discount(end);
      }
      out += gain / static_cast<double>(end - begin) * discounts;
    }
    return out;
  }
  static double best_dcg(const std::vector<double>& falling, size_t first) {
    double out = 0;
    for (size_t rank = 0; rank < std::min(first, falling.size()); ++rank)
      out += falling[rank] * discount(rank);
    return out;
  }
  // Of each of kFirst; REQUIRES a gain above 0.
  std::array<double, kFirst.size()> ndcg() const {
    std::vector<double> falling = gains;
    std::ranges::sort(falling, std::greater());
    std::array<double, kFirst.size()> out;
    for (size_t i = 0; i < kFirst.size(); ++i) out[i] = dcg(kFirst[i]) / best_dcg(falling, kFirst[i]);
    return out;
  }
};

struct WeightedNdcg {
  std::array<double, kFirst.size()> of;
  double weight;
};

Estimates estimates_of_queries(const std::vector<WeightedNdcg>& queries, const Tally& rows) {
  Tally counted;
  for (const WeightedNdcg& query : queries) counted.add(query.weight);
  Estimates out{.rows = rows};
  for (size_t i = 0; i < kFirst.size(); ++i) {
    Estimate& one = out.of.emplace_back(Estimate{.metric = std::string(ndcg_metrics()[i].name)});
    one.rows = counted.rows;
    one.effective_rows = counted.effective_rows();
    if (!(counted.weight > 0)) continue;
    double sum = 0, squares = 0;
    for (const WeightedNdcg& query : queries) sum += query.weight * query.of[i];
    one.value = sum / counted.weight;
    for (const WeightedNdcg& query : queries) {
      const double pull = query.weight * (query.of[i] - *one.value);
      squares += pull * pull;
    }
    one.variance = linear_variance(squares, counted);
  }
  return out;
}

}  // namespace

QueryRows::QueryRows(std::span<const double> scores, std::span<const double> gains,
                     std::span<const uint32_t> queries, std::span<const double> weights)
    : scores_(scores), gains_(gains), queries_(queries), weights_(weights) {
  if (gains.size() != scores.size() || queries.size() != scores.size()) {
    throw ValueError("evaluate.rows", cat("scores, gains and queries are of the same rows: ", scores.size(),
                                          " scores, ", gains.size(), " gains, ", queries.size(), " queries"));
  }
  check_weights(scores.size(), weights);
  for (size_t row = 0; row < scores.size(); ++row) {
    if (!std::isfinite(scores[row])) {
      throw ValueError("evaluate.score",
                       cat("a score is a finite number: row ", row, " has ", shortest(scores[row])));
    }
    if (!(gains[row] >= 0 && std::isfinite(gains[row])))
      throw ValueError("evaluate.label",
                       cat("a gain is a number from 0 on: row ", row, " has ", shortest(gains[row])));
  }
}

const std::vector<EstimateMetric>& ndcg_metrics() {
  constexpr std::string_view kFormula =
      "mean over queries of DCG / DCG of the best order, DCG = sum of y / log2(1 + rank by p)";
  static const std::vector<EstimateMetric> table = [] {
    std::vector<EstimateMetric> out;
    for (const std::string_view name :
         {"ndcg", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "ndcg@20", "ndcg@50", "ndcg@100"}) {
      const bool compared = name == "ndcg" || name == "ndcg@10";
      out.push_back({name, {}, kFormula, 0, 1, compared, "queries"});
    }
    return out;
  }();
  return table;
}

std::vector<Estimates> ndcg_estimates(const QueryRows& rows, const Slicing& slicing) {
  std::vector<uint32_t> order;
  std::vector<Tally> counted(slicing.slices.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    if (slicing.of_row[row] == Slicing::kNone) continue;
    order.push_back(static_cast<uint32_t>(row));
    counted[slicing.of_row[row]].add(rows.weight(row));
  }
  const auto key = [&](uint32_t row) { return std::pair(slicing.of_row[row], rows.query(row)); };
  std::ranges::sort(order, {}, [&](uint32_t row) { return std::tuple(key(row), -rows.score(row)); });
  std::vector<std::vector<WeightedNdcg>> queries(slicing.slices.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    Query query;
    for (; end < order.size() && key(order[end]) == key(order[begin]); ++end) {
      query.scores.push_back(rows.score(order[end]));
      query.gains.push_back(rows.gain(order[end]));
      query.rows.add(rows.weight(order[end]));
    }
    if (std::ranges::max(query.gains) > 0) {
      query.scale();
      const double weight = query.rows.weight / static_cast<double>(end - begin);
      queries[slicing.of_row[order[begin]]].push_back({query.ndcg(), weight});
    }
  }
  std::vector<Estimates> out;
  for (size_t i = 0; i < queries.size(); ++i) out.push_back(estimates_of_queries(queries[i], counted[i]));
  return out;
}

}  // namespace espalier
