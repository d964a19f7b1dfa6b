// Matrix products of bf16 by tiles of the processor (AMX): sums in f32, rounded at the end.
#pragma once

#include "kernels/gemm.h"

namespace espalier {

// Sides of a block of C, the rows of one tile, and the terms that one instruction takes.
inline constexpr int64_t kBf16Block = 32, kBf16TileRows = 16, kBf16Terms = 32;
// The sums of many rows are one chain each. Those of up to kBf16FewStrips blocks of rows have segments, which
// depend on nothing but their steps, the groups of kBf16Terms that instructions take: one segment up to
// kBf16OneSegment of them, else a power of two of segments that have at most kBf16LongestSegment each, but no
// more than kBf16MostSegments. Each is a chain; their sums are added up in order.
inline constexpr int64_t kBf16FewStrips = 12;
inline constexpr int64_t kBf16OneSegment = 20, kBf16LongestSegment = 128, kBf16MostSegments = 16;
// Steps of B that strips meet while they stay in the first cache, and of A that are packed together.
inline constexpr int64_t kBf16Steps = 16, kBf16PackedSteps = 32;
// From row to row of a packed strip of A: no power of two, whose rows would fall into few sets of a cache.
inline constexpr int64_t kBf16Pitch = (kBf16PackedSteps + 1) * kBf16Terms;
// Elements of the next steps of B that a step of one strip fetches: eight strips fetch all of them.
inline constexpr int64_t kBf16Ahead = kBf16Terms * kBf16Block / 8;

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

// Rows of one tile of A, of which C has those that are wanted (bit i: row i), from `row` of C on. The first
// lies at `offset`; rows that do not follow the map lie at one distance.
struct Bf16Rows {
  int64_t offset, row;
  uint32_t wanted;
};
// Terms that one instruction takes: `count` from `term` on, then zeros; where they lie in a row of A.
struct Bf16Step {
  int64_t term, count, place;
};
// Two tiles of rows of A, `pitch` elements from row to row; the second may be missing.
struct Bf16Strip {
  const uint16_t *upper, *lower;
  int64_t pitch;
};

// What a processor with tiles does. Packed rows of A are kBf16Pitch elements apart; a panel of B has for each
// pair of terms kBf16Block columns of two elements.
struct Bf16Tiles {
  // One tile of A, some steps; what is missing becomes zero.
  void (*pack_a)(Bf16Operand a, Bf16Order order, const IndexMap& rows, const IndexMap& terms,
                 const Bf16Rows& tile, const Bf16Step* steps, int64_t count, uint16_t* packed);
  void (*pack_b)(Bf16Operand b, Bf16Order order, const IndexMap& terms, const IndexMap& columns,
                 int64_t column, const Bf16Step* steps, int64_t count, uint16_t* panel);
  // c = a b, or c += a b: one block. A strip without a second tile has no lower half of it. If `next` is not
  // null, each step fetches kBf16Ahead elements from there, and A leaves the first cache to B.
  void (*multiply)(const Bf16Strip& a, const Bf16Step* steps, int64_t count, const uint16_t* b, float* c,
                   bool add, const uint16_t* next);
  // sums += c, both some rows of a block.
  void (*add)(const float* c, int64_t rows, float* sums);
  // The wanted rows of one tile, to rows of C that follow each other, as f32 or rounded to nearest even.
  void (*store)(const float* c, uint32_t wanted, int64_t width, void* out, int64_t out_row, bool round);
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

  // From the maps. Rows of A that lie at one distance are read where they are, others are packed.
  Bf16Order a_order = Bf16Order::kNone, b_order = Bf16Order::kNone;
  bool in_place = false;
  int64_t row_stride = 0;
  const uint16_t* packed_ahead = nullptr;  // all of B, packed before; null: run() packs
  std::vector<Bf16Rows> tiles = {};
  std::vector<Bf16Step> steps = {};

  int64_t rows() const { return a_row.count; }
  int64_t columns() const { return b_column.count; }
  int64_t depth() const { return a_depth.count; }
  int64_t strips() const { return pieces(static_cast<int64_t>(tiles.size()), 2); }
  int64_t panels() const { return pieces(columns(), kBf16Block); }
  // Decides what is packed, and how. REQUIRES: maps and types are set; the maps' tables outlive the product.
  void choose();
  // Whether most elements of what is packed are wanted, and lie together. REQUIRES: choose().
  bool pays() const;
  size_t workspace_bytes(int64_t batches) const;
  // Packs B for all runs, into `packed`: packed_elements() for each batch. REQUIRES: choose().
  void pack_ahead(const void* b, const IndexMap& b_batch, uint16_t* packed);
  int64_t packed_elements() const { return panels() * panel_elements(); }
  void run(ThreadPool& pool, const void* a, const IndexMap& a_batch, const void* b, const IndexMap& b_batch,
           std::byte* workspace, void* c, int64_t batches, const Epilogue& epilogue) const;

 private:
  struct Task;
  struct Call;
  void choose_steps(int64_t run);
  void choose_tiles(bool covered);
  void run_task(const Task& task) const;
  void run_few_rows(const Call& call) const;
  void run_many_rows(const Call& call) const;
  void pack(const void* b, int64_t panel, uint16_t* packed) const;
  void store(const float* block, int64_t tile, int64_t panel, void* c) const;

  int64_t step_count() const { return static_cast<int64_t>(steps.size()); }
  int64_t segments() const;
  int64_t segment_steps() const { return pieces(step_count(), segments()); }
  int64_t packed_steps() const;
  int64_t block_steps() const;
  // Few rows meet each panel of B once; many find all of them packed.
  bool few_rows() const;
  int64_t panel_elements() const { return step_count() * kBf16Terms * kBf16Block; }
  int64_t block_floats() const { return strips() * panels() * kBf16Block * kBf16Block; }
};

}  // namespace espalier
