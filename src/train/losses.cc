#include "espalier/losses.h"

#include <algorithm>
#include <span>

#include "base/format.h"
#include "eager/row_weight.h"
#include "espalier/array.h"
#include "espalier/ops.h"
#include "train/rows.h"

namespace espalier {
namespace {

// Those that have values: what is traced is checked where it is given.
void require_labels_of_classes(const Tensor& labels, const Tensor& outputs) {
  if (!labels.concrete() || !is_integer(labels.dtype()) || labels.rank() == 0 || outputs.rank() == 0) return;
  const Tensor wide = convert(labels, DType::kI64);
  const std::span<const int64_t> values = wide.data<int64_t>();
  const int64_t classes = outputs.size(-1);
  const auto beyond =
      std::ranges::find_if(values, [&](int64_t label) { return label < 0 || label >= classes; });
  if (beyond == values.end()) return;
  const int64_t a_row = wide.type().elements() / wide.size(0);
  throw ValueError("loss.labels", cat("label ", *beyond, " of row ", (beyond - values.begin()) / a_row,
                                      " is no class: the outputs have ", classes, ", numbered from 0"));
}

}  // namespace

LossSums LossSums::of(const Tensor& losses, const Tensor& row_weight, Location at) {
  const CallScope scope(at);
  if (losses.rank() != 1 || losses.type() != row_weight.type()) {
    throw ShapeError("loss.row_weight", cat("a row has a loss and a weight of one dtype: losses ",
                                            losses.type(), ", weights ", row_weight.type()));
  }
  return {reduce_sum(counted_rows(losses, row_weight) * row_weight, {0}), reduce_sum(row_weight, {0})};
}

Tensor LossSums::mean() const { return sum / maximum(weight, 1e-12); }

LossSums LossSums::operator+(const LossSums& other) const { return {sum + other.sum, weight + other.weight}; }

void Loss::require_function(Location at) const {
  const CallScope scope(at);
  if (!per_example) {
    throw ValueError("loss.function", cat("loss \"", name, "\" has no function"),
                     "call one of losses.h, as MeanSquaredError()");
  }
}

Tensor Loss::of_rows(const Tensor& labels, const Tensor& outputs, Location at) const {
  const CallScope scope(at);
  require_function(at);
  if (class_labels) require_labels_of_classes(labels, outputs);
  Tensor out = per_example(labels, outputs);
  if (!out.defined())
    throw ValueError("loss.function", cat("loss \"", name, "\" gave a tensor that holds nothing"));
  if (labels.rank() == 0 || out.shape() != Shape{labels.size(0)})
    throw ShapeError("loss.shape", cat("loss \"", name, "\" must give one value per row: ", out.type()));
  if (!is_float(out.dtype())) {
    throw DTypeError("loss.dtype", cat("loss \"", name, "\" must give floating-point numbers: ", out.type()));
  }
  return out;
}

LossSums Loss::sums(const Tensor& labels, const Tensor& outputs, const Tensor& given, Location at) const {
  const CallScope scope(at);
  const Tensor row_weight = given.defined() ? given : RowWeightScope::of(outputs);
  // What does not fit is refused below.
  const bool some = row_weight.defined() && row_weight.rank() == 1;
  const auto counted = [&](const Tensor& x) {
    return some && x.rank() > 0 && x.size(0) == row_weight.size(0) ? counted_rows(x, row_weight) : x;
  };
  const Tensor losses = of_rows(counted(labels), counted(outputs), at);
  return LossSums::of(losses, row_weight.defined() ? row_weight : full(losses.shape(), 1, losses.dtype()));
}

}  // namespace espalier
