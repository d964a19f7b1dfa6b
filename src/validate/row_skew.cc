#include "validate/row_skew.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/digits.h"
#include "data/equal_values.h"
#include "espalier/error.h"
#include "format/decimal.h"

namespace espalier {
namespace {

constexpr int64_t kRepeated = -1;

void name_line(std::vector<int64_t>& lines, int64_t line) {
  if (lines.size() < kSkewLines) lines.push_back(line);
}

EqualValues equal_in(const CsvTable& a, int64_t first, const CsvTable& b, int64_t second,
                     const MissingWords& missing) {
  return {profile_column(a, all_rows(a), first, missing), profile_column(b, all_rows(b), second, missing)};
}

// The rows of a table by their ids, of each column of which `equal` says which cells are.
class Side {
 public:
  Side(const CsvTable& table, const SkewOptions& options, const MissingWords& missing,
       const std::vector<EqualValues>& equal)
      : table(table), lines(table.lines()), equal_(equal) {
    found.rows = table.rows();
    for (const std::string& name : options.id) id_.push_back(table.column(name));
    for (int64_t row = 0; row < table.rows(); ++row) add(row, missing);
  }

  int64_t line(int64_t row) const { return lines[static_cast<size_t>(row)]; }
  bool has(const std::string& id) const { return rows.contains(id); }

  const CsvTable& table;
  const std::vector<int64_t> lines;
  std::unordered_map<std::string, int64_t> rows;     // kRepeated of an id of several
  std::vector<std::pair<std::string, int64_t>> ids;  // each once, by its first row
  SkewSide found;

 private:
  void add(int64_t row, const MissingWords& missing) {
    std::string id;
    for (size_t i = 0; i < id_.size(); ++i) {
      const std::string_view cell = table.cell(row, id_[i]);
      if (missing.of(table.names()[static_cast<size_t>(id_[i])]).contains(cell)) {
        ++found.without_id;
        return name_line(found.without_id_lines, line(row));
      }
      id.append(equal_[i].spelling(cell)).append(1, '\0');
    }
    const auto [place, fresh] = rows.try_emplace(id, row);
    if (fresh) {
      ids.emplace_back(std::move(id), row);
      return;
    }
    found.repeated += place->second != kRepeated;
    place->second = kRepeated;
    name_line(found.repeated_lines, line(row));
  }

  const std::vector<EqualValues>& equal_;
  std::vector<int64_t> id_;
};

void name_missing(Side& side, const Side& other) {
  for (const auto& [id, row] : side.ids) {
    if (other.has(id)) continue;
    ++side.found.only;
    name_line(side.found.only_lines, side.line(row));
  }
}

// Of digits alone, with a sign or none, those from the first that counts on; "" of other text.
std::string_view whole_digits(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  return std::ranges::all_of(text, is_digit) ? text : "";
}

// Whether these numbers are whole and different, and no double tells them apart.
bool differ_beyond_doubles(std::string_view a, std::string_view b, double x, double y) {
  if (x != y || std::abs(x) < static_cast<double>(decimal::kExact)) return false;
  const std::string_view here = whole_digits(a), there = whole_digits(b);
  return !here.empty() && !there.empty() && here != there;
}

// A column of both tables.
class Compared {
 public:
  Compared(std::string name, int64_t first, int64_t second, bool of_numbers)
      : first_(first), second_(second), of_numbers_(of_numbers) {
    skew.column = std::move(name);
  }

  // Whether the cells of these rows are the same.
  bool add(const Side& a, int64_t row, const Side& b, int64_t other, const SkewOptions& options,
           const MissingWords& missing) {
    const std::string_view here = a.table.cell(row, first_), there = b.table.cell(other, second_);
    const MissingWords& words = missing.of(skew.column);
    const bool none_here = words.contains(here), none_there = words.contains(there);
    if (none_here && none_there) return true;
    if (none_here || none_there) {
      ++(none_here ? skew.only_second : skew.only_first);
    } else {
      const std::optional<double> x = a.table.number(row, first_), y = b.table.number(other, second_);
      const bool close = of_numbers_ && x && y && std::abs(*x - *y) <= options.tolerance &&
                         !(options.tolerance < 1 && differ_beyond_doubles(here, there, *x, *y));
      if (here == there || close) return true;
      ++skew.differ;
    }
    name_line(skew.lines, a.line(row));
    return false;
  }

  ColumnSkew skew;

 private:
  int64_t first_, second_;
  bool of_numbers_;
};

std::vector<Compared> compared_columns(Side& a, Side& b, const SkewOptions& options,
                                       const MissingWords& missing) {
  const auto holds = [](const std::vector<std::string>& all, const std::string& name) {
    return std::ranges::find(all, name) != all.end();
  };
  const auto asked = [&](const std::string& name) {
    return !holds(options.id, name) && !holds(options.ignore, name);
  };
  std::vector<Compared> out;
  for (const std::string& name : a.table.names()) {
    if (!asked(name)) continue;
    if (!holds(b.table.names(), name)) {
      a.found.only_columns.push_back(name);
      continue;
    }
    const int64_t first = a.table.column(name), second = b.table.column(name);
    out.emplace_back(name, first, second, equal_in(a.table, first, b.table, second, missing).of_numbers());
  }
  for (const std::string& name : b.table.names()) {
    if (asked(name) && !holds(a.table.names(), name)) b.found.only_columns.push_back(name);
  }
  return out;
}

}  // namespace

RowSkew row_skew(const CsvTable& first, const CsvTable& second, const SkewOptions& options) {
  if (options.id.empty()) throw ValueError("skew.id", "no column is named by which rows are joined");
  for (const std::string& name : options.ignore) {
    if (std::ranges::find(second.names(), name) == second.names().end()) first.column(name);
  }
  const MissingWords& missing = options.missing;
  std::vector<EqualValues> equal;
  for (const std::string& id : options.id)
    equal.push_back(equal_in(first, first.column(id), second, second.column(id), missing));
  Side a(first, options, missing, equal), b(second, options, missing, equal);
  std::vector<Compared> columns = compared_columns(a, b, options, missing);
  RowSkew out;
  for (const auto& [id, row] : a.ids) {
    const auto there = b.rows.find(id);
    const bool once = a.rows.at(id) != kRepeated;
    const bool there_once = there == b.rows.end() || there->second != kRepeated;
    out.repeated += !once || !there_once;
    if (!once || !there_once || there == b.rows.end()) continue;
    ++out.pairs;
    bool same = true;
    for (Compared& column : columns) same = column.add(a, row, b, there->second, options, missing) && same;
    out.skewed += !same;
  }
  for (const auto& [id, row] : b.ids) out.repeated += !a.has(id) && b.rows.at(id) == kRepeated;
  name_missing(a, b);
  name_missing(b, a);
  out.first = std::move(a.found);
  out.second = std::move(b.found);
  for (Compared& column : columns) out.columns.push_back(std::move(column.skew));
  std::ranges::stable_sort(out.columns, std::greater(), &ColumnSkew::skewed);
  return out;
}

}  // namespace espalier
