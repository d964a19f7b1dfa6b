// Parts of the rows: by the values of columns, and by crosses of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace espalier {

// A column of categories: each row's value as its place in `values`, which are in the order of slices.
struct CategoryColumn {
  static constexpr uint32_t kMissing = std::numeric_limits<uint32_t>::max();
  std::string name;
  std::vector<std::string> values;
  std::vector<uint32_t> codes;
  // The colours that each value stands for, "#825c43"; none for most columns.
  std::vector<std::vector<std::string>> swatches = {};
};

// Numbers in buckets that hold their lower edge and not their upper one: edges 25, 45 give the values
// "(-inf,25)", "[25,45)", "[45,inf)". NaN is missing. Raises ValueError[evaluate.bucket] unless there are
// edges, finite and ascending.
CategoryColumn bucket(std::string name, std::span<const double> numbers, std::span<const double> edges);

// Numbers by rank in "1 of 10" to "10 of 10"; equal ones lie together, by their middle rank.
// REQUIRES: no NaN.
CategoryColumn tenths(std::string name, std::span<const double> numbers);

// Of a value in names of slices: in quotes where it would read as the name of other rows, so that (missing)
// is no text of a cell, (rare) no slice that a page shows by its name, and ", " parts columns alone.
// Different for different values.
std::string value_in_name(const std::string& value);
// "sex=Female": a column, in quotes where it must be, and a value as it stands in names.
std::string slice_part(const std::string& column, const std::string& value_in_name);

// The columns and values in the name of a slice, "sex=Female, age=[25,45)", in which quotes may be left out
// that are not needed: a ", " without a = behind it is of a value. None where it is no such name. Raises
// ValueError[names.quote].
struct SlicePart {
  std::string column, value;  // the latter as it stands in names
};
std::vector<SlicePart> parts_of_slice(const std::string& name);
// The name as slices have it; others as they are. Raises as parts_of_slice().
std::string slice_named(const std::string& name);

struct RowSlice {
  std::string name;  // "sex=Female, age=[25,45)"
  int64_t rows = 0;
  bool thin = false;                       // fewer rows than were asked for
  std::vector<std::string> values = {};    // of each column it is by, as they stand in the name
  std::vector<std::string> swatches = {};  // of these values, where they stand for colours
};

// Slices that share no row, so that one pass over the rows counts all of them.
struct Slicing {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  std::vector<RowSlice> slices;
  std::vector<uint32_t> of_row;  // kNone for rows that are left out
};

enum class MissingGroup {
  kSlice,    // rows without a value are a slice of their own, "sex=(missing)"
  kLeftOut,  // such rows are in no slice
};
struct SliceOptions {
  MissingGroup missing = MissingGroup::kSlice;
  int64_t min_rows = 0;  // slices of fewer are thin
};

// The slice "overall" of all rows.
Slicing overall(size_t rows, const SliceOptions& options = {});
// A slice for each value of a column that a row has, or for each combination of several: in the order of the
// first column's values, then the second's; missing ones last. Raises ValueError: evaluate.slice for no
// columns, columns of different lengths, a code beyond the values; evaluate.cross beyond 2^24 combinations.
Slicing slice_by(const std::vector<const CategoryColumn*>& columns, const SliceOptions& options = {});

}  // namespace espalier
