#include "fairness/worst_slices.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

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

// Rows that the metric counts, and those of them that are bad.
struct Counted {
  double bad = 0, all = 0;

  Counted& operator+=(const Counted& other) {
    bad += other.bad, all += other.all;
    return *this;
  }
  double share() const { return bad / all; }
};

double surety_of(const Counted& slice, const Counted& everything) {
  const Counted rest{everything.bad - slice.bad, everything.all - slice.all};
  const double share = everything.share();
  if (slice.all <= 0 || rest.all <= 0 || share <= 0 || share >= 1) return 0;
  return (slice.share() - rest.share()) / std::sqrt(share * (1 - share) * (1 / slice.all + 1 / rest.all));
}

// The chance of at least so many bad rows in a slice that is taken from all of them blindly.
double chance_of(const Counted& slice, const Counted& everything) {
  const double total = std::round(everything.all), marked = std::round(everything.bad);
  const double drawn = std::round(slice.all), bad = std::round(slice.bad);
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

class Search {
 public:
  Search(const ScoredRows& rows, const std::vector<const CategoryColumn*>& columns,
         const WorstOptions& options)
      : rows_(rows),
        columns_(columns),
        options_(options),
        rate_(rate(options.metric)),
        higher_is_worse_(higher_is_worse(rate_)) {
    Philox random(options.seed, 2);
    for (size_t row = 0; row < rows.size(); ++row) {
      const bool judged = random.below(2) == 1;
      (judged ? judged_ : searched_).push_back(static_cast<uint32_t>(row));
    }
  }

  WorstSlices result() {
    WorstSlices out;
    std::vector<Candidate> candidates = explore(out.searched);
    std::ranges::stable_sort(candidates, std::greater(), &Candidate::surety);
    candidates.resize(std::min(candidates.size(), options_.candidates));
    std::vector<std::pair<double, WorstSlice>> judged;
    std::vector<double> p;
    for (const Candidate& candidate : candidates) {
      if (auto slice = judge(candidate)) {
        p.push_back(slice->second.p);
        judged.push_back(std::move(*slice));
      }
    }
    out.judged = judged.size();
    const std::vector<double> adjusted = benjamini_hochberg(p);
    for (size_t i = 0; i < judged.size(); ++i) judged[i].second.adjusted_p = adjusted[i];
    std::erase_if(judged, [&](const auto& one) { return one.second.adjusted_p > options_.discoveries; });
    out.discovered = judged.size();
    std::ranges::stable_sort(judged, std::greater(), [](const auto& one) { return one.first; });
    for (size_t i = 0; i < std::min(judged.size(), options_.most); ++i)
      out.found.push_back(std::move(judged[i].second));
    return out;
  }

 private:
  Outcome outcome(uint32_t row) const {
    return outcome_of(says_positive(rows_.score(row), options_.threshold, options_.positive),
                      rows_.positive(row));
  }
  // Weighted rows as Kish's effective number.
  Counted counted(const Confusion& confusion) const {
    const std::optional<Proportion> share = proportion(rate_, confusion);
    if (!share) return {};
    return {(higher_is_worse_ ? share->share : 1 - share->share) * share->rows, share->rows};
  }
  Confusion confusion_of(const std::vector<uint32_t>& rows) const {
    Confusion out;
    for (const uint32_t row : rows) out[outcome(row)].add(rows_.weight(row));
    return out;
  }

  std::vector<Candidate> explore(size_t& searched) const {
    const Counted everything = counted(confusion_of(searched_));
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
            const Counted& everything, std::map<Conditions, double>& seen,
            std::vector<Candidate>& out) const {
    const CategoryColumn& its = *columns_[column];
    std::vector<Confusion> confusions(its.values.size());
    for (const uint32_t row : rows) {
      const uint32_t code = its.codes[row];
      if (code != CategoryColumn::kMissing) confusions[code][outcome(row)].add(rows_.weight(row));
    }
    for (uint32_t value = 0; value < confusions.size(); ++value) {
      const Counted slice = counted(confusions[value]);
      // Half of the rows are here.
      if (2 * slice.all < static_cast<double>(options_.min_rows)) continue;
      Candidate next{
          .where = whole, .rows = confusions[value].all().rows, .surety = surety_of(slice, everything)};
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
  std::optional<std::pair<double, WorstSlice>> judge(const Candidate& candidate) const {
    std::vector<uint32_t> inside, outside;
    for (const uint32_t row : judged_) (within(row, candidate.where) ? inside : outside).push_back(row);
    const Confusion slice = confusion_of(inside), rest = confusion_of(outside);
    const std::optional<Proportion> its = proportion(rate_, slice), of_rest = proportion(rate_, rest);
    if (!its || !of_rest) return std::nullopt;
    Counted everything = counted(slice);
    everything += counted(rest);
    WorstSlice out{.name = {},
                   .rows = candidate.rows + std::ssize(inside),
                   .value = its->share,
                   .rest = of_rest->share,
                   .interval = wilson(*its, options_.level),
                   .gap = its->share - of_rest->share,
                   .gap_interval = newcombe(*its, *of_rest, options_.level),
                   .p = chance_of(counted(slice), everything)};
    for (size_t i = 0; i < kOutcomes; ++i) out.judged_rows += rate_.fraction.whole[i] * slice.of[i].rows;
    for (const auto& [column, value] : candidate.where) {
      out.where.emplace_back(columns_[column]->name, columns_[column]->values[value]);
      out.name += cat(out.name.empty() ? "" : ", ", out.where.back().first, "=", out.where.back().second);
    }
    return std::pair(surety_of(counted(slice), everything), std::move(out));
  }

  const ScoredRows& rows_;
  const std::vector<const CategoryColumn*>& columns_;
  const WorstOptions& options_;
  const Rate& rate_;
  bool higher_is_worse_;
  std::vector<uint32_t> searched_, judged_;
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

WorstSlices worst_slices(const ScoredRows& rows, const std::vector<const CategoryColumn*>& columns,
                         const WorstOptions& options) {
  // One slicing by each column says whether the columns are of these rows.
  for (const CategoryColumn* column : columns) {
    if (slice_by({column}).of_row.size() != rows.size()) {
      throw ValueError("evaluate.slice", cat("columns of one length: '", column->name, "' has ",
                                             column->codes.size(), " rows, the scores ", rows.size()));
    }
  }
  return Search(rows, columns, options).result();
}

}  // namespace espalier
