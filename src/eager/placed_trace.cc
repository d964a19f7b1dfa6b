#include "eager/placed_trace.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace espalier {

bool DrawsOfRows::are_known(const PlacedTrace& traced, int64_t rows) const {
  return std::ranges::equal(traced.draws, known_, [&](const DrawnArray& draw, const RowsOfDraw& known) {
    return known.each == 0 || (known.axis < draw.shape.size() && draw.shape[known.axis] == known.each * rows);
  });
}

TracedGraph DrawsOfRows::trace(int64_t rows, bool again, const TraceRows& trace) {
  PlacedTrace out = trace(rows, again, known_);
  const auto is_number = [](const DrawnArray& draw) { return draw.shape.empty(); };
  if (std::ranges::all_of(out.draws, is_number) || are_known(out, rows)) return std::move(out.program);
  auto other = traced_for_other_rows(rows, [&](int64_t others) { return trace(others, true, {}); });
  if (!other)
    throw ValueError("random.rows",
                     cat("numbers are drawn in a step on a part of a batch, of ", counted(rows, "row"),
                         ", that takes no other number of rows: which of them belong to rows is not known"),
                     "let it take any number of rows, or train on one device");
  known_ = rows_of_draws(out.draws, rows, other->second.draws, other->first);
  if (known_ != out.taken) {
    other->second = std::move(out);
    out = trace(rows, true, known_);
  }
  out.program.structures.add(other->second.program.structures);
  return std::move(out.program);
}

}  // namespace espalier
