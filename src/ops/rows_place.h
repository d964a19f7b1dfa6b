// Where the rows of a trace stand in the whole batch, for ops that draw numbers for them.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/ops.h"

namespace espalier {

// An array that ops drew in a scope.
struct DrawnArray {
  Shape shape;
  bool permutes = false;  // an order of its first axis, which says nothing where others have a part of it
  Location at;            // of the call
};

// Which axis of a drawn array follows the rows, and how many of its elements are a row's; 0: the array is a
// whole, which others have alike.
struct RowsOfDraw {
  size_t axis = 0;
  int64_t each = 0;
  bool operator==(const RowsOfDraw&) const = default;
};
// Of the draws of a trace, in their order.
using RowsOfDraws = std::vector<RowsOfDraw>;

// The sizes of the whole, i64[], of each axis or none, where they are known in the call alone: then
// global_shape is not smaller.
struct DrawnPart : Shard {
  std::vector<Tensor> sizes = {};
};

// While it lives, ops of this thread that draw see rows [first, first + rows) of a batch that others see the
// rest of: what they draw for a row depends on its place in the batch alone. The innermost one counts.
class RowsPlaceScope {
 public:
  // `first`, and of how many rows the batch is: i64[] each. `most`: at least as many. `known`: of the draws
  // of this trace; empty: those whose first axis the rows divide are taken for rows, until somebody knows.
  RowsPlaceScope(Tensor first, Tensor batch, int64_t rows, int64_t most, RowsOfDraws known = {});
  ~RowsPlaceScope();
  RowsPlaceScope(const RowsPlaceScope&) = delete;
  RowsPlaceScope& operator=(const RowsPlaceScope&) = delete;

  // So far.
  const std::vector<DrawnArray>& draws() const { return draws_; }
  const RowsOfDraws& taken() const { return taken_; }
  int64_t rows() const { return rows_; }

 private:
  friend DrawnPart drawn_part(const Shape& shape, bool permutes);
  RowsOfDraw rows_of_next(const Shape& shape) const;

  const Tensor first_, batch_;
  const int64_t rows_, most_;
  const RowsOfDraws known_;
  std::vector<DrawnArray> draws_;
  RowsOfDraws taken_;
  RowsPlaceScope* before_;
};

// Which part an array that an op draws is of that of the whole batch: every op that draws asks it, once a
// draw. Nothing outside of a scope, for wholes, and for what is drawn at once while others are traced, as
// initial values.
DrawnPart drawn_part(const Shape& shape, bool permutes = false);
// random_bits() of a part.
Tensor drawn_bits(const Shape& shape, Operand key, Operand step, DType dtype, const DrawnPart& part);

// By what one function drew in traces of two numbers of rows. Raises ValueError[random.rows] where it draws
// other arrays, an array that is not so many elements of one axis for each row, or an order of rows.
RowsOfDraws rows_of_draws(const std::vector<DrawnArray>& draws, int64_t rows,
                          const std::vector<DrawnArray>& others, int64_t other_rows);

}  // namespace espalier
