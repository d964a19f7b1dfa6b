// IDX, the format of MNIST: 00 00, an element code, the rank, big-endian sizes, then the elements.
#pragma once

#include <string_view>

#include "ir/literal.h"

namespace espalier {

// Element codes 08 u8, 09 i8, 0b i16, 0c i32, 0d f32, 0e f64; elements are big-endian. Raises
// FormatError[idx.*] with what was found, for any bytes; allocates no more than the bytes hold.
Literal parse_idx(std::string_view bytes);
// The same from a file, plain or gzip; the message names the path.
Literal read_idx(const std::string& path);

}  // namespace espalier
