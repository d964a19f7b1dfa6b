#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <string>

#include "base/format.h"
#include "base/shortened.h"
#include "data/image_codecs.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);

[[noreturn]] void fail_png(std::string_view message) { throw FormatError("image.png", message); }

uint32_t number(std::string_view bytes) {
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  return out;
}

// The file without the chunks that pixels do not need: colour profiles, gamma, texts, which libpng would
// apply and unpack.
std::string essential_chunks(std::string_view bytes) {
  constexpr std::string_view kNeeded[] = {"IHDR", "PLTE", "tRNS", "IDAT", "IEND"};
  constexpr size_t kAround = 12;  // length, name and checksum
  std::string out(kSignature);
  out.reserve(bytes.size());
  std::string_view rest = bytes.substr(kSignature.size());
  for (;;) {
    if (rest.size() < kAround || number(rest) > rest.size() - kAround)
      fail_png(cat("the file is cut off: ", bytes.size(), " bytes without an IEND chunk"));
    const std::string_view chunk = rest.substr(0, kAround + number(rest)), name = chunk.substr(4, 4);
    rest.remove_prefix(chunk.size());
    if (std::find(std::begin(kNeeded), std::end(kNeeded), name) == std::end(kNeeded)) continue;
    const uint32_t checksum =
        static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(chunk.data() + 4), chunk.size() - 8));
    if (checksum != number(chunk.substr(chunk.size() - 4)))
      fail_png(cat("the checksum of the chunk ", name, " at byte ", bytes.size() - rest.size() - chunk.size(),
                   " is wrong"));
    out += chunk;
    if (name == "IEND") return out;
  }
}

// A PNG whose header is read.
class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : file_(essential_chunks(bytes)) {
    image_.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&image_, file_.data(), file_.size())) fail_png(image_.message);
    image_.format &= PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA;
    image_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  }
  ~PngReader() { png_image_free(&image_); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  TensorType type() const {
    return {DType::kU8, {image_.height, image_.width, PNG_IMAGE_SAMPLE_CHANNELS(image_.format)}};
  }
  void read(void* pixels) {
    if (!png_image_finish_read(&image_, nullptr, pixels, 0, nullptr)) fail_png(image_.message);
  }

 private:
  std::string file_;
  png_image image_{};
};

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with(kSignature); }

TensorType type_of_png(std::string_view bytes) { return PngReader(bytes).type(); }

Literal decode_png(std::string_view bytes, const ImageBudget& budget) {
  PngReader reader(bytes);
  const TensorType type = reader.type();
  budget.check(type.shape[0], type.shape[1], type.shape[2]);
  Buffer buffer = allocate_buffer(type.bytes());
  reader.read(buffer.get());
  return Literal(type, std::move(buffer));
}

}  // namespace espalier
