#include <turbojpeg.h>

#include <memory>

#include "base/format.h"
#include "data/image_codecs.h"
#include "espalier/error.h"

namespace espalier {
namespace {

[[noreturn]] void fail_jpeg(std::string_view message) { throw FormatError("image.jpeg", message); }

// What TurboJPEG does not say of a file.
struct Markers {
  bool buffered = false;  // all coefficients are kept, since a scan does not hold whole pixels
  bool adobe = false;     // CMYK is stored inverted
};

// A marker without a segment behind it: TEM, RST0 to RST7, SOI.
bool stands_alone(unsigned marker) { return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8); }

// The same file without the bytes between the segments ahead of the first scan that belong to none.
std::string without_strays(std::string_view bytes) {
  std::string out(bytes.substr(0, 2));
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  for (size_t at = 2; at + 4 <= bytes.size();) {
    if (byte(at) != 0xff || byte(at + 1) == 0xff || byte(at + 1) == 0) {
      ++at;
      continue;
    }
    const size_t size = stands_alone(byte(at + 1)) ? 2 : 2 + (byte(at + 2) << 8 | byte(at + 3));
    if (byte(at + 1) == 0xda) return out.append(bytes.substr(at));
    out.append(bytes.substr(at, size));
    at += size;
  }
  return out;
}

Markers markers_of(std::string_view bytes) {
  const auto byte = [&](size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u; };
  Markers out;
  unsigned components = 0;
  for (size_t at = 2; at + 4 <= bytes.size();) {
    if (byte(at) != 0xff || byte(at + 1) == 0xff) {
      ++at;
      continue;
    }
    const unsigned marker = byte(at + 1), length = byte(at + 2) << 8 | byte(at + 3);
    if (stands_alone(marker)) {
      at += 2;
      continue;
    }
    if (marker == 0xda) {  // start of scan
      out.buffered |= byte(at + 4) < components;
      return out;
    }
    if (marker == 0xc2 || marker == 0xca) out.buffered = true;  // progressive
    if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc)
      components = byte(at + 9);
    if (marker == 0xee && bytes.substr(at + 4).starts_with("Adobe")) out.adobe = true;
    at += 2 + length;
  }
  return out;
}

// Bytes that stand between markers and mean nothing: many cameras and editors leave some.
bool is_harmless(tjhandle decoder) {
  return tjGetErrorCode(decoder) == TJERR_WARNING &&
         std::string_view(tjGetErrorStr2(decoder)).find("extraneous bytes before marker") !=
             std::string_view::npos;
}

// RGB in place of inverted or plain CMYK.
Literal rgb_of_cmyk(const Literal& cmyk, bool inverted) {
  TensorType type = cmyk.type();
  type.shape[2] = 3;
  Buffer buffer = allocate_buffer(type.bytes());
  const auto* from = cmyk.view().as<uint8_t>();
  auto* to = reinterpret_cast<uint8_t*>(buffer.get());
  const int flip = inverted ? 0 : 255;
  for (int64_t pixel = 0; pixel < type.shape[0] * type.shape[1]; ++pixel, from += 4) {
    for (int c = 0; c < 3; ++c)
      *to++ = static_cast<uint8_t>(((from[c] ^ flip) * (from[3] ^ flip) + 127) / 255);
  }
  return Literal(type, std::move(buffer));
}

using Decoder = std::unique_ptr<void, int (*)(tjhandle)>;
Decoder make_decoder() {
  Decoder out(tjInitDecompress(), tjDestroy);
  if (!out) throw InternalError("TurboJPEG does not start");
  return out;
}

struct JpegHeader {
  int width = 0, height = 0, subsampling = 0, space = 0;
  bool cmyk() const { return space == TJCS_CMYK || space == TJCS_YCCK; }
  bool gray() const { return space == TJCS_GRAY; }
};
JpegHeader read_header(tjhandle decoder, std::string_view bytes) {
  JpegHeader out;
  if (tjDecompressHeader3(decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                          &out.width, &out.height, &out.subsampling, &out.space) != 0 &&
      !is_harmless(decoder))
    fail_jpeg(tjGetErrorStr2(decoder));
  return out;
}

}  // namespace

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }

TensorType type_of_jpeg(std::string_view bytes) {
  const JpegHeader header = read_header(make_decoder().get(), bytes);
  return {DType::kU8, {header.height, header.width, header.gray() ? 1 : 3}};
}

Literal decode_jpeg(std::string_view bytes, const ImageBudget& budget) {
  const Decoder decoder = make_decoder();
  const JpegHeader header = read_header(decoder.get(), bytes);
  const int width = header.width, height = header.height, subsampling = header.subsampling;
  const bool cmyk = header.cmyk(), gray = header.gray();
  const int channels = gray ? 1 : cmyk ? 4 : 3;
  const Markers markers = markers_of(bytes);
  const int chroma = subsampling < 0 ? 1 : tjMCUWidth[subsampling] * tjMCUHeight[subsampling] / 64;
  budget.check(height, width, channels,
               (cmyk ? 3 : 0) + (markers.buffered ? 2 + (2 * (channels - 1) + chroma - 1) / chroma : 0));

  const TensorType type{DType::kU8, {height, width, channels}};
  Buffer buffer = allocate_buffer(type.bytes());
  const auto decode = [&](std::string_view file, int flags) {
    return tjDecompress2(decoder.get(), reinterpret_cast<const unsigned char*>(file.data()), file.size(),
                         reinterpret_cast<unsigned char*>(buffer.get()), width, 0, height,
                         gray   ? TJPF_GRAY
                         : cmyk ? TJPF_CMYK
                                : TJPF_RGB,
                         TJFLAG_LIMITSCANS | flags) == 0;
  };
  // Decoding tells of its first warning only, so that this one must not stand before others: those of a file
  // that is cut off.
  bool fine = decode(bytes, TJFLAG_STOPONWARNING);
  if (!fine && is_harmless(decoder.get())) {
    const std::string clean = without_strays(bytes);
    const bool whole = clean.ends_with("\xff\xd9");
    fine = decode(clean, TJFLAG_STOPONWARNING) ||
           (whole && is_harmless(decoder.get()) && (decode(clean, 0) || is_harmless(decoder.get())));
  }
  if (!fine) fail_jpeg(tjGetErrorStr2(decoder.get()));
  const Literal out(type, std::move(buffer));
  return cmyk ? rgb_of_cmyk(out, markers.adobe) : out;
}

}  // namespace espalier
