#include "report/image.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

std::string draw_image(std::span<const float> pixels, int64_t height, int64_t width, const Terminal& terminal,
                       float black, float white) {
  if (height < 0 || width < 0 || static_cast<int64_t>(pixels.size()) != height * width) {
    throw ValueError("draw_image.pixels", cat("an image of ", height, " by ", width, " has other than ",
                                              pixels.size(), " pixels"));
  }
  // NaN is drawn black.
  const auto level = [&](int64_t row, int64_t column, int levels) {
    const float value = (pixels[static_cast<size_t>(row * width + column)] - black) / (white - black);
    return value > 0 ? static_cast<int>(std::lround(std::min(value, 1.0f) * static_cast<float>(levels - 1)))
                     : 0;
  };
  std::string out;
  if (!terminal.colors) {
    constexpr std::string_view kRamp = " .:-=+*#%@";
    for (int64_t row = 0; row < height; ++row) {
      std::string line;
      for (int64_t column = 0; column < width; ++column)
        line.append(2, kRamp[static_cast<size_t>(level(row, column, static_cast<int>(kRamp.size())))]);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    return out;
  }
  constexpr int kFirstGrey = 232, kGreys = 24;
  for (int64_t row = 0; row < height; row += 2) {
    for (int64_t column = 0; column < width; ++column) {
      out += cat("\x1b[38;5;", kFirstGrey + level(row, column, kGreys));
      if (row + 1 < height) out += cat(";48;5;", kFirstGrey + level(row + 1, column, kGreys));
      out += "m\u2580";
    }
    out += "\x1b[0m\n";
  }
  return out;
}

}  // namespace espalier
