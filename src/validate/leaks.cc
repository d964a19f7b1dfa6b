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
#include "data/equal_values.h"
#include "espalier/error.h"
#include "validate/row_times.h"

namespace espalier {
namespace {

constexpr int64_t kFewRows = kRowsForLeaks;
constexpr double kNoticeable = 0.01;  // of the rows

// Rows as sums of hashes of their values, from which one can be taken away.
class RowHashes {
 public:
  RowHashes(int64_t rows, const std::vector<const ColumnProfile*>& columns) {
    sums_.resize(static_cast<size_t>(rows));
    for (size_t c = 0; c < columns.size(); ++c) {
      cells_.push_back(value_hashes(*columns[c], c + 1));
      for (size_t row = 0; row < sums_.size(); ++row) sums_[row] += cells_[c][row];
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

std::string share_of_rows(int64_t rows, int64_t of) { return cat(rows, " of ", of, " rows"); }

class Search {
 public:
  Search(const CsvTable& table, const CsvTable* test, const LeakOptions& options)
      : table_(table), test_(test), options_(options), missing_(options.missing), rows_(all_rows(table)) {
    if (!options.label.empty()) label_ = table.column(options.label);  // raises, and names the nearest
    if (test) match_columns();
    for (int64_t c = 0; c < table.columns(); ++c) {
      read_column(c);
      const ColumnProfile& profile = profiles_.back();
      const bool of_rows = profile.missing == 0 && names_rows(name(c), profile);
      if (c == label_) continue;
      if (!of_rows || table.columns() <= 2) compared_.push_back(c);
    }
    note_chances();
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

  // Of the table and of the test together it is known which of its cells are equal.
  void read_column(int64_t c) {
    const ColumnProfile profile = profile_column(table_, rows_, c, missing_);
    const int64_t place = test_ ? matched_[static_cast<size_t>(c)] : -1;
    if (place < 0) {
      profiles_.push_back(by_value(profile, EqualValues(profile)));
      test_profiles_.emplace_back();
      return;
    }
    const ColumnProfile of_test = profile_column(*test_, all_rows(*test_), place, missing_);
    const EqualValues equal(profile, of_test);
    profiles_.push_back(by_value(profile, equal));
    test_profiles_.push_back(by_value(of_test, equal));
  }

  // The share of pairs of rows that are alike in each compared column, multiplied up to each and from each
  // on.
  void note_chances() {
    const size_t count = compared_.size();
    before_.assign(count + 1, 1);
    from_.assign(count + 1, 1);
    const auto alike = [&](size_t i) {
      const ColumnProfile& profile = profiles_[static_cast<size_t>(compared_[i])];
      const auto rows = static_cast<double>(profile.rows());
      double out = static_cast<double>(profile.missing * (profile.missing - 1));
      for (const auto& value : profile.values) out += static_cast<double>(value.count * (value.count - 1));
      return out / (rows * (rows - 1));
    };
    std::vector<double> of_column;
    for (size_t i = 0; i < count; ++i) of_column.push_back(alike(i));
    for (size_t i = 0; i < count; ++i) before_[i + 1] = before_[i] * of_column[i];
    for (size_t i = count; i > 0; --i) from_[i - 1] = from_[i] * of_column[i - 1];
  }

  static constexpr size_t kNone = static_cast<size_t>(-1);
  // How many of so many pairs of rows would be alike in all compared columns but this one, or kNone, if
  // columns had nothing to do with each other.
  double by_chance(size_t but, double pairs) const {
    return pairs * (but == kNone ? from_[0] : before_[but] * from_[but + 1]);
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
    matched_.assign(static_cast<size_t>(table_.columns()), -1);
    for (const auto& [ours, theirs] : columns_of_both(table_, *test_))
      matched_[static_cast<size_t>(ours)] = theirs;
    for (int64_t c = 0; c < table_.columns(); ++c) {
      if (c != label_ && matched_[static_cast<size_t>(c)] < 0)
        throw ValueError("leaks.columns", cat("the test has no column \"", name(c), "\""));
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
      const Leak leak = labelled.size() == rows_.size()
                            ? find_leak(profiles_[static_cast<size_t>(c)], label)
                            : find_leak(profile_values(table_, labelled, c, missing_), label);
      if (!leak.same && leak.suspicion.empty()) continue;
      found_.push_back(
          {LeakKind::kLabel, true, name(c), table_.rows(), table_.rows(),
           cat("column \"", name(c), "\" ",
               leak.same ? "is the label under another name" : cat("knows the label: ", leak.suspicion))});
    }
  }

  static std::vector<const ColumnProfile*> profiles_of(const std::vector<ColumnProfile>& all,
                                                       const std::vector<int64_t>& columns) {
    std::vector<const ColumnProfile*> out;
    for (const int64_t c : columns) out.push_back(&all[static_cast<size_t>(c)]);
    return out;
  }
  std::vector<int64_t> with_label() const {
    std::vector<int64_t> out = compared_;
    if (label_ >= 0) out.push_back(label_);
    return out;
  }

  void repeated() {
    const RowHashes hashes(table_.rows(), profiles_of(profiles_, with_label()));
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
                        cat(share_of_rows(again, n),
                            again == 1 ? " repeats one before it" : " repeat others before them", blocks_)});
    }
    const auto alike = static_cast<int64_t>(first.size()) - static_cast<int64_t>(of_inputs.size());
    if (label_ >= 0 && alike > 0 && few_again) {
      found_.push_back({LeakKind::kContradictions, false, options_.label, alike, n,
                        cat(share_of_rows(alike, n), alike == 1 ? " is" : " are",
                            " like another one in all but \"", options_.label, "\"")});
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
           cat(share_of_rows(near, n), " differ from another one in \"", name(compared_[c]), "\" alone")});
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
    std::vector<int64_t> columns = compared_;
    if (label_ >= 0 && matched_[static_cast<size_t>(label_)] >= 0) columns.push_back(label_);
    const RowHashes train(table_.rows(), profiles_of(profiles_, columns)),
        tested(test_->rows(), profiles_of(test_profiles_, columns));
    std::unordered_map<uint64_t, size_t> known;
    for (size_t row = 0; row < train.rows(); ++row) known.emplace(train.whole(row), row);
    if (!unlike(train, known)) return;
    std::vector<bool> met(tested.rows());
    int64_t both = 0;
    for (size_t row = 0; row < tested.rows(); ++row) both += met[row] = known.contains(tested.whole(row));
    const auto n = static_cast<int64_t>(tested.rows());
    const double noticeable = kNoticeable * static_cast<double>(n);
    const double pairs = static_cast<double>(n) * static_cast<double>(train.rows());
    if (both > 0) {
      const double chance = by_chance(kNone, pairs);
      const bool few = table_.rows() < kFewRows;
      const bool many = (few ? whole_test(both, n, chance) : most(both, n)) ||
                        static_cast<double>(both) >= std::max(noticeable, kBeyondChance * chance);
      found_.push_back({LeakKind::kOverlap, many, "", both, n,
                        cat(share_of_rows(both, n), " of the test are training rows too")});
    }
    for (size_t c = 0; c < compared_.size() && compared_.size() >= 3; ++c) {
      std::unordered_set<uint64_t> others;
      for (size_t row = 0; row < train.rows(); ++row) others.insert(train.without(row, c));
      if (!mostly_unlike(others.size(), known.size())) continue;
      int64_t near = 0;
      for (size_t row = 0; row < tested.rows(); ++row)
        near += !met[row] && others.contains(tested.without(row, c));
      if (near == 0 || static_cast<double>(near) < std::max(noticeable, kBeyondChance * by_chance(c, pairs)))
        continue;
      const std::string& column = name(compared_[c]);
      found_.push_back(
          {LeakKind::kNearOverlap, false, column, near, n,
           cat(share_of_rows(near, n), " of the test are like a training row in all but \"", column, "\"")});
    }
  }

  // When the rows of a table are, by one of its columns.
  struct Times : RowTimes {
    int64_t column = -1;
  };
  Times times_of(int64_t column, const char* whose, const ColumnProfile& profile,
                 const TimeForm& form) const {
    return {row_times(cat("column \"", name(column), "\"", whose), profile, form), column};
  }

  void times() {
    std::vector<std::pair<int64_t, TimeForm>> dates;
    for (int64_t c = 0; c < table_.columns(); ++c) {
      if (c == label_) continue;
      if (const auto style = date_style(name(c), profiles_[static_cast<size_t>(c)]))
        dates.emplace_back(c, TimeForm{.dates = style});
    }
    if (!options_.time.empty()) {
      const int64_t wanted = table_.column(options_.time);
      const auto form = time_form(options_.time, profiles_[static_cast<size_t>(wanted)]);
      if (!form)
        throw ValueError("leaks.time", cat("column \"", options_.time, "\" holds neither dates nor numbers"));
      const Times time = read_times({wanted, *form});
      check_offsets({&time.instants});
      // How a number lies to a date nobody knows.
      for (const auto& other : dates) {
        if (form->dates) later_column(time, other);
      }
      if (test_) earlier_test(time);
    } else if (dates.size() == 1 && test_) {
      earlier_test(read_times(dates[0]));
    }
  }
  Times read_times(const std::pair<int64_t, TimeForm>& time) const {
    return times_of(time.first, "", profiles_[static_cast<size_t>(time.first)], time.second);
  }
  // By how many seconds one must lie before the other to be the earlier for sure: clocks without an offset
  // are from 12 hours behind UTC to 14 ahead of it.
  static double doubt(const Instants& a, const Instants& b) {
    constexpr double kMost = 26 * 3600;
    const bool with = !a.with.empty() || !b.with.empty(), without = !a.without.empty() || !b.without.empty();
    return with && without ? kMost : 0;
  }

  // Dates that mostly lie behind that of their row.
  void later_column(const Times& time, const std::pair<int64_t, TimeForm>& date) {
    if (date.first == time.column) return;
    const Times other = read_times(date);
    const double sure = doubt(time.instants, other.instants);
    int64_t both = 0, later = 0;
    for (size_t row = 0; row < time.of_row.size(); ++row) {
      both += !std::isnan(time.of_row[row]) && !std::isnan(other.of_row[row]);
      later += other.of_row[row] > time.of_row[row] + sure;
    }
    if (both < kFewRows || 2 * later < both) return;
    found_.push_back({LeakKind::kFutureColumn, true, name(other.column), later, both,
                      cat("column \"", name(other.column), "\" lies after \"", name(time.column), "\" in ",
                          share_of_rows(later, both), ": nobody knows it then")});
  }

  void earlier_test(const Times& time) {
    const Times now =
        times_of(time.column, " of the test", test_profiles_[static_cast<size_t>(time.column)], time.form);
    // A column that nobody named may say something else than when its row came.
    const bool named = !options_.time.empty();
    if (named) check_offsets({&time.instants, &now.instants});
    const double sure = doubt(time.instants, now.instants);
    double last = -INFINITY;
    for (const double at : time.of_row) last = at > last ? at : last;
    int64_t dated = 0, earlier = 0;
    for (const double at : now.of_row) {
      dated += !std::isnan(at) && std::isfinite(last);
      earlier += at + sure < last;
    }
    if (dated < kFewRows || 10 * earlier < dated) return;
    found_.push_back({LeakKind::kTimeTravel, named, name(time.column), earlier, dated,
                      cat("by \"", name(time.column), "\" ", share_of_rows(earlier, dated),
                          " of the test lie before the last training row: the model has seen their future",
                          named ? "" : cat(", if that says when rows came: --time ", name(time.column)))});
  }

  const CsvTable& table_;
  const CsvTable* test_;
  const LeakOptions& options_;
  const MissingWords missing_;
  const std::vector<int64_t> rows_;
  std::vector<ColumnProfile> profiles_, test_profiles_;
  std::vector<double> before_, from_;  // products of the shares of alike pairs
  std::vector<int64_t> compared_;      // columns, without the label and those that name rows
  std::vector<int64_t> matched_;       // of each column its place in the test; -1 for a label that it lacks
  int64_t label_ = -1, in_blocks_ = 0;
  std::string blocks_;
  std::vector<LeakFinding> found_;
};

}  // namespace

std::vector<LeakFinding> find_leaks(const CsvTable& table, const CsvTable* test, const LeakOptions& options) {
  return Search(table, test, options).run();
}

}  // namespace espalier
