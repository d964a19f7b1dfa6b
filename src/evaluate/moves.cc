#include "evaluate/moves.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "evaluate/paired_slices.h"
#include "evaluate/regression.h"

namespace espalier {
namespace {

enum Mean : size_t { kMove, kSize, kMae, kRmse, kMeans };

// Of the rows of a slice.
struct MoveSums {
  Tally rows, moved;
  std::array<double, kMeans> of = {};       // weighted sums, then the figures; of rmse mean squares
  std::array<double, kMeans> squares = {};  // sums of (w influence)^2
};

const Estimate& named(const Estimates& all, std::string_view metric) {
  return *std::ranges::find(all.of, metric, &Estimate::metric);
}

class Moves {
 public:
  Moves(const NumberRows& before, const NumberRows& now, double moved_by)
      : before_(before), now_(now), moved_by_(moved_by) {}

  std::vector<SliceMoves> of(const Slicing& slicing) const {
    const std::vector<Estimates> before = regression_estimates(before_, slicing),
                                 now = regression_estimates(now_, slicing);
    const std::vector<MoveSums> all = sums(slicing, before, now);
    std::vector<SliceMoves> out;
    for (size_t i = 0; i < all.size(); ++i) {
      const MoveSums& its = all[i];
      SliceMoves& one = out.emplace_back(SliceMoves{.slice = slicing.slices[i],
                                                    .moved = moved(its),
                                                    .move = mean("mean_move", its, kMove),
                                                    .size = mean("mean_move_size", its, kSize),
                                                    .mae = paired("mae", before[i], now[i], its, kMae),
                                                    .rmse = paired("rmse", before[i], now[i], its, kRmse)});
      one.p = chance_of_zero(one.mae.change);
    }
    return out;
  }

 private:
  double move(size_t row) const { return now_.prediction(row) - before_.prediction(row); }
  static double error(const NumberRows& rows, size_t row) { return rows.prediction(row) - rows.truth(row); }

  std::vector<MoveSums> sums(const Slicing& slicing, const std::vector<Estimates>& before,
                             const std::vector<Estimates>& now) const {
    std::vector<MoveSums> out(slicing.slices.size());
    const auto for_rows = [&](auto&& visit) {
      for (size_t row = 0; row < now_.size(); ++row) {
        const uint32_t slice = slicing.of_row[row];
        if (slice != Slicing::kNone) visit(slice, row, now_.weight(row));
      }
    };
    for_rows([&](uint32_t slice, size_t row, double weight) {
      MoveSums& its = out[slice];
      its.rows.add(weight);
      if (std::abs(move(row)) > moved_by_) its.moved.add(weight);
      its.of[kMove] += weight * move(row);
      its.of[kSize] += weight * std::abs(move(row));
    });
    for (size_t i = 0; i < out.size(); ++i) {
      for (const Mean mean : {kMove, kSize}) out[i].of[mean] /= out[i].rows.weight;
      out[i].of[kMae] = change(before[i], now[i], "mae").value_or(0);
    }
    for_rows([&](uint32_t slice, size_t row, double weight) {
      MoveSums& its = out[slice];
      const double was = error(before_, row), is = error(now_, row);
      const std::array<double, kMeans> pulls = {
          move(row) - its.of[kMove], std::abs(move(row)) - its.of[kSize],
          std::abs(is) - std::abs(was) - its.of[kMae],
          pull_of_rmse(now[slice], is) - pull_of_rmse(before[slice], was)};
      for (size_t i = 0; i < kMeans; ++i) its.squares[i] += weight * weight * pulls[i] * pulls[i];
    });
    return out;
  }
  // Not finite where the rmse is 0.
  static double pull_of_rmse(const Estimates& of, double error) {
    const double rmse = named(of, "rmse").value.value_or(0);
    return (error * error - rmse * rmse) / (2 * rmse);
  }
  static std::optional<double> change(const Estimates& before, const Estimates& now, std::string_view name) {
    const auto &a = named(now, name).value, &b = named(before, name).value;
    return a && b ? std::optional(*a - *b) : std::nullopt;
  }

  static Estimate with_rows(std::string name, const MoveSums& its) {
    return {.metric = std::move(name), .rows = its.rows.rows, .effective_rows = its.rows.effective_rows()};
  }
  static Estimate moved(const MoveSums& its) {
    Estimate out = with_rows("moved", its);
    out.share = true;
    if (its.rows.weight > 0) out.value = its.moved.weight / its.rows.weight;
    return out;
  }
  static void set(Estimate& out, std::optional<double> value, const MoveSums& its, Mean of) {
    out.value = value;
    if (value && std::isfinite(its.squares[of])) out.variance = linear_variance(its.squares[of], its.rows);
  }
  static Estimate mean(const char* name, const MoveSums& its, Mean of) {
    Estimate out = with_rows(name, its);
    set(out, its.rows.weight > 0 ? std::optional(its.of[of]) : std::nullopt, its, of);
    return out;
  }
  static PairedChange paired(const char* name, const Estimates& before, const Estimates& now,
                             const MoveSums& its, Mean of) {
    PairedChange out{named(before, name), named(now, name), with_rows(name, its)};
    set(out.change, change(before, now, name), its, of);
    return out;
  }

  const NumberRows &before_, &now_;
  const double moved_by_;
};

}  // namespace

std::vector<SliceMoves> moves(const PredictedTwice& rows,
                              const std::vector<std::vector<const CategoryColumn*>>& slicings,
                              const SliceOptions& options) {
  const NumberRows before(rows.before, rows.truths, rows.weights), now(rows.now, rows.truths, rows.weights);
  const Moves all(before, now, rows.moved_by);
  return paired_slices(rows.truths.size(), slicings, options,
                       [&](const Slicing& slicing) { return all.of(slicing); });
}

}  // namespace espalier
