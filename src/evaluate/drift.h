// Whether two tables follow one law, column by column: how far they are apart, and whether chance makes that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/missing_words.h"
#include "espalier/columns.h"
#include "espalier/csv.h"
#include "evaluate/intervals.h"
#include "evaluate/not_compared.h"

namespace espalier {

// The largest difference of two empirical distribution functions, 0 to 1, and the chance of one as large in
// samples of one continuous law: Kolmogorov's, with Stephens' correction (J. R. Stat. Soc. B 32, 1970); less
// where values are tied. REQUIRES: both sorted, neither empty.
struct KolmogorovSmirnov {
  double distance = 0, p = 1;
};
KolmogorovSmirnov kolmogorov_smirnov(std::span<const double> a, std::span<const double> b);

// Pearson's statistic of a 2 x k table, its degrees of freedom and the chance of one as large; values of
// fewer than five expected rows are counted together, with the rarest other where these are still fewer; none
// where less than two are left.
struct ChiSquare {
  double statistic = 0, p = 1;
  int64_t degrees = 0;
};
std::optional<ChiSquare> chi_square(std::span<const int64_t> a, std::span<const int64_t> b);
// The chance of more than x by the law of so many degrees of freedom.
double chi_square_tail(double x, double degrees);

struct DriftOptions {
  double alpha = 0.05;          // of all columns together, by Holm
  double least_numbers = 0.03;  // distances that matter: of distribution functions,
  double least_values = 0.03;   // of the shares of a value,
  double least_missing = 0.03;  // of the shares of missing cells
  MissingWords missing = ColumnOptions{}.missing;
};

// kForm: cells that are no numbers, or no dates, where nearly all of one table are.
enum class DriftOf { kNumbers, kValues, kMissing, kForm };
struct ColumnDrift {
  std::string column;
  DriftOf of = DriftOf::kNumbers;
  int64_t rows_before = 0, rows_now = 0;  // that have a value; of kMissing all
  double effect = 0;                      // the distance that counts
  Interval interval = {};
  std::string value = {};                  // of kValues: the one whose share differs most
  double share_before = 0, share_now = 0;  // of it, or of missing cells, or those of another form
  std::optional<double> stability = {};    // over tenths of before, or values, the thin ones as one
  std::optional<Interval> stability_interval = {};
  std::optional<double> wasserstein = {};  // in standard deviations of before, as if those were known
  std::optional<Interval> wasserstein_interval = {};
  double p = 1, adjusted_p = 1;
  bool drifted = false;  // adjusted_p is at most alpha, and the effect at least what matters
};

// "distributions of size are 0.210 apart (95 % interval 0.150 to 0.270; 2000 and 500 rows)".
std::string text(const ColumnDrift& drift);

// Of each column that both have: its numbers where all cells of both are numbers and there are more than 20
// different ones, else its values, equal as EqualValues has it, and how many cells are missing; of one that
// is of numbers or dates in one table alone, the share of cells of another form. Columns that name rows are
// not compared, nor are those of dates, which go on by themselves, nor those with fewer than 20 values in a
// table, of which no law is known: each is in `not_compared` with the reason; of tables of fewer than 20
// rows all are, as one. The surest first. Intervals: Smirnov's bound for distribution functions, Newcombe's
// for shares, by Bonferroni for all values of the column; stability_interval() and wasserstein_interval().
std::vector<ColumnDrift> find_drift(const CsvTable& before, const CsvTable& now,
                                    const DriftOptions& options = {},
                                    std::vector<NotCompared>* not_compared = nullptr);
// "15 rows, 20 needed" for `what` "rows", and the count of it as NotCompared.
NotCompared too_few(const std::string& column, int64_t have, int64_t needed, const char* what);
// So many rows of each table tell something of its law.
inline constexpr int64_t kRowsForDrift = 20;

}  // namespace espalier
