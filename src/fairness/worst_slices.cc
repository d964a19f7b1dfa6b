#include "fairness/worst_slices.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <variant>

#include "base/find_named.h"
#include "base/format.h"
#include "base/philox.h"
#include "espalier/error.h"
#include "evaluate/multiplicity.h"

namespace espalier {
namespace {

// Column and value, ascending.
using Conditions = std::vector<std::pair<uint32_t, uint32_t>>;

struct Candidate {
  Conditions where;
  int64_t rows = 0;   // of the searched half
  double surety = 0;  // deviations by which it is worse than the rest
};

// What is searched for: how bad each row is, 0 or 1 where the metric is a share of rows.
struct RowCosts {
  std::string metric;
  bool share = true;
  bool flipped = false;            // the metric is 1 less the mean of costs
  std::vector<double> of, weight;  // a weight of 0 is a row that the metric does not count
};

// Of rows that the metric counts.
struct Costs {
  double sum = 0, squares = 0;
  Tally rows = {};

  void add(double cost, double weight) {
    if (weight == 0) return;
    sum += weight * cost;
    squares += weight * cost * cost;
    rows.add(weight);
  }
  Costs& operator+=(const Costs& other) {
    sum += other.sum, squares += other.squares;
    rows += other.rows;
    return *this;
  }
  double mean() const { return sum / rows.weight; }
  double effective() const { return rows.effective_rows(); }
};

double surety_of(const Costs& slice, const Costs& everything) {
  const double rest_weight = everything.rows.weight - slice.rows.weight;
  const double rest_rows = everything.effective() - slice.effective();
  const double variance = everything.squares / everything.rows.weight - everything.mean() * everything.mean();
  if (slice.rows.weight <= 0 || rest_weight <= 0 || rest_rows <= 0 || !(variance > 0)) return 0;
  const double rest = (everything.sum - slice.sum) / rest_weight;
  return (slice.mean() - rest) / std::sqrt(variance * (1 / slice.effective() + 1 / rest_rows));
}

// The chance of at least so many bad rows in a slice that is taken from all of them blindly; weighted rows as
// Kish's effective number.
double chance_of(const Costs& slice, const Costs& rest) {
  const auto bad_of = [](const Costs& of) { return of.mean() * of.effective(); };
  const double total = std::round(slice.effective() + rest.effective());
  const double marked = std::round(bad_of(slice) + bad_of(rest));
  const double drawn = std::round(slice.effective()), bad = std::round(bad_of(slice));
  const auto choices = [](double from, double taken) {
    return std::lgamma(from + 1) - std::lgamma(taken + 1) - std::lgamma(from - taken + 1);
  };
  double chance =
      std::exp(choices(marked, bad) + choices(total - marked, drawn - bad) - choices(total, drawn));
  double sum = 0;
  for (double k = bad; chance > 0 && k <= std::min(marked, drawn); ++k) {
    sum += chance;
    chance *= (marked - k) * (drawn - k) / ((k + 1) * (total - marked - drawn + k + 1));
  }
  return std::min(1.0, sum);
}

RowCosts costs_of(const ScoredRows& rows, const WorstOptions& options) {
  const Rate& of = rate(options.metric);
  const bool worse = higher_is_worse(of);
  RowCosts out{.metric = std::string(of.name), .flipped = !worse, .of = {}, .weight = {}};
  for (size_t row = 0; row < rows.size(); ++row) {
    const Outcome outcome =
        outcome_of(says_positive(rows.score(row), options.threshold, options.positive), rows.positive(row));
    out.weight.push_back(of.fraction.whole[outcome] ? rows.weight(row) : 0);
    out.of.push_back((of.fraction.part[outcome] != 0) == worse);
  }
  return out;
}

[[noreturn]] void refuse_metric(const std::string& metric, const char* of, const char* known) {
  throw ValueError("worst.metric", cat("worst slices of ", of, " are not by ", metric), known);
}

RowCosts costs_of(const ClassRows& rows, const WorstOptions& options) {
  if (options.metric != "error_rate" && options.metric != "accuracy")
    refuse_metric(options.metric, "several classes", "error_rate or accuracy");
  RowCosts out{.metric = options.metric, .flipped = options.metric == "accuracy", .of = {}, .weight = {}};
  for (size_t row = 0; row < rows.size(); ++row) {
    out.of.push_back(rows.said(row) != rows.label(row));
    out.weight.push_back(rows.weight(row));
  }
  return out;
}

RowCosts costs_of(const NumberRows& rows, const WorstOptions& options) {
  if (options.metric != WorstOptions().metric && options.metric != "mae" &&
      find_named("evaluate.metric", "metric", options.metric, regression_metrics()).name != "mae")
    refuse_metric(options.metric, "numbers", "mae");
  RowCosts out{.metric = "mae", .share = false, .of = {}, .weight = {}};
  for (size_t row = 0; row < rows.size(); ++row) {
    out.of.push_back(std::abs(rows.prediction(row) - rows.truth(row)));
    out.weight.push_back(rows.weight(row));
  }
  return out;
}

RowCosts costs_of(const QueryRows&, const WorstOptions&) {
  throw ValueError("evaluate.task",
                   "worst slices are of two classes, of several, or of numbers, not of queries");
}

class Search {
 public:
  Search(RowCosts costs, const std::vector<const CategoryColumn*>& columns, const WorstOptions& options)
      : costs_(std::move(costs)), columns_(columns), options_(options) {
    Philox random(options.seed, 2);
    for (size_t row = 0; row < costs_.of.size(); ++row) {
      const bool tested = random.below(2) == 1;
      (tested ? tested_ : searched_).push_back(static_cast<uint32_t>(row));
    }
  }

  WorstSlices result() {
    WorstSlices out{.metric = costs_.metric, .exact = costs_.share};
    std::vector<Candidate> candidates = explore(out.searched);
    std::ranges::stable_sort(candidates, std::greater(), &Candidate::surety);
    candidates.resize(std::min(candidates.size(), options_.candidates));
    std::vector<std::pair<double, WorstSlice>> tested;
    std::vector<double> p;
    for (const Candidate& candidate : candidates) {
      if (auto slice = test(candidate)) {
        p.push_back(slice->second.p);
        tested.push_back(std::move(*slice));
      }
    }
    out.tested = tested.size();
    const std::vector<double> adjusted = benjamini_hochberg(p);
    for (size_t i = 0; i < tested.size(); ++i) tested[i].second.adjusted_p = adjusted[i];
    std::erase_if(tested, [&](const auto& one) { return one.second.adjusted_p > options_.discoveries; });
    out.discovered = tested.size();
    std::ranges::stable_sort(tested, std::greater(), [](const auto& one) { return one.first; });
    for (size_t i = 0; i < std::min(tested.size(), options_.most); ++i)
      out.found.push_back(std::move(tested[i].second));
    return out;
  }

 private:
  Costs costs_of_rows(const std::vector<uint32_t>& rows) const {
    Costs out;
    for (const uint32_t row : rows) out.add(costs_.of[row], costs_.weight[row]);
    return out;
  }
  // The metric of these rows, which are those that `costs` are of.
  Estimate estimate_of(const Costs& costs, const std::vector<uint32_t>& rows) const {
    const double mean = costs.mean();
    double squares = 0;
    for (const uint32_t row : rows) squares += std::pow(costs_.weight[row] * (costs_.of[row] - mean), 2);
    return {.metric = costs_.metric,
            .value = costs_.flipped ? 1 - mean : mean,
            .variance = linear_variance(squares, costs.rows),
            .rows = costs.rows.rows,
            .effective_rows = costs.effective(),
            .share = costs_.share};
  }

  std::vector<Candidate> explore(size_t& searched) const {
    const Costs everything = costs_of_rows(searched_);
    std::vector<Candidate> out, beam(1);
    std::map<Conditions, double> seen;  // surety
    for (size_t depth = 1; depth <= options_.depth; ++depth) {
      std::vector<Candidate> deeper;
      for (const Candidate& whole : beam) {
        std::vector<uint32_t> rows;
        std::ranges::copy_if(searched_, std::back_inserter(rows),
                             [&](uint32_t row) { return within(row, whole.where); });
        for (uint32_t column = 0; column < columns_.size(); ++column) {
          if (std::ranges::count(whole.where, column, &std::pair<uint32_t, uint32_t>::first)) continue;
          part(whole.where, rows, column, everything, seen, deeper);
        }
      }
      for (const Candidate& part : deeper) {
        if (part.surety > 0 && surer_than_wholes(part, seen)) out.push_back(part);
      }
      std::ranges::stable_sort(deeper, std::greater(), &Candidate::surety);
      deeper.resize(std::min(deeper.size(), options_.beam));
      beam = std::move(deeper);
    }
    searched = seen.size();
    return out;
  }
  void part(const Conditions& whole, const std::vector<uint32_t>& rows, uint32_t column,
            const Costs& everything, std::map<Conditions, double>& seen, std::vector<Candidate>& out) const {
    const CategoryColumn& its = *columns_[column];
    std::vector<Costs> costs(its.values.size());
    std::vector<int64_t> counts(its.values.size());
    for (const uint32_t row : rows) {
      const uint32_t code = its.codes[row];
      if (code == CategoryColumn::kMissing) continue;
      costs[code].add(costs_.of[row], costs_.weight[row]);
      ++counts[code];
    }
    for (uint32_t value = 0; value < costs.size(); ++value) {
      // Half of the rows are here.
      if (2 * costs[value].effective() < static_cast<double>(options_.min_rows)) continue;
      Candidate next{.where = whole, .rows = counts[value], .surety = surety_of(costs[value], everything)};
      next.where.emplace_back(column, value);
      std::ranges::sort(next.where);
      if (seen.emplace(next.where, next.surety).second) out.push_back(std::move(next));
    }
  }
  static bool surer_than_wholes(const Candidate& part, const std::map<Conditions, double>& seen) {
    for (size_t left_out = 0; part.where.size() > 1 && left_out < part.where.size(); ++left_out) {
      Conditions whole = part.where;
      whole.erase(whole.begin() + static_cast<ptrdiff_t>(left_out));
      const auto found = seen.find(whole);
      if (found != seen.end() && found->second >= part.surety) return false;
    }
    return true;
  }

  bool within(uint32_t row, const Conditions& where) const {
    return std::ranges::all_of(
        where, [&](const auto& each) { return columns_[each.first]->codes[row] == each.second; });
  }
  // With how sure it is; none where the other half has no such rows.
  std::optional<std::pair<double, WorstSlice>> test(const Candidate& candidate) const {
    std::vector<uint32_t> inside, outside;
    for (const uint32_t row : tested_) (within(row, candidate.where) ? inside : outside).push_back(row);
    const Costs slice = costs_of_rows(inside), rest = costs_of_rows(outside);
    if (slice.rows.weight <= 0 || rest.rows.weight <= 0) return std::nullopt;
    const Estimate its = estimate_of(slice, inside), of_rest = estimate_of(rest, outside);
    const std::optional<Interval> own = interval(its, options_.level),
                                  gap = interval(its, of_rest, options_.level);
    if (!own || !gap) return std::nullopt;
    Costs everything = slice;
    everything += rest;
    WorstSlice out{.name = {},
                   .rows = candidate.rows + std::ssize(inside),
                   .tested_rows = slice.rows.rows,
                   .value = *its.value,
                   .rest = *of_rest.value,
                   .interval = *own,
                   .gap = *its.value - *of_rest.value,
                   .gap_interval = *gap,
                   .p = costs_.share ? chance_of(slice, rest) : chance_of_more(its, of_rest).value_or(1)};
    for (const auto& [column, value] : candidate.where) {
      out.where.emplace_back(columns_[column]->name, columns_[column]->values[value]);
      out.name += cat(out.name.empty() ? "" : ", ",
                      slice_part(out.where.back().first, value_in_name(out.where.back().second)));
    }
    return std::pair(surety_of(slice, everything), std::move(out));
  }

  const RowCosts costs_;
  const std::vector<const CategoryColumn*>& columns_;
  const WorstOptions& options_;
  std::vector<uint32_t> searched_, tested_;
};

}  // namespace

bool higher_is_worse(const Rate& rate) {
  bool mistakes = false, right = false;
  if (rate.is_proportion()) {
    mistakes = rate.fraction.part[kFalsePositive] || rate.fraction.part[kFalseNegative];
    right = rate.fraction.part[kTruePositive] || rate.fraction.part[kTrueNegative];
  }
  if (mistakes == right) {
    throw ValueError("worst.metric",
                     cat("worst slices are by a share of rows that a model gets right or wrong, and ",
                         rate.name, " is none"),
                     "error_rate, false_negative_rate, precision, ...");
  }
  return mistakes;
}

WorstSlices worst_slices(const AnyRows& rows, const std::vector<const CategoryColumn*>& columns,
                         const WorstOptions& options) {
  RowCosts costs = std::visit([&](const auto& known) { return costs_of(known, options); }, rows);
  // One slicing by each column says whether the columns are of these rows.
  for (const CategoryColumn* column : columns) {
    if (slice_by({column}).of_row.size() != costs.of.size()) {
      throw ValueError("evaluate.slice", cat("columns of one length: '", column->name, "' has ",
                                             column->codes.size(), " rows, the scores ", costs.of.size()));
    }
  }
  return Search(std::move(costs), columns, options).result();
}

}  // namespace espalier
