#include <zlib.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "format/utf8.h"
#include "format/zip.h"

namespace espalier {
namespace {

struct Field {
  size_t size;
  uint64_t value;
};
// All sizes and offsets stand in zip64's fields, these say so in the others.
constexpr Field kCountInZip64{2, 0xffff}, kInZip64{4, 0xffffffff}, kZipVersion{2, 45}, kUtf8Name{2, 1 << 11};
constexpr Field kFirstOfJanuary1980{4, 0x210000};
constexpr uint64_t kLongestName = 65535;

void append_fields(std::string& out, std::string_view signature, std::initializer_list<Field> fields) {
  out += signature;
  for (const Field& field : fields) {
    for (size_t i = 0; i < field.size; ++i) out += static_cast<char>(field.value >> 8 * i);
  }
}

std::string deflated_bytes(std::string_view contents) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw InternalError("zlib does not start");
  struct End {
    z_stream* stream;
    ~End() { deflateEnd(stream); }
  } end{&stream};
  std::string out;
  char chunk[1 << 16];
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
  for (int status = Z_OK; status != Z_STREAM_END;) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(std::min<size_t>(contents.size(), 1 << 30));
      contents.remove_prefix(stream.avail_in);
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof chunk;
    status = deflate(&stream, contents.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.append(chunk, sizeof chunk - stream.avail_out);
  }
  return out;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::string_view contents, bool deflated) {
  if (name.empty() || name.size() > kLongestName || name.find('\0') != std::string::npos || !is_utf8(name))
    throw ValueError("zip.name", cat("\"", shortened(name), "\" of ", name.size(),
                                     " bytes names no entry: 1 to 65535 bytes of UTF-8 without zeros do"));
  const std::string packed_bytes = deflated ? deflated_bytes(contents) : std::string();
  const std::string_view packed = deflated ? packed_bytes : contents;
  const Field method{2, deflated ? kZipDeflated : kZipStored}, name_size{2, name.size()};
  const Field checksum{4, crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size())};
  const Field sizes[] = {{8, contents.size()}, {8, packed.size()}}, offset{8, bytes_.size()};

  append_fields(directory_, "PK\1\2",
                {kZipVersion, kZipVersion, kUtf8Name, method, kFirstOfJanuary1980, checksum});
  append_fields(directory_, {},
                {kInZip64, kInZip64, name_size, {2, 28}, {2, 0}, {2, 0}, {2, 0}, {4, 0}, kInZip64});
  append_fields(directory_, name, {{2, 1}, {2, 24}, sizes[0], sizes[1], offset});

  append_fields(bytes_, "PK\3\4", {kZipVersion, kUtf8Name, method, kFirstOfJanuary1980, checksum});
  append_fields(bytes_, {}, {kInZip64, kInZip64, name_size, {2, 20}});
  append_fields(bytes_, name, {{2, 1}, {2, 16}, sizes[0], sizes[1]});
  bytes_ += packed;
  ++entries_;
}

std::string ZipWriter::finish() {
  std::string out = std::move(bytes_);
  const Field entries{8, entries_}, size{8, directory_.size()}, offset{8, out.size()};
  out += directory_;
  const Field end{8, out.size()};
  append_fields(out, "PK\6\6",
                {{8, 44}, kZipVersion, kZipVersion, {4, 0}, {4, 0}, entries, entries, size, offset});
  append_fields(out, "PK\6\7", {{4, 0}, end, {4, 1}});
  append_fields(out, "PK\5\6", {{2, 0}, {2, 0}, kCountInZip64, kCountInZip64, kInZip64, kInZip64, {2, 0}});
  return out;
}

}  // namespace espalier
