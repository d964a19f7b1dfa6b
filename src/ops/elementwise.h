// Rules and reference bodies of elementwise ops, by the set of dtypes they take.
#pragma once

#include "ir/dispatch.h"
#include "ops/call.h"
#include "ops/registry.h"

namespace espalier {

enum DTypeSet : unsigned { kFloats = 1, kSigned = 2, kUnsigned = 4, kBools = 8 };
inline constexpr unsigned kIntegers = kSigned | kUnsigned, kNumbers = kFloats | kIntegers,
                          kAnyDType = kNumbers | kBools;

constexpr bool in_set(DType dtype, unsigned set) {
  return (is_float(dtype) && (set & kFloats)) || (is_signed_integer(dtype) && (set & kSigned)) ||
         (is_unsigned_integer(dtype) && (set & kUnsigned)) || (dtype == DType::kBool && (set & kBools));
}
// "floating-point, signed": for messages.
const std::string& set_text(unsigned set);

// c1: the dtype is in the set. The result has the operand's type.
template <unsigned kSet>
void infer_unary(InferContext& c) {
  c.require_inputs(1);
  c.require_dtype(in_set(c.in(0).dtype, kSet), "c1", "takes ", set_text(kSet), " elements, got ", c.in(0));
  c.result(c.in(0));
}

// c1: the dtype is in the set. c2: operands have one type, which is the result's.
template <unsigned kSet>
void infer_binary(InferContext& c) {
  c.require_inputs(2);
  c.require_dtype(in_set(c.in(0).dtype, kSet), "c1", "takes ", set_text(kSet), " elements, got ", c.in(0));
  c.require_dtype(c.in(0).dtype == c.in(1).dtype, "c2", "dtypes must be equal: ", c.in(0), " and ", c.in(1));
  c.require(c.in(0).shape == c.in(1).shape, "c2", "shapes must be equal: ", c.in(0), " and ", c.in(1));
  c.result(c.in(0));
}

// A subnormal number as the zero of its sign. Instructions that choose between numbers differ in whether they
// do this (the MAX of x86 does, a blend does not), so ops that choose by size always do.
template <class T>
T flush_subnormal(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
}

// F::apply(x) on each element, in float for the 16-bit types, rounded once.
template <class F, unsigned kSet>
void eval_unary(EvalContext& c) {
  visit_dtype(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (in_set(dtype_of<T>(), kSet)) {
      const T* x = c.in(0).as<T>();
      T* out = c.out(0).as<T>();
      const int64_t n = c.out(0).type->elements();
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(F::apply(static_cast<Compute<T>>(x[i])));
    }
  });
}

template <class F, unsigned kSet>
void eval_binary(EvalContext& c) {
  visit_dtype(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (in_set(dtype_of<T>(), kSet)) {
      const T *a = c.in(0).as<T>(), *b = c.in(1).as<T>();
      T* out = c.out(0).as<T>();
      const int64_t n = c.out(0).type->elements();
      for (int64_t i = 0; i < n; ++i) {
        out[i] = static_cast<T>(F::apply(static_cast<Compute<T>>(a[i]), static_cast<Compute<T>>(b[i])));
      }
    }
  });
}

// Integer arithmetic that wraps: the unsigned twin of T, at least as wide as unsigned.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;

}  // namespace espalier
