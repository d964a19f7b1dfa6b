// The ops: one line each. Arguments are tensors, variables or C++ scalars (which take the dtype of the tensor
// beside them). Two-operand elementwise ops broadcast by NumPy's rules. dtypes never promote between tensors.
// Every op's meaning, constraints (c1, c2, ...) and support table: `espalier info --ops`.
#pragma once

#include <string>
#include <vector>

#include "espalier/tensor.h"

namespace espalier {

// Creation.
// `limit` values 0, 1, ... along `axis` of `type`.
Tensor iota(const TensorType& type, int64_t axis, Location at = Location::here());
// Every element is `value`, stored once. Raises ShapeError[type.c1], [type.c2] for a size below 0 or more
// than 2^48 elements, ValueError[full.value] for a value that the dtype does not hold.
Tensor full(const Shape& shape, double value, DType dtype = DType::kF32, Location at = Location::here());

// Elementwise, one operand. Angles are in radians.
Tensor abs(Operand x);
// Not: logical on bool, bitwise on integers.
Tensor bitwise_not(Operand x);
Tensor cbrt(Operand x);
Tensor ceil(Operand x);
Tensor cosine(Operand x);
Tensor count_leading_zeros(Operand x);
Tensor exponential(Operand x);
Tensor exponential_minus_one(Operand x);
Tensor floor(Operand x);
// bool: neither infinite nor NaN.
Tensor is_finite(Operand x);
Tensor log(Operand x);
Tensor log_plus_one(Operand x);
// The sigmoid, 1 / (1 + exp(-x)).
Tensor logistic(Operand x);
Tensor negate(Operand x);
// Number of bits set.
Tensor popcnt(Operand x);
// The nearest integer, halves away from zero.
Tensor round_nearest_afz(Operand x);
// The nearest integer, halves to the even one.
Tensor round_nearest_even(Operand x);
Tensor rsqrt(Operand x);
Tensor sign(Operand x);
Tensor sine(Operand x);
Tensor sqrt(Operand x);
Tensor tan(Operand x);
Tensor tanh(Operand x);
inline Tensor operator~(Operand x) { return bitwise_not(std::move(x)); }

// Elementwise, two operands.
Tensor add(Operand a, Operand b);
// The angle of the point (b, a), in [-pi, pi].
Tensor atan2(Operand a, Operand b);
// and, or, exclusive or: logical on bool, bitwise on integers.
Tensor bitwise_and(Operand a, Operand b);
Tensor bitwise_or(Operand a, Operand b);
Tensor bitwise_xor(Operand a, Operand b);
Tensor divide(Operand a, Operand b);
Tensor maximum(Operand a, Operand b);
Tensor minimum(Operand a, Operand b);
Tensor multiply(Operand a, Operand b);
Tensor power(Operand a, Operand b);
// a - b * trunc(a / b): the sign is that of a.
Tensor remainder(Operand a, Operand b);
// Shifts of a by b bits. Beyond the width: 0, or copies of the sign bit in the arithmetic one.
Tensor shift_left(Operand a, Operand b);
Tensor shift_right_arithmetic(Operand a, Operand b);
Tensor shift_right_logical(Operand a, Operand b);
Tensor subtract(Operand a, Operand b);
inline Tensor& operator+=(Tensor& a, Operand b) { return a = add(a, std::move(b)); }
inline Tensor& operator-=(Tensor& a, Operand b) { return a = subtract(a, std::move(b)); }
inline Tensor& operator*=(Tensor& a, Operand b) { return a = multiply(a, std::move(b)); }
inline Tensor& operator/=(Tensor& a, Operand b) { return a = divide(a, std::move(b)); }
inline Tensor operator&(Operand a, Operand b) { return bitwise_and(std::move(a), std::move(b)); }
inline Tensor operator|(Operand a, Operand b) { return bitwise_or(std::move(a), std::move(b)); }
inline Tensor operator^(Operand a, Operand b) { return bitwise_xor(std::move(a), std::move(b)); }
inline Tensor operator+(Operand a, Operand b) { return add(std::move(a), std::move(b)); }
inline Tensor operator-(Operand a, Operand b) { return subtract(std::move(a), std::move(b)); }
inline Tensor operator*(Operand a, Operand b) { return multiply(std::move(a), std::move(b)); }
inline Tensor operator/(Operand a, Operand b) { return divide(std::move(a), std::move(b)); }
inline Tensor operator-(Operand x) { return negate(std::move(x)); }

// Special functions, in every floating-point dtype. Poles and domains: `espalier info --ops`.
Tensor acos(Operand x);
Tensor acosh(Operand x);
Tensor asin(Operand x);
Tensor asinh(Operand x);
Tensor atan(Operand x);
Tensor atanh(Operand x);
// exp(-|x|) I1(x).
Tensor bessel_i1e(Operand x);
Tensor cosh(Operand x);
// The derivative of lgamma.
Tensor digamma(Operand x);
Tensor erf(Operand x);
Tensor erf_inv(Operand x);
Tensor erfc(Operand x);
// log |gamma(x)|.
Tensor lgamma(Operand x);
// The upper half of the product of integers.
Tensor mulhi(Operand a, Operand b);
// The neighbour of a toward b among the values of the dtype.
Tensor next_after(Operand a, Operand b);
// The n-th derivative of digamma.
Tensor polygamma(Operand n, Operand x);
Tensor sinh(Operand x);
Tensor square(Operand x);
// The sum of (q + k)^-s over k = 0, 1, ....
Tensor zeta(Operand s, Operand q);

// Activations; the sigmoid is `logistic`.
Tensor elu(Operand x, double alpha = 1);
// x times the normal distribution function; `approximate` by tanh.
Tensor gelu(Operand x, bool approximate = false);
Tensor leaky_relu(Operand x, double negative_slope = 0.2);
Tensor relu(Operand x);
Tensor relu6(Operand x);
// x logistic(x), also called swish.
Tensor silu(Operand x);
Tensor softplus(Operand x);

// Comparison and choice.
enum class Comparison : uint8_t { kEQ, kNE, kGE, kGT, kLE, kLT };
Tensor compare(Operand a, Operand b, Comparison direction);
// Floats by IEEE 754's totalOrder: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
Tensor compare_total_order(Operand a, Operand b, Comparison direction);
// minimum(maximum(x, low), high). A bound is a scalar or broadcasts to the shape of x.
Tensor clamp(Operand low, Operand x, Operand high);
// on_true where `predicate`, else on_false. The predicate is a scalar or has the others' shape.
Tensor select(Operand predicate, Operand on_true, Operand on_false);
Tensor convert(Operand x, DType dtype);
// The same bits as another type. A narrower one adds a last axis of the parts, low bits first; a wider one
// takes such an axis away.
Tensor bitcast_convert(Operand x, DType dtype);
// x rounded as if to a float of these widths, in its own dtype.
Tensor reduce_precision(Operand x, int64_t exponent_bits, int64_t mantissa_bits);
// The same values, across which no pass moves, merges or removes work.
std::vector<Tensor> optimization_barrier(const std::vector<Tensor>& values, Location at = Location::here());

// Shape and movement.
// Axis i of x becomes axis `axes[i]` of the result; the other axes repeat. StableHLO's broadcast_in_dim.
Tensor broadcast_in_dim(Operand x, const Shape& shape, const Dims& axes);
// NumPy's broadcast_to.
Tensor broadcast_to(Operand x, const Shape& shape);
Tensor reshape(Operand x, const Shape& shape);
// Axis i of the result is axis `permutation[i]` of x.
Tensor transpose(Operand x, const Dims& permutation);
// Elements start, start + stride, ... below limit of each axis; strides default to 1.
Tensor slice(Operand x, const Dims& start, const Dims& limit, const Dims& strides = {});
// Copies of `value` before, behind and (interior, default 0) between the elements; negative edges remove.
Tensor pad(Operand x, Operand value, const Dims& low, const Dims& high, const Dims& interior = {});
Tensor reverse(Operand x, const Dims& axes);
Tensor concatenate(const std::vector<Tensor>& inputs, int64_t axis, Location at = Location::here());
// The box of `sizes` at one scalar integer start per axis, clamped so that the box fits.
Tensor dynamic_slice(Operand x, const std::vector<Tensor>& starts, const Dims& sizes);
// x with the box at `starts`, clamped so that it fits, replaced by `update`.
Tensor dynamic_update_slice(Operand x, Operand update, const std::vector<Tensor>& starts);

// Indexing by arrays of integers.
// The dimension numbers of StableHLO's gather and scatter. `array` is gather's result or scatter's updates.
struct IndexAxes {
  Dims window = {};     // array axes inside of a window: offset_dims, update_window_dims
  Dims collapsed = {};  // operand axes that the array lacks: collapsed_slice_dims, inserted_window_dims
  Dims operand_batching = {};  // operand axes that run with ...
  Dims indices_batching = {};  // ... these axes of the indices
  Dims index_map = {};         // the operand axis of each component of an index vector
  int64_t index_vector = 0;    // the axis of the indices that holds index vectors; their rank: scalars
};
// Promises about the indices; a result may be undefined when they are broken.
struct IndexHints {
  bool sorted = false, unique = false;
};
// Windows of `slice_sizes` at the starts that `indices` holds, clamped so that windows fit.
Tensor gather(Operand x, Operand indices, const IndexAxes& axes, const Dims& slice_sizes,
              const IndexHints& hints = {});
// x with updates combined into it; updates outside of x are dropped.
Tensor scatter_add(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                   const IndexHints& = {});
Tensor scatter_mul(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                   const IndexHints& = {});
Tensor scatter_max(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                   const IndexHints& = {});
Tensor scatter_min(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                   const IndexHints& = {});
Tensor scatter_update(Operand x, Operand indices, Operand updates, const IndexAxes& axes,
                      const IndexHints& = {});
// Slices of x at `indices` along `axis`, which the axes of the indices replace. An embedding lookup. Negative
// indices count from the back. One outside of the axis raises ShapeError[take.range] when it is known, else
// it is clamped.
Tensor take(Operand x, Operand indices, int64_t axis = 0);
// NumPy's take_along_axis: x and indices differ only in `axis`. Indices as in take.
Tensor take_along_axis(Operand x, Operand indices, int64_t axis);
// 1 at `indices` along a new `axis` of size `depth`, else 0; all zeros for an index outside.
Tensor one_hot(Operand indices, int64_t depth, int64_t axis = -1, DType dtype = DType::kF32);

// Order. NaN is above every number, -0 equals +0; equal elements keep their order.
Tensor sort(Operand x, int64_t axis = -1, bool descending = false);
// Moves the elements of all inputs as sorting the first does.
std::vector<Tensor> sort(const std::vector<Tensor>& inputs, int64_t axis, bool descending = false,
                         Location at = Location::here());
// The i32 indices that sort x along `axis`; equal elements keep their order.
Tensor argsort(Operand x, int64_t axis = -1, bool descending = false);
// The k largest of the last axis, largest first by IEEE totalOrder, and their i32 indices.
std::vector<Tensor> top_k(Operand x, int64_t k);
// The index of the first largest (smallest) element; NaN wins.
Tensor argmax(Operand x, int64_t axis, DType index_dtype = DType::kI32);
Tensor argmin(Operand x, int64_t axis, DType index_dtype = DType::kI32);
// Running totals along `axis`, from its end when `reverse`.
Tensor cumsum(Operand x, int64_t axis, bool reverse = false);
Tensor cumprod(Operand x, int64_t axis, bool reverse = false);
Tensor cummax(Operand x, int64_t axis, bool reverse = false);
Tensor cummin(Operand x, int64_t axis, bool reverse = false);
Tensor cumlogsumexp(Operand x, int64_t axis, bool reverse = false);

// Contraction and reduction.
struct DotAxes {
  Dims lhs_batching = {}, rhs_batching = {}, lhs_contracting = {}, rhs_contracting = {};
};
// StableHLO's dot_general: batching axes, then free axes of lhs, then of rhs.
Tensor dot_general(Operand lhs, Operand rhs, const DotAxes& axes);
// lhs [m,k] times rhs [k,n].
Tensor dot(Operand lhs, Operand rhs);
Tensor reduce_sum(Operand x, const Dims& axes);
Tensor reduce_max(Operand x, const Dims& axes);
Tensor reduce_min(Operand x, const Dims& axes);
Tensor reduce_prod(Operand x, const Dims& axes);
Tensor reduce_and(Operand x, const Dims& axes);
Tensor reduce_or(Operand x, const Dims& axes);

// Matrices in the last two axes; the others run together.
// L with L L^T = a, or U with U^T U = a; only that triangle of a is read.
Tensor cholesky(Operand a, bool lower = true);
struct TriangularOptions {
  bool left_side = true, lower = false, unit_diagonal = false, transpose_a = false;
};
// x with a x = b, or x a = b unless left_side, for a triangular a, perhaps transposed.
Tensor triangular_solve(Operand a, Operand b, const TriangularOptions& options = {});

// Windows. Lists have one entry a spatial axis; an empty one stands for its default (1, padding 0).
struct ConvolutionDimensions {
  int64_t input_batch = 0, input_feature = 1;
  Dims input_spatial = {};
  int64_t kernel_input_feature = 1, kernel_output_feature = 0;
  Dims kernel_spatial = {};
  int64_t output_batch = 0, output_feature = 1;
  Dims output_spatial = {};
};
// [batch, spatial..., feature] x [spatial..., input feature, output feature] -> [batch, spatial..., feature].
ConvolutionDimensions channels_last(size_t spatial_rank);
// [batch, feature, spatial...] x [output feature, input feature, spatial...] -> [batch, feature, spatial...].
ConvolutionDimensions channels_first(size_t spatial_rank);
struct ConvolutionOptions {
  Dims window_strides = {}, padding_low = {}, padding_high = {}, lhs_dilation = {}, rhs_dilation = {};
  Dims window_reversal = {};  // 0 or 1
  ConvolutionDimensions dimensions = {};
  int64_t feature_group_count = 1, batch_group_count = 1;
};
// StableHLO's convolution.
Tensor convolution(Operand input, Operand kernel, const ConvolutionOptions& options);
// Windows over all axes of x; a size and a stride for each axis, padding in front and behind.
struct PoolOptions {
  Dims window = {}, strides = {}, padding_low = {}, padding_high = {};
};
Tensor sum_pool(Operand x, const PoolOptions& options);
Tensor max_pool(Operand x, const PoolOptions& options);
Tensor min_pool(Operand x, const PoolOptions& options);
// The mean of the elements under the window; padding does not count.
Tensor average_pool(Operand x, const PoolOptions& options);

// Classification. `axis` may count from the back.
Tensor softmax(Operand x, int64_t axis = -1);
Tensor log_softmax(Operand x, int64_t axis = -1);
// logits f[..., C], integer labels [...]: the loss of each example, [...]. A label outside [0, C) gives NaN.
Tensor softmax_cross_entropy(Operand logits, Operand labels);
// -y log s - (1 - y) log(1 - s) with s = logistic(logits), elementwise; labels of the logits' dtype.
Tensor sigmoid_cross_entropy(Operand logits, Operand labels);
// log sum exp along `axis`, which disappears.
Tensor logsumexp(Operand x, int64_t axis);

// Normalisation and attention. f16 and bf16 are computed in f32 and rounded once.
// Over the last axes of x, as many as scale has; offset has scale's type: x's dtype or f32.
Tensor layer_normalization(Operand x, Operand scale, Operand offset, double epsilon = 1e-3);
struct NormalizationOptions {
  int64_t axis = -1;  // of the features; may count from the back
  double epsilon = 1e-3;
};
// By the statistics of the batch. Returns {y, mean, variance}, the latter f32 (f64 for f64) and biased. Rows
// (along axis 0) of row_weight zero count for nothing.
std::vector<Tensor> batch_normalization(Operand x, Operand scale, Operand offset,
                                        const NormalizationOptions& options = {}, Tensor row_weight = {});
// By given statistics.
Tensor batch_normalization_inference(Operand x, Operand scale, Operand offset, Operand mean, Operand variance,
                                     const NormalizationOptions& options = {});
struct AttentionOptions {
  bool causal = false;
  double scale = 0;  // 0: 1 / sqrt(depth)
};
// query [..., T, D], key [..., S, D], value [..., S, E]: [..., T, E]. mask [..., T, S]: true where a query
// may look.
Tensor attention(Operand query, Operand key, Operand value, const AttentionOptions& options = {},
                 Tensor mask = {});

// Randomness. The same (key, step) and position give the same value on every machine. key and step are u64
// scalars. A part of a larger array: its shape, and the i64 scalar at which the part begins on each axis. In
// a step on a part of a batch, as replicas and logical shards have, an array one of whose axes has the rows
// is by default that part of what one device draws for all rows, and others are equal on all, as is one that
// names its own shape as the whole: raises ValueError[random.rows] for an array that follows the number of
// rows otherwise, and for an order of rows.
struct Shard {
  Shape global_shape = {};
  std::vector<Tensor> offsets = {};
};
// Philox 4x32-10. dtype: u32 or u64.
Tensor random_bits(const Shape& shape, Operand key, Operand step, DType dtype = DType::kU32,
                   const Shard& shard = {});
// In [low, high), equidistant; `high` itself only where low + u (high - low) rounds to it.
Tensor random_uniform(const Shape& shape, Operand key, Operand step, double low = 0, double high = 1,
                      DType dtype = DType::kF32, const Shard& shard = {});
// By Box and Muller, from 24 random bits each for radius and angle (32 in f64): at most 5.8 (6.7) deviations
// out.
Tensor random_normal(const Shape& shape, Operand key, Operand step, double mean = 0, double deviation = 1,
                     DType dtype = DType::kF32, const Shard& shard = {});
// A normal distribution cut at two deviations from its mean.
Tensor truncated_normal(const Shape& shape, Operand key, Operand step, double mean = 0, double deviation = 1,
                        DType dtype = DType::kF32, const Shard& shard = {});
// Whole numbers in [low, high), each as likely as any other (to within (high - low) / 2^64). Raises
// ValueError[random.range] when high <= low or the dtype cannot hold them, DTypeError[random.dtype] for a
// type that is no integer.
Tensor random_integers(const Shape& shape, Operand key, Operand step, int64_t low, int64_t high,
                       DType dtype = DType::kI32, const Shard& shard = {});
// logits [..., n], unnormalised log-probabilities: i32[..., count] classes, drawn with replacement in
// proportion to exp(logits), as the first of n exponential arrivals. A class at -inf is drawn only where all
// are. Raises ShapeError[random_categorical.classes] for no class.
Tensor random_categorical(Operand logits, int64_t count, Operand key, Operand step);
// i32[n]: 0, ..., n - 1 in an order that is as likely as any other.
Tensor random_permutation(int64_t n, Operand key, Operand step);
// The slices of x along `axis` in a random order.
Tensor shuffle(Operand x, Operand key, Operand step, int64_t axis = 0);
// Each element is zero with probability `rate`, else x / (1 - rate). The examples of a vmap drop what the
// rows of one batch drop: each its own.
Tensor dropout(Operand x, double rate, Operand key, Operand step, const Shard& shard = {});
// Threefry 2x32-20 on u32 operands, broadcast: two random words from two key words and two counters.
std::vector<Tensor> threefry2x32(Operand key_0, Operand key_1, Operand x, Operand y);

// Optimizer steps. The scalars may be C++ numbers or tensors: learning_rate and gradient_scale f32, step i32,
// i64 or f32 and 1 at first, apply bool. Nothing changes when `apply` is false, whatever the gradient holds.
struct AdamOptions {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  double weight_decay = 0;  // decoupled: scaled by the learning rate, not by the moments
};
// Keras' Adam and AdamW. Returns {parameter, m, v}.
std::vector<Tensor> adam(Operand parameter, Operand m, Operand v, Operand gradient, Operand learning_rate,
                         Operand step, Operand gradient_scale = 1, Operand apply = true,
                         const AdamOptions& options = {});
struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};
// Keras' SGD. Returns {parameter, velocity}, or {parameter} without momentum, where `velocity` is not read.
std::vector<Tensor> sgd(Operand parameter, Operand velocity, Operand gradient, Operand learning_rate,
                        Operand gradient_scale = 1, Operand apply = true, const SgdOptions& options = {});

}  // namespace espalier
