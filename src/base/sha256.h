// SHA-256 (FIPS 180-4): names bytes so that nobody can make others of the same name.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// 64 hexadecimal digits.
std::string sha256_of(std::string_view bytes);

struct FileDigest {
  std::string sha256;
  uint64_t bytes = 0;
};
// Of a file, in pieces. Raises IoError[file.read].
FileDigest digest_file(const std::string& path);

}  // namespace espalier
