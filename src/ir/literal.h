// Dense host arrays: the payload of constants, of concrete tensors and of files.
#pragma once

#include <memory>

#include "espalier/shape.h"

namespace espalier {

// Bytes aligned to 64, shared and freed with their last owner.
using Buffer = std::shared_ptr<std::byte[]>;
// Uninitialised. Raises ValueError when the size cannot be had.
Buffer allocate_buffer(size_t bytes);

// A read-only view of an array in row-major order.
struct ArrayView {
  const TensorType* type = nullptr;
  const void* data = nullptr;
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};
// A writable view of an array in row-major order.
struct MutableArrayView {
  const TensorType* type = nullptr;
  void* data = nullptr;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  operator ArrayView() const { return {type, data}; }
};

// An immutable array. A splat stores one element that stands for all of them.
class Literal {
 public:
  Literal() = default;
  // All elements, row-major, in `buffer`.
  Literal(TensorType type, Buffer buffer) : type_(std::move(type)), buffer_(std::move(buffer)) {}
  // One element, repeated.
  static Literal splat(TensorType type, const void* element);
  static Literal splat(const TensorType& type, double value);
  static Literal splat(const TensorType& type, int64_t value);
  // Copies `elements` values.
  static Literal copy(TensorType type, const void* data);
  // All elements at `view`, which must outlive the literal and its copies. Copies nothing.
  static Literal borrow(const ArrayView& view) {
    return Literal(*view.type, Buffer(Buffer(), static_cast<std::byte*>(const_cast<void*>(view.data))));
  }
  template <class T>
  static Literal of(std::initializer_list<T> values) {
    return copy({dtype_of<T>(), {static_cast<int64_t>(values.size())}}, values.begin());
  }

  const TensorType& type() const { return type_; }
  bool is_splat() const { return splat_; }
  // The stored bytes: one element for a splat, all of them otherwise.
  const void* raw() const { return buffer_.get(); }
  size_t raw_bytes() const { return splat_ ? size_of(type_.dtype) : type_.bytes(); }
  // The same value with every element stored.
  Literal expanded() const;
  // A view of all elements. REQUIRES: not a splat.
  ArrayView view() const { return {&type_, buffer_.get()}; }
  const Buffer& buffer() const { return buffer_; }

  // Equal types and equal bytes of all elements; a splat equals its expansion.
  friend bool operator==(const Literal& a, const Literal& b);
  uint64_t hash() const;

 private:
  TensorType type_;
  Buffer buffer_;
  bool splat_ = false;
};

// Writes `count` copies of the element at `element`.
void fill_elements(void* destination, const void* element, size_t element_size, int64_t count);
// Writes `value`, converted, as one element of `dtype`.
void store_scalar(DType dtype, double value, void* destination);
void store_scalar(DType dtype, int64_t value, void* destination);
// Reads one element as double (64-bit integers round).
double load_scalar(DType dtype, const void* source);

}  // namespace espalier
