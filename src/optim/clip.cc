#include "optim/clip.h"

#include <cmath>
#include <span>

#include "ops/composite/power_of_two.h"

namespace espalier {
namespace {

// bound / norm, at most 1; NaN where the norm of all gradients is no finite number. Squares are taken of what
// is divided by a power of two near the largest element, so that they do not overflow before the root.
Tensor norm_scale(std::span<const Tensor> gradients, double bound) {
  std::vector<Tensor> given;
  Tensor largest = full({}, 0), squares = largest;
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    given.push_back(convert(gradient, DType::kF32));
    largest = maximum(largest, reduce_max(abs(given.back()), Dims::range(gradient.rank())));
  }
  const Tensor scale = power_of_two_near(largest);
  for (const Tensor& gradient : given) {
    const Tensor g = gradient / scale;
    squares = squares + reduce_sum(g * g, Dims::range(g.rank()));
  }
  const Tensor norm = sqrt(squares) * scale;
  return bound / maximum(norm, bound) + (norm - norm);
}

}  // namespace

void require_bounds(const std::string& rule, const OptimizerOptions& o) {
  int set = 0;
  for (const auto& [option, bound] : {std::pair{"clipnorm", o.clipnorm},
                                      {"global_clipnorm", o.global_clipnorm},
                                      {"clipvalue", o.clipvalue}}) {
    require_option(rule, bound >= 0 && std::isfinite(bound), option, "must be finite and not negative",
                   bound);
    set += bound > 0;
  }
  if (set > 1) {
    throw ValueError(cat(rule, ".clip"),
                     cat("at most one bound on gradients may be set: clipnorm ", o.clipnorm,
                         ", global_clipnorm ", o.global_clipnorm, ", clipvalue ", o.clipvalue));
  }
}

Clipping::Clipping(const OptimizerOptions& options, std::vector<Tensor> gradients, const Tensor& factor)
    : options_(options), gradients_(std::move(gradients)), factor_(factor) {
  const bool bounded = options.clipnorm > 0 || options.global_clipnorm > 0 || options.clipvalue > 0;
  if (bounded && factor.defined()) {
    for (Tensor& gradient : gradients_) {
      if (!gradient.defined()) continue;
      // In float16 a small factor, or what it makes of a gradient, would become 0.
      const DType dtype = gradient.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
      gradient = convert(gradient, dtype) * convert(factor, dtype);
    }
    factor_ = {};
  }
  if (options.global_clipnorm > 0) global_scale_ = norm_scale(gradients_, options.global_clipnorm);
}

Tensor Clipping::gradient(size_t i) const {
  const double bound = options_.clipvalue;
  return bound > 0 ? clamp(-bound, gradients_[i], bound) : gradients_[i];
}

Operand Clipping::scale(size_t i) const {
  if (options_.clipnorm > 0) return norm_scale({&gradients_[i], 1}, options_.clipnorm);
  if (factor_.defined()) return factor_;
  return global_scale_.defined() ? Operand(global_scale_) : Operand(1);
}

}  // namespace espalier
