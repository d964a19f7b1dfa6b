// The rewrite that makes a step on some rows a step on the rows of all replicas.
#pragma once

#include "eager/traced_graph.h"

namespace espalier {

struct CombineOptions {
  int world = 1;
  // Bytes of gradients that one all_reduce takes, of the first of them and of others. A gradient is never
  // cut.
  size_t first_bucket = size_t{1} << 20, bucket = size_t{25} << 20;
  // What gradients in f32 travel as, which each rank rounds its own to before they are added up in f32, and
  // the sum is rounded to: kF32 or kBF16.
  DType travel = DType::kF32;
};

// Whether a result of a step of this name adds up over parts of the rows: a sum of losses, or their weight.
bool is_loss_sum(std::string_view result);

// Stands behind add_gradients, or the trace where nothing is differentiated. What replicas find on their own
// rows becomes what all of them found: "gradient/PATH" the sum, in buckets of one all_reduce each, those of
// the last layers first; "loss_sum", "loss_weight" and "loss_sum/NAME" the sum, "loss" their quotient;
// "observation/PATH" combined as declared, in the order of ranks; "equal/NAME", which each has alike, that of
// the first. All that is not a gradient travels in one
// all_gather before them, the header. So every replica has the same bits.
Rewrite combine_replicas(const CombineOptions& options);

// The same of what a program observes alone, in one message behind all else: of all replicas, or of logical
// shards.
Rewrite combine_observations(int parts, bool shards);

}  // namespace espalier
