// Matrix products of bf16 by tiles of the processor (AMX): sums in f32, rounded at the end.
#pragma once

#include "kernels/gemm.h"

namespace espalier {

// Sides of a block of C, and the terms that one instruction takes.
inline constexpr int64_t kBf16Block = 32, kBf16Terms = 32;
// Terms between two visits of a block of C; from row to row of a packed strip of A, off the powers of two
// that fall into few sets of a cache.
inline constexpr int64_t kBf16Depth = 512, kBf16Pitch = kBf16Depth + 32;

// What a processor with tiles does. `a`: a strip, kBf16Block rows of kBf16Pitch elements; `b`: a panel, for
// each pair of terms kBf16Block columns of two elements. `depth` is a multiple of kBf16Terms.
struct Bf16Tiles {
  // Rows of A from element `row` on, `length` of its terms; what is missing becomes zero.
  void (*pack_a)(const uint16_t* a, const IndexMap& rows, const IndexMap& terms, int64_t row, int64_t from,
                 int64_t length, uint16_t* strip);
  void (*pack_b)(const uint16_t* b, const IndexMap& terms, const IndexMap& columns, int64_t column,
                 int64_t from, int64_t length, uint16_t* panel);
  // c = (add ? c : 0) + a b for a whole block; c_row is a distance in floats.
  void (*multiply)(const uint16_t* a, const uint16_t* b, int64_t depth, float* c, int64_t c_row, bool add);
  // out[i] = c[i] to nearest even.
  void (*round)(const float* c, uint16_t* out, int64_t n);
  // Around the calls of pack and multiply, on each thread.
  void (*begin)();
  void (*end)();
};
extern const Bf16Tiles bf16_tiles_amx;

// C = A B with row-major C, of f32 or rounded to bf16. Every element is one chain of sums over all terms in
// order, so its bits depend on no partition. REQUIRES: current_isa() is kAmx.
struct Bf16Gemm {
  IndexMap a_row, a_depth, b_depth, b_column;
  bool round = true;

  int64_t rows() const { return a_row.count; }
  int64_t columns() const { return b_column.count; }
  int64_t depth() const { return a_depth.count; }
  int64_t strips() const { return (rows() + kBf16Block - 1) / kBf16Block; }
  int64_t panels() const { return (columns() + kBf16Block - 1) / kBf16Block; }
  int64_t padded_depth() const { return (depth() + kBf16Terms - 1) / kBf16Terms * kBf16Terms; }
  size_t workspace_bytes(int64_t batches) const;
  void run(const uint16_t* a, const IndexMap& a_batch, const uint16_t* b, const IndexMap& b_batch,
           std::byte* workspace, void* c, int64_t batches, const Follower& follower) const;

 private:
  struct Task;
  void run_task(const Task& task) const;
};

}  // namespace espalier
