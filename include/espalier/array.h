// The familiar tensor functions, by NumPy's names and semantics, over the ops of ops.h. All of them work on
// concrete tensors and under trace unless they say otherwise, and all have gradients where the mathematics
// has one. dtypes never promote: a wrong one is a DTypeError that names the cast. Axes may count from the
// back; an axis outside of the rank raises ShapeError[<function>.axis].
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/ops.h"

namespace espalier {

// Axes of a tensor: one, several, or, by default, all of them.
class Axes {
 public:
  Axes() = default;
  Axes(int64_t axis) : list_(Dims{axis}) {}
  Axes(std::initializer_list<int64_t> axes) : list_(Dims(axes)) {}
  Axes(const Dims& axes) : list_(axes) {}
  bool all() const { return !list_; }
  size_t count() const { return list_ ? list_->size() : 0; }
  // The named axes in [0, rank), in the order given. Raises ShapeError[rule.axis] for one that is out of
  // range or named twice.
  Dims of(const char* rule, size_t rank) const;

 private:
  std::optional<Dims> list_;
};

// Creation. ---------------------------------------------------------------------------------------------

// Zeros and ones of a shape, or of the type of another tensor. Stored as one element.
Tensor zeros(const Shape& shape, DType dtype = DType::kF32, Location at = Location::here());
Tensor ones(const Shape& shape, DType dtype = DType::kF32, Location at = Location::here());
Tensor zeros_like(Operand x);
Tensor ones_like(Operand x);
Tensor full_like(Operand x, double value);

// [n] start, start + step, ... up to and without `stop`; n = ceil((stop - start) / step), 0 when negative.
// The dtype is i32 when all three are C++ integers, else f32, unless it is given. The values are start + i *
// step in `dtype` (in f32 for f16 and bf16, rounded once). Raises ValueError[arange.step] for a step of 0,
// DTypeError[arange.dtype] for bool or a fraction in an integer type, ValueError[arange.range] for numbers
// that the dtype does not hold.
Tensor arange_of(double start, double stop, double step, DType dtype, Location at);
template <class... T>
inline constexpr DType kRangeDType = (std::is_integral_v<T> && ...) ? DType::kI32 : DType::kF32;
template <class T, class U, class V = int>
requires(std::is_arithmetic_v<T>&& std::is_arithmetic_v<U>&& std::is_arithmetic_v<V>) Tensor
    arange(T start, U stop, V step = 1, DType dtype = kRangeDType<T, U, V>, Location at = Location::here()) {
  return arange_of(static_cast<double>(start), static_cast<double>(stop), static_cast<double>(step), dtype,
                   at);
}
// From 0 by 1.
template <class T>
requires std::is_arithmetic_v<T> Tensor arange(T stop, DType dtype = kRangeDType<T>,
                                               Location at = Location::here()) {
  return arange_of(0, static_cast<double>(stop), 1, dtype, at);
}
// f[count] evenly spaced values from `start` to `stop`, both included unless `endpoint` is false.
// `dtype` is a floating-point type.
Tensor linspace(double start, double stop, int64_t count = 50, bool endpoint = true,
                DType dtype = DType::kF32, Location at = Location::here());
// [rows, columns] with ones on diagonal k (k > 0: above the main one). `columns` < 0 means square.
Tensor eye(int64_t rows, int64_t columns = -1, int64_t k = 0, DType dtype = DType::kF32,
           Location at = Location::here());
// x [..., m, n] with zeros above (tril) or below (triu) diagonal k.
Tensor tril(Operand x, int64_t k = 0);
Tensor triu(Operand x, int64_t k = 0);
// [n] to [n+|k|, n+|k|] with x on diagonal k and zeros elsewhere; [m, n] to its diagonal k.
Tensor diag(Operand x, int64_t k = 0);
// One tensor per 1-d input, all of one shape: input i varies along axis i ("ij"), or, as NumPy's default,
// the first two axes are swapped ("xy").
std::vector<Tensor> meshgrid(const std::vector<Tensor>& inputs, std::string_view indexing = "xy",
                             Location at = Location::here());

// Shape. ------------------------------------------------------------------------------------------------

// All elements in row-major order, [n].
Tensor ravel(Operand x);
// Reverses the order of the axes.
Tensor transpose(Operand x);
// Drops axes of size 1: the named ones (ShapeError[squeeze.size] when another size), or every such axis.
Tensor squeeze(Operand x, Axes axes = {});
// Adds axes of size 1 at these positions of the result.
Tensor expand_dims(Operand x, Axes axes);
Tensor swapaxes(Operand x, int64_t a, int64_t b);
// Moves axes `from` to positions `to`; the others keep their order.
Tensor moveaxis(Operand x, Axes from, Axes to);

// Joining and repeating. --------------------------------------------------------------------------------

// Inputs that agree in all axes but `axis`, one after the other. concatenate of ops.h under its short name.
Tensor concat(const std::vector<Tensor>& inputs, int64_t axis = 0, Location at = Location::here());
// Inputs of one type, along a new axis.
Tensor stack(const std::vector<Tensor>& inputs, int64_t axis = 0, Location at = Location::here());
// The slices of x along an axis, which goes away.
std::vector<Tensor> unstack(Operand x, int64_t axis = 0);
// Equal parts along an axis. Raises ShapeError[split.parts] when the size is no multiple of `parts`.
std::vector<Tensor> split(Operand x, int64_t parts, int64_t axis = 0);
// Parts of these sizes, which sum to the size of the axis.
std::vector<Tensor> split(Operand x, const Dims& sizes, int64_t axis = 0);
inline std::vector<Tensor> split(Operand x, std::initializer_list<int64_t> sizes, int64_t axis = 0) {
  return split(std::move(x), Dims(sizes), axis);
}
// Repeats x whole, `repeats[i]` times along axis i; shorter lists apply to the last axes.
Tensor tile(Operand x, const Dims& repeats);
// Repeats each element `repeats` times along an axis, next to each other.
Tensor repeat(Operand x, int64_t repeats, int64_t axis);
// Reverses the order of elements along these axes.
Tensor flip(Operand x, Axes axes = {});
// Moves elements by `shift` places along an axis; what falls off comes back at the other end.
Tensor roll(Operand x, int64_t shift, int64_t axis);

enum class PadMode : uint8_t {
  kConstant,   // `value`
  kEdge,       // a a [a b c] c c
  kReflect,    // c b [a b c] b a; needs two elements
  kSymmetric,  // b a [a b c] c b
};
// Adds `widths[i]` = {before, after} elements along axis i: numpy.pad. Raises ShapeError[pad.widths] when
// there is not one pair an axis, ValueError[pad.widths] for a negative one.
Tensor pad(Operand x, const std::vector<std::pair<int64_t, int64_t>>& widths,
           PadMode mode = PadMode::kConstant, double value = 0);

// Choosing. ---------------------------------------------------------------------------------------------

// take, take_along_axis, one_hot, sort, argsort, top_k, argmax, argmin, cumsum and cumprod are in ops.h.

// a where `condition` (bool) holds, else b; all three broadcast.
Tensor where(Operand condition, Operand a, Operand b);

// Comparison and logic: bool results. == and != are functions, since C++ code uses them for handles.
Tensor equal(Operand a, Operand b);
Tensor not_equal(Operand a, Operand b);
Tensor greater(Operand a, Operand b);
Tensor greater_equal(Operand a, Operand b);
Tensor less(Operand a, Operand b);
Tensor less_equal(Operand a, Operand b);
// Of bool operands; DTypeError[<function>.dtype] otherwise: compare with 0 first.
Tensor logical_and(Operand a, Operand b);
Tensor logical_or(Operand a, Operand b);
Tensor logical_xor(Operand a, Operand b);
Tensor logical_not(Operand x);
// bool: whether each element is NaN, an infinity of either sign. (is_finite is in ops.h.)
Tensor isnan(Operand x);
Tensor isinf(Operand x);
// Not as == and !=, which look like one bool.
Tensor operator==(Operand a, Operand b) = delete;  // equal(a, b)
Tensor operator!=(Operand a, Operand b) = delete;  // not_equal(a, b)
inline Tensor operator>(Operand a, Operand b) { return greater(std::move(a), std::move(b)); }
inline Tensor operator>=(Operand a, Operand b) { return greater_equal(std::move(a), std::move(b)); }
inline Tensor operator<(Operand a, Operand b) { return less(std::move(a), std::move(b)); }
inline Tensor operator<=(Operand a, Operand b) { return less_equal(std::move(a), std::move(b)); }

// Elementwise. ------------------------------------------------------------------------------------------

// The short names of ops.h's functions; round goes to the nearest even number.
inline Tensor exp(Operand x) { return exponential(std::move(x)); }
inline Tensor expm1(Operand x) { return exponential_minus_one(std::move(x)); }
inline Tensor log1p(Operand x) { return log_plus_one(std::move(x)); }
inline Tensor sin(Operand x) { return sine(std::move(x)); }
inline Tensor cos(Operand x) { return cosine(std::move(x)); }
inline Tensor pow(Operand x, Operand y) { return power(std::move(x), std::move(y)); }
inline Tensor sigmoid(Operand x) { return logistic(std::move(x)); }
inline Tensor round(Operand x) { return round_nearest_even(std::move(x)); }
// Elements below `low` become low, above `high` become high; NaN stays. On a bound the gradient is 0.
Tensor clip(Operand x, Operand low, Operand high);
// floor(a / b) and what it leaves, with the sign of b: Python's // and %. A whole number divided by 0 is -1
// and leaves a, as in ops.h.
Tensor floor_divide(Operand a, Operand b);
Tensor mod(Operand a, Operand b);

// Reductions. -------------------------------------------------------------------------------------------
// `axes` go away, or stay with size 1 when `keepdims`. The default is all axes, which gives a scalar.
// 16-bit floats are summed in f32 and rounded once.

// Number types; the sum of no element is 0. Raises DTypeError[sum.dtype] for bool: use count_nonzero.
Tensor sum(Operand x, Axes axes = {}, bool keepdims = false);
Tensor prod(Operand x, Axes axes = {}, bool keepdims = false);
// NaN wins. Of no element: the lowest or highest value of the dtype (-inf, inf).
Tensor max(Operand x, Axes axes = {}, bool keepdims = false);
Tensor min(Operand x, Axes axes = {}, bool keepdims = false);
// bool to bool. Of no element: any is false, all is true.
Tensor any(Operand x, Axes axes = {}, bool keepdims = false);
Tensor all(Operand x, Axes axes = {}, bool keepdims = false);
// i32 number of elements that are not zero (or true).
Tensor count_nonzero(Operand x, Axes axes = {}, bool keepdims = false);
// Floating-point types (DTypeError[mean.dtype] otherwise); of no element: NaN.
Tensor mean(Operand x, Axes axes = {}, bool keepdims = false);
// Mean squared distance from the mean, with divisor n - correction.
Tensor var(Operand x, Axes axes = {}, bool keepdims = false, double correction = 0);
// Its square root. (NumPy's name is taken by the namespace.)
Tensor stddev(Operand x, Axes axes = {}, bool keepdims = false, double correction = 0);
// log(sum(exp(x))) without overflow; -inf of no element.
Tensor logsumexp(Operand x, Axes axes = {}, bool keepdims = false);
// order 1: sum |x|. 2: sqrt(sum x^2), whose gradient at 0 is NaN. Infinity: max |x|. Axes are taken together
// as one vector. Raises ValueError[norm.order] for other orders.
Tensor norm(Operand x, double order = 2, Axes axes = {}, bool keepdims = false);

// Results whose shape depends on values. -----------------------------------------------------------------
// The tensor that decides must be concrete: StateError[<function>.traced] under trace.

// The places of the elements that are not zero: one i32[n] per axis, row-major order.
std::vector<Tensor> nonzero(Operand x);
// The slices of x where `mask` (bool, over the axes of x from `axis` on) holds, along one axis. Has a
// gradient for x, which may be symbolic.
Tensor boolean_mask(Operand x, Operand mask, int64_t axis = 0);
struct Unique {
  Tensor values;   // [n], ascending, NaN last and once
  Tensor inverse;  // i32 of x's shape: the place of each element in `values`
  Tensor counts;   // i32[n]
};
Unique unique(Operand x);

// Contraction. ------------------------------------------------------------------------------------------

// NumPy's matmul: [..., m, k] times [..., k, n]; leading axes broadcast; a 1-d operand is a row on the left
// and a column on the right, and its axis goes away. Raises ShapeError[matmul.k] when k differs,
// ShapeError[matmul.rank] for scalars.
Tensor matmul(Operand a, Operand b);
// Sums products over the last `axes` axes of a and the first of b.
Tensor tensordot(Operand a, Operand b, int64_t axes = 2);
// Sums products over axes `axes_a` of a, paired with `axes_b` of b. Free axes of a come first.
Tensor tensordot(Operand a, Operand b, const Dims& axes_a, const Dims& axes_b);
// [m] and [n] (others are raveled) to [m, n].
Tensor outer(Operand a, Operand b);
// Einstein's summation: "bij,bjk->bik", "...ij->...ji", "ii->i", "i,i", for any number of operands,
// contracted from left to right. Without "->" the result has the letters that occur once, in alphabetical
// order, after the axes of "...". A letter's sizes are equal in one operand, and equal or 1 across operands.
// Raises ValueError[einsum.spec] for text that is no such string and ShapeError[einsum.rank],
// ShapeError[einsum.size] when the operands do not fit it.
Tensor einsum(std::string_view spec, const std::vector<Tensor>& operands, Location at = Location::here());

}  // namespace espalier
