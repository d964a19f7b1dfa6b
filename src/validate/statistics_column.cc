#include "validate/statistics_column.h"

#include <algorithm>
#include <bit>

#include "format/utf8.h"

namespace espalier {

SketchRoom sketch_room(size_t columns) {
  constexpr size_t kEach = 200000, kShared = size_t{12} << 20;
  const size_t bytes = kEach + kShared / std::max<size_t>(columns, 1);
  // Slots are half empty; half of a text's room is for its letters.
  const size_t values = std::clamp<size_t>(std::bit_floor(bytes / 40), 4096, 65536);
  return {values, values / 2, 8 * values};
}

ColumnStatistics::ColumnStatistics(CellType type, const SketchRoom& room, bool weighted, bool times)
    : type_(type), weighted_(weighted), asks_times_(times) {
  if (type == CellType::kText)
    texts_.emplace(room.texts, room.text_bytes, weighted);
  else
    numbers_.emplace(room.values, weighted);
  if (times && (type == CellType::kInt || type == CellType::kText)) times_.emplace();
}

void ColumnStatistics::add_number(double value, FixedWeight weight, uint64_t times) {
  if (value != value) return nan_.add(weight, times);
  if (std::isinf(value)) return (value < 0 ? lowest_ : highest_).add(weight, times);
  if (value == 0) zeros_.add(weight, times);
  for (uint64_t i = 0; times_ && i < times; ++i) times_->add(value);
  numbers_->add(value, weight, times);
}

void ColumnStatistics::add_text(std::string_view text, FixedWeight weight, uint64_t times) {
  bytes_ += times * text.size();
  invalid_ += is_utf8(text) ? 0 : times;
  for (uint64_t i = 0; times_ && i < times; ++i) times_->add(text);
  texts_->add(text, weight, times);
}

// What a row has beyond one value.
void ColumnStatistics::add_more(size_t count, FixedWeight weight) {
  if (!lengths_) lengths_.emplace(kMostLengths, false);
  lengths_->add(static_cast<double>(count));
  more_.count += count - 1;
  more_.weight += weight * static_cast<FixedWeight>(count - 1);
}

void ColumnStatistics::add_row(const CellBatch& cells, size_t row, FixedWeight weight) {
  if (cells.states[row] == CellState::kMissing) return;
  if (cells.states[row] == CellState::kEmpty) return empty_.add(weight);
  filled_.add(weight);
  const size_t begin = cells.begin(row), end = cells.end(row);
  if (end - begin > 1) add_more(end - begin, weight);
  for (size_t i = begin; i < end; ++i) {
    if (type_ == CellType::kText)
      add_text(cells.texts[i], weight);
    else
      add_number(cells.numbers[i], weight);
  }
}

void ColumnStatistics::add_states(const CellBatch& cells) {
  if (cells.full && cells.counts.empty()) {
    filled_.count += cells.states.size();
    return;
  }
  uint32_t filled = 0, empty = 0;
  for (size_t i = 0; i < cells.states.size(); ++i) {
    const uint32_t times = cells.counts.empty() ? 1 : cells.counts[i];
    filled += cells.states[i] == CellState::kValue ? times : 0;
    empty += cells.states[i] == CellState::kEmpty ? times : 0;
  }
  filled_.count += filled;
  empty_.count += empty;
}

void ColumnStatistics::add_counted(const CellBatch& cells) {
  for (size_t i = 0; i < cells.states.size(); ++i) {
    if (cells.states[i] != CellState::kValue) continue;
    if (type_ == CellType::kText)
      add_text(cells.texts[i], 0, cells.counts[i]);
    else
      add_number(cells.numbers[i], 0, cells.counts[i]);
  }
}

void ColumnStatistics::add_numbers(const CellBatch& cells) {
  if (cells.full) {
    zeros_.count += cells.zeros;
    return add_finite(std::span(cells.numbers).first(cells.states.size()));
  }
  std::vector<double> finite(cells.states.size());
  size_t count = 0;
  uint64_t zeros = 0;
  for (size_t i = 0; i < finite.size(); ++i) {
    const double value = cells.numbers[i];
    const bool is_value = cells.states[i] == CellState::kValue;
    if (is_value && !std::isfinite(value)) {
      add_number(value, 0);
      continue;
    }
    finite[count] = value;
    count += is_value;
    zeros += is_value && value == 0;
  }
  zeros_.count += zeros;
  add_finite(std::span(finite).first(count));
}

void ColumnStatistics::add_finite(std::span<const double> values) {
  if (times_) {
    for (const double value : values) times_->add(value);
  }
  numbers_->add(values);
}

void ColumnStatistics::add_texts(const CellBatch& cells) {
  TextPlaces all = cells.texts.places();
  PlacedTexts values(all.origin);
  const auto is_value = [](CellState state) { return state == CellState::kValue; };
  if (!cells.full && !std::ranges::all_of(cells.states, is_value)) {
    for (size_t i = 0; i < cells.states.size(); ++i) {
      if (is_value(cells.states[i])) values.add(all[i]);
    }
    all = values.places();
  }
  if (cells.full) bytes_ += cells.bytes;
  for (size_t i = 0; !cells.full && i < all.count; ++i) bytes_ += all.sizes[i];
  for (size_t i = 0; !cells.utf8 && i < all.count; ++i) invalid_ += !is_utf8(all[i]);
  for (size_t i = 0; times_ && i < all.count; ++i) times_->add(all[i]);
  texts_->add(all);
}

void ColumnStatistics::add(const CellBatch& cells, std::span<const FixedWeight> weights) {
  if (!weighted_ && cells.ends.empty()) {
    add_states(cells);
    if (!cells.counts.empty()) return add_counted(cells);
    return type_ == CellType::kText ? add_texts(cells) : add_numbers(cells);
  }
  for (size_t i = 0; i < cells.states.size(); ++i) add_row(cells, i, weights.empty() ? 0 : weights[i]);
}

void ColumnStatistics::add(const CellBatch& cells, std::span<const FixedWeight> weights,
                           std::span<const uint32_t> rows) {
  for (const uint32_t i : rows) add_row(cells, i, weights.empty() ? 0 : weights[i]);
}

ColumnStatistics ColumnStatistics::as(CellType type, const SketchRoom& room) const {
  ColumnStatistics out(type, room, weighted_, asks_times_);
  std::optional<ValueCounts> numbers = std::move(out.numbers_);
  std::optional<TextCounts> texts = std::move(out.texts_);
  std::optional<TimeCounts> times = std::move(out.times_);
  out = *this;
  out.type_ = type;
  out.times_ = std::move(times);
  if (type_ != CellType::kNone) return out;
  out.numbers_ = std::move(numbers);
  out.texts_ = std::move(texts);
  return out;
}

void ColumnStatistics::merge(const ColumnStatistics& other) {
  filled_.merge(other.filled_);
  empty_.merge(other.empty_);
  more_.merge(other.more_);
  if (other.lengths_) {
    if (!lengths_) lengths_.emplace(kMostLengths, false);
    lengths_->merge(*other.lengths_);
  }
  nan_.merge(other.nan_);
  zeros_.merge(other.zeros_);
  lowest_.merge(other.lowest_);
  highest_.merge(other.highest_);
  bytes_ += other.bytes_;
  invalid_ += other.invalid_;
  if (numbers_) numbers_->merge(*other.numbers_);
  if (texts_) texts_->merge(*other.texts_);
  if (times_ && other.times_) times_->merge(*other.times_);
}

}  // namespace espalier
