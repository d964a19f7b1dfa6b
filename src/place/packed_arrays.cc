#include "place/packed_arrays.h"

#include <cstring>

#include "ir/sink.h"

namespace espalier {
namespace {

size_t room_of(const TensorType& type) { return (type.bytes() + 63) / 64 * 64; }

}  // namespace

size_t packed_bytes(std::span<const TensorType> types) {
  size_t out = 0;
  for (const TensorType& type : types) out += room_of(type);
  return out;
}

std::byte* pack(std::span<const Tensor> tensors, std::byte* to) {
  for (const Tensor& tensor : tensors) {
    if (const size_t bytes = tensor.type().bytes()) std::memcpy(to, tensor.bytes(), bytes);
    to += room_of(tensor.type());
  }
  return to;
}

std::vector<Tensor> unpack(std::span<const TensorType> types, const Buffer& buffer, std::byte*& from) {
  std::vector<Tensor> out;
  for (const TensorType& type : types) {
    out.push_back(make_concrete(Literal(type, Buffer(buffer, from))));
    from += room_of(type);
  }
  return out;
}

}  // namespace espalier
