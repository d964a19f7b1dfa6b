// Post-training quantisation: products of f32 as products of 8-bit integers.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace espalier {

// The numbers that an activation takes; both ends are finite and low <= 0 <= high.
struct ActivationRange {
  double low = 0, high = 0;
};
// The range of all elements of `batches` (f32), widened to hold zero. Below 100, `percentile` of the elements
// lie under its upper end and as many over its lower one; the rest is cut off when it is rounded. NaN and
// infinities do not count. Raises ValueError[quantize.percentile] outside of (50, 100].
ActivationRange range_of(std::span<const Literal> batches, double percentile = 100);

// The graph whose results are the activations that quantize() rounds, in the order of the ranges that it
// takes: the left operands of each dot_general and convolution of f32 whose right operand is a constant.
std::shared_ptr<Graph> quantized_activations(const Graph& graph);

// The graph with these products on i8, from ranges that were seen in quantized_activations():
//
//     q = clamp(round(x / s) + z, -128, 127), s = (high - low) / 255, z = round(-128 - low / s)
//     x . w = s s_c (q . v - z sum v),        v = round(w / s_c), s_c = max |w| / 127 over each output
//     channel c
//
// with sums in i32 and all else in f32, after Jacob et al., "Quantization and Training of Neural Networks for
// Efficient Integer-Arithmetic-Only Inference" (2018). Padding of a convolution becomes a pad by z. Left as
// they are: sums of more than 2^16 products, dots with batching axes, convolutions that are transposed
// (lhs_dilation) or in groups of batches, weights that are not finite. Raises ValueError[quantize.ranges] for
// another number of ranges than there are activations.
std::shared_ptr<Graph> quantize(const Graph& graph, std::span<const ActivationRange> ranges);

}  // namespace espalier
