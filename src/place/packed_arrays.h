// Arrays one behind the other, as they travel in one message: each from a multiple of 64 bytes on.
#pragma once

#include <span>
#include <vector>

#include "espalier/tensor.h"
#include "ir/literal.h"

namespace espalier {

size_t packed_bytes(std::span<const TensorType> types);
// Gives the place behind the last one.
std::byte* pack(std::span<const Tensor> tensors, std::byte* to);
// In the memory of `buffer`, from `from` on, which points behind the last one then.
std::vector<Tensor> unpack(std::span<const TensorType> types, const Buffer& buffer, std::byte*& from);

}  // namespace espalier
