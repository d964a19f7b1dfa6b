#include "base/sha256.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

class Sha256 {
 public:
  Sha256() { sha256_init(&state_); }
  void add(const char* bytes, size_t size) {
    sha256_update(&state_, size, reinterpret_cast<const uint8_t*>(bytes));
  }
  std::string hex() {
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(&state_, sizeof digest, digest);
    std::string out;
    for (const uint8_t byte : digest) {
      for (const int digit : {byte >> 4, byte & 15}) out += "0123456789abcdef"[digit];
    }
    return out;
  }

 private:
  sha256_ctx state_;
};

}  // namespace

std::string sha256_of(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes.data(), bytes.size());
  return sum.hex();
}

FileDigest digest_file(const std::string& path, uint64_t most) {
  const auto refuse = [&] {
    throw IoError("file.read", cat("cannot read ", path, ": ", std::strerror(errno)));
  };
  constexpr size_t kPiece = 1 << 18;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) refuse();
  Sha256 sum;
  FileDigest out;
  std::vector<char> piece(kPiece);
  while (out.bytes < most) {
    const size_t size =
        std::fread(piece.data(), 1, std::min<uint64_t>(piece.size(), most - out.bytes), file.get());
    if (size == 0) break;
    sum.add(piece.data(), size);
    out.bytes += size;
  }
  if (std::ferror(file.get())) refuse();
  out.sha256 = sum.hex();
  return out;
}

}  // namespace espalier
