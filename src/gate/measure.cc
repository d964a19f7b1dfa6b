#include "gate/measure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "evaluate/slice_columns.h"
#include "fairness/conditional.h"

namespace espalier {
namespace {

// What the rows are that a metric counts.
std::string counted_by(const SliceMetric& metric) {
  if (metric.estimate()) return std::string(metric.estimate()->counted);
  if (!metric.rate() || !metric.rate()->is_proportion()) return "rows";
  const OutcomeCounts& whole = metric.rate()->fraction.whole;
  if (whole == OutcomeCounts{1, 0, 0, 1}) return "positives";
  if (whole == OutcomeCounts{0, 1, 1, 0}) return "negatives";
  if (whole == OutcomeCounts{1, 1, 0, 0}) return "rows said positive";
  if (whole == OutcomeCounts{0, 0, 1, 1}) return "rows said negative";
  return "rows";
}

std::string joined_words(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += cat(out.empty() ? "" : between, word);
  return out;
}

// One metric of a gate in one Assessment.
class Meter {
 public:
  Meter(const Gate& gate, const SliceMetric& metric, const Assessment& assessment, double level)
      : gate_(gate), metric_(metric), assessment_(assessment), level_(level) {}

  Measured measured() {
    const auto& thresholds = assessment_.options.thresholds;
    const auto at = std::ranges::find(thresholds, gate_.threshold);
    threshold_ = static_cast<size_t>(at - thresholds.begin());
    if (const std::vector<std::string> known = slice_metrics(assessment_);
        !std::ranges::count(known, metric_.name())) {
      const std::vector<std::string> close = nearest(metric_.name(), known);
      absent(cat("these rows have no such figure",
                 close.empty() ? "" : cat(", but ", joined_words(close, " and "))));
    } else if (metric_.rate() && at == thresholds.end() && !thresholds.empty()) {
      absent(cat("threshold ", shortest(gate_.threshold), " was not assessed"));
    } else if (gate_.where == Where::kOverall) {
      one(assessment_.overall);
    } else if (const SlicingFigures* by = slicing(gate_.columns())) {
      in(*by);
    } else {
      absent(cat("no slices by ", cross_of(gate_.columns()), " were assessed"));
    }
    return std::move(out_);
  }

 private:
  const SlicingFigures* slicing(const std::vector<std::string>& columns) const {
    const auto by = std::ranges::find(assessment_.by, columns, &SlicingFigures::columns);
    return by == assessment_.by.end() ? nullptr : &*by;
  }
  // The slice that others are against; null where there is none.
  const SliceFigures* against() const {
    if (gate_.against == kAllRows) return &assessment_.overall;
    const SlicingFigures* by = slicing(gate_.against_columns());
    if (!by) return nullptr;
    return named(*by, gate_.against);
  }
  // The slice of that name, whose numbers may be written otherwise; null where there is none.
  static const SliceFigures* named(const SlicingFigures& by, const std::string& name) {
    for (const std::string& wanted : {name, with_plain_numbers(name)}) {
      const auto found = std::ranges::find(by.slices, wanted, [](const auto& its) { return its.slice.name; });
      if (found != by.slices.end()) return &*found;
    }
    return nullptr;
  }

  void in(const SlicingFigures& by) {
    switch (gate_.where) {
      case Where::kOverall:
      case Where::kData:
        break;
      case Where::kSlice: {
        if (const SliceFigures* const found = named(by, gate_.slice)) return one(*found);
        std::vector<std::string> names;
        for (const SliceFigures& figures : by.slices) names.push_back(figures.slice.name);
        const std::vector<std::string> close = nearest(gate_.slice, names);
        return absent(
            cat("there is no such slice", close.empty() ? "" : cat(", but ", joined_words(close, " and "))));
      }
      case Where::kEach:
        for (const SliceFigures& figures : by.slices) {
          if (figures.slice.name != gate_.against) one(figures);
        }
        if (out_.findings.empty()) absent(none_left());
        break;
      case Where::kBetween:
        gate_.given.empty() ? between(by) : within(by);
    }
  }
  std::string none_left() const {
    return !out_.left_out.empty() ? cat("no slice counts ", gate_.least_rows, " ", counted_by(metric_))
                                  : "there are no slices";
  }

  Finding& add(const std::string& slice) {
    Finding& out = out_.findings.emplace_back();
    out.metric = metric_.name();
    out.slice = slice;
    out.counted = counted_by(metric_);
    return out;
  }
  void absent(const std::string& reason) {
    add(gate_.where == Where::kOverall ? assessment_.overall.slice.name : gate_.slice).reason = reason;
  }

  Figure figure(const SliceFigures& figures) const {
    return metric_(figures, metric_.rate() ? threshold_ : 0, level_);
  }
  // Why the figure is none to judge; "" where it is one.
  std::string unfit(const Figure& figure) const {
    if (figure.rows < gate_.least_rows)
      return cat("it counts ", figure.rows, " ", counted_by(metric_), ", fewer than ", gate_.least_rows);
    if (figure.value) return "";
    return figure.rows ? "it is undefined" : cat("it counts no ", counted_by(metric_));
  }
  bool leave_out(const SliceFigures& slice, const Figure& figure) {
    if (gate_.thin != Thin::kLeftOut || figure.rows >= gate_.least_rows) return false;
    out_.left_out.insert(slice.slice.name);
    return true;
  }

  void one(const SliceFigures& figures) {
    const Figure figure = this->figure(figures);
    if (gate_.where == Where::kEach && leave_out(figures, figure)) return;
    Finding& out = add(figures.slice.name);
    out.rows = figure.rows;
    out.value = figure.value;
    out.reason = unfit(figure);
    if (!out.reason.empty()) return;
    if (!gate_.against.empty()) return subtract(figures, out);
    out.judged = figure.value;
    out.interval = figure.interval;
  }
  // The slice that the gate is against.
  void subtract(const SliceFigures& figures, Finding& out) const {
    out.other = gate_.against;
    const SliceFigures* other = against();
    const Figure figure = other ? this->figure(*other) : Figure();
    out.other_value = figure.value;
    if (const std::string reason = other ? unfit(figure) : "there is no such slice"; !reason.empty()) {
      out.reason = cat("of ", gate_.against, " ", reason);
      return;
    }
    const Figure difference = metric_.difference(figures, *other, metric_.rate() ? threshold_ : 0, level_);
    out.judged = difference.value;
    if (gate_.apart()) out.interval = difference.interval;
  }

  void between(const SlicingFigures& by) {
    struct Side {
      const SliceFigures* slice;
      Figure figure;
    };
    std::vector<Side> sides, thin;
    for (const SliceFigures& slice : by.slices) {
      const Figure figure = this->figure(slice);
      if (leave_out(slice, figure)) {
        thin.push_back({&slice, figure});
        continue;
      }
      if (const std::string reason = unfit(figure); !reason.empty()) {
        Finding& out = add(slice.slice.name);
        out.rows = figure.rows;
        out.reason = reason;
        return;
      }
      sides.push_back({&slice, figure});
    }
    if (sides.empty()) return absent(none_left());
    if (sides.size() == 1 && thin.empty())
      return absent(cat("there is no slice beside ", sides[0].slice->slice.name));
    if (sides.size() == 1) {
      const Side& next =
          *std::ranges::max_element(thin, {}, [](const Side& side) { return side.figure.rows; });
      return absent(cat("only ", sides[0].slice->slice.name, " counts least_rows = ", gate_.least_rows, " ",
                        counted_by(metric_), "; next comes ", next.slice->slice.name, " with ",
                        next.figure.rows));
    }
    const auto [low, high] =
        std::ranges::minmax(sides, {}, [](const Side& side) { return *side.figure.value; });
    Finding& out = add(low.slice->slice.name);
    out.other = high.slice->slice.name;
    out.compared = sides.size();
    out.value = low.figure.value;
    out.other_value = high.figure.value;
    out.rows = low.figure.rows;
    if (gate_.measure == Measure::kDifference) {
      const Figure gap = metric_.difference(*high.slice, *low.slice, metric_.rate() ? threshold_ : 0, level_);
      out.judged = gap.value;
      out.interval = gap.interval;
    } else {
      judge_ratio(out);
      if (out.judged && low.figure.interval && high.figure.interval)
        out.interval = ratio_interval({*low.figure.value, *low.figure.interval},
                                      {*high.figure.value, *high.figure.interval});
    }
  }
  void within(const SlicingFigures& by) {
    const ConditionalGap all =
        conditional_gap(*metric_.rate(), by, by.columns.size() - gate_.given.size(),
                        {.threshold = threshold_, .least_rows = gate_.least_rows, .level = level_});
    if (gate_.thin == Thin::kUndecided && !all.thin.empty()) {
      add(all.thin[0]).reason = cat("it counts fewer than ", gate_.least_rows, " ", counted_by(metric_));
      return;
    }
    out_.left_out.insert(all.thin.begin(), all.thin.end());
    out_.left_out.insert(all.left_out.begin(), all.left_out.end());
    if (!all.gap.value)
      return absent(cat("within no ", cross_of(gate_.given), " do all slices count ", counted_by(metric_)));
    const StandardisedGroup &low = all.groups[all.low], &high = all.groups[all.high];
    Finding& out = add(low.name);
    out.other = high.name;
    out.compared = all.groups.size();
    out.value = low.rate;
    out.other_value = high.rate;
    out.rows = low.rows;
    if (gate_.measure == Measure::kDifference) {
      out.judged = all.gap.value;
      out.interval = all.gap.interval;
    } else {
      judge_ratio(out);
    }
  }
  static void judge_ratio(Finding& out) {
    if (*out.other_value > 0) {
      out.judged = *out.value / *out.other_value;
    } else {
      out.reason = "its ratio is undefined, as no slice is above 0";
    }
  }

  const Gate& gate_;
  const SliceMetric& metric_;
  const Assessment& assessment_;
  const double level_;
  size_t threshold_ = 0;
  Measured out_;
};

// A finding of now becomes one of the change since the baseline.
void change(const Gate& gate, Finding& now, const Finding* before) {
  now.now = std::exchange(now.judged, std::nullopt);
  const std::optional<Interval> of_now = std::exchange(now.interval, std::nullopt);
  if (!now.now) return;
  if (!before || !before->judged) {
    now.reason = before ? cat("in the baseline ", before->reason) : "the baseline has no such slice";
    return;
  }
  now.before = before->judged;
  const double difference = *now.now - *now.before;
  const bool known = of_now && before->interval;
  const Estimated a{*now.now, of_now.value_or(Interval())},
      b{*now.before, before->interval.value_or(Interval())};
  if (gate.change == Change::kAbsolute) {
    now.judged = difference;
    if (known) now.interval = difference_interval(a, b);
  } else if (*now.before != 0) {
    now.judged = difference / std::abs(*now.before);
    if (const auto ratio = known ? ratio_interval(a, b) : std::nullopt)
      now.interval = Interval{ratio->low - 1, ratio->high - 1};
  } else {
    now.reason = "a change relative to 0 is undefined";
  }
}

const Finding* of_slice(const std::vector<Finding>& findings, const std::string& slice) {
  const auto found = std::ranges::find(findings, slice, &Finding::slice);
  return found == findings.end() ? nullptr : &*found;
}

void change(const Gate& gate, Measured& now, const Measured& before) {
  if (gate.where != Where::kEach) return change(gate, now.findings[0], &before.findings[0]);
  for (Finding& finding : now.findings) change(gate, finding, of_slice(before.findings, finding.slice));
  for (const Finding& lost : before.findings) {
    if (!lost.judged || of_slice(now.findings, lost.slice) || now.left_out.contains(lost.slice)) continue;
    Finding& finding = now.findings.emplace_back();
    finding.metric = lost.metric;
    finding.slice = lost.slice;
    finding.counted = lost.counted;
    finding.before = lost.judged;
    finding.reason = "the baseline alone has this slice";
  }
}

}  // namespace

Measured measure(const Gate& gate, const Assessment& assessment, const Assessment* baseline, double level) {
  Measured out;
  for (const SliceMetric& metric : gate.metrics) {
    Measured now = Meter(gate, metric, assessment, level).measured();
    if (gate.change != Change::kNone && baseline) {
      change(gate, now, Meter(gate, metric, *baseline, level).measured());
    } else if (gate.change != Change::kNone) {
      for (Finding& finding : now.findings) {
        finding.now = std::exchange(finding.judged, std::nullopt);
        finding.interval.reset();
        finding.reason = "there is no baseline";
      }
    }
    out.left_out.merge(now.left_out);
    std::ranges::move(now.findings, std::back_inserter(out.findings));
  }
  return out;
}

}  // namespace espalier
