#include <algorithm>
#include <cmath>

#include "eager/array.h"
#include "ops/composite/power_of_two.h"

namespace espalier {
namespace {

// The shape with `axes` at size 1, or without them.
Shape reduced_shape(const Shape& shape, const Dims& axes, bool keepdims) {
  Shape out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool gone = axes.contains(static_cast<int64_t>(i));
    if (!gone || keepdims) out.push_back(gone ? 1 : shape[i]);
  }
  return out;
}

// f(x, axes) without the axes, and the axes back at size 1 when asked for.
template <class F>
Tensor reduce_with(const char* rule, const Operand& x, const Axes& axes, bool keepdims, F f) {
  CallScope scope(x.at());
  const Tensor& t = x.tensor();
  const Dims list = axes.of(rule, t.rank());
  return reshape(f(t, list), reduced_shape(t.shape(), list, keepdims));
}

// The same for formulas of several ops on floating-point numbers: 16-bit types are computed in f32.
template <class F>
Tensor reduce_wide(const char* rule, const Operand& x, const Axes& axes, bool keepdims, F f) {
  CallScope scope(x.at());
  const Tensor& t = x.tensor();
  require_float(rule, t);
  return convert(reduce_with(rule, convert(t, wide(t.dtype())), axes, keepdims, f), t.dtype());
}

// `reduced` over x's shape again.
Tensor spread(const Tensor& reduced, const Shape& shape, const Dims& axes) {
  return broadcast_in_dim(reduced, shape, other_axes(shape.size(), axes));
}

double count(const Tensor& x, const Dims& axes) {
  double n = 1;
  for (const int64_t axis : axes) n *= static_cast<double>(x.shape()[axis]);
  return n;
}

Tensor mean_over(const Tensor& x, const Dims& axes) { return reduce_sum(x, axes) / count(x, axes); }

Tensor variance(const Tensor& x, const Dims& axes, double correction) {
  const Tensor distance = x - spread(mean_over(x, axes), x.shape(), axes);
  return reduce_sum(distance * distance, axes) / std::max(count(x, axes) - correction, 0.0);
}

// A power of two near the largest magnitude along `axes`: what squares are taken of is divided by it, so that
// they neither overflow nor underflow; the root is multiplied by it again. Other bits stay.
Tensor largest_scale(const Tensor& x, const Dims& axes) {
  return power_of_two_near(reduce_max(abs(x), axes));
}

void require_bool_operand(const char* rule, const Tensor& x) {
  if (x.dtype() != DType::kBool) {
    throw DTypeError(cat(rule, ".dtype"), cat("takes bool elements, got ", x.type()),
                     "compare first: not_equal(x, 0)");
  }
}

}  // namespace

Dims Axes::of(const char* rule, size_t rank) const {
  if (!list_) return Dims::range(rank);
  Dims out;
  for (const int64_t axis : *list_) {
    const int64_t normal = normalize_axis(rule, axis, rank);
    if (out.contains(normal))
      throw ShapeError(cat(rule, ".axis"), cat("axis ", axis, " is named twice in ", *list_));
    out.push_back(normal);
  }
  return out;
}

Tensor sum(Operand x, Axes axes, bool keepdims) {
  return reduce_with("sum", x, axes, keepdims, [](const Tensor& t, const Dims& list) {
    if (t.dtype() == DType::kBool)
      throw DTypeError("sum.dtype", cat("takes numbers, got ", t.type()), "use count_nonzero");
    return reduce_sum(t, list);
  });
}

Tensor prod(Operand x, Axes axes, bool keepdims) {
  return reduce_with("prod", x, axes, keepdims,
                     [](const Tensor& t, const Dims& list) { return reduce_prod(t, list); });
}
Tensor max(Operand x, Axes axes, bool keepdims) {
  return reduce_with("max", x, axes, keepdims,
                     [](const Tensor& t, const Dims& list) { return reduce_max(t, list); });
}
Tensor min(Operand x, Axes axes, bool keepdims) {
  return reduce_with("min", x, axes, keepdims,
                     [](const Tensor& t, const Dims& list) { return reduce_min(t, list); });
}

Tensor any(Operand x, Axes axes, bool keepdims) {
  return reduce_with("any", x, axes, keepdims, [](const Tensor& t, const Dims& list) {
    require_bool_operand("any", t);
    return reduce_or(t, list);
  });
}
Tensor all(Operand x, Axes axes, bool keepdims) {
  return reduce_with("all", x, axes, keepdims, [](const Tensor& t, const Dims& list) {
    require_bool_operand("all", t);
    return reduce_and(t, list);
  });
}

Tensor count_nonzero(Operand x, Axes axes, bool keepdims) {
  return reduce_with("count_nonzero", x, axes, keepdims, [](const Tensor& t, const Dims& list) {
    return reduce_sum(convert(convert(t, DType::kBool), DType::kI32), list);
  });
}

Tensor mean(Operand x, Axes axes, bool keepdims) { return reduce_wide("mean", x, axes, keepdims, mean_over); }

Tensor var(Operand x, Axes axes, bool keepdims, double correction) {
  return reduce_wide("var", x, axes, keepdims,
                     [&](const Tensor& t, const Dims& list) { return variance(t, list, correction); });
}

Tensor stddev(Operand x, Axes axes, bool keepdims, double correction) {
  return reduce_wide("stddev", x, axes, keepdims, [&](const Tensor& t, const Dims& list) {
    const Tensor scale = largest_scale(t, list);
    return sqrt(variance(t / spread(scale, t.shape(), list), list, correction)) * scale;
  });
}

Tensor logsumexp(Operand x, Axes axes, bool keepdims) {
  return reduce_wide("logsumexp", x, axes, keepdims, [](const Tensor& t, const Dims& list) {
    if (list.size() == 1) return logsumexp(t, list[0]);
    // The axes behind the others, as one.
    Dims order = other_axes(t.rank(), list);
    Shape lines;
    for (const int64_t axis : order) lines.push_back(t.shape()[axis]);
    const auto last = static_cast<int64_t>(lines.size());
    int64_t size = 1;
    for (const int64_t axis : list) order.push_back(axis), size *= t.shape()[axis];
    lines.push_back(size);
    return logsumexp(reshape(transpose(t, order), lines), last);
  });
}

Tensor norm(Operand x, double order, Axes axes, bool keepdims) {
  return reduce_wide("norm", x, axes, keepdims, [&](const Tensor& t, const Dims& list) {
    if (order == 1) return reduce_sum(abs(t), list);
    if (order == 2) {
      const Tensor scale = largest_scale(t, list), scaled = t / spread(scale, t.shape(), list);
      return sqrt(reduce_sum(scaled * scaled, list)) * scale;
    }
    if (order == std::numeric_limits<double>::infinity()) return maximum(reduce_max(abs(t), list), 0);
    throw ValueError("norm.order", cat("is 1, 2 or infinity, got ", order));
  });
}

}  // namespace espalier
