#include "espalier/regularizers.h"

#include <cmath>

#include "base/format.h"
#include "espalier/array.h"

namespace espalier::regularizers {
namespace {

void require_factor(const char* option, double factor) {
  if (factor >= 0 && std::isfinite(factor)) return;
  throw ValueError(cat("regularizer.", option),
                   cat(option, " must be finite and not negative, got ", factor));
}

}  // namespace

Regularizer L1(double factor, Location at) {
  const CallScope scope(at);
  require_factor("l1", factor);
  return [=](const Tensor& weight) { return sum(abs(weight)) * factor; };
}

Regularizer L2(double factor, Location at) {
  const CallScope scope(at);
  require_factor("l2", factor);
  return [=](const Tensor& weight) { return sum(weight * weight) * factor; };
}

Regularizer L1L2(L1L2Options options, Location at) {
  const CallScope scope(at);
  return [l1 = L1(options.l1), l2 = L2(options.l2)](const Tensor& weight) { return l1(weight) + l2(weight); };
}

}  // namespace espalier::regularizers
