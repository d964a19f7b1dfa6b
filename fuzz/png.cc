// Mutated PNGs, some with their checksums set right again: refused with a FormatError, or pixels.
#include <zlib.h>

#include "espalier/images.h"
#include "fuzz/mutate.h"

using namespace espalier;

namespace {

std::string chunk(const std::string& name, const std::string& data) {
  const auto number = [](uint64_t value) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
    return out;
  };
  const std::string body = name + data;
  return number(data.size()) + body +
         number(crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size()));
}

// The same chunks with checksums that are right.
std::string repaired(const std::string& bytes) {
  std::string out = bytes.substr(0, 8);
  for (size_t at = 8; at + 12 <= bytes.size();) {
    uint32_t size = 0;
    for (size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes[at + i]);
    const size_t length = std::min<size_t>(size, bytes.size() - at - 12);
    out += chunk(bytes.substr(at + 4, 4), bytes.substr(at + 8, length));
    at += 12 + length;
  }
  return out;
}

bool accept(const std::string& bytes) {
  try {
    decode_image(bytes.size() % 4 ? repaired(bytes) : bytes, {.channels = bytes.size() % 3 ? 0 : 4});
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

std::string packed(const std::string& bytes) {
  std::string out(compressBound(bytes.size()), '\0');
  uLongf size = out.size();
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
           bytes.size());
  return out.substr(0, size);
}

// 2 x 2 pixels: `rows`, each behind the byte of its filter.
std::string image(char depth, char kind, bool interlaced, const std::string& rows,
                  const std::string& more = {}) {
  const std::string header{0, 0, 0, 2, 0, 0, 0, 2, depth, kind, 0, 0, interlaced};
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + more + chunk("IDAT", packed(rows)) + chunk("IEND", "");
}
// The same bytes twice, as they are and as differences from their left.
std::string two(const std::string& row) { return std::string(1, '\0') + row + std::string(1, '\1') + row; }

}  // namespace

int main(int argc, char** argv) {
  const std::string palette = chunk("PLTE", "abcdef"), alpha = chunk("tRNS", "x");
  return fuzz::run(
      argc, argv, "fuzz_png",
      {image(8, 0, false, two("ab")), image(1, 0, false, two("\xc0")), image(8, 2, false, two("abcdef")),
       image(8, 6, false, two("abcdefgh")), image(16, 4, false, two("abcdefgh")),
       image(8, 2, true, std::string("\0abc\0def\0abcdef", 15)),
       image(1, 3, false, two("\x80"), palette + alpha)},
      {"IHDR", "PLTE", "tRNS", "IDAT", "IEND", "gAMA", std::string("\0\0\1\0", 4), std::string("\0\0\0\0", 4),
       "\x10", "\x7f\xff\xff\xff", "\1", palette, alpha},
      accept);
}
