#include "format/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr uint64_t kEncrypted = 1;
constexpr uint64_t kWide32 = 0xffffffff;  // the value stands in a field of 64 bits
constexpr size_t kEntrySize = 46, kHeaderSize = 30, kEndSize = 22, kLocatorSize = 20, kWideEndSize = 56;
constexpr size_t kLongestComment = 65535;

[[noreturn]] void bad_zip(const char* rule, std::string_view message) {
  throw FormatError(cat("zip.", rule), message);
}
[[noreturn]] void bad_zip(const char* rule, const std::string& entry, std::string_view message) {
  bad_zip(rule, cat("entry \"", shortened(entry), "\" ", message));
}

// `size` bytes at `offset`; nothing when they are not there.
std::string_view part_of(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.substr(offset, size);
}

// A little-endian number of `size` bytes. REQUIRES: they are there.
uint64_t number(std::string_view bytes, size_t offset, size_t size) {
  uint64_t out = 0;
  for (size_t i = size; i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[offset + i]);
  return out;
}

struct Directory {
  uint64_t entries = 0;
  std::string_view bytes = {};
};

Directory find_directory(std::string_view archive) {
  size_t end = archive.size() < kEndSize ? std::string_view::npos : archive.size() - kEndSize;
  const auto ends_here = [&] {
    return archive.substr(end, 4) == "PK\5\6" &&
           number(archive, end + 20, 2) == archive.size() - end - kEndSize;
  };
  while (end != std::string_view::npos && !ends_here())
    end = end == 0 || archive.size() - end - kEndSize == kLongestComment ? std::string_view::npos : end - 1;
  if (end == std::string_view::npos)
    bad_zip("archive", cat(archive.size(), " bytes without the directory that ends a zip archive"));
  uint64_t entries = number(archive, end + 10, 2), size = number(archive, end + 12, 4),
           offset = number(archive, end + 16, 4);
  uint64_t limit = end;
  if (const std::string_view locator = archive.substr(0, end);
      end >= kLocatorSize && locator.substr(end - kLocatorSize, 4) == "PK\6\7") {
    limit = number(archive, end - kLocatorSize + 8, 8);
    const std::string_view wide = part_of(archive, limit, kWideEndSize);
    if (!wide.starts_with("PK\6\6")) bad_zip("archive", cat("no directory's end at byte ", limit));
    entries = number(wide, 32, 8), size = number(wide, 40, 8), offset = number(wide, 48, 8);
  }
  if (offset > limit || size != limit - offset)
    bad_zip("archive", cat("a directory of ", size, " bytes at byte ", offset, " does not end at ", limit));
  return {entries, archive.substr(offset, size)};
}

struct ZipEntry {
  std::string name = {};
  uint64_t flags = 0, method = 0, checksum = 0, packed = 0, unpacked = 0, offset = 0;
};

// Takes the values that do not fit their fields from the extra field of zip64.
void widen(ZipEntry& entry, std::string_view extra) {
  while (extra.size() >= 4) {
    const uint64_t id = number(extra, 0, 2);
    std::string_view field = part_of(extra, 4, number(extra, 2, 2));
    extra.remove_prefix(std::min<size_t>(extra.size(), 4 + number(extra, 2, 2)));
    if (id != 1) continue;
    for (uint64_t* value : {&entry.unpacked, &entry.packed, &entry.offset}) {
      if (*value != kWide32 || field.size() < 8) continue;
      *value = number(field, 0, 8);
      field.remove_prefix(8);
    }
    return;
  }
}

// The next entry of the directory, which loses it.
ZipEntry take_entry(std::string_view& directory) {
  if (directory.size() < kEntrySize || !directory.starts_with("PK\1\2"))
    bad_zip("archive", cat("no entry where ", directory.size(), " bytes of the directory are left"));
  const std::string_view fixed = directory.substr(0, kEntrySize);
  const uint64_t name = number(fixed, 28, 2), extra = number(fixed, 30, 2), comment = number(fixed, 32, 2);
  if (directory.size() - kEntrySize < name + extra + comment)
    bad_zip("archive", cat("the directory ends inside of an entry with a name of ", name, " bytes"));
  ZipEntry out{.name = std::string(directory.substr(kEntrySize, name)),
               .flags = number(fixed, 8, 2),
               .method = number(fixed, 10, 2),
               .checksum = number(fixed, 16, 4),
               .packed = number(fixed, 20, 4),
               .unpacked = number(fixed, 24, 4),
               .offset = number(fixed, 42, 4)};
  widen(out, directory.substr(kEntrySize + name, extra));
  directory.remove_prefix(kEntrySize + name + extra + comment);
  return out;
}

std::string_view packed_bytes(std::string_view archive, const ZipEntry& entry) {
  const std::string_view header = part_of(archive, entry.offset, kHeaderSize);
  if (!header.starts_with("PK\3\4")) bad_zip("archive", entry.name, cat("is not at byte ", entry.offset));
  const uint64_t name = number(header, 26, 2), extra = number(header, 28, 2);
  if (part_of(archive, entry.offset + kHeaderSize, name) != entry.name)
    bad_zip("archive", entry.name, cat("has another name at byte ", entry.offset));
  const uint64_t start = entry.offset + kHeaderSize + name + extra;
  if (start > archive.size() || entry.packed > archive.size() - start)
    bad_zip("archive", entry.name, cat("has ", entry.packed, " bytes at ", start, " of ", archive.size()));
  return archive.substr(start, entry.packed);
}

// zlib counts in 32 bits.
uInt part_size(size_t left) { return static_cast<uInt>(std::min<size_t>(left, 1 << 30)); }

std::string inflated(const ZipEntry& entry, std::string_view packed) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw InternalError("zlib does not start");
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};
  std::string out(entry.unpacked, '\0');
  size_t read = 0, written = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = part_size(packed.size() - read);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = part_size(out.size() - written);
    status = inflate(&stream, Z_NO_FLUSH);
    read = static_cast<size_t>(reinterpret_cast<const char*>(stream.next_in) - packed.data());
    written = static_cast<size_t>(reinterpret_cast<char*>(stream.next_out) - out.data());
  }
  if (status == Z_STREAM_END && read == packed.size() && written == out.size()) return out;
  if (status == Z_STREAM_END)
    bad_zip("size", entry.name,
            cat("declares ", packed.size(), " bytes for ", out.size(), " and has ", read, " for ", written));
  if (status == Z_BUF_ERROR && written == out.size())
    bad_zip("size", entry.name, cat("declares ", out.size(), " bytes and has more"));
  bad_zip("archive", entry.name, cat("is damaged after ", read, " of ", packed.size(), " bytes"));
}

std::string contents_of(std::string_view archive, const ZipEntry& entry) {
  const std::string_view packed = packed_bytes(archive, entry);
  if (entry.method == kZipStored && entry.packed != entry.unpacked)
    bad_zip("size", entry.name, cat("is stored in ", entry.packed, " bytes and declares ", entry.unpacked));
  std::string out = entry.method == kZipStored ? std::string(packed) : inflated(entry, packed);
  const uint64_t checksum = crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size());
  if (checksum != entry.checksum)
    bad_zip("checksum", entry.name, cat("has the checksum ", checksum, " and declares ", entry.checksum));
  return out;
}

}  // namespace

void read_zip(std::span<const std::byte> bytes, uint64_t limit,
              const std::function<void(const std::string& name, std::string contents)>& take) {
  const std::string_view archive(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Directory directory = find_directory(archive);
  std::set<std::string> names;
  uint64_t packed = 0, unpacked = 0;
  while (!directory.bytes.empty()) {
    const ZipEntry entry = take_entry(directory.bytes);
    if (!names.insert(entry.name).second) bad_zip("names", entry.name, "stands twice");
    if (entry.flags & kEncrypted) bad_zip("encrypted", entry.name, "is encrypted");
    if (entry.method != kZipStored && entry.method != kZipDeflated)
      bad_zip("method", entry.name,
              cat("is compressed by method ", entry.method, ", not stored (0) or deflated (8)"));
    if (entry.packed > archive.size() - packed)
      bad_zip("size", entry.name,
              cat("takes ", entry.packed, " bytes, after ", packed, " of others in ", archive.size()));
    if (entry.unpacked > limit - unpacked)
      bad_zip("size", entry.name,
              cat("unpacks to ", entry.unpacked, " bytes, after ", unpacked, " of others; together at most ",
                  limit));
    packed += entry.packed;
    unpacked += entry.unpacked;
    take(entry.name, contents_of(archive, entry));
  }
  if (directory.entries != names.size())
    bad_zip("archive", cat("the directory has ", names.size(), " entries and declares ", directory.entries));
}

}  // namespace espalier
