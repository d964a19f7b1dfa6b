// NumPy's indexing: index(x, {1, Slice{2, 5}}), index(x, {kEllipsis, Slice{.step = -1}}), index(x, {rows,
// kNewAxis}).
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "espalier/tensor.h"

namespace espalier {

// start:stop:step. Bounds may count from the back and are clamped to the axis; a missing one means "from the
// first" and "to the last" in the direction of the step. Slice{} is the whole axis.
struct Slice {
  std::optional<int64_t> start = {}, stop = {};
  int64_t step = 1;
};
// As many whole axes as are left over; at most once.
struct Ellipsis {};
inline constexpr Ellipsis kEllipsis;
// A new axis of size 1.
struct NewAxis {};
inline constexpr NewAxis kNewAxis;

// One item of an index. An integer takes one element and drops the axis. Integer tensors pick elements: all
// of them (and then integers too) broadcast together, and their shape stands in the result where the first of
// them stood, or first when a slice stands between them. A bool tensor of rank r is the list of its true
// places, for r axes; it must be concrete.
class Index {
 public:
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) Index(T position, Location at = Location::here())
      : item_(std::cmp_greater(position, kLast) ? kLast : static_cast<int64_t>(position)), at_(at) {}
  Index(Slice slice, Location at = Location::here()) : item_(slice), at_(at) {}
  Index(Ellipsis ellipsis, Location at = Location::here()) : item_(ellipsis), at_(at) {}
  Index(NewAxis axis, Location at = Location::here()) : item_(axis), at_(at) {}
  Index(Tensor tensor, Location at = Location::here()) : item_(std::move(tensor)), at_(at) {}

  using Item = std::variant<int64_t, Slice, Ellipsis, NewAxis, Tensor>;
  const Item& item() const { return item_; }
  Location at() const { return at_; }

 private:
  static constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  Item item_;
  Location at_;
};

// The elements that `indices` name; axes that they do not mention are taken whole. Basic indices (integers,
// slices, new axes) are slices and reshapes; tensors are a gather. Has a gradient. Raises
// ShapeError[index.count] for more items than axes, ShapeError[index.range] for a position outside of its
// axis (elements of a symbolic tensor are not checked but clamped), ValueError[index.step] for a step of 0,
// DTypeError[index.dtype] for a floating-point tensor.
Tensor index(Operand x, const std::vector<Index>& indices);
// x with those elements replaced by `value`, which broadcasts to their shape. x itself does not change.
// Where tensors name a place twice, the last value stays. Has a gradient for both.
Tensor assign_at(Operand x, const std::vector<Index>& indices, Operand value);

}  // namespace espalier
