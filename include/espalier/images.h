// Images as tensors: JPEG and PNG files, resizing, folders of labelled images.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/array.h"
#include "espalier/data.h"

namespace espalier {

struct ImageOptions {
  // 1: gray, 3: RGB, 4: RGB and alpha; 0: those of the file, where CMYK counts as RGB. Gray of colours is
  // ITU-R 601's luma; alpha that a file has not is 255, alpha that is not asked for is left out.
  int64_t channels = 0;
  // How many bytes decoding may take. The default is 64 MiB and 16 times the file's size: a few bytes can
  // declare billions of pixels.
  std::optional<uint64_t> limit = {};
};

// u8[height, width, channels] of a JPEG (baseline or progressive; gray, YCbCr, RGB, CMYK, YCCK) or a PNG (any
// kind; 16 bits are rounded to 8). Colour profiles, gamma and orientation are not applied. Raises
// ValueError[image.channels], FormatError[image.*]: format (neither of both), size (more than `limit`), jpeg
// and png (damaged or cut off); safe on any bytes.
Tensor decode_image(std::string_view bytes, const ImageOptions& options = {}, Location at = Location::here());
// The same with a file, which errors name. Raises IoError.
Tensor load_image(const std::string& path, const ImageOptions& options = {}, Location at = Location::here());
// The type of what load_image gives without options, before any pixel is decoded: damage may show only then.
// Raises what load_image raises.
TensorType image_type(const std::string& path, Location at = Location::here());

struct ResizeOptions {
  // Sizes that shrink average all the pixels that a new one covers: a triangle as wide as two new pixels.
  // Without it a new pixel mixes the two nearest rows and columns whatever the sizes.
  bool antialias = false;
};
// [..., height, width, channels] to another height and width by linear interpolation between the centres of
// pixels, as tf.image.resize and jax.image.resize(..., "linear"): f64 for f64, else f32. Works under trace
// and has a gradient. Raises ShapeError[resize.rank] below rank 3, ValueError[resize.size] for sizes below 1.
Tensor resize_images(Operand images, int64_t height, int64_t width, const ResizeOptions& options = {});

// Paths of the images (.jpg, .jpeg, .png) anywhere below a folder, by folder and name in alphabetical order.
// Hidden files and folders are passed over, links to folders are not followed. Raises IoError.
std::vector<std::string> list_images(const std::string& folder, Location at = Location::here());

// Images by class, not yet read.
struct ImageFiles {
  std::vector<std::string> paths;        // by class, folder and name, in alphabetical order
  std::vector<int32_t> labels;           // one a path: its class's place in `class_names`
  std::vector<std::string> class_names;  // in alphabetical order
  int64_t skipped = 0;                   // files that are no images by their names, or hidden
};
// A folder of folders: each is a class, and what list_images finds below it is of that class. Hidden folders
// are passed over. Raises IoError, FormatError[images.empty] when there is no image.
ImageFiles list_image_folder(const std::string& path, Location at = Location::here());

struct ImageFolderOptions {
  int64_t height = 256, width = 256, channels = 3;
  // How many images are read at most: so many in equal steps through the list. 0: all.
  int64_t limit = 0;
  bool antialias = false;
};
struct ImageExamples : Examples {  // x f32[rows, height, width, channels] in [0, 255]
  std::vector<std::string> class_names;
  int64_t skipped = 0;
};
// All images of list_image_folder, resized. Raises what it and load_image raise, and ValueError[images.size],
// [images.channels] and [images.limit].
ImageExamples load_image_folder(const std::string& path, const ImageFolderOptions& options = {},
                                Location at = Location::here());

}  // namespace espalier
