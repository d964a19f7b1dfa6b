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
// Every element is `value`, stored once.
Tensor full(const Shape& shape, double value, DType dtype = DType::kF32);

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
inline Tensor operator&(Operand a, Operand b) { return bitwise_and(std::move(a), std::move(b)); }
inline Tensor operator|(Operand a, Operand b) { return bitwise_or(std::move(a), std::move(b)); }
inline Tensor operator^(Operand a, Operand b) { return bitwise_xor(std::move(a), std::move(b)); }
inline Tensor operator+(Operand a, Operand b) { return add(std::move(a), std::move(b)); }
inline Tensor operator-(Operand a, Operand b) { return subtract(std::move(a), std::move(b)); }
inline Tensor operator*(Operand a, Operand b) { return multiply(std::move(a), std::move(b)); }
inline Tensor operator/(Operand a, Operand b) { return divide(std::move(a), std::move(b)); }
inline Tensor operator-(Operand x) { return negate(std::move(x)); }

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

// Classification. `axis` may count from the back.
Tensor softmax(Operand x, int64_t axis = -1);
Tensor log_softmax(Operand x, int64_t axis = -1);
// logits f[..., C], integer labels [...]: the loss of each example, [...]. A label outside [0, C) gives NaN.
Tensor softmax_cross_entropy(Operand logits, Operand labels);

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
