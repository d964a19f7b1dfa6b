// Image formats, a file each.
#pragma once

#include <string_view>

#include "ir/literal.h"

namespace espalier {

// What may be spent on one image.
struct ImageBudget {
  int64_t channels = 0;  // wanted afterwards; 0: as they are
  uint64_t limit = 0;    // bytes
  // Raises FormatError[image.size] when pixels of `stored` channels, those that are wanted when they are
  // others, and `work` bytes a pixel take more than the limit.
  void check(int64_t height, int64_t width, int64_t stored, int64_t work = 0) const;
};

bool is_jpeg(std::string_view bytes);
bool is_png(std::string_view bytes);
// What the decoders give, from the header alone of a JPEG; of a PNG all checksums are looked at.
TensorType type_of_jpeg(std::string_view bytes);
TensorType type_of_png(std::string_view bytes);
// u8[height, width, channels]: gray, gray and alpha, RGB, RGB and alpha. Raise FormatError[image.size] before
// memory is taken, FormatError[image.jpeg] and [image.png].
Literal decode_jpeg(std::string_view bytes, const ImageBudget& budget);
Literal decode_png(std::string_view bytes, const ImageBudget& budget);

}  // namespace espalier
