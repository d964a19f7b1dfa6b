#include "validate/leaks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/format.h"
#include "base/hash.h"
#include "data/column_guess.h"
#include "data/column_leak.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr int64_t kFewRows = kRowsForLeaks;
constexpr double kNoticeable = 0.01;  // of the rows

// Rows as sums of hashes of their cells, from which one cell can be taken away.
class RowHashes {
 public:
  RowHashes(const CsvTable& table, const std::vector<int64_t>& columns) : cells_(columns.size()) {
    sums_.resize(static_cast<size_t>(table.rows()));
    for (size_t c = 0; c < columns.size(); ++c) {
      cells_[c].reserve(sums_.size());
      for (int64_t row = 0; row < table.rows(); ++row) {
        const std::string_view cell = table.cell(row, columns[c]);
        cells_[c].push_back(hash_bytes(cell.data(), cell.size(), c + 1));
        sums_[static_cast<size_t>(row)] += cells_[c].back();
      }
    }
  }
  size_t rows() const { return sums_.size(); }
  size_t columns() const { return cells_.size(); }
  uint64_t whole(size_t row) const { return sums_[row]; }
  uint64_t without(size_t row, size_t column) const { return sums_[row] - cells_[column][row]; }

 private:
  std::vector<uint64_t> sums_;
  std::vector<std::vector<uint64_t>> cells_;
};

bool mostly_unlike(size_t different, size_t rows) { return 10 * different >= 9 * rows; }

// Whether a row that stands again is no accident of few values: rows are mostly unlike, or those that are
// different stay so without any one of most columns.
bool unlike(const RowHashes& hashes, const std::unordered_map<uint64_t, size_t>& first) {
  if (mostly_unlike(first.size(), hashes.rows())) return true;
  size_t stay = 0;
  for (size_t c = 0; c < hashes.columns(); ++c) {
    std::unordered_set<uint64_t> others;
    for (const auto& [hash, row] : first) others.insert(hashes.without(row, c));
    stay += mostly_unlike(others.size(), first.size());
  }
  return first.size() >= kFewRows && 2 * stay > hashes.columns();
}

std::string share(int64_t rows, int64_t of) { return cat(rows, " of ", of, " rows"); }

class Search {
 public:
  Search(const CsvTable& table, const CsvTable* test, const LeakOptions& options)
      : table_(table), test_(test), options_(options), missing_(options.missing), rows_(all_rows(table)) {
    if (!options.label.empty()) table.column(options.label);  // raises, and names the nearest
    for (int64_t c = 0; c < table.columns(); ++c) {
      profiles_.push_back(profile_column(table, rows_, c, missing_));
      const ColumnProfile& profile = profiles_.back();
      const bool of_rows = profile.missing == 0 && names_rows(name(c), profile);
      if (name(c) == options.label) {
        label_ = c;
        continue;
      }
      if (!of_rows || table.columns() <= 2) compared_.push_back(c);
    }
    if (test) match_columns();
  }

  std::vector<LeakFinding> run() {
    if (table_.rows() < kFewRows) {
      if (test_ && table_.rows() > 1) overlap();
      std::erase_if(found_, [](const LeakFinding& finding) { return !finding.warning; });
      return std::move(found_);
    }
    labels();
    repeated();
    if (test_) overlap();
    times();
    std::ranges::stable_partition(found_, &LeakFinding::warning);
    return std::move(found_);
  }

 private:
  const std::string& name(int64_t column) const { return table_.names()[static_cast<size_t>(column)]; }

  static constexpr size_t kNone = static_cast<size_t>(-1);
  // How many of so many pairs of rows would be alike in all compared columns but this one, or kNone, if
  // columns had nothing to do with each other.
  double by_chance(size_t but, double pairs) const {
    for (size_t i = 0; i < compared_.size(); ++i) {
      if (i == but) continue;
      const ColumnProfile& profile = profiles_[static_cast<size_t>(compared_[i])];
      const auto rows = static_cast<double>(profile.rows());
      double alike = static_cast<double>(profile.missing * (profile.missing - 1));
      for (const auto& value : profile.values) alike += static_cast<double>(value.count * (value.count - 1));
      pairs *= alike / (rows * (rows - 1));
    }
    return pairs;
  }
  static constexpr double kBeyondChance = 10;
  // Of rows that are known by more than one column.
  bool most(int64_t rows, int64_t of) const { return compared_.size() >= 2 && 2 * rows >= of; }

  // Whether all rows of a test of few would hardly train by chance, of which so many do.
  bool whole_test(int64_t both, int64_t of, double by_chance) const {
    constexpr double kRarely = 0.01;
    const auto rows = static_cast<double>(of);
    return both == of && std::pow(std::min(1.0, by_chance / rows), rows) < kRarely;
  }

  void match_columns() {
    for (int64_t c = 0; c < table_.columns(); ++c) {
      const auto& names = test_->names();
      const auto place = std::ranges::find(names, name(c));
      const bool by_position = table_.numbered() || test_->numbered();
      if (by_position ? c >= test_->columns() : place == names.end()) {
        if (c == label_) {
          matched_.push_back(-1);
          continue;
        }
        throw ValueError("leaks.columns", cat("the test has no column \"", name(c), "\""));
      }
      matched_.push_back(by_position ? c : place - names.begin());
    }
  }

  void labels() {
    if (label_ < 0) return;
    std::vector<int64_t> labelled;
    for (const int64_t row : rows_) {
      if (!missing_.of(options_.label).contains(table_.cell(row, label_))) labelled.push_back(row);
    }
    if (std::ssize(labelled) < kFewRows) return;
    const FittedLabel label = fit_label(
        table_, labelled, {.label = options_.label, .missing = missing_.words(), .values = missing_.values()},
        missing_);
    for (int64_t c = 0; c < table_.columns(); ++c) {
      if (c == label_) continue;
      const Leak leak = find_leak(profile_column(table_, labelled, c, missing_), label);
      if (!leak.same && leak.suspicion.empty()) continue;
      found_.push_back(
          {LeakKind::kLabel, true, name(c), table_.rows(), table_.rows(),
           cat("column \"", name(c), "\" ",
               leak.same ? "is the label under another name" : cat("knows the label: ", leak.suspicion))});
    }
  }

  std::vector<int64_t> with_label() const {
    std::vector<int64_t> out = compared_;
    if (label_ >= 0) out.push_back(label_);
    return out;
  }

  void repeated() {
    const RowHashes hashes(table_, with_label());
    const size_t inputs = compared_.size();
    std::unordered_map<uint64_t, size_t> first;
    std::unordered_set<uint64_t> of_inputs;
    int64_t again = 0;
    for (size_t row = 0; row < hashes.rows(); ++row) {
      again += !first.emplace(hashes.whole(row), row).second;
      of_inputs.insert(label_ >= 0 ? hashes.without(row, inputs) : hashes.whole(row));
    }
    const int64_t n = table_.rows();
    const bool surprising = unlike(hashes, first), few_again = mostly_unlike(first.size(), hashes.rows());
    block(hashes, first);
    if (again > 0 && (surprising || in_blocks_ > 0)) {
      const auto rows = static_cast<double>(n);
      const bool many = most(again, n) ||
                        static_cast<double>(again) >=
                            std::max(kNoticeable * rows, kBeyondChance * by_chance(kNone, rows * rows / 2));
      found_.push_back({LeakKind::kDuplicates, many || in_blocks_ > 0, "", again, n,
                        cat(share(again, n),
                            again == 1 ? " repeats one before it" : " repeat others before them", blocks_)});
    }
    const auto alike = static_cast<int64_t>(first.size()) - static_cast<int64_t>(of_inputs.size());
    if (label_ >= 0 && alike > 0 && few_again) {
      found_.push_back({LeakKind::kContradictions, false, options_.label, alike, n,
                        cat(share(alike, n), alike == 1 ? " is" : " are", " like another one in all but \"",
                            options_.label, "\"")});
    }
    for (size_t c = 0; c < inputs && inputs >= 3 && surprising; ++c) {
      std::unordered_set<uint64_t> others;
      for (const auto& [hash, row] : first) others.insert(hashes.without(row, c));
      const auto near = static_cast<int64_t>(first.size()) - static_cast<int64_t>(others.size());
      const auto rows = static_cast<double>(n),
                 least = std::max(kNoticeable * rows, kBeyondChance * by_chance(c, rows * rows / 2));
      if (static_cast<double>(near) < least || !mostly_unlike(others.size(), first.size())) continue;
      found_.push_back(
          {LeakKind::kNearDuplicates, false, name(compared_[c]), near, n,
           cat(share(near, n), " differ from another one in \"", name(compared_[c]), "\" alone")});
    }
  }

  // Rows that follow each other and stand before in the same order.
  void block(const RowHashes& hashes, const std::unordered_map<uint64_t, size_t>& first) {
    constexpr size_t kLeast = 10;
    size_t begin = 0, source = 0, length = 0;
    const auto close = [&] {
      if (length >= kLeast) {
        in_blocks_ += static_cast<int64_t>(length);
        blocks_ = cat("; rows ", begin + 1, " to ", begin + length, " repeat rows ", source + 1, " to ",
                      source + length);
      }
      length = 0;
    };
    for (size_t row = 0; row < hashes.rows(); ++row) {
      if (length > 0 && source + length < begin && hashes.whole(row) == hashes.whole(source + length)) {
        ++length;
        continue;
      }
      close();
      const size_t before = first.at(hashes.whole(row));
      if (before < row) begin = row, source = before, length = 1;
    }
    close();
  }

  void overlap() {
    std::vector<int64_t> ours = compared_, theirs;
    if (label_ >= 0 && matched_[static_cast<size_t>(label_)] >= 0) ours.push_back(label_);
    for (const int64_t c : ours) theirs.push_back(matched_[static_cast<size_t>(c)]);
    const RowHashes train(table_, ours), judge(*test_, theirs);
    std::unordered_map<uint64_t, size_t> known;
    for (size_t row = 0; row < train.rows(); ++row) known.emplace(train.whole(row), row);
    if (!unlike(train, known)) return;
    std::vector<bool> met(judge.rows());
    int64_t both = 0;
    for (size_t row = 0; row < judge.rows(); ++row) both += met[row] = known.contains(judge.whole(row));
    const auto n = static_cast<int64_t>(judge.rows());
    const double noticeable = kNoticeable * static_cast<double>(n);
    const double pairs = static_cast<double>(n) * static_cast<double>(train.rows());
    if (both > 0) {
      const double chance = by_chance(kNone, pairs);
      const bool few = table_.rows() < kFewRows;
      const bool many = (few ? whole_test(both, n, chance) : most(both, n)) ||
                        static_cast<double>(both) >= std::max(noticeable, kBeyondChance * chance);
      found_.push_back(
          {LeakKind::kOverlap, many, "", both, n, cat(share(both, n), " of the test train too")});
    }
    for (size_t c = 0; c < compared_.size() && compared_.size() >= 3; ++c) {
      std::unordered_set<uint64_t> others;
      for (size_t row = 0; row < train.rows(); ++row) others.insert(train.without(row, c));
      if (!mostly_unlike(others.size(), known.size())) continue;
      int64_t near = 0;
      for (size_t row = 0; row < judge.rows(); ++row)
        near += !met[row] && others.contains(judge.without(row, c));
      if (near == 0 || static_cast<double>(near) < std::max(noticeable, kBeyondChance * by_chance(c, pairs)))
        continue;
      const std::string& column = name(compared_[c]);
      found_.push_back(
          {LeakKind::kNearOverlap, false, column, near, n,
           cat(share(near, n), " of the test are like one that trains in all but \"", column, "\"")});
    }
  }

  struct Times {
    int64_t column = -1;
    DateStyle style = DateStyle::kIso;
  };
  // Seconds since 1970.
  std::optional<int64_t> moment(const CsvTable& table, int64_t row, int64_t column, DateStyle style) const {
    constexpr int64_t kDay = 86400;
    const std::optional<Moment> out = read_moment(table.cell(row, column), style);
    if (!out) return std::nullopt;
    return out->days * kDay + out->seconds;
  }

  void times() {
    std::vector<Times> dates;
    for (int64_t c = 0; c < table_.columns(); ++c) {
      if (c == label_) continue;
      if (const auto style = date_style(name(c), profiles_[static_cast<size_t>(c)]))
        dates.push_back({c, *style});
    }
    if (!options_.time.empty()) {
      const int64_t wanted = table_.column(options_.time);
      const auto found = std::ranges::find(dates, wanted, &Times::column);
      if (found == dates.end())
        throw ValueError("leaks.time", cat("column \"", options_.time, "\" holds no dates"));
      later_columns(*found, dates);
      if (test_) earlier_test(*found);
    } else if (dates.size() == 1 && test_) {
      earlier_test(dates[0]);
    }
  }

  // Dates that mostly lie behind that of their row.
  void later_columns(const Times& time, const std::vector<Times>& dates) {
    for (const Times& other : dates) {
      if (other.column == time.column) continue;
      int64_t both = 0, later = 0;
      for (const int64_t row : rows_) {
        const auto at = moment(table_, row, time.column, time.style);
        const auto its = moment(table_, row, other.column, other.style);
        both += at && its;
        later += at && its && *its > *at;
      }
      if (both < kFewRows || 2 * later < both) continue;
      found_.push_back({LeakKind::kFutureColumn, true, name(other.column), later, both,
                        cat("column \"", name(other.column), "\" lies after \"", name(time.column), "\" in ",
                            share(later, both), ": nobody knows it then")});
    }
  }

  void earlier_test(const Times& time) {
    std::optional<int64_t> last;
    for (const int64_t row : rows_) {
      const auto at = moment(table_, row, time.column, time.style);
      if (at && (!last || *at > *last)) last = at;
    }
    int64_t dated = 0, earlier = 0;
    for (int64_t row = 0; row < test_->rows() && last; ++row) {
      const auto at = moment(*test_, row, matched_[static_cast<size_t>(time.column)], time.style);
      dated += at.has_value();
      earlier += at && *at < *last;
    }
    if (dated < kFewRows || 10 * earlier < dated) return;
    // A column that nobody named may say something else than when its row came.
    const bool named = !options_.time.empty();
    found_.push_back({LeakKind::kTimeTravel, named, name(time.column), earlier, dated,
                      cat("by \"", name(time.column), "\" ", share(earlier, dated),
                          " of the test lie before the last that trains: the model has seen their future",
                          named ? "" : cat(", if that says when rows came: --time ", name(time.column)))});
  }

  const CsvTable& table_;
  const CsvTable* test_;
  const LeakOptions& options_;
  const MissingWords missing_;
  const std::vector<int64_t> rows_;
  std::vector<ColumnProfile> profiles_;
  std::vector<int64_t> compared_;  // columns, without the label and those that name rows
  std::vector<int64_t> matched_;   // of each column its place in the test; -1 for a label that it lacks
  int64_t label_ = -1, in_blocks_ = 0;
  std::string blocks_;
  std::vector<LeakFinding> found_;
};

}  // namespace

std::vector<LeakFinding> find_leaks(const CsvTable& table, const CsvTable* test, const LeakOptions& options) {
  return Search(table, test, options).run();
}

}  // namespace espalier
