// Mutated JPEGs: refused with a FormatError, or pixels.
#include <turbojpeg.h>

#include "espalier/images.h"
#include "fuzz/mutate.h"

using namespace espalier;

namespace {

bool accept(const std::string& bytes) {
  try {
    decode_image(bytes, {.channels = bytes.size() % 3 ? 0 : 4});
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

// 20 x 12 pixels.
std::string image(int pixels, int subsampling, int flags) {
  constexpr int kWidth = 20, kHeight = 12;
  std::string from;
  for (int i = 0; i < kWidth * kHeight * tjPixelSize[pixels]; ++i) from += static_cast<char>(i * i / 7);
  const tjhandle encoder = tjInitCompress();
  unsigned char* to = nullptr;
  unsigned long size = 0;
  tjCompress2(encoder, reinterpret_cast<const unsigned char*>(from.data()), kWidth, 0, kHeight, pixels, &to,
              &size, subsampling, 80, flags);
  const std::string out(reinterpret_cast<const char*>(to), size);
  tjFree(to);
  tjDestroy(encoder);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(argc, argv, "fuzz_jpeg",
                   {image(TJPF_RGB, TJSAMP_420, 0), image(TJPF_RGB, TJSAMP_444, 0),
                    image(TJPF_RGB, TJSAMP_420, TJFLAG_PROGRESSIVE), image(TJPF_GRAY, TJSAMP_GRAY, 0),
                    image(TJPF_CMYK, TJSAMP_444, 0)},
                   {"\xff\xd8", "\xff\xd9", "\xff\xc0", "\xff\xc2", "\xff\xc4", "\xff\xda", "\xff\xdb",
                    "\xff\xdd", "\xff\xee", "Adobe", std::string("\xff\0", 2), std::string("\0\0", 2),
                    "\xff\xff", "\x10\x10", std::string("\1\0", 2)},
                   accept);
}
