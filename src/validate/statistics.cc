#include "validate/statistics.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/format.h"
#include "base/shortened.h"
#include "base/thread_pool.h"
#include "espalier/error.h"
#include "format/decimal.h"
#include "format/utf8.h"

namespace espalier {
namespace {

constexpr const char* kAll = "All Examples";

// The nearest f32, as TensorFlow Data Validation has weights that are not whole; those up to 2^24 are kept.
FixedWeight weight_of(const CellBatch& weights, size_t row, const TableRows& rows) {
  const size_t count = weights.end(row) - weights.begin(row);
  if (count > 1)
    throw ValueError("stats.weight", cat(rows.place(row), " has ", count, " weights, a row has one"));
  const std::string_view text = count == 0 ? "" : weights.texts[weights.begin(row)];
  const std::optional<double> value = parse_decimal(text);
  if (!value || !(*value >= 0 && *value <= kMostWeight))
    throw ValueError("stats.weight", cat(rows.place(row), ": the weight \"", shortened(text),
                                         "\" is not a number from 0 to 1e9"));
  return fixed_weight(static_cast<double>(static_cast<float>(*value)));
}

}  // namespace

TableStatistics::TableStatistics(TableColumns columns, const StatisticsOptions& options)
    : columns_(std::move(columns)), options_(options), room_(sketch_room(columns_.names.size())) {
  if (!options.weight.empty()) weight_ = column_of(options.weight, "stats.weight", "weights");
  if (!options.slice.empty()) slice_ = column_of(options.slice, "stats.slice", "slices");
  choose_crosses();
  all_ = make_part();
}

void TableStatistics::choose_crosses() {
  const bool all = options_.crosses && options_.crosses->empty();
  chosen_.assign(columns_.names.size(), all);
  if (!options_.crosses) return;
  for (const std::string& name : *options_.crosses)
    chosen_[column_of(name, "stats.crosses", "crosses")] = true;
  check_crosses();
}

bool TableStatistics::crossed(size_t column) const {
  const CellType type = columns_.types[column];
  return chosen_[column] && (type == CellType::kInt || type == CellType::kFloat);
}

void TableStatistics::check_crosses() const {
  size_t columns = 0;
  for (size_t column = 0; column < chosen_.size(); ++column) columns += crossed(column);
  const size_t sets = slices_.size() + 1, pairs = columns * (columns - std::min<size_t>(columns, 1)) / 2;
  if (pairs * sets <= kMostCrosses) return;
  throw ValueError("stats.crosses",
                   cat(columns, " columns of numbers are ", pairs, " pairs",
                       sets > 1 ? cat(", in ", sets, " data sets") : "", ": more than ", kMostCrosses),
                   "name fewer columns");
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
  for (const CellType type : columns_.types)
    out.columns.emplace_back(type, room_, weighted, options_.semantic_domains);
  out.crosses = Crosses(columns_.names.size());
  return out;
}

TableStatistics::Rows TableStatistics::read(const TableRows& cells) const {
  Rows out{&cells, {}, {}, {}};
  CellBatch values;
  if (!options_.weight.empty()) {
    cells.read(weight_, options_.weight, CellType::kText, values);
    for (size_t row = 0; row < cells.rows(); ++row) out.weights.push_back(weight_of(values, row, cells));
  }
  if (options_.slice.empty()) return out;
  cells.read(slice_, options_.slice, CellType::kText, values);
  for (size_t row = 0; row < cells.rows(); ++row) {
    if (values.states[row] != CellState::kValue) continue;
    for (size_t i = values.begin(row); i < values.end(row); ++i) {
      const auto found = out.slices.find(values.texts[i]);
      auto& members = found != out.slices.end() ? found->second : out.slices[std::string(values.texts[i])];
      if (members.empty() || members.back() != row) members.push_back(static_cast<uint32_t>(row));
    }
  }
  return out;
}

void TableStatistics::add_rows(Rows& rows) {
  all_.totals.rows += rows.cells->rows();
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
  check_crosses();
  find_slices(rows);
}

void TableStatistics::find_slices(Rows& rows) {
  for (const auto& [value, members] : rows.slices) rows.parts.push_back(&slices_.find(value)->second);
}

void TableStatistics::add_column(size_t column, const CellBatch& cells, const Rows& rows) {
  all_.columns[column].add(cells, rows.weights);
  auto part = rows.parts.begin();
  for (const auto& [value, members] : rows.slices)
    (*part++)->columns[column].add(cells, rows.weights, members);
}

void TableStatistics::add_cross(size_t x, size_t y, std::span<const double> xs, std::span<const double> ys,
                                const Rows& rows) {
  all_.crosses.add(x, y, xs, ys);
  auto part = rows.parts.begin();
  for (const auto& [value, members] : rows.slices) (*part++)->crosses.add(x, y, xs, ys, members);
}

CellType TableStatistics::read_column(const TableRows& cells, size_t column, EqualCells& equal,
                                      CellBatch& out) const {
  const std::string& name = columns_.names[column];
  const bool by_rows = !options_.weight.empty() || !options_.slice.empty();
  if (by_rows || crossed(column)) return cells.read(column, name, columns_.types[column], out);
  return cells.read_counted(column, name, columns_.types[column], equal, out);
}

void TableStatistics::add(const TableRows& cells) {
  Rows rows = read(cells);
  add_rows(rows);
  CellBatch batch;
  const auto equal = std::make_unique<EqualCells>();
  std::vector<std::vector<double>> numbers(columns_.names.size());
  for (size_t column = 0; column < columns_.names.size(); ++column) {
    read_column(cells, column, *equal, batch);
    add_column(column, batch, rows);
    if (!crossed(column)) continue;
    numbers[column] = single_numbers(batch);
    for (size_t x = 0; x < column; ++x) {
      if (crossed(x)) add_cross(x, column, numbers[x], numbers[column], rows);
    }
  }
}

void TableStatistics::restart(size_t column, CellType type) {
  columns_.types[column] = type;
  const ColumnStatistics fresh(type, room_, !options_.weight.empty(), options_.semantic_domains);
  const auto restart_part = [&](Part& part) {
    part.crosses.clear(column);
    if (type == CellType::kNone)
      part.columns[column].clear_type();
    else
      part.columns[column] = fresh;
  };
  restart_part(all_);
  for (auto& [value, part] : slices_) restart_part(part);
}

void TableStatistics::merge(const TableStatistics& other) {
  const auto merge_parts = [](Part& mine, const Part& theirs) {
    mine.totals.rows += theirs.totals.rows;
    mine.totals.weight += theirs.totals.weight;
    for (size_t i = 0; i < mine.columns.size(); ++i) mine.columns[i].merge(theirs.columns[i]);
    mine.crosses.merge(theirs.crosses);
  };
  merge_parts(all_, other.all_);
  for (const auto& [value, part] : other.slices_) {
    const auto [mine, added] = slices_.try_emplace(value, part);
    if (!added) merge_parts(mine->second, part);
  }
}

void TableStatistics::set_types(const std::vector<CellType>& types) {
  const auto set = [&](Part& part) {
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] != columns_.types[i]) part.columns[i] = part.columns[i].as(types[i], room_);
    }
  };
  set(all_);
  for (auto& [value, part] : slices_) set(part);
  columns_.types = types;
}

tfmd::DatasetFeatureStatistics TableStatistics::data_set(const Part& part, const std::string& name) const {
  tfmd::DatasetFeatureStatistics out;
  out.set_name(name);
  out.set_num_examples(part.totals.rows);
  if (part.totals.weighted) out.set_weighted_num_examples(weight_value(part.totals.weight));
  if (part.totals.rows > 0) {
    std::vector<tfmd::FeatureNameStatistics> features(part.columns.size());
    thread_pool().parallel_for(static_cast<int64_t>(features.size()), [&](int64_t i) {
      const auto column = static_cast<size_t>(i);
      features[column] = part.columns[column].feature(columns_.names[column], part.totals);
    });
    for (tfmd::FeatureNameStatistics& feature : features) *out.add_features() = std::move(feature);
  }
  std::vector<bool> taken(chosen_.size());
  for (size_t column = 0; column < taken.size(); ++column) taken[column] = crossed(column);
  if (part.totals.rows > 0) part.crosses.fill(columns_.names, taken, out);
  return out;
}

uint64_t TableStatistics::broken_texts() const {
  uint64_t out = 0;
  for (const ColumnStatistics& column : all_.columns) out += column.broken_texts();
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
