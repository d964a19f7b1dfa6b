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

TracedRows DrawsOfRows::trace(int64_t rows, bool again, const TraceRows& trace) {
  PlacedTrace out = trace(rows, again, known_);
  const auto is_number = [](const DrawnArray& draw) { return draw.shape.empty(); };
  if (std::ranges::all_of(out.draws, is_number) || are_known(out, rows)) return {std::move(out.program), {}};
  auto other = traced_for_other_rows(rows, [&](int64_t others) { return trace(others, true, {}); });
  if (!other)
    throw ValueError("random.rows",
                     cat("numbers are drawn in a step on a part of a batch, of ", counted(rows, "row"),
                         ", that takes no other number of rows: which of them belong to rows is not known"),
                     "let it take any number of rows, or train on one device");
  known_ = rows_of_draws(out.draws, rows, other->second.draws, other->first);
  PlacedTrace& of_others = other->second;
  const bool is_placed = of_others.taken == known_;
  if (known_ != out.taken) {
    const PlacedTrace guessed = std::move(out);
    out = trace(rows, true, known_);
    out.program.structures.add(guessed.program.structures);
  } else {
    out.program.structures.add(of_others.program.structures);
  }
  TracedRows traced{std::move(out.program), {}};
  if (is_placed) traced.of_other_rows = std::move(of_others.program);
  return traced;
}

}  // namespace espalier
