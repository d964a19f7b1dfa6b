// Files of named arrays: safetensors.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/literal.h"

namespace espalier {

struct NamedArray {
  std::string name;
  Literal value;
};

struct SafeTensors {
  std::vector<NamedArray> arrays;  // each name once
  std::map<std::string, std::string> metadata;
  // Arrays whose elements are of a type that is not read, and the file's word for it: "F8_E4M3".
  std::map<std::string, std::string> unread = {};

  // Null when there is none of that name. Raises UnsupportedError[safetensors.dtype] for one of `unread`.
  const Literal* find(const std::string& name) const;
};

// The arrays in the bytes of a safetensors file: a length, a JSON header, the elements without holes. An
// array of a type that is not read is listed and matters only to who asks for it. Raises
// FormatError[safetensors.*] with the name of the array for anything else; memory stays within a few times
// the bytes' size.
SafeTensors parse_safetensors(std::span<const std::byte> bytes);
// Arrays in the order given; the elements begin at a multiple of 8 bytes. Raises
// ValueError[safetensors.names] for a name that stands twice, is "__metadata__" or, as any text of the
// metadata, no UTF-8.
std::string safetensors_bytes(const SafeTensors& tensors);
// Those bytes in a file, without a copy of the elements in between. Raises IoError, too.
void write_safetensors(const std::string& path, const SafeTensors& tensors);

// The same from a file. Raises IoError naming the file.
SafeTensors read_safetensors(const std::string& path);

}  // namespace espalier
