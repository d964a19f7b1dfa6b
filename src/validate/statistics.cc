#include "validate/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "format/decimal.h"
#include "format/utf8.h"

namespace espalier {
namespace {

constexpr size_t kMostSlices = 200;
constexpr const char* kAll = "All Examples";
constexpr const char* kNoUtf8 = "__BYTES_VALUE__";

// The nearest f32, as TensorFlow Data Validation has weights that are not whole; those up to 2^24 are kept.
FixedWeight weight_of(const CsvRows& cells, int64_t row, int64_t column) {
  const std::string_view cell = cells.cell(row, column);
  const std::optional<double> value = parse_decimal(cell);
  if (!value || !(*value >= 0 && *value <= kMostWeight))
    throw ValueError("stats.weight", cat("line ", cells.line(row), ": the weight \"", shortened(cell),
                                         "\" is not a number from 0 to 1e9"));
  return fixed_weight(static_cast<double>(static_cast<float>(*value)));
}

}  // namespace

TableStatistics::TableStatistics(TableColumns columns, const StatisticsOptions& options)
    : columns_(std::move(columns)), options_(options), room_(sketch_room(columns_.names.size())) {
  if (!options.weight.empty()) weight_ = column_of(options.weight, "stats.weight", "weights");
  if (!options.slice.empty()) slice_ = column_of(options.slice, "stats.slice", "slices");
  all_ = make_part();
}

size_t TableStatistics::column_of(const std::string& name, const char* rule, const char* what) const {
  const auto found = std::find(columns_.names.begin(), columns_.names.end(), name);
  if (found != columns_.names.end()) return static_cast<size_t>(found - columns_.names.begin());
  std::string known;
  for (const std::string& other : columns_.names) known += cat(known.empty() ? "" : ", ", shortened(other));
  throw ValueError(rule, cat("no column \"", shortened(name), "\" for ", what, "; there are ", known));
}

TableStatistics::Part TableStatistics::make_part() const {
  const bool weighted = !options_.weight.empty();
  Part out;
  out.totals.weighted = weighted;
  for (const CellType type : columns_.types) out.columns.emplace_back(type, room_, weighted);
  return out;
}

TableStatistics::Rows TableStatistics::read(const CsvRows& cells) const {
  Rows out{&cells, {}, {}};
  if (!options_.weight.empty()) {
    const auto column = static_cast<int64_t>(weight_);
    for (int64_t row = 0; row < cells.rows(); ++row) out.weights.push_back(weight_of(cells, row, column));
  }
  if (options_.slice.empty()) return out;
  CellBatch values;
  read_cells(cells, static_cast<int64_t>(slice_), options_.empty, CellType::kText, values);
  for (size_t i = 0; i < values.states.size(); ++i) {
    if (values.states[i] != CellState::kValue) continue;
    const auto found = out.slices.find(values.texts[i]);
    auto& members = found != out.slices.end() ? found->second : out.slices[std::string(values.texts[i])];
    members.push_back(static_cast<uint32_t>(i));
  }
  return out;
}

void TableStatistics::add_rows(const Rows& rows) {
  all_.totals.rows += static_cast<uint64_t>(rows.cells->rows());
  for (const FixedWeight weight : rows.weights) all_.totals.weight += weight;
  for (const auto& [value, members] : rows.slices) {
    if (!slices_.contains(value)) slices_.emplace(value, make_part());
    RowTotals& totals = slices_.find(value)->second.totals;
    totals.rows += members.size();
    for (const uint32_t row : members) totals.weight += rows.weights.empty() ? 0 : rows.weights[row];
  }
  if (slices_.size() > kMostSlices) {
    throw ValueError("stats.slices", cat("column \"", shortened(options_.slice), "\" has more than ",
                                         kMostSlices, " values, too many to slice by"));
  }
}

void TableStatistics::add_column(size_t column, const CellBatch& cells, const Rows& rows) {
  all_.columns[column].add(cells, rows.weights);
  for (const auto& [value, members] : rows.slices)
    slices_.find(value)->second.columns[column].add(cells, rows.weights, members);
}

void TableStatistics::add(const CsvRows& cells) {
  const Rows rows = read(cells);
  add_rows(rows);
  CellBatch batch;
  for (size_t column = 0; column < columns_.names.size(); ++column) {
    read_cells(cells, static_cast<int64_t>(column), options_.empty, columns_.types[column], batch);
    add_column(column, batch, rows);
  }
}

void TableStatistics::restart(size_t column, CellType type) {
  columns_.types[column] = type;
  const bool weighted = !options_.weight.empty();
  all_.columns[column] = ColumnStatistics(type, room_, weighted);
  for (auto& [value, part] : slices_) part.columns[column] = ColumnStatistics(type, room_, weighted);
}

void TableStatistics::merge(const TableStatistics& other) {
  const auto merge_parts = [](Part& mine, const Part& theirs) {
    mine.totals.rows += theirs.totals.rows;
    mine.totals.weight += theirs.totals.weight;
    for (size_t i = 0; i < mine.columns.size(); ++i) mine.columns[i].merge(theirs.columns[i]);
  };
  merge_parts(all_, other.all_);
  for (const auto& [value, part] : other.slices_) {
    const auto [mine, added] = slices_.try_emplace(value, part);
    if (!added) merge_parts(mine->second, part);
  }
}

tfmd::DatasetFeatureStatistics TableStatistics::data_set(const Part& part, const std::string& name) const {
  tfmd::DatasetFeatureStatistics out;
  out.set_name(name);
  out.set_num_examples(part.totals.rows);
  if (part.totals.weighted) out.set_weighted_num_examples(weight_value(part.totals.weight));
  for (size_t i = 0; part.totals.rows > 0 && i < part.columns.size(); ++i)
    *out.add_features() = part.columns[i].feature(columns_.names[i], part.totals);
  return out;
}

tfmd::DatasetFeatureStatisticsList TableStatistics::list() const {
  tfmd::DatasetFeatureStatisticsList out;
  *out.add_datasets() = data_set(all_, options_.slice.empty() ? "" : kAll);
  for (const auto& [value, part] : slices_)
    *out.add_datasets() = data_set(part, cat(options_.slice, "_", is_utf8(value) ? value : kNoUtf8));
  return out;
}

}  // namespace espalier
