#include "train/rows.h"

#include "base/format.h"
#include "espalier/array.h"

namespace espalier {
namespace {

Shape without_last(const Shape& shape) {
  Shape out = shape;
  if (!out.empty()) out.erase(out.size() - 1);
  return out;
}

// Whether `shape` is `other` and one more axis of size 1.
bool has_one_more(const Shape& shape, const Shape& other) {
  return !shape.empty() && shape.back() == 1 && without_last(shape) == other;
}

std::string both(const Tensor& labels, const Tensor& outputs) {
  return cat("labels ", labels.type(), ", outputs ", outputs.type());
}

void require_float_outputs(const std::string& name, const Tensor& labels, const Tensor& outputs) {
  if (is_float(outputs.dtype())) return;
  throw DTypeError(cat(name, ".outputs"),
                   cat("outputs must be floating-point numbers: ", both(labels, outputs)));
}

constexpr const char* kSqueeze = "take the last axis from the labels: squeeze(labels, -1)";

std::string cure(const Tensor& labels, const Tensor& outputs) {
  const Shape &from = labels.shape(), &to = outputs.shape();
  if (has_one_more(to, from)) return "give labels the outputs' last axis: expand_dims(labels, -1)";
  if (has_one_more(from, to)) return kSqueeze;
  if (is_integer(labels.dtype()) && from == without_last(to))
    return cat("make rows of class numbers: one_hot(labels, ", to.back(), ")");
  return "";
}

}  // namespace

LabelsAndOutputs rows_of_one_shape(const std::string& name, const Tensor& labels, const Tensor& outputs) {
  require_float_outputs(name, labels, outputs);
  if (outputs.rank() == 0 || labels.shape() != outputs.shape()) {
    throw ShapeError(cat(name, ".labels"),
                     cat("labels must have the outputs' shape, [batch, ...]: ", both(labels, outputs)),
                     cure(labels, outputs));
  }
  return {convert(labels, DType::kF32), convert(outputs, DType::kF32)};
}

void require_class_numbers(const std::string& name, const Tensor& labels, const Tensor& outputs) {
  require_float_outputs(name, labels, outputs);
  if (outputs.rank() < 2 || labels.shape() != without_last(outputs.shape())) {
    throw ShapeError(
        cat(name, ".labels"),
        cat("labels must have the outputs' shape without its last axis: ", both(labels, outputs)),
        has_one_more(labels.shape(), without_last(outputs.shape())) ? kSqueeze
        : labels.shape() == outputs.shape()
            ? "for a row of a number for each class CategoricalCrossentropy(); else argmax(labels, -1)"
            : "");
  }
  if (!is_integer(labels.dtype())) {
    throw DTypeError(
        cat(name, ".labels"), cat("labels must be integers: ", both(labels, outputs)),
        "convert(labels, DType::kI32); for labels that are numbers another loss, as MeanSquaredError()");
  }
}

Tensor row_mean(const Tensor& values) {
  if (values.rank() == 1) return values;
  Dims axes = Dims::range(values.rank());
  axes.erase(0);
  return mean(values, axes);
}

Tensor counted_rows(const Tensor& values, const Tensor& row_weight) {
  const Tensor counts = compare(row_weight, 0, Comparison::kNE);
  return select(broadcast_in_dim(counts, values.shape(), {0}), values, zeros_like(values));
}

}  // namespace espalier
