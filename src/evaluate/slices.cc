#include "evaluate/slices.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shortest.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr size_t kMostCombinations = size_t{1} << 24;

void check_column(const CategoryColumn& column, size_t rows) {
  if (column.codes.size() != rows) {
    throw ValueError("evaluate.slice", cat("columns of one length: '", column.name, "' has ",
                                           column.codes.size(), " rows, the first column ", rows));
  }
  const auto beyond = std::ranges::find_if(column.codes, [&](uint32_t code) {
    return code >= column.values.size() && code != CategoryColumn::kMissing;
  });
  if (beyond != column.codes.end()) {
    throw ValueError("evaluate.slice",
                     cat("'", column.name, "' has ", column.values.size(), " values: no value ", *beyond,
                         " as in row ", beyond - column.codes.begin()));
  }
}

// Parts each slice by the values of `column`.
void refine(Slicing& slicing, const CategoryColumn& column, MissingGroup missing) {
  const size_t width = column.values.size() + 1;  // the last is for missing ones
  const size_t combinations = slicing.slices.size() * width;
  if (combinations > kMostCombinations) {
    throw ValueError("evaluate.cross", cat("a cross has at most 2^24 combinations: ", slicing.slices.size(),
                                           " slices by ", width, " values of '", column.name, "'"));
  }
  std::vector<int64_t> rows(combinations);
  for (size_t row = 0; row < slicing.of_row.size(); ++row) {
    uint32_t& slice = slicing.of_row[row];
    const uint32_t code = column.codes[row];
    if (code == CategoryColumn::kMissing && missing == MissingGroup::kLeftOut) slice = Slicing::kNone;
    if (slice == Slicing::kNone) continue;
    slice = static_cast<uint32_t>(slice * width + std::min<size_t>(code, width - 1));
    ++rows[slice];
  }
  std::vector<RowSlice> slices;
  std::vector<uint32_t> places(combinations);
  for (size_t i = 0; i < combinations; ++i) {
    if (rows[i] == 0) continue;
    places[i] = static_cast<uint32_t>(slices.size());
    const RowSlice& before = slicing.slices[i / width];
    const size_t code = i % width;
    std::vector<std::string> values = before.values;
    values.push_back(code + 1 == width ? "(missing)" : value_in_name(column.values[code]));
    std::vector<std::string> swatches = before.swatches;
    if (code < column.swatches.size()) std::ranges::copy(column.swatches[code], std::back_inserter(swatches));
    slices.push_back(
        {.name = cat(before.name, before.name.empty() ? "" : ", ", slice_part(column.name, values.back())),
         .rows = rows[i],
         .values = std::move(values),
         .swatches = std::move(swatches)});
  }
  slicing.slices = std::move(slices);
  for (uint32_t& slice : slicing.of_row) {
    if (slice != Slicing::kNone) slice = places[slice];
  }
}

void mark_thin(Slicing& slicing, const SliceOptions& options) {
  for (RowSlice& slice : slicing.slices) slice.thin = slice.rows < options.min_rows;
}

}  // namespace

CategoryColumn bucket(std::string name, std::span<const double> numbers, std::span<const double> edges) {
  const auto disordered = [](double a, double b) { return !(a < b); };
  if (edges.empty() || !std::ranges::all_of(edges, [](double edge) { return std::isfinite(edge); }) ||
      std::ranges::adjacent_find(edges, disordered) != edges.end()) {
    std::string text;
    for (const double edge : edges) text += cat(text.empty() ? "" : ", ", plain_number(edge));
    throw ValueError("evaluate.bucket",
                     cat("the edges of '", name, "' are finite and ascend, got [", text, "]"));
  }
  CategoryColumn out{.name = std::move(name), .values = {}, .codes = {}};
  for (size_t i = 0; i <= edges.size(); ++i) {
    out.values.push_back(cat(i == 0 ? "(-inf" : cat("[", plain_number(edges[i - 1])), ",",
                             i == edges.size() ? "inf" : plain_number(edges[i]), ")"));
  }
  out.codes.reserve(numbers.size());
  for (const double number : numbers) {
    out.codes.push_back(std::isnan(number)
                            ? CategoryColumn::kMissing
                            : static_cast<uint32_t>(std::ranges::upper_bound(edges, number) - edges.begin()));
  }
  return out;
}

namespace {

bool is_special(std::string_view value) { return value == "(missing)" || value == "(rare)"; }

}  // namespace

std::string value_in_name(const std::string& value) {
  const bool plain = !value.empty() && !is_special(value) && value.front() != '"' && value.front() != '`' &&
                     value.front() != ' ' && value.back() != ' ' && value.find(", ") == value.npos;
  return plain ? value : quoted_text(value);
}

std::string slice_part(const std::string& column, const std::string& value_in_name) {
  return cat(name_in_list(column), "=", value_in_name);
}

std::vector<SlicePart> parts_of_slice(const std::string& name) {
  constexpr std::string_view kBetween = ", ";
  const std::string_view text = name;
  std::vector<SlicePart> out;
  std::vector<bool> bare;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(kBetween, at), text.size());
    const bool quoted = text[at] == '"' || text[at] == '`';
    auto part = named_part(text.substr(at, quoted ? text.npos : comma - at));
    if (!part) {
      // Of the value before; without one it is no name of a slice.
      if (out.empty()) return {};
      out.back().value += cat(kBetween, text.substr(at, comma - at));
      at = comma + kBetween.size();
      continue;
    }
    at = quoted ? text.size() - part->rest.size() : at + text.substr(at).find('=') + 1;
    while (at < text.size() && text[at] == ' ') ++at;
    size_t end = at;
    const auto ends = [&](size_t quote) {
      return quote + 1 == text.size() || text.substr(quote + 1).starts_with(kBetween);
    };
    const bool opens = at < text.size() && (text[at] == '"' || text[at] == '`');
    const std::optional<std::string> value = opens ? read_quoted(text, end, ends) : std::nullopt;
    if (!value) end = std::min(text.find(kBetween, at), text.size());
    out.push_back({part->name, value ? value_in_name(*value) : std::string(text.substr(at, end - at))});
    bare.push_back(!value);
    at = end + kBetween.size();
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (bare[i] && !is_special(out[i].value)) out[i].value = value_in_name(out[i].value);
  }
  return out;
}

std::string slice_named(const std::string& name) {
  std::string out;
  for (const SlicePart& part : parts_of_slice(name))
    out += cat(out.empty() ? "" : ", ", slice_part(part.column, part.value));
  return out.empty() ? name : out;
}

CategoryColumn tenths(std::string name, std::span<const double> numbers) {
  constexpr size_t kParts = 10;
  CategoryColumn out{.name = std::move(name), .values = {}, .codes = std::vector<uint32_t>(numbers.size())};
  for (size_t part = 1; part <= kParts; ++part) out.values.push_back(cat(part, " of ", kParts));
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t row) { return numbers[row]; });
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
    const auto part = static_cast<uint32_t>(kParts * (begin + end) / 2 / order.size());
    for (size_t i = begin; i < end; ++i) out.codes[order[i]] = part;
  }
  return out;
}

Slicing overall(size_t rows, const SliceOptions& options) {
  Slicing out{{{"overall", static_cast<int64_t>(rows)}}, std::vector<uint32_t>(rows)};
  mark_thin(out, options);
  return out;
}

Slicing slice_by(const std::vector<const CategoryColumn*>& columns, const SliceOptions& options) {
  if (columns.empty()) throw ValueError("evaluate.slice", "slices are by one column or more, got none");
  const size_t rows = columns[0]->codes.size();
  Slicing out{{RowSlice{}}, std::vector<uint32_t>(rows)};
  for (const CategoryColumn* column : columns) {
    check_column(*column, rows);
    refine(out, *column, options.missing);
  }
  mark_thin(out, options);
  return out;
}

}  // namespace espalier
