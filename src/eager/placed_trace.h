// Traces of a function of a part of a batch, whose draws are told apart: those of rows, and wholes.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "eager/traced_graph.h"
#include "ops/rows_place.h"

namespace espalier {

// What `trace` gives for another number of rows, and for which; nothing where it takes no other.
template <class Trace>
auto traced_for_other_rows(int64_t rows, const Trace& trace)
    -> std::optional<std::pair<int64_t, decltype(trace(rows))>> {
  // A layer may want an even number of rows.
  for (const int64_t other : {rows + 1, rows * 2}) {
    try {
      return std::pair(other, trace(other));
    } catch (const std::exception&) {
    }
  }
  return std::nullopt;
}

// What a RowsPlaceScope has seen while `program` was traced in it.
struct PlacedTrace {
  TracedGraph program;
  std::vector<DrawnArray> draws;
  RowsOfDraws taken;
};

// The program of a function on a part of a batch, and what it is for another number of rows, where both were
// traced.
struct TracedRows {
  TracedGraph program;
  std::optional<TracedGraph> of_other_rows;

  // What it is for another number of rows, by `trace` where it was not traced; nothing where it takes no
  // other.
  template <class Trace>
  std::optional<TracedGraph> take_other(int64_t rows, const Trace& trace) {
    if (of_other_rows) return std::move(of_other_rows);
    auto traced = traced_for_other_rows(rows, trace);
    return traced ? std::optional(std::move(traced->second)) : std::nullopt;
  }
};

// Which of the draws of one function are of rows. A size does not tell: a kernel may have as many rows as the
// batch. So the function is traced for another number of rows, too, when it draws.
class DrawsOfRows {
 public:
  // Traces for so many rows; `again`: it was traced before, so that it makes no variables.
  using TraceRows = std::function<PlacedTrace(int64_t rows, bool again, const RowsOfDraws& known)>;
  // Raises ValueError[random.rows], see rows_of_draws(), and where it can be traced for no other number.
  TracedRows trace(int64_t rows, bool again, const TraceRows& trace);

 private:
  bool are_known(const PlacedTrace& traced, int64_t rows) const;
  RowsOfDraws known_;  // of the last trace
};

}  // namespace espalier
