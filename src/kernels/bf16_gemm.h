// Matrix products of bf16 by tiles of the processor (AMX): sums in f32, rounded at the end.
#pragma once

#include "kernels/gemm.h"

namespace espalier {

// Sides of a block of C, and the terms that one instruction takes.
inline constexpr int64_t kBf16Block = 32, kBf16Terms = 32;
// The partition of a sum depends on nothing but the number of its terms: as few parts as have at most this
// length, all of one length but the last. Each is one chain; those of either half are added up in order, then
// the halves.
inline constexpr int64_t kLongestBf16Part = 256;
// From row to row of a packed strip of A: no power of two, whose rows would fall into few sets of a cache.
inline constexpr int64_t kBf16Pitch = kLongestBf16Part + 32;

// An operand in memory: bf16, or f32 that is rounded to bf16 when it is read.
struct Bf16Operand {
  const void* data;
  bool f32;
  const void* at(int64_t element) const {
    return static_cast<const std::byte*>(data) + static_cast<size_t>(element) * (f32 ? 4 : 2);
  }
};

// Which indices of an operand lie beside each other, in groups that are packed together.
enum class Bf16Order { kTerms, kOthers, kNone };

// What a processor with tiles does. A strip is kBf16Block rows of kBf16Pitch elements; a panel has for each
// pair of terms kBf16Block columns of two elements. Lengths are multiples of kBf16Terms.
struct Bf16Tiles {
  // Rows of A from `row` on, `length` of its terms from `from` on; what is missing becomes zero.
  void (*pack_a)(Bf16Operand a, Bf16Order order, const IndexMap& rows, const IndexMap& terms, int64_t row,
                 int64_t from, int64_t length, uint16_t* strip);
  void (*pack_b)(Bf16Operand b, Bf16Order order, const IndexMap& terms, const IndexMap& columns,
                 int64_t column, int64_t from, int64_t length, uint16_t* panel);
  // c = a b, one whole block.
  void (*multiply)(const uint16_t* a, const uint16_t* b, int64_t length, float* c);
  // sums += c, some rows of a block.
  void (*add)(const float* c, int64_t height, float* sums);
  // The upper left of a block to rows of C, as f32 or rounded to nearest even.
  void (*store)(const float* c, int64_t height, int64_t width, void* out, int64_t out_row, bool round);
  // Around the calls of the others, on each thread.
  void (*begin)();
  void (*end)();
};
#if defined(__x86_64__)
extern const Bf16Tiles bf16_tiles_amx;
#else
inline constexpr Bf16Tiles bf16_tiles_amx{};  // never called
#endif

// C = A B with row-major C, of f32 or rounded to bf16. REQUIRES: current_isa() is kAmx.
struct Bf16Gemm {
  IndexMap a_row, a_depth, b_depth, b_column;
  bool a_f32 = false, b_f32 = false, round = true;
  Bf16Order a_order = Bf16Order::kNone, b_order = Bf16Order::kNone;

  int64_t rows() const { return a_row.count; }
  int64_t columns() const { return b_column.count; }
  int64_t depth() const { return a_depth.count; }
  int64_t strips() const { return (rows() + kBf16Block - 1) / kBf16Block; }
  int64_t panels() const { return (columns() + kBf16Block - 1) / kBf16Block; }
  // Finds the orders, from the maps.
  void choose();
  // Whether most elements of what is packed are wanted, and lie together. REQUIRES: choose().
  bool pays() const;
  // The parts of the sum, terms of each, and halves of the sum, which begin at first_part.
  int64_t parts() const;
  int64_t part() const;
  int64_t halves() const { return parts() > 1 ? 2 : 1; }
  int64_t first_part(int64_t half) const { return half * parts() / halves(); }
  // Few rows: halves of the sum are tasks, so that a thread meets the rows of B that it wrote when their
  // gradient, by rows, updated them.
  bool split(int64_t batches) const;
  size_t workspace_bytes(int64_t batches) const;
  void run(const void* a, const IndexMap& a_batch, const void* b, const IndexMap& b_batch,
           std::byte* workspace, void* c, int64_t batches, const Follower& follower) const;

 private:
  struct Task;
  void run_task(const Task& task, void* c) const;
  void store_rows(int64_t row, int64_t last_row, int64_t panel, float* sums, void* c) const;
  int64_t strip_tasks() const;
  int64_t panel_elements() const { return parts() * part() * kBf16Block; }
  int64_t block_floats() const { return strips() * panels() * kBf16Block * kBf16Block; }
};

}  // namespace espalier
