#include "eager/numerics.h"

#include <cmath>

#include "base/format.h"
#include "espalier/numerics.h"
#include "ir/dispatch.h"
#include "ir/sink.h"

namespace espalier {

NotFinite count_not_finite(const Tensor& x) {
  NotFinite out;
  if (!is_float(x.dtype())) return out;
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    const auto* const values = static_cast<const T*>(x.bytes());
    for (int64_t i = 0; i < x.type().elements(); ++i) {
      const auto value = static_cast<double>(values[i]);
      if (std::isfinite(value)) continue;
      ++(std::isnan(value) ? out.nan : out.infinite);
      if (out.first < 0) out.first = i;
    }
  });
  return out;
}

std::string to_string(const NotFinite& found, const TensorType& type) {
  Shape index = type.shape;
  int64_t rest = found.first;
  for (size_t axis = index.size(); axis-- > 0;) {
    index[axis] = rest % type.shape[axis];
    rest /= type.shape[axis];
  }
  return cat(found.nan, " NaN and ", found.infinite, " infinite of ", type.elements(), " elements (", type,
             "), the first at ", index);
}

Tensor check_numerics(Operand x, const std::string& message, Location at) {
  const CallScope scope(at);
  const Tensor& value = x.tensor();
  if (!value.concrete()) {
    throw StateError("check_numerics.trace",
                     cat("\"", message, "\": ", value.type(), " has no elements while a function is traced"),
                     "return the tensor and check the result, or compile with run_eagerly");
  }
  const NotFinite found = count_not_finite(value);
  if (found) throw ValueError("check_numerics", cat(message, ": ", to_string(found, value.type())));
  return value;
}

}  // namespace espalier
