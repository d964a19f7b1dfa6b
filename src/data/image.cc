#include "base/env.h"
#include "base/format.h"
#include "data/image_codecs.h"
#include "espalier/images.h"
#include "ir/sink.h"

namespace espalier {
namespace {

Literal with_channels(const Literal& image, int64_t channels) {
  const int64_t stored = image.type().shape[2];
  if (channels == 0 || channels == stored) return image;
  TensorType type = image.type();
  type.shape[2] = channels;
  Buffer buffer = allocate_buffer(type.bytes());
  const auto* from = image.view().as<uint8_t>();
  auto* to = reinterpret_cast<uint8_t*>(buffer.get());
  const bool colours = stored >= 3, alpha = stored % 2 == 0;
  for (int64_t pixel = 0; pixel < type.shape[0] * type.shape[1]; ++pixel, from += stored) {
    const uint8_t r = from[0], g = from[colours ? 1 : 0], b = from[colours ? 2 : 0];
    if (channels == 1) {
      // 0.299, 0.587 and 0.114 in parts of 65,536.
      *to++ = static_cast<uint8_t>((r * 19595 + g * 38470 + b * 7471 + 32768) >> 16);
      continue;
    }
    *to++ = r, *to++ = g, *to++ = b;
    if (channels == 4) *to++ = alpha ? from[stored - 1] : 255;
  }
  return Literal(type, std::move(buffer));
}

[[noreturn]] void fail_unknown(std::string_view bytes) {
  throw FormatError("image.format", cat("the ", bytes.size(), " bytes begin neither as a JPEG nor as a PNG"));
}

Literal decode(std::string_view bytes, const ImageOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 && options.channels != 4)
    throw ValueError("image.channels", cat("channels are 0 (the file's), 1, 3 or 4, not ", options.channels));
  const ImageBudget budget{options.channels,
                           options.limit.value_or((uint64_t{64} << 20) + 16 * uint64_t{bytes.size()})};
  if (is_jpeg(bytes)) return with_channels(decode_jpeg(bytes, budget), options.channels);
  if (is_png(bytes)) return with_channels(decode_png(bytes, budget), options.channels);
  fail_unknown(bytes);
}

// read(bytes of the file), whose mistakes name it.
template <class Read>
auto from_file(const std::string& path, Read read) {
  try {
    return read(posix_env().read_file(path));
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()));
  }
}

}  // namespace

void ImageBudget::check(int64_t height, int64_t width, int64_t stored, int64_t work) const {
  const int64_t bytes = stored + work + (channels == 0 || channels == stored ? 0 : channels);
  uint64_t needed = static_cast<uint64_t>(bytes);
  if (__builtin_mul_overflow(needed, static_cast<uint64_t>(height), &needed) ||
      __builtin_mul_overflow(needed, static_cast<uint64_t>(width), &needed) || needed > limit)
    throw FormatError("image.size", cat("an image of ", height, " x ", width, " pixels takes ", bytes,
                                        " bytes a pixel to decode, together more than ", limit));
}

Tensor decode_image(std::string_view bytes, const ImageOptions& options, Location at) {
  const CallScope scope(at);
  return make_concrete(decode(bytes, options));
}

Tensor load_image(const std::string& path, const ImageOptions& options, Location at) {
  const CallScope scope(at);
  return from_file(path, [&](const std::string& bytes) { return make_concrete(decode(bytes, options)); });
}

TensorType image_type(const std::string& path, Location at) {
  const CallScope scope(at);
  return from_file(path, [](const std::string& bytes) {
    if (is_jpeg(bytes)) return type_of_jpeg(bytes);
    if (is_png(bytes)) return type_of_png(bytes);
    fail_unknown(bytes);
  });
}

}  // namespace espalier
