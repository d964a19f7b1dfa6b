#include "espalier/shape.h"

#include <algorithm>

namespace espalier {

void Dims::assign(std::span<const int64_t> values) {
  if (values.size() > capacity_) {
    heap_ = std::make_unique<int64_t[]>(values.size());
    capacity_ = static_cast<uint32_t>(values.size());
  }
  std::copy(values.begin(), values.end(), data());
  size_ = static_cast<uint32_t>(values.size());
}

Dims Dims::filled(size_t count, int64_t value) { return Dims(std::vector<int64_t>(count, value)); }

Dims Dims::range(size_t count) {
  Dims out = filled(count, 0);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(i);
  return out;
}

void Dims::push_back(int64_t value) { insert(size_, value); }

void Dims::insert(size_t position, int64_t value) {
  if (size_ == capacity_) {
    auto bigger = std::make_unique<int64_t[]>(2 * capacity_);
    std::copy(begin(), end(), bigger.get());
    heap_ = std::move(bigger);
    capacity_ *= 2;
  }
  std::copy_backward(begin() + position, end(), end() + 1);
  data()[position] = value;
  ++size_;
}

void Dims::erase(size_t position) {
  std::copy(begin() + position + 1, end(), begin() + position);
  --size_;
}

bool Dims::contains(int64_t value) const { return std::find(begin(), end(), value) != end(); }

int64_t num_elements(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

Dims row_major_strides(const Shape& shape) {
  Dims strides = Dims::filled(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string to_string(const Dims& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) out += ',';
    out += std::to_string(dims[i]);
  }
  return out + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(name(type.dtype)) + to_string(type.shape);
}

}  // namespace espalier
