#include "fairness/conditional.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/format.h"

namespace espalier {
namespace {

// "sex=Female, age=old" of the columns from `begin` on.
std::string name_of(const std::vector<std::string>& columns, const RowSlice& slice, size_t begin,
                    size_t end) {
  std::string out;
  for (size_t i = begin; i < end; ++i)
    out += cat(out.empty() ? "" : ", ", slice_part(columns[i], slice.values[i]));
  return out;
}

// What a rate counts.
Tally counted(const Rate& rate, const Confusion& confusion) {
  Tally out;
  for (size_t i = 0; i < kOutcomes; ++i) {
    if (rate.fraction.whole[i]) out += confusion.of[i];
  }
  return out;
}

// The slices of a cross as a table of groups and strata.
class Strata {
 public:
  Strata(const Rate& rate, const SlicingFigures& cross, size_t columns, const ConditionalOptions& options)
      : rate_(rate), metric_(rate.name), options_(options) {
    for (const SliceFigures& slice : cross.slices) {
      const std::string group = name_of(cross.columns, slice.slice, 0, columns),
                        stratum = name_of(cross.columns, slice.slice, columns, cross.columns.size());
      if (!std::ranges::count(groups_, group)) groups_.push_back(group);
      if (!std::ranges::count(strata_, stratum)) strata_.push_back(stratum);
      cells_[{group, stratum}] = &slice;
    }
  }

  ConditionalGap gap() {
    leave_out_thin();
    for (const std::string& stratum : strata_) {
      if (!compare(stratum)) out_.left_out.push_back(stratum);
    }
    if (groups_.size() < 2 || out_.strata.empty()) return std::move(out_);
    double all = 0;
    for (const StratumGap& stratum : out_.strata) all += stratum.weight;
    for (StratumGap& stratum : out_.strata) stratum.weight /= all;
    for (const std::string& group : groups_) standardise(group);
    choose();
    const StandardisedGroup &low = out_.groups[out_.low], &high = out_.groups[out_.high];
    out_.gap = {high.rate - low.rate, interval(), low.rows + high.rows};
    return std::move(out_);
  }

 private:
  const SliceFigures* cell(const std::string& group, const std::string& stratum) const {
    const auto found = cells_.find({group, stratum});
    return found == cells_.end() ? nullptr : found->second;
  }
  const Confusion& confusion(const SliceFigures& cell) const { return cell.at.at(options_.threshold); }
  Tally counted_in(const std::string& group, const std::string& stratum) const {
    const SliceFigures* its = cell(group, stratum);
    return its ? counted(rate_, confusion(*its)) : Tally();
  }
  double share(const SliceFigures& cell) const { return *rate_(confusion(cell)); }

  void leave_out_thin() {
    std::erase_if(groups_, [&](const std::string& group) {
      int64_t rows = 0;
      for (const std::string& stratum : strata_) rows += counted_in(group, stratum).rows;
      if (rows >= options_.least_rows || group == options_.reference) return false;
      out_.thin.push_back(group);
      return true;
    });
  }

  // Of the two groups that lie furthest apart: against a reference it and another.
  template <class Value>
  std::pair<size_t, size_t> furthest(Value&& value) const {
    size_t low = 0, high = 0;
    const auto reference =
        options_.reference ? std::ranges::find(groups_, *options_.reference) : groups_.end();
    if (reference != groups_.end()) low = high = static_cast<size_t>(reference - groups_.begin());
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (reference != groups_.end()) {
        if (std::abs(value(i) - value(low)) > std::abs(value(high) - value(low))) high = i;
      } else {
        if (value(i) < value(low)) low = i;
        if (value(i) > value(high)) high = i;
      }
    }
    return {low, high};
  }

  bool compare(const std::string& name) {
    StratumGap out{.name = name};
    std::vector<const SliceFigures*> cells;
    for (const std::string& group : groups_) {
      const Tally rows = counted_in(group, name);
      if (!(rows.weight > 0)) return false;
      out.rows += rows.rows;
      out.weight += rows.weight;
      cells.push_back(cell(group, name));
    }
    if (cells.size() < 2) return false;
    const auto [low, high] = furthest([&](size_t i) { return share(*cells[i]); });
    out.low = low, out.low_rate = share(*cells[low]);
    out.high = high, out.high_rate = share(*cells[high]);
    out.gap = metric_.difference(*cells[high], *cells[low], options_.threshold, options_.level);
    out_.strata.push_back(out);
    return true;
  }

  void standardise(const std::string& name) {
    StandardisedGroup& out = out_.groups.emplace_back(StandardisedGroup{.name = name});
    for (const StratumGap& stratum : out_.strata) {
      out.rate += stratum.weight * share(*cell(name, stratum.name));
      out.rows += counted_in(name, stratum.name).rows;
    }
  }
  void choose() {
    std::tie(out_.low, out_.high) = furthest([&](size_t i) { return out_.groups[i].rate; });
  }

  std::optional<Interval> interval() const {
    std::vector<ShareTerm> terms;
    std::vector<double> drawn;
    IntervalMethod method = IntervalMethod::kClosedForm;
    for (const StratumGap& stratum : out_.strata) {
      for (const auto& [group, sign] : {std::pair(out_.high, 1.0), std::pair(out_.low, -1.0)}) {
        const SliceFigures& its = *cell(out_.groups[group].name, stratum.name);
        method = its.replicates.method;
        terms.push_back({sign * stratum.weight, *proportion(rate_, confusion(its))});
        drawn.resize(its.replicates.of.size());
        for (size_t i = 0; i < drawn.size(); ++i) {
          const std::optional<double> value = rate_(its.replicates.of[i].at[options_.threshold]);
          if (!value) return std::nullopt;
          drawn[i] += sign * stratum.weight * *value;
        }
      }
    }
    if (method == IntervalMethod::kClosedForm) return linear_interval(terms, options_.level);
    const double value = out_.groups[out_.high].rate - out_.groups[out_.low].rate;
    std::optional<Interval> out = resampled_interval(value, drawn, method, options_.level);
    if (out) *out = {std::max(-1.0, out->low), std::min(1.0, out->high)};
    return out;
  }

  const Rate& rate_;
  const SliceMetric metric_;
  const ConditionalOptions& options_;
  std::vector<std::string> groups_, strata_;
  std::map<std::pair<std::string, std::string>, const SliceFigures*> cells_;
  ConditionalGap out_;
};

}  // namespace

ConditionalGap conditional_gap(const Rate& rate, const SlicingFigures& cross, size_t columns,
                               const ConditionalOptions& options) {
  return Strata(rate, cross, columns, options).gap();
}

}  // namespace espalier
