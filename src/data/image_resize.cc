#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "espalier/images.h"

namespace espalier {
namespace {

// f64[to, from]: what each new element takes from the old ones. jax.image.resize's weights of its triangle
// kernel; beyond the edges there is nothing, which the division by the sum makes up for.
Tensor weights(int64_t from, int64_t to, bool antialias) {
  std::vector<double> out(static_cast<size_t>(to * from));
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double radius = antialias ? std::max(1.0, scale) : 1.0;
  for (int64_t i = 0; i < to; ++i) {
    double* row = out.data() + i * from;
    const double centre = (static_cast<double>(i) + 0.5) * scale - 0.5;
    double sum = 0;
    for (int64_t j = 0; j < from; ++j) {
      row[j] = std::max(0.0, 1 - std::abs(static_cast<double>(j) - centre) / radius);
      sum += row[j];
    }
    for (int64_t j = 0; j < from; ++j) row[j] /= sum;
  }
  return Tensor::of(out, {to, from});
}

}  // namespace

Tensor resize_images(Operand images, int64_t height, int64_t width, const ResizeOptions& options) {
  const CallScope scope(images.at());
  const Tensor& x = images.tensor();
  if (x.rank() < 3)
    throw ShapeError("resize.rank", cat("images are [..., height, width, channels], not ", x.type()));
  const int64_t from_height = x.size(-3), from_width = x.size(-2);
  if (height < 1 || width < 1 || from_height < 1 || from_width < 1)
    throw ValueError("resize.size", cat("sizes must be 1 or more: ", from_height, " x ", from_width, " to ",
                                        height, " x ", width));
  const DType dtype = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const auto along = [&](int64_t from, int64_t to) {
    return convert(weights(from, to, options.antialias), dtype);
  };
  Tensor out = convert(x, dtype);
  if (height != from_height) out = einsum("ih,...hwc->...iwc", {along(from_height, height), out});
  if (width != from_width) out = einsum("jw,...hwc->...hjc", {along(from_width, width), out});
  return out;
}

}  // namespace espalier
