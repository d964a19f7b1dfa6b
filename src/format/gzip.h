// gzip, by zlib.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// Whether bytes begin as a gzip file does.
inline bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// `bytes` when they are not gzip, else what they hold, of all members. Raises FormatError[gzip.*]
// for damaged data, and beyond `limit` bytes of output.
std::string gunzip(std::string bytes, size_t limit = size_t{1} << 32);

}  // namespace espalier
