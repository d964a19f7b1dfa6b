#include "format/idx.h"

#include <algorithm>
#include <optional>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "format/gzip.h"

namespace espalier {
namespace {

std::optional<DType> dtype_of_code(uint8_t code) {
  switch (code) {
    case 0x08:
      return DType::kU8;
    case 0x09:
      return DType::kI8;
    case 0x0b:
      return DType::kI16;
    case 0x0c:
      return DType::kI32;
    case 0x0d:
      return DType::kF32;
    case 0x0e:
      return DType::kF64;
    default:
      return std::nullopt;
  }
}

}  // namespace

Literal parse_idx(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (bytes.size() < 4 || byte(0) != 0 || byte(1) != 0)
    throw FormatError("idx.magic", "an IDX file begins with two zero bytes, an element code and the rank");
  const std::optional<DType> dtype = dtype_of_code(byte(2));
  if (!dtype)
    throw FormatError("idx.type", cat("unknown element code ", static_cast<int>(byte(2)), " at byte 2"));
  const size_t rank = byte(3), header = 4 + 4 * rank;
  if (bytes.size() < header)
    throw FormatError("idx.header", cat("rank ", rank, " needs a header of ", header, " bytes, the data has ",
                                        bytes.size()));
  TensorType type{*dtype, {}};
  // Counted without zero sizes, behind which an overflow could hide.
  constexpr int64_t kMost = int64_t{1} << 48;
  int64_t count = 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    uint32_t size = 0;
    for (size_t k = 0; k < 4; ++k) size = size << 8 | byte(4 + 4 * axis + k);
    type.shape.push_back(size);
    if (size > kMost / count) throw FormatError("idx.size", cat("more than 2^48 elements: ", type.shape));
    count *= std::max<int64_t>(size, 1);
  }
  if (bytes.size() != header + type.bytes()) {
    throw FormatError("idx.size",
                      cat("the header says ", type, ", after it stand ", bytes.size() - header, " bytes"));
  }
  Buffer buffer = allocate_buffer(type.bytes());
  const size_t width = size_of(*dtype);
  const auto* source = reinterpret_cast<const std::byte*>(bytes.data()) + header;
  for (size_t i = 0; i < type.bytes(); i += width)
    std::reverse_copy(source + i, source + i + width, buffer.get() + i);
  return Literal(std::move(type), std::move(buffer));
}

Literal read_idx(const std::string& path) {
  try {
    return parse_idx(gunzip(posix_env().read_file(path)));
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()));
  }
}

}  // namespace espalier
