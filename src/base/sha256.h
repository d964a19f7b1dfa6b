// SHA-256 (FIPS 180-4): names bytes so that nobody can make others of the same name. HMAC-SHA256 (RFC 2104):
// shows that who has made it knows a key.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace espalier {

// 64 hexadecimal digits.
std::string sha256_of(std::string_view bytes);

// 32 bytes, of a key of any length.
std::string hmac_sha256(std::string_view key, std::string_view bytes);
// Whether they are equal, in a time that does not depend on where they differ.
bool same_digest(std::string_view a, std::string_view b);

struct FileDigest {
  std::string sha256;
  uint64_t bytes = 0;
};
// Of a file's first bytes, all of them unless told, in pieces. Raises IoError[file.read].
FileDigest digest_file(const std::string& path, uint64_t most = std::numeric_limits<uint64_t>::max());

}  // namespace espalier
