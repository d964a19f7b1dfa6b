#include "base/sha256.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
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

const uint8_t* octets(const char* bytes) { return reinterpret_cast<const uint8_t*>(bytes); }

class Sha256 {
 public:
  Sha256() { sha256_init(&state_); }
  void add(const char* bytes, size_t size) { sha256_update(&state_, size, octets(bytes)); }
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

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  hmac_sha256_ctx state;
  hmac_sha256_set_key(&state, key.size(), octets(key.data()));
  hmac_sha256_update(&state, bytes.size(), octets(bytes.data()));
  std::string out(SHA256_DIGEST_SIZE, '\0');
  hmac_sha256_digest(&state, out.size(), reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

bool same_digest(std::string_view a, std::string_view b) {
  return a.size() == b.size() && memeql_sec(a.data(), b.data(), a.size());
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
