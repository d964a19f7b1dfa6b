// Statistics of one column.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "validate/metadata_files.h"
#include "validate/sketch_strings.h"
#include "validate/sketch_values.h"
#include "validate/statistics_cells.h"
#include "validate/statistics_time.h"

namespace espalier {

// Custom statistics of a feature whose figures are approximate: by how much a quantile's rank may be wrong,
// of 1; the standard deviation of the estimate of distinct texts, of it; how many occurrences a top value may
// have beside those counted; how many a text that is not listed may have.
inline constexpr const char* kQuantileRankError = "quantile_rank_error";
inline constexpr const char* kUniqueError = "unique_relative_error";
inline constexpr const char* kTopValuesMissed = "top_values_missed_at_most";
inline constexpr const char* kUnlistedMost = "unlisted_value_at_most";

// What stands for bytes that are no UTF-8.
inline constexpr const char* kNoUtf8 = "__BYTES_VALUE__";

// How many distinct values a column keeps at most.
struct SketchRoom {
  size_t values = 4096, texts = 2048, text_bytes = size_t{1} << 15;
};
// For so many columns: 200 KB each, and 12 MiB that they share.
SketchRoom sketch_room(size_t columns);

// All rows of a data set: what missing rows are missing from.
struct RowTotals {
  uint64_t rows = 0;
  FixedWeight weight = 0;
  bool weighted = false;
};

class ColumnStatistics {
 public:
  // `times`: whether it is asked whether values are times.
  ColumnStatistics(CellType type, const SketchRoom& room, bool weighted, bool times);

  // The rows of the batch, or some of them. `weights` has one for each row of the batch, or none.
  // REQUIRES: a batch of this type.
  void add(const CellBatch& cells, std::span<const FixedWeight> weights);
  void add(const CellBatch& cells, std::span<const FixedWeight> weights, std::span<const uint32_t> rows);
  // REQUIRES: no row had a value.
  void clear_type() { type_ = CellType::kNone; }
  // The same as another type: any of a column without values, kFloat of one of whole numbers.
  ColumnStatistics as(CellType type, const SketchRoom& room) const;
  // REQUIRES: of the same type, room, weights and times.
  void merge(const ColumnStatistics& other);
  // As bytes, which are equal for equal cells. read() REQUIRES: nothing was added, of the same type, room,
  // weights and times; `rows` there are. Raises FormatError[sketch.*].
  void write(SketchWriter& out) const;
  void read(SketchReader& in, uint64_t rows);

  tfmd::FeatureNameStatistics feature(const std::string& name, const RowTotals& totals) const;
  // Texts that are no UTF-8.
  uint64_t broken_texts() const { return invalid_; }

 private:
  struct Tally {
    uint64_t count = 0;
    FixedWeight weight = 0;
    void add(FixedWeight more, uint64_t times = 1) {
      count += times;
      weight += more;
    }
    void write(SketchWriter& out) const;
    void read(SketchReader& in);
    void merge(const Tally& other) {
      count += other.count;
      weight += other.weight;
    }
  };
  static constexpr size_t kMostLengths = 4096;
  // Without weights, of rows of one value at most, each of which may stand for several.
  void add_states(const CellBatch& cells);
  void add_counted(const CellBatch& cells);
  void add_numbers(const CellBatch& cells);
  void add_finite(std::span<const double> values);
  void add_texts(const CellBatch& cells);
  void add_row(const CellBatch& cells, size_t row, FixedWeight weight);
  void add_number(double value, FixedWeight weight, uint64_t times = 1);
  void add_text(std::string_view text, FixedWeight weight, uint64_t times = 1);
  void add_more(size_t count, FixedWeight weight);
  uint64_t value_count() const { return filled_.count + more_.count; }
  void fill_lengths(tfmd::CommonStatistics& out) const;
  void fill_common(const RowTotals& totals, tfmd::CommonStatistics& out) const;
  void fill_numbers(tfmd::FeatureNameStatistics& out) const;
  void fill_texts(tfmd::FeatureNameStatistics& out) const;
  Moments with_infinities(Moments moments) const;

  CellType type_;
  bool weighted_, asks_times_;
  Tally filled_, empty_;                  // rows with values and without
  Tally more_;                            // values beyond the first of their rows
  std::optional<ValueCounts> lengths_;    // numbers of values of rows that have several
  Tally nan_, zeros_, lowest_, highest_;  // the last two are infinities
  uint64_t bytes_ = 0, invalid_ = 0;
  std::optional<ValueCounts> numbers_;
  std::optional<TextCounts> texts_;
  std::optional<TimeCounts> times_;  // of whole numbers and texts
};

}  // namespace espalier
