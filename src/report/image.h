// Pictures in a terminal.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/terminal.h"

namespace espalier {

// A grey image, row-major, values from `black` to `white` (clamped): with colours two rows of pixels a line
// as half-blocks, without them a ramp of ASCII characters, two a pixel. Every line ends in a newline.
std::string draw_image(std::span<const float> pixels, int64_t height, int64_t width, const Terminal& terminal,
                       float black = 0, float white = 1);

}  // namespace espalier
