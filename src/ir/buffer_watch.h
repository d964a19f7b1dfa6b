// For programs that watch memory, such as fuzzers.
#pragma once

#include <cstdint>

namespace espalier {

// Told the bytes of each buffer of allocate_buffer(), and their negative when it is freed. Null: nobody is
// told. Set before the first buffer is made.
extern void (*buffer_watch)(int64_t bytes);

}  // namespace espalier
