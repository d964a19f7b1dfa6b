// NumPy's .npy files.
#pragma once

#include <span>
#include <string>

#include "ir/literal.h"

namespace espalier {

// The array in the bytes of a .npy file: versions 1 to 3, little-endian bool, i8 to i64, u8 to u64, f16, f32,
// f64; column-major arrays are transposed. Raises FormatError for anything else; memory stays within the
// bytes' size.
Literal parse_npy(std::span<const std::byte> bytes);
// A version 1 file; bf16 as f32, which holds its values exactly.
std::string npy_bytes(const Literal& literal);

// The same with files. Raises IoError naming the file.
Literal read_npy(const std::string& path);
void write_npy(const std::string& path, const Literal& literal);

}  // namespace espalier
