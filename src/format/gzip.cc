#include "format/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

std::string gunzip(std::string bytes, size_t limit) {
  if (!is_gzip(bytes)) return bytes;
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw InternalError("zlib does not start");
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  char chunk[1 << 16];
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof chunk;
    const int status = inflate(&stream, Z_NO_FLUSH);
    const size_t offset = bytes.size() - stream.avail_in;
    if (status != Z_OK && status != Z_STREAM_END) {
      const bool short_input = status == Z_BUF_ERROR && stream.avail_in == 0;
      throw FormatError(
          "gzip.data", cat(short_input ? "the data ends early" : "the data is damaged", " at byte ", offset));
    }
    out.append(chunk, sizeof chunk - stream.avail_out);
    if (out.size() > limit) throw FormatError("gzip.size", cat("unpacks to more than ", limit, " bytes"));
    if (status != Z_STREAM_END) continue;
    if (stream.avail_in == 0) return out;
    if (inflateReset(&stream) != Z_OK) throw InternalError("zlib does not restart");
  }
}

}  // namespace espalier
