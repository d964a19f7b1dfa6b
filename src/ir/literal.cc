#include "ir/literal.h"

#include <cstring>

#include "base/blocks.h"
#include "base/format.h"
#include "base/hash.h"
#include "ir/buffer_watch.h"
#include "ir/dispatch.h"

namespace espalier {

void (*buffer_watch)(int64_t) = nullptr;

Buffer allocate_buffer(size_t bytes) {
  // Some bytes more, so that a vector may be read from any element.
  const size_t size = bytes + 64;
  auto* memory = size > bytes ? static_cast<std::byte*>(take_block(size)) : nullptr;
  if (!memory) throw ValueError("buffer.size", cat("cannot allocate ", bytes, " bytes"));
  if (buffer_watch) buffer_watch(static_cast<int64_t>(size));
  return Buffer(
      memory,
      [size](std::byte* block) {
        if (buffer_watch) buffer_watch(-static_cast<int64_t>(size));
        give_block(block, size);
      },
      BlockAllocator<std::byte>());
}

Literal Literal::splat(TensorType type, const void* element) {
  Literal out;
  out.buffer_ = allocate_buffer(size_of(type.dtype));
  std::memcpy(out.buffer_.get(), element, size_of(type.dtype));
  out.type_ = std::move(type);
  out.splat_ = true;
  return out;
}

Literal Literal::splat(const TensorType& type, double value) {
  std::byte element[8];
  store_scalar(type.dtype, value, element);
  return splat(type, element);
}

Literal Literal::splat(const TensorType& type, int64_t value) {
  std::byte element[8];
  store_scalar(type.dtype, value, element);
  return splat(type, element);
}

Literal Literal::copy(TensorType type, const void* data) {
  Buffer buffer = allocate_buffer(type.bytes());
  if (type.bytes()) std::memcpy(buffer.get(), data, type.bytes());
  return Literal(std::move(type), std::move(buffer));
}

Literal Literal::expanded() const {
  if (!splat_) return *this;
  Buffer buffer = allocate_buffer(type_.bytes());
  fill_elements(buffer.get(), raw(), size_of(type_.dtype), type_.elements());
  return Literal(type_, std::move(buffer));
}

bool operator==(const Literal& a, const Literal& b) {
  if (a.type_ != b.type_) return false;
  if (a.splat_ == b.splat_) return a.raw_bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.raw_bytes()) == 0;
  const Literal& one = a.splat_ ? a : b;
  const std::byte* all = (a.splat_ ? b : a).buffer_.get();
  const size_t size = size_of(a.type_.dtype);
  for (int64_t i = 0; i < a.type_.elements(); ++i) {
    if (std::memcmp(one.raw(), all + i * size, size) != 0) return false;
  }
  return true;
}

uint64_t Literal::hash() const {
  uint64_t h = hash_bytes(&type_.dtype, 1);
  h = hash_bytes(type_.shape.data(), type_.shape.size() * 8, h);
  if (type_.elements() == 0) return h;
  const size_t size = size_of(type_.dtype);
  const auto* bytes = buffer_.get();
  bool uniform = true;
  if (!splat_) {
    for (int64_t i = 1; i < type_.elements() && uniform; ++i)
      uniform = std::memcmp(bytes, bytes + i * size, size) == 0;
  }
  return hash_bytes(bytes, uniform ? size : type_.bytes(), h);
}

void fill_elements(void* destination, const void* element, size_t element_size, int64_t count) {
  if (count <= 0) return;
  auto* bytes = static_cast<std::byte*>(destination);
  const size_t total = element_size * static_cast<size_t>(count);
  std::memcpy(bytes, element, element_size);
  for (size_t done = element_size; done < total; done *= 2) {
    std::memcpy(bytes + done, bytes, std::min(done, total - done));
  }
}

void store_scalar(DType dtype, double value, void* destination) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element = static_cast<T>(value);
    std::memcpy(destination, &element, sizeof(T));
  });
}

void store_scalar(DType dtype, int64_t value, void* destination) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T element;
    if constexpr (is_half<T>) {
      element = T(static_cast<double>(value));
    } else {
      element = static_cast<T>(value);
    }
    std::memcpy(destination, &element, sizeof(T));
  });
}

double load_scalar(DType dtype, const void* source) {
  return visit_dtype(dtype, [&](auto tag) {
    typename decltype(tag)::type element;
    std::memcpy(&element, source, sizeof element);
    return static_cast<double>(element);
  });
}

}  // namespace espalier
