// Zip archives in memory: PKWARE's APPNOTE 6.3, entries stored or deflated.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

// How the contents of an entry stand in the archive.
inline constexpr uint64_t kZipStored = 0, kZipDeflated = 8;

// Calls `take(name, contents)` for each entry in the order of the archive's directory. Memory besides what
// `take` keeps is that of the largest entry. Raises FormatError[zip.*]: archive (no zip, damaged, cut off),
// names (a name twice), encrypted, method, size (an entry that has more or less than it declares, entries
// that overlap, together more than `limit` bytes), checksum.
void read_zip(std::span<const std::byte> bytes, uint64_t limit,
              const std::function<void(const std::string& name, std::string contents)>& take);

// An archive of entries added one by one; its bytes depend on nothing but them.
class ZipWriter {
 public:
  // Raises ValueError[zip.name] for a name that is empty, is no UTF-8, has a zero byte or more than 65,535
  // bytes.
  void add(const std::string& name, std::string_view contents, bool deflated);
  // Ends the archive and gives it away.
  std::string finish();

 private:
  std::string bytes_, directory_;
  uint64_t entries_ = 0;
};

}  // namespace espalier
