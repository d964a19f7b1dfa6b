#include <zlib.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "espalier/images.h"
#include "espalier/npy.h"

namespace espalier {
namespace {

std::string image_file(const std::string& name) {
  return posix_env().read_file("tests/golden/images/" + name);
}

std::string image_error_of(const std::string& bytes, const ImageOptions& options = {}) {
  try {
    decode_image(bytes, options);
  } catch (const Error& error) {
    return error.rule() + ": " + error.message();
  }
  return "read";
}

// The largest difference of two images; 256 of those that differ in shape.
int difference(const Tensor& got, const Tensor& wanted) {
  if (got.type() != wanted.type()) return 256;
  int worst = 0;
  for (size_t i = 0; i < got.data<uint8_t>().size(); ++i)
    worst = std::max(worst, std::abs(got.data<uint8_t>()[i] - wanted.data<uint8_t>()[i]));
  return worst;
}

void put_number(std::string& bytes, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> 8 * (size - 1 - i));
}

// A PNG that declares other sizes.
std::string with_png_size(std::string bytes, uint32_t width, uint32_t height) {
  put_number(bytes, 16, width, 4);
  put_number(bytes, 20, height, 4);
  put_number(bytes, 29, crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + 12), 17), 4);
  return bytes;
}
// A JPEG that does.
std::string with_jpeg_size(std::string bytes, uint16_t width, uint16_t height) {
  size_t frame = bytes.find("\xff\xc0");
  if (frame == std::string::npos) frame = bytes.find("\xff\xc2");
  put_number(bytes, frame + 5, height, 2);
  put_number(bytes, frame + 7, width, 2);
  return bytes;
}

TEST(Images, ArePilsPixels) {
  const auto golden = load_npz("tests/golden/images.npz");
  EXPECT_EQ(golden.size(), 31u);
  for (const auto& [key, wanted] : golden) {
    const size_t colon = key.find(':');
    const std::string name = key.substr(0, colon);
    const int64_t channels = colon == std::string::npos ? 0 : std::stoi(key.substr(colon + 1));
    const Tensor got = load_image("tests/golden/images/" + name, {.channels = channels});
    EXPECT_LE(difference(got, wanted), name.ends_with(".jpg") ? 2 : 0) << key << " " << to_string(got.type());
  }
}

TEST(Images, DeclaredSizesAreBoundedBeforeTheyAreBelieved) {
  EXPECT_EQ(image_error_of(with_png_size(image_file("rgb.png"), 60000, 60000)),
            cat("image.size: an image of 60000 x 60000 pixels takes 3 bytes a pixel to decode, together more "
                "than ",
                (64 << 20) + 16 * 900));
  EXPECT_TRUE(
      image_error_of(with_png_size(image_file("rgba_16.png"), 1000000, 1000000)).starts_with("image.size: "));
  EXPECT_TRUE(
      image_error_of(with_jpeg_size(image_file("rgb.jpg"), 60000, 60000)).starts_with("image.size: "));
  // 18 million pixels: whole rows fit, the coefficients of a progressive image do not.
  EXPECT_TRUE(image_error_of(with_jpeg_size(image_file("rgb.jpg"), 6000, 3000)).starts_with("image.jpeg: "));
  EXPECT_TRUE(
      image_error_of(with_jpeg_size(image_file("progressive.jpg"), 6000, 3000)).starts_with("image.size: "));
  const std::string gray = image_file("gray.png");
  EXPECT_EQ(image_error_of(gray, {.limit = 13 * 21}), "read");
  EXPECT_EQ(image_error_of(gray, {.limit = 13 * 21 - 1}),
            "image.size: an image of 13 x 21 pixels takes 1 bytes a pixel to decode, together more than 272");
  EXPECT_EQ(image_error_of(gray, {.channels = 3, .limit = 4 * 13 * 21}), "read");
  EXPECT_TRUE(image_error_of(gray, {.channels = 3, .limit = 4 * 13 * 21 - 1}).starts_with("image.size: "));
}

TEST(Images, FilesThatAreCutOffAreErrors) {
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/images")) {
    const std::string name = entry.path().filename().string(), whole = image_file(name);
    ASSERT_EQ(image_error_of(whole), "read") << name;
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string error = image_error_of(whole.substr(0, size));
      EXPECT_TRUE(error.starts_with("image.format: ") || error.starts_with("image.jpeg: ") ||
                  error.starts_with("image.png: "))
          << name << " cut to " << size << ": " << error;
    }
  }
}

TEST(Images, TheTypeIsKnownBeforePixelsAre) {
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/images"))
    EXPECT_EQ(image_type(entry.path().string()), load_image(entry.path().string()).type()) << entry.path();
  EXPECT_THROW(image_type("/nowhere/x.png"), IoError);
  try {
    image_type("CMakeLists.txt");
    ADD_FAILURE();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.rule(), "image.format");
    EXPECT_TRUE(error.message().starts_with("CMakeLists.txt: the ")) << error.message();
  }
}

TEST(Images, DamageIsAnErrorAndBytesBetweenMarkersAreNone) {
  const std::string png = image_file("rgb.png"), jpeg = image_file("rgb.jpg");
  std::string damaged = png;
  damaged[60] ^= 1;
  EXPECT_EQ(image_error_of(damaged), "image.png: the checksum of the chunk IDAT at byte 33 is wrong");
  std::string extra = jpeg;
  extra.insert(jpeg.size() - 2, 40, '\x11');
  EXPECT_EQ(difference(decode_image(extra), decode_image(jpeg)), 0);
  // Before the scan, and then cut off.
  std::string early = jpeg;
  early.insert(jpeg.find("\xff\xdb"), 3, '\x11');
  EXPECT_EQ(difference(decode_image(early), decode_image(jpeg)), 0);
  EXPECT_TRUE(image_error_of(early.substr(0, early.size() * 4 / 5)).starts_with("image.jpeg: "));
  // A marker without a segment does not hide what follows from the limit of memory.
  std::string progressive = image_file("progressive.jpg");
  uint64_t least = 1;
  while (image_error_of(progressive, {.limit = least}) != "read") ++least;
  progressive.insert(2, "\xff\x01");
  EXPECT_EQ(image_error_of(progressive, {.limit = least}), "read");
  EXPECT_TRUE(image_error_of(progressive, {.limit = least - 1}).starts_with("image.size: "));
  std::string no_scan = jpeg;
  no_scan.erase(jpeg.find("\xff\xda"), jpeg.size() - 2 - jpeg.find("\xff\xda"));
  EXPECT_TRUE(image_error_of(no_scan).starts_with("image.jpeg: ")) << image_error_of(no_scan);
}

TEST(Images, WrongUseIsNamed) {
  EXPECT_EQ(image_error_of("GIF89a"), "image.format: the 6 bytes begin neither as a JPEG nor as a PNG");
  EXPECT_EQ(image_error_of("", {.channels = 2}),
            "image.channels: channels are 0 (the file's), 1, 3 or 4, not 2");
  EXPECT_THROW(load_image("/nowhere/x.png"), IoError);
  const auto path = std::filesystem::path(testing::TempDir()) / "espalier_broken.png";
  posix_env().write_file(path.string(), image_file("rgb.png").substr(0, 300));
  try {
    load_image(path.string());
    ADD_FAILURE();
  } catch (const FormatError& error) {
    EXPECT_EQ(error.message(), cat(path.string(), ": the file is cut off: 300 bytes without an IEND chunk"));
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace espalier
