// Loops over one tile of an elementwise op: what fused programs are made of. Each gives the bits of the op's
// reference body.
#pragma once

#include <cstdint>
#include <span>

#include "base/isa.h"
#include "ir/op.h"

namespace espalier {

inline constexpr int64_t kTile = 512;

// out[i] = f(a[i], b[i], c[i]) for i < n. `out` may be one of the operands; unused operands are null.
using TileFunction = void (*)(void* out, const void* a, const void* b, const void* c, int64_t n);

// clang-format off
#define ESPALIER_TILE_OPS(X)                                                                 \
  X(add_f32) X(subtract_f32) X(multiply_f32) X(divide_f32) X(maximum_f32) X(minimum_f32)     \
  X(negate_f32) X(abs_f32) X(sqrt_f32) X(relu_f32) X(relu_gradient_f32) X(exp_f32)           \
  X(tanh_f32) X(logistic_f32) X(tanh_slope_f32)                                              \
  X(rsqrt_f32) X(gelu_by_tanh_f32) X(rsqrt_bf16) X(gelu_by_tanh_bf16)                        \
  X(eq_f32) X(ne_f32) X(ge_f32) X(gt_f32) X(le_f32) X(lt_f32)                                \
  X(add_i32) X(subtract_i32) X(multiply_i32) X(add_i64)                                      \
  X(eq_i32) X(ne_i32) X(ge_i32) X(gt_i32) X(le_i32) X(lt_i32)                                \
  X(select_32) X(and_bool) X(or_bool) X(not_bool) X(bool_to_f32) X(i32_to_f32)               \
  X(add_bf16) X(subtract_bf16) X(multiply_bf16) X(divide_bf16) X(maximum_bf16)               \
  X(minimum_bf16) X(negate_bf16) X(abs_bf16) X(sqrt_bf16) X(relu_bf16)                       \
  X(relu_gradient_bf16) X(exp_bf16)                                                          \
  X(tanh_bf16) X(logistic_bf16) X(tanh_slope_bf16)                                           \
  X(eq_bf16) X(ne_bf16) X(ge_bf16) X(gt_bf16) X(le_bf16)                                     \
  X(lt_bf16) X(select_16) X(f32_to_bf16) X(bf16_to_f32) X(bool_to_bf16)                      \
  X(add_f16) X(subtract_f16) X(multiply_f16) X(divide_f16) X(maximum_f16)                    \
  X(minimum_f16) X(negate_f16) X(abs_f16) X(sqrt_f16) X(relu_f16) X(relu_gradient_f16)       \
  X(exp_f16) X(tanh_f16) X(logistic_f16) X(tanh_slope_f16) X(rsqrt_f16)                      \
  X(gelu_by_tanh_f16) X(eq_f16) X(ne_f16) X(ge_f16) X(gt_f16) X(le_f16) X(lt_f16)            \
  X(f32_to_f16) X(f16_to_f32) X(bool_to_f16) X(f32_to_f64) X(add_f64)
// clang-format on

enum class TileOp : uint8_t {
#define X(name) name,
  ESPALIER_TILE_OPS(X)
#undef X
};

struct TileTable {
#define X(name) TileFunction name;
  ESPALIER_TILE_OPS(X)
#undef X
};
extern const TileTable tile_table_portable, tile_table_avx2, tile_table_avx512, tile_table_amx;
const TileTable& tile_table(Isa isa);

// The loop for a call whose operands and result have as many elements; null when the reference body does it.
TileFunction find_tile(const OpDef& op, const Attributes* attributes, std::span<const DType> inputs,
                       DType output);

}  // namespace espalier
