#include "base/format.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {

Tensor Flatten::call(const Tensor& x) {
  // Not by a division, which says nothing of no rows.
  int64_t row = 1;
  for (size_t axis = 1; axis < x.rank(); ++axis) row *= x.shape()[axis];
  return reshape(x, {x.size(0), row});
}

Reshape::Reshape(Shape target_shape, std::string name, DTypePolicy dtype, Location at)
    : Layer(std::move(name), dtype, at), target_shape_(std::move(target_shape)) {
  const CallScope scope(at);
  int unknown = 0;
  for (const int64_t size : target_shape_) {
    unknown += size == -1;
    if (size < -1 || unknown > 1) {
      throw ValueError("reshape.target",
                       cat("sizes are not negative, but for one that may be -1, got ", target_shape_));
    }
  }
}

Tensor Reshape::call(const Tensor& x) {
  const int64_t batch = x.size(0);
  Shape row = x.shape(), target = target_shape_;
  row.erase(0);
  int64_t known = 1, *unknown = nullptr;
  for (int64_t& size : target) {
    if (size == -1) {
      unknown = &size;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      known = -1;
      break;
    }
  }
  const int64_t elements = num_elements(row);
  if (unknown && known > 0 && elements % known == 0) *unknown = elements / known, known = elements;
  if (known != elements || target.contains(-1)) {
    throw ShapeError("reshape.elements", cat("rows of ", x.type(), " have ", elements,
                                             " elements, which do not fill ", target_shape_));
  }
  target.insert(0, batch);
  return reshape(x, target);
}

}  // namespace espalier
