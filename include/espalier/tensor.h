// Tensors: immutable arrays that ops are called on.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "espalier/error.h"
#include "espalier/shape.h"

namespace espalier {

struct TensorNode;

// A handle on an immutable array, cheap to copy. A tensor is either *concrete* (it has data) or, while a
// function is being traced, *symbolic* (it names a value of the graph under construction, and asking for its
// data is an error). Copies share; handles may be passed between threads.
class Tensor {
 public:
  // Holds nothing; every use but assignment and `defined()` is an error.
  Tensor() = default;
  explicit Tensor(std::shared_ptr<const TensorNode> node) : node_(std::move(node)) {}

  // A 0-d tensor of T's dtype.
  template <class T>
  static Tensor scalar(T value) {
    return from_bytes({dtype_of<T>(), {}}, &value);
  }
  // A tensor of `shape` from row-major values. Raises ShapeError when the counts differ.
  template <class T>
  static Tensor of(const std::vector<T>& values, const Shape& shape, Location at = Location::here()) {
    if constexpr (std::is_same_v<T, bool>) {
      const std::vector<uint8_t> bytes(values.begin(), values.end());
      return from_values({DType::kBool, shape}, bytes.data(), bytes.size(), at);
    } else {
      return from_values({dtype_of<T>(), shape}, values.data(), values.size(), at);
    }
  }
  // A 1-d tensor.
  template <class T>
  static Tensor of(std::initializer_list<T> values) {
    return of(std::vector<T>(values), {static_cast<int64_t>(values.size())});
  }
  // [values.size()].
  template <class T>
  static Tensor of(const std::vector<T>& values) {
    return of(values, {static_cast<int64_t>(values.size())});
  }
  // Copies row-major bytes of `type`.
  static Tensor from_bytes(const TensorType& type, const void* data);

  bool defined() const { return node_ != nullptr; }
  bool concrete() const;
  // These raise StateError[tensor.undefined] for a tensor that holds nothing.
  const TensorType& type(Location at = Location::here()) const;
  DType dtype(Location at = Location::here()) const { return type(at).dtype; }
  const Shape& shape(Location at = Location::here()) const { return type(at).shape; }
  size_t rank(Location at = Location::here()) const { return type(at).shape.size(); }
  // The size of one axis; negative axes count from the back.
  int64_t size(int64_t axis, Location at = Location::here()) const;

  // The elements, row-major. Raises StateError for a symbolic tensor, DTypeError when T is another type.
  template <class T>
  std::span<const T> data(Location at = Location::here()) const {
    return {static_cast<const T*>(checked_data(dtype_of<T>(), at)), static_cast<size_t>(type().elements())};
  }
  template <class T>
  std::vector<T> to_vector(Location at = Location::here()) const {
    const auto all = data<T>(at);
    return {all.begin(), all.end()};
  }
  // The only element of a tensor of one element. Raises StateError under trace.
  template <class T>
  T item(Location at = Location::here()) const {
    require_single(at);
    return data<T>(at)[0];
  }
  // The elements as bytes, whatever the dtype.
  const void* bytes() const;

  const std::shared_ptr<const TensorNode>& node() const { return node_; }

 private:
  static Tensor from_values(const TensorType& type, const void* data, size_t count, Location at);
  const void* checked_data(DType dtype, Location at) const;
  void require_single(Location at) const;
  std::shared_ptr<const TensorNode> node_;
};

// An argument of an op: a tensor, anything with `Tensor read() const` (a Variable), or a C++ scalar, which
// takes the dtype of the tensors beside it. It also remembers the line of the user's call.
class Operand {
 public:
  Operand(Tensor tensor, Location at = Location::here()) : tensor_(std::move(tensor)), at_(at) {}
  template <class T>
  requires requires(const T& t) {
    { t.read() } -> std::same_as<Tensor>;
  }
  Operand(const T& readable, Location at = Location::here()) : tensor_(readable.read()), at_(at) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T value, Location at = Location::here())
      : at_(at), scalar_(true), integral_(std::is_integral_v<T>) {
    if constexpr (std::is_integral_v<T>) {
      integer_ = static_cast<int64_t>(value);
      real_ = static_cast<double>(value);
      if constexpr (std::is_same_v<T, unsigned long> || std::is_same_v<T, unsigned long long>)
        huge_ = integer_ < 0;
    } else {
      real_ = static_cast<double>(value);
    }
  }

  bool is_scalar() const { return scalar_; }
  Location at() const { return at_; }
  // The tensor; raises ValueError for a C++ scalar, whose dtype would be a guess.
  const Tensor& tensor() const;
  // The tensor, or the scalar as a 0-d tensor of `dtype`. Raises DTypeError[operand.fraction] for a fraction
  // in an integer type, ValueError[operand.value] for a number that an integer type does not hold.
  Tensor as(DType dtype) const;

 private:
  Tensor tensor_;
  Location at_;
  bool scalar_ = false;
  bool integral_ = false;
  bool huge_ = false;  // beyond i64: integer_ holds the bits of a u64
  int64_t integer_ = 0;
  double real_ = 0;
};

}  // namespace espalier
