// gzip, by zlib.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// `bytes` when they are not gzip (no 1f 8b), else what they hold, of all members. Raises FormatError[gzip.*]
// for damaged data, and beyond `limit` bytes of output.
std::string gunzip(std::string bytes, size_t limit = size_t{1} << 32);

}  // namespace espalier
