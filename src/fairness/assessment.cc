#include "fairness/assessment.h"

#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "base/thread_pool.h"
#include "espalier/error.h"
#include "evaluate/bootstrap.h"
#include "evaluate/classes.h"
#include "evaluate/jackknife.h"
#include "evaluate/ndcg.h"
#include "evaluate/regression.h"
#include "evaluate/slice_columns.h"
#include "evaluate/subgroups.h"

namespace espalier {
namespace {

constexpr std::string_view kAuc = "auc", kRows = "rows", kPositives = "positives";

// What the slices of each slicing share: the rows by ascending score.
struct Shared {
  ScoredRows rows;
  PassedThresholds passed;
  PassedThresholds passed_of_histograms;  // empty unless asked for
  std::vector<uint32_t> order;            // 0, 1, 2, ...
  std::vector<double> losses;
};

std::vector<SliceFigures> figures_of(const Shared& shared, const Slicing& slicing, bool backgrounds) {
  const size_t thresholds = shared.passed.thresholds;
  const std::vector<Confusion> counted = confusions(shared.rows, shared.passed, slicing);
  const std::vector<ScoreSums> sums = score_sums(shared.rows, slicing, shared.losses);
  const std::vector<std::optional<Auc>> areas = aucs(shared.rows, shared.order, slicing);
  const size_t bins = shared.passed_of_histograms.thresholds + 1;
  std::vector<LabelTallies> histograms;
  if (bins > 1) histograms = tallies(shared.rows, shared.passed_of_histograms, slicing);
  const std::vector<Estimate> errors = calibration_errors(shared.rows, slicing);
  std::vector<BackgroundAucs> against;
  if (backgrounds) against = background_aucs(shared.rows, shared.order, slicing);
  std::vector<SliceFigures> out;
  for (size_t i = 0; i < slicing.slices.size(); ++i) {
    const auto begin = counted.begin() + static_cast<ptrdiff_t>(i * thresholds);
    out.push_back({.slice = slicing.slices[i],
                   .at = {begin, begin + static_cast<ptrdiff_t>(thresholds)},
                   .sums = sums[i],
                   .auc = areas[i],
                   .estimates = {errors[i]}});
    if (backgrounds)
      out.back().estimates.insert(out.back().estimates.end(), {against[i].bpsn, against[i].bnsp});
    if (histograms.empty()) continue;
    const auto of_slice = histograms.begin() + static_cast<ptrdiff_t>(i * bins);
    out.back().histogram.assign(of_slice, of_slice + static_cast<ptrdiff_t>(bins));
  }
  return out;
}

// [slicings, slices, replicates]
std::vector<std::vector<std::vector<Replicate>>> resampled(const Shared& shared,
                                                           const std::vector<Slicing>& slicings,
                                                           const Resampling& how) {
  const bool bootstrapped = how.method == IntervalMethod::kBootstrap;
  const auto count = static_cast<int64_t>(slicings.size());
  std::vector<ScoreCells> cells(slicings.size());
  thread_pool().parallel_for(count, [&](int64_t i) {
    cells[static_cast<size_t>(i)] =
        score_cells(shared.rows, shared.losses, shared.order, shared.passed, slicings[static_cast<size_t>(i)],
                    bootstrapped ? kBootstrapCells : kJackknifeCells);
  });
  if (bootstrapped) return bootstrap(shared.rows, cells, how.replicates, how.seed);
  const std::vector<uint8_t> buckets = jackknife_buckets(shared.rows.size(), how.seed);
  std::vector<std::vector<std::vector<Replicate>>> out(slicings.size());
  thread_pool().parallel_for(count, [&](int64_t i) {
    out[static_cast<size_t>(i)] = jackknife(shared.rows, cells[static_cast<size_t>(i)], buckets);
  });
  return out;
}

const std::vector<const std::vector<EstimateMetric>*>& estimate_tables() {
  static const std::vector<const std::vector<EstimateMetric>*> all = {
      &score_estimate_metrics(), &regression_metrics(), &class_metrics(), &ndcg_metrics()};
  return all;
}

const Estimate* estimate_of(const SliceFigures& slice, const std::string& metric) {
  const auto found = std::ranges::find(slice.estimates, metric, &Estimate::metric);
  return found == slice.estimates.end() ? nullptr : &*found;
}

std::optional<Interval> rate_interval(const Rate& rate, const Confusion& confusion, double level) {
  if (!rate.is_proportion()) return std::nullopt;
  const std::optional<Proportion> p = proportion(rate, confusion);
  if (!p) return std::nullopt;
  return wilson(*p, level);
}

int64_t denominator(const Rate& rate, const Confusion& confusion) {
  if (!rate.is_proportion()) return confusion.all().rows;
  int64_t out = 0;
  for (size_t i = 0; i < kOutcomes; ++i) out += rate.fraction.whole[i] ? confusion.of[i].rows : 0;
  return out;
}

}  // namespace

const std::vector<double>& histogram_thresholds() {
  static const std::vector<double> all = [] {
    std::vector<double> out;
    for (int i = 0; i <= 1000; ++i) out.push_back(i / 1000.0);
    return out;
  }();
  return all;
}

std::string SlicingFigures::name() const { return cross_of(columns); }

Assessment assess(const ScoredRows& rows, const std::vector<std::vector<const CategoryColumn*>>& slicings,
                  const AssessmentOptions& options) {
  const RankedRows ranked(rows);
  Shared shared{ranked.view(), pass_thresholds(ranked.view(), options.thresholds, options.positive),
                options.histograms ? pass_thresholds(ranked.view(), histogram_thresholds(), options.positive)
                                   : PassedThresholds{},
                std::vector<uint32_t>(rows.size()), std::vector<double>(rows.size())};
  const std::vector<double> losses = log_losses(rows);
  for_each_range(rows.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) shared.losses[i] = losses[ranked.order[i]];
  });
  std::iota(shared.order.begin(), shared.order.end(), 0u);
  std::vector<Slicing> parted(1 + slicings.size());
  std::vector<std::vector<SliceFigures>> figures(parted.size());
  thread_pool().parallel_for(static_cast<int64_t>(parted.size()), [&](int64_t each) {
    const auto i = static_cast<size_t>(each);
    parted[i] = ranked.ranked(i == 0 ? overall(rows.size(), options.slices)
                                     : slice_by(slicings[i - 1], options.slices));
    figures[i] = figures_of(shared, parted[i], options.backgrounds);
  });
  Assessment out{.options = options, .overall = std::move(figures[0][0]), .by = {}};
  for (size_t i = 0; i < slicings.size(); ++i) {
    SlicingFigures& by = out.by.emplace_back();
    by.slices = std::move(figures[i + 1]);
    for (const CategoryColumn* column : slicings[i]) by.columns.push_back(column->name);
  }
  if (options.resampling.method == IntervalMethod::kClosedForm) return out;
  auto replicates = resampled(shared, parted, options.resampling);
  for (size_t i = 0; i < parted.size(); ++i) {
    for (size_t slice = 0; slice < parted[i].slices.size(); ++slice) {
      SliceFigures& of_slice = i == 0 ? out.overall : out.by[i - 1].slices[slice];
      of_slice.replicates = {options.resampling.method, std::move(replicates[i][slice])};
    }
  }
  return out;
}

const EstimateMetric* estimate_metric(std::string_view name) {
  const size_t of_class = name.find('[');
  const bool closed = of_class == name.npos || name.ends_with(']');
  for (const std::vector<EstimateMetric>* table : estimate_tables()) {
    for (const EstimateMetric& metric : *table) {
      const bool meant =
          metric.name == name || std::ranges::count(metric.aliases, name) ||
          (metric.name.ends_with('[') && closed && name.substr(0, of_class + 1) == metric.name);
      if (meant) return &metric;
    }
  }
  return nullptr;
}

SliceMetric::SliceMetric(std::string_view wanted) : estimate_(estimate_metric(wanted)) {
  for (const std::string_view own : {kAuc, kRows, kPositives}) {
    if (wanted == own || (own == kAuc && wanted == "subgroup_auc")) name_ = own;
  }
  if (estimate_) wanted = name_ = std::ranges::count(estimate_->aliases, wanted) ? estimate_->name : wanted;
  for (const ScoreMean& mean : score_means()) {
    if (wanted == mean.name) mean_ = &mean, name_ = mean.name;
  }
  for (const Rate& rate : rates()) {
    if (wanted == rate.name || std::ranges::count(rate.aliases, wanted)) rate_ = &rate, name_ = rate.name;
  }
  if (!name_.empty()) return;
  std::vector<std::string> known = slice_metrics();
  const auto add = [&](std::string name) {
    if (!std::ranges::count(known, name)) known.push_back(std::move(name));
  };
  for (const Rate& rate : rates()) {
    for (const std::string_view alias : rate.aliases) add(std::string(alias));
  }
  for (const std::vector<EstimateMetric>* table : estimate_tables()) {
    for (const EstimateMetric& metric : *table)
      add(cat(metric.name, metric.name.ends_with('[') ? "CLASS]" : ""));
  }
  throw_unknown("evaluate.metric", "metric", wanted, known);
}

std::string SliceMetric::formula() const {
  if (rate_) return rate_->formula();
  if (mean_) return std::string(mean_->formula);
  if (estimate_) return std::string(estimate_->formula);
  if (name_ == kAuc) return "the chance that a positive has a higher score than a negative, equal ones half";
  return name_ == kRows ? "rows" : "rows whose label is positive";
}

bool SliceMetric::is_share() const {
  return name_ == kAuc || (rate_ && rate_->is_proportion()) ||
         (estimate_ && estimate_->least == 0 && estimate_->most == 1);
}

bool SliceMetric::has_interval(const Assessment& assessment) const {
  const bool resampled = assessment.options.resampling.method != IntervalMethod::kClosedForm;
  return resampled || is_share() || estimate_of(assessment.overall, name_);
}

Interval SliceMetric::possible(const Interval& interval, bool difference) const {
  double least = -std::numeric_limits<double>::infinity(), most = -least;
  if (is_share()) {
    least = 0, most = 1;
  } else if (estimate_) {
    least = estimate_->least, most = estimate_->most;
  }
  if (difference) most -= least, least = -most;
  return {std::clamp(interval.low, least, most), std::clamp(interval.high, least, most)};
}

std::optional<std::vector<double>> SliceMetric::replicates(const SliceFigures& slice,
                                                           size_t threshold) const {
  std::vector<double> out;
  for (const Replicate& one : slice.replicates.of) {
    const std::optional<double> value = rate_   ? (*rate_)(one.at[threshold])
                                        : mean_ ? (*mean_)(one.sums)
                                                : one.auc;
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

Figure SliceMetric::operator()(const SliceFigures& slice, size_t threshold, double level) const {
  const int64_t rows = slice.slice.rows;
  if (name_ == kRows) return {static_cast<double>(rows), {}, rows};
  if (const Estimate* estimate = estimate_of(slice, name_)) {
    Figure out{estimate->value, interval(*estimate, level), estimate->rows};
    if (out.interval) out.interval = possible(*out.interval, false);
    return out;
  }
  Figure out{.rows = rows};
  if (slice.at.empty()) return out;
  const Confusion& confusion = slice.at.at(threshold);
  if (name_ == kPositives) return {static_cast<double>(confusion.positives().rows), {}, rows};
  if (rate_) {
    out = {(*rate_)(confusion), rate_interval(*rate_, confusion, level), denominator(*rate_, confusion)};
  } else if (mean_) {
    out.value = (*mean_)(slice.sums);
  } else if (slice.auc && name_ == kAuc) {
    out = {slice.auc->area, delong(*slice.auc, level), rows};
  }
  const IntervalMethod method = slice.replicates.method;
  if (method == IntervalMethod::kClosedForm || !out.value) return out;
  out.interval = std::nullopt;
  if (const auto values = replicates(slice, threshold))
    out.interval = resampled_interval(*out.value, *values, method, level);
  if (out.interval) out.interval = possible(*out.interval, false);
  return out;
}

Figure SliceMetric::difference(const SliceFigures& a, const SliceFigures& b, size_t threshold,
                               double level) const {
  const Figure first = (*this)(a, threshold, level), second = (*this)(b, threshold, level);
  Figure out{.rows = first.rows + second.rows};
  if (!first.value || !second.value) return out;
  out.value = *first.value - *second.value;
  const IntervalMethod method = a.replicates.method;
  const Estimate *of_a = estimate_of(a, name_), *of_b = estimate_of(b, name_);
  if (of_a && of_b) {
    out.interval = interval(*of_a, *of_b, level);
  } else if (method != IntervalMethod::kClosedForm) {
    auto first_drawn = replicates(a, threshold);
    const auto second_drawn = replicates(b, threshold);
    if (!first_drawn || !second_drawn || first_drawn->size() != second_drawn->size()) return out;
    for (size_t i = 0; i < first_drawn->size(); ++i) (*first_drawn)[i] -= (*second_drawn)[i];
    out.interval = resampled_interval(*out.value, *first_drawn, method, level);
  } else if (rate_ && rate_->is_proportion()) {
    out.interval =
        newcombe(*proportion(*rate_, a.at[threshold]), *proportion(*rate_, b.at[threshold]), level);
  } else if (name_ == kAuc) {
    out.interval = delong(*a.auc, *b.auc, level);
  }
  if (out.interval) out.interval = possible(*out.interval, true);
  return out;
}

std::vector<std::string> slice_metrics() {
  std::vector<std::string> out;
  for (const Rate& rate : rates()) out.emplace_back(rate.name);
  for (const ScoreMean& mean : score_means()) out.emplace_back(mean.name);
  for (const std::string_view own : {kAuc, kRows, kPositives}) out.emplace_back(own);
  return out;
}

std::vector<std::string> slice_metrics(const Assessment& assessment) {
  std::vector<std::string> out;
  if (assessment.has_thresholds()) out = slice_metrics();
  for (const Estimate& estimate : assessment.overall.estimates) out.push_back(estimate.metric);
  if (!assessment.has_thresholds()) out.emplace_back(kRows);
  return out;
}

}  // namespace espalier
