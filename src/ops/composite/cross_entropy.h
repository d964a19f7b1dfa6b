// What the two cross-entropy ops share: their operands' rule, and the class that a label names.
#pragma once

#include "ops/composite/axis.h"
#include "ops/registry.h"

namespace espalier {

// c1: floating-point logits. c2: integer labels. c3: labels have the logits' shape without the last axis.
// Returns that shape.
inline Shape infer_labels(InferContext& c) {
  const TensorType &logits = c.in(0), &labels = c.in(1);
  c.require_dtype(is_float(logits.dtype), "c1", "takes floating-point logits, got ", logits);
  c.require_dtype(is_integer(labels.dtype), "c2", "labels must be integers, got ", labels);
  Shape examples = logits.shape;
  c.require(!examples.empty(), "c3", "logits need a class axis, got ", logits);
  examples.erase(examples.size() - 1);
  c.require(labels.shape == examples, "c3",
            "labels must have the logits' shape without its class axis: ", labels, " and ", logits);
  return examples;
}

// Where the label says the class is, and 1 or, for a label that is no class, NaN.
struct Target {
  Tensor hot, validity;
  Target(const Tensor& logits, const Tensor& labels) {
    const Shape& shape = logits.shape();
    const auto axis = static_cast<int64_t>(shape.size()) - 1;
    const Tensor label = convert(labels, DType::kI64);
    hot = compare(iota({DType::kI64, shape}, axis), spread(label, shape, axis), Comparison::kEQ);
    const TensorType each{logits.dtype(), labels.shape()};
    const Tensor one = constant_like(each, 1),
                 nan = constant_like(each, std::numeric_limits<double>::quiet_NaN());
    validity = select(compare(label, 0, Comparison::kLT), nan,
                      select(compare(label, shape.back(), Comparison::kGE), nan, one));
  }
};

}  // namespace espalier
