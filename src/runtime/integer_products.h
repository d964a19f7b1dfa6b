// Products of 8-bit integers by way of the f32 kernels, where these give the same integers.
#pragma once

#include "ir/graph.h"

namespace espalier {

// dot_general and convolution of i8 with sums in i32 become sums of at most 1,024 terms in f32: a product has
// at most 2^14, a sum 2^24, and all whole numbers up to there are exact in f32, in any order of the sum.
// Longer ones are cut along an axis. A factor that is known is kept in f32, four times its size. Also in
// regions. The graph itself where there are none.
std::shared_ptr<const Graph> integer_products_in_f32(std::shared_ptr<const Graph> graph);

}  // namespace espalier
