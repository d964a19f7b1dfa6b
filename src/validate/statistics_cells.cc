#include "validate/statistics_cells.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/digits.h"
#include "format/decimal.h"
#include "format/number_cells.h"

namespace espalier {
namespace {

bool is_whole(std::string_view cell) {
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  return !cell.empty() && std::all_of(cell.begin(), cell.end(), is_digit);
}

// Of 64 bits.
std::optional<int64_t> parse_whole(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

// "nan", "inf" and "infinity" in any letters, with or without a sign.
std::optional<double> parse_word(std::string_view cell) {
  const bool negative = cell.starts_with('-');
  if (negative || cell.starts_with('+')) cell.remove_prefix(1);
  const auto is = [&](std::string_view word) {
    return std::equal(cell.begin(), cell.end(), word.begin(), word.end(),
                      [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  };
  const double sign = negative ? -1 : 1;
  if (is("nan")) return std::numeric_limits<double>::quiet_NaN();
  if (is("inf") || is("infinity")) return sign * std::numeric_limits<double>::infinity();
  return std::nullopt;
}

// What f64 has no finite number for, too.
std::optional<double> parse_beyond(std::string_view cell) {
  if (cell.find_first_not_of("0123456789.eE+-") != cell.npos) return std::nullopt;
  std::string_view digits = cell;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || (!is_digit(digits[0]) && digits[0] != '.')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc::result_out_of_range || end != digits.data() + digits.size()) return std::nullopt;
  return std::strtod(std::string(cell).c_str(), nullptr);
}

std::optional<double> parse_number(std::string_view cell) {
  if (const std::optional<double> value = parse_decimal(cell)) return value;
  if (const std::optional<double> value = parse_word(cell)) return value;
  return parse_beyond(cell);
}

double nearest_f32(double value) {
  // Half a step beyond the largest f32.
  constexpr double kBeyond = 0x1.ffffffp+127;
  if (std::fabs(value) >= kBeyond) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return static_cast<double>(static_cast<float>(value));
}

// Where cells are, as CsvRows::starts() has it.
struct CellPlaces {
  const char* text;
  const uint32_t* starts;
  size_t stride, count;
  bool bare;  // no cell has blanks or quotes around it
};

class Reader {
 public:
  Reader(const CellPlaces& cells, const EmptyCells& empty, CellBatch& out)
      : cells_(cells), empty_(empty), words_(empty.missing.words()), out_(out) {
    out_.ends.clear();
    out_.full = false;
    out_.counts.clear();
  }

  CellType texts() {
    const size_t rows = cells_.count, empty = cells_.bare ? find_texts<true>() : find_texts<false>();
    if (empty == 0 && words_.empty()) return fill(CellType::kText);
    out_.states.resize(rows);
    bool found = false;
    for (size_t i = 0; i < rows; ++i) found |= is_value(i, out_.texts[i]);
    return found ? CellType::kText : CellType::kNone;
  }

  CellType numbers(CellType type) {
    // Most columns are what their first value is.
    if (const CellType first = first_type(); first > type)
      return first == CellType::kText ? first : std::max(first, read_numbers(first));
    return read_numbers(type);
  }

 private:
  // How many are empty. Cells that are all bare are not looked at, which is most of what it would take.
  template <bool kBare>
  size_t find_texts() {
    const size_t rows = cells_.count, stride = cells_.stride;
    const char* const text = cells_.text;
    const uint32_t* starts = cells_.starts;
    out_.texts.restart(text, rows);
    uint32_t *const ends = out_.texts.ends(), *const sizes = out_.texts.sizes();
    size_t empty = 0, bytes = 0;
    for (size_t i = 0; i < rows; ++i, starts += stride) {
      if (!kBare && i + kAhead < rows) __builtin_prefetch(text + starts[kAhead * stride]);
      uint32_t begin = starts[0], end = starts[1] - 1;
      if (!kBare && !is_bare(text + begin, text + end)) {
        const std::string_view cell = trimmed_cell(text + begin, text + end);
        begin = static_cast<uint32_t>(cell.data() - text);
        end = begin + static_cast<uint32_t>(cell.size());
      }
      ends[i] = end;
      sizes[i] = end - begin;
      empty += end == begin;
      bytes += end - begin;
    }
    out_.bytes = bytes;
    return empty;
  }

  CellType read_numbers(CellType type) {
    const size_t rows = cells_.count;
    out_.numbers.resize(rows);
    // So few digits are far from f32's bounds.
    const DigitForm form = type == CellType::kInt ? DigitForm::kWhole : DigitForm::kSingle;
    const NumberCells cells =
        read_number_cells(cells_.text, cells_.starts, cells_.stride, rows, form, out_.numbers.data());
    const bool some_missing = std::any_of(
        words_.begin(), words_.end(), [](const std::string& word) { return real_cell(word).has_value(); });
    if (cells.numbers == rows && !some_missing) {
      out_.zeros = cells.zeros;
      return fill(type);
    }
    out_.states.assign(rows, CellState::kMissing);
    CellType found = CellType::kNone;
    for (size_t i = 0; i < rows; ++i) {
      double& value = out_.numbers[i];
      if (value == value && !some_missing) {
        out_.states[i] = CellState::kValue;
        found = std::max(found, type);
        continue;
      }
      const std::string_view cell = number_cell(i);
      if (!is_value(i, cell)) continue;
      const CellType met = value == value ? type : type_of_cell(cell);
      found = std::max(found, met);
      if (found == CellType::kText) return found;
      if (found > type) return std::max(found, read_numbers(found));
      value =
          type == CellType::kInt ? static_cast<double>(*parse_whole(cell)) : nearest_f32(*parse_number(cell));
    }
    return found;
  }
  CellType first_type() {
    out_.states.resize(cells_.count);
    for (size_t i = 0; i < cells_.count; ++i) {
      const std::string_view cell = number_cell(i);
      if (is_value(i, cell)) return type_of_cell(cell);
    }
    return CellType::kNone;
  }
  std::string_view number_cell(size_t row) const {
    const uint32_t* const place = cells_.starts + row * cells_.stride;
    return trimmed_cell(cells_.text + place[0], cells_.text + place[1] - 1);
  }
  // A column's cells lie a row apart, which no processor foresees.
  static constexpr size_t kAhead = 12;
  // All rows have a value.
  CellType fill(CellType type) {
    out_.states.resize(cells_.count);
    out_.full = true;
    if (cells_.count == 0) return CellType::kNone;
    std::memset(out_.states.data(), static_cast<int>(CellState::kValue), cells_.count);
    return type;
  }
  // Without blanks or quotes around it, as most are.
  static bool is_bare(const char* begin, const char* end) {
    const auto beyond = [](char c, char least) {
      return static_cast<unsigned char>(c) > static_cast<unsigned char>(least);
    };
    return begin != end && beyond(*begin, '"') && beyond(end[-1], ' ');
  }
  bool is_value(size_t row, std::string_view cell) {
    if (cell.empty()) {
      out_.states[row] = empty_.present ? CellState::kEmpty : CellState::kMissing;
      return false;
    }
    const bool missing = !words_.empty() && empty_.missing.contains(cell);
    out_.states[row] = missing ? CellState::kMissing : CellState::kValue;
    return !missing;
  }

  const CellPlaces& cells_;
  const EmptyCells& empty_;
  const std::vector<std::string>& words_;
  CellBatch& out_;
};

CellType read_places(const CsvRows& rows, const CellPlaces& cells, const EmptyCells& empty, CellType type,
                     CellBatch& out) {
  out.type = type;
  out.utf8 = rows.utf8();
  Reader reader(cells, empty, out);
  return type == CellType::kText ? reader.texts() : reader.numbers(type);
}

}  // namespace

std::optional<int64_t> whole_cell(std::string_view cell) {
  return is_whole(cell) ? parse_whole(cell) : std::nullopt;
}

std::optional<double> real_cell(std::string_view cell) {
  if (is_whole(cell) && !parse_whole(cell)) return std::nullopt;
  const std::optional<double> value = parse_number(cell);
  return value ? std::optional(nearest_f32(*value)) : std::nullopt;
}

CellType type_of_cell(std::string_view cell) {
  if (cell.empty()) return CellType::kNone;
  if (is_whole(cell)) return parse_whole(cell) ? CellType::kInt : CellType::kText;
  return parse_number(cell) ? CellType::kFloat : CellType::kText;
}

CellType read_cells(const CsvRows& rows, int64_t column, const EmptyCells& empty, CellType type,
                    CellBatch& out) {
  return read_places(
      rows,
      {rows.origin(), rows.starts(column), rows.stride(), static_cast<size_t>(rows.rows()), rows.bare()},
      empty, type, out);
}

CellType read_equal_cells(const CsvRows& rows, const EqualCells& cells, const EmptyCells& empty,
                          CellType type, CellBatch& out) {
  const CellType found = read_places(
      rows, {rows.origin(), cells.places().data(), 2, cells.counts().size(), rows.bare()}, empty, type, out);
  out.counts = cells.counts();
  return found;
}

}  // namespace espalier
