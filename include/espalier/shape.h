// Dimension lists and tensor types.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/dtype.h"

namespace espalier {

// A list of 64-bit integers: sizes, axes, strides, permutations. Up to six are stored inline.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values)
      : Dims(std::span<const int64_t>(values.begin(), values.size())) {}
  Dims(std::span<const int64_t> values) { assign(values); }
  Dims(const std::vector<int64_t>& values) : Dims(std::span<const int64_t>(values)) {}
  // `count` copies of `value`.
  static Dims filled(size_t count, int64_t value);
  // 0, 1, ..., count - 1.
  static Dims range(size_t count);

  Dims(const Dims& other) : size_(other.size_) {
    std::memcpy(inline_, other.inline_, sizeof inline_);
    if (other.heap_) assign(other.span());
  }
  Dims(Dims&& other) noexcept { *this = std::move(other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) assign(other.span());
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInline);
    heap_ = std::move(other.heap_);
    std::memcpy(inline_, other.inline_, sizeof inline_);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return heap_ ? heap_.get() : inline_; }
  const int64_t* data() const { return heap_ ? heap_.get() : inline_; }
  int64_t& operator[](size_t i) { return data()[i]; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t& back() { return data()[size_ - 1]; }
  int64_t back() const { return data()[size_ - 1]; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  std::span<const int64_t> span() const { return {data(), size_}; }
  operator std::span<const int64_t>() const { return span(); }

  void push_back(int64_t value);
  void insert(size_t position, int64_t value);
  void erase(size_t position);
  bool contains(int64_t value) const;

  friend bool operator==(const Dims& a, const Dims& b) {
    return a.size_ == b.size_ && std::memcmp(a.data(), b.data(), a.size_ * sizeof(int64_t)) == 0;
  }

 private:
  static constexpr size_t kInline = 6;
  void assign(std::span<const int64_t> values);
  // The numbers lie in inline_ unless there is a heap_.
  uint32_t size_ = 0;
  uint32_t capacity_ = kInline;
  std::unique_ptr<int64_t[]> heap_;
  int64_t inline_[kInline] = {};
};

// A shape is its dimension sizes, outermost first. A scalar has none.
using Shape = Dims;

// Number of elements: the product of the sizes (1 for a scalar).
int64_t num_elements(const Shape& shape);
// Row-major strides in elements.
Dims row_major_strides(const Shape& shape);
// "[2,3]".
std::string to_string(const Dims& dims);

// Element type and shape of a tensor.
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  size_t rank() const { return shape.size(); }
  int64_t elements() const { return num_elements(shape); }
  size_t bytes() const { return static_cast<size_t>(elements()) * size_of(dtype); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// "f32[2,3]"; a scalar prints as "f32[]".
std::string to_string(const TensorType& type);

}  // namespace espalier
