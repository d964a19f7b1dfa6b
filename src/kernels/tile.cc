#include "kernels/tile.h"

#include <unordered_map>

#include "ir/attribute_reader.h"
#include "ops/registry.h"

namespace espalier {
namespace {

struct TileEntry {
  const char* op;
  DType input, output;  // of operand 0; of operand 1 for select
  TileFunction TileTable::*function;
};

using enum DType;
const TileEntry kTileEntries[] = {
    {"add", kF32, kF32, &TileTable::add_f32},
    {"subtract", kF32, kF32, &TileTable::subtract_f32},
    {"multiply", kF32, kF32, &TileTable::multiply_f32},
    {"divide", kF32, kF32, &TileTable::divide_f32},
    {"maximum", kF32, kF32, &TileTable::maximum_f32},
    {"minimum", kF32, kF32, &TileTable::minimum_f32},
    {"negate", kF32, kF32, &TileTable::negate_f32},
    {"abs", kF32, kF32, &TileTable::abs_f32},
    {"sqrt", kF32, kF32, &TileTable::sqrt_f32},
    {"add", kI32, kI32, &TileTable::add_i32},
    {"subtract", kI32, kI32, &TileTable::subtract_i32},
    {"multiply", kI32, kI32, &TileTable::multiply_i32},
    {"select", kF32, kF32, &TileTable::select_32},
    {"select", kI32, kI32, &TileTable::select_32},
    {"select", kU32, kU32, &TileTable::select_32},
    {"and", kBool, kBool, &TileTable::and_bool},
    {"or", kBool, kBool, &TileTable::or_bool},
    {"not", kBool, kBool, &TileTable::not_bool},
    {"relu", kF32, kF32, &TileTable::relu_f32},
    {"relu_gradient", kF32, kF32, &TileTable::relu_gradient_f32},
    {"exponential", kF32, kF32, &TileTable::exp_f32},
    {"tanh", kF32, kF32, &TileTable::tanh_f32},
    {"logistic", kF32, kF32, &TileTable::logistic_f32},
    {"tanh_slope", kF32, kF32, &TileTable::tanh_slope_f32},
    {"rsqrt", kF32, kF32, &TileTable::rsqrt_f32},
    {"gelu", kF32, kF32, &TileTable::gelu_by_tanh_f32},
    {"add", kI64, kI64, &TileTable::add_i64},
    {"convert", kBool, kF32, &TileTable::bool_to_f32},
    {"convert", kI32, kF32, &TileTable::i32_to_f32},
    {"add", kBF16, kBF16, &TileTable::add_bf16},
    {"subtract", kBF16, kBF16, &TileTable::subtract_bf16},
    {"multiply", kBF16, kBF16, &TileTable::multiply_bf16},
    {"divide", kBF16, kBF16, &TileTable::divide_bf16},
    {"maximum", kBF16, kBF16, &TileTable::maximum_bf16},
    {"minimum", kBF16, kBF16, &TileTable::minimum_bf16},
    {"negate", kBF16, kBF16, &TileTable::negate_bf16},
    {"abs", kBF16, kBF16, &TileTable::abs_bf16},
    {"sqrt", kBF16, kBF16, &TileTable::sqrt_bf16},
    {"relu", kBF16, kBF16, &TileTable::relu_bf16},
    {"relu_gradient", kBF16, kBF16, &TileTable::relu_gradient_bf16},
    {"exponential", kBF16, kBF16, &TileTable::exp_bf16},
    {"tanh", kBF16, kBF16, &TileTable::tanh_bf16},
    {"logistic", kBF16, kBF16, &TileTable::logistic_bf16},
    {"tanh_slope", kBF16, kBF16, &TileTable::tanh_slope_bf16},
    {"rsqrt", kBF16, kBF16, &TileTable::rsqrt_bf16},
    {"gelu", kBF16, kBF16, &TileTable::gelu_by_tanh_bf16},
    {"select", kBF16, kBF16, &TileTable::select_16},
    {"select", kF16, kF16, &TileTable::select_16},
    {"convert", kF32, kBF16, &TileTable::f32_to_bf16},
    {"convert", kBF16, kF32, &TileTable::bf16_to_f32},
    {"convert", kBool, kBF16, &TileTable::bool_to_bf16},
    {"add", kF16, kF16, &TileTable::add_f16},
    {"subtract", kF16, kF16, &TileTable::subtract_f16},
    {"multiply", kF16, kF16, &TileTable::multiply_f16},
    {"divide", kF16, kF16, &TileTable::divide_f16},
    {"maximum", kF16, kF16, &TileTable::maximum_f16},
    {"minimum", kF16, kF16, &TileTable::minimum_f16},
    {"negate", kF16, kF16, &TileTable::negate_f16},
    {"abs", kF16, kF16, &TileTable::abs_f16},
    {"sqrt", kF16, kF16, &TileTable::sqrt_f16},
    {"relu", kF16, kF16, &TileTable::relu_f16},
    {"relu_gradient", kF16, kF16, &TileTable::relu_gradient_f16},
    {"exponential", kF16, kF16, &TileTable::exp_f16},
    {"tanh", kF16, kF16, &TileTable::tanh_f16},
    {"logistic", kF16, kF16, &TileTable::logistic_f16},
    {"tanh_slope", kF16, kF16, &TileTable::tanh_slope_f16},
    {"rsqrt", kF16, kF16, &TileTable::rsqrt_f16},
    {"gelu", kF16, kF16, &TileTable::gelu_by_tanh_f16},
    {"convert", kF32, kF16, &TileTable::f32_to_f16},
    {"convert", kF16, kF32, &TileTable::f16_to_f32},
    {"convert", kBool, kF16, &TileTable::bool_to_f16},
    // Sums of metrics over batches.
    {"convert", kF32, kF64, &TileTable::f32_to_f64},
    {"add", kF64, kF64, &TileTable::add_f64},
};
constexpr TileFunction TileTable::*kCompareF32[] = {&TileTable::eq_f32, &TileTable::ne_f32,
                                                    &TileTable::ge_f32, &TileTable::gt_f32,
                                                    &TileTable::le_f32, &TileTable::lt_f32};
constexpr TileFunction TileTable::*kCompareBF16[] = {&TileTable::eq_bf16, &TileTable::ne_bf16,
                                                     &TileTable::ge_bf16, &TileTable::gt_bf16,
                                                     &TileTable::le_bf16, &TileTable::lt_bf16};
constexpr TileFunction TileTable::*kCompareF16[] = {&TileTable::eq_f16, &TileTable::ne_f16,
                                                    &TileTable::ge_f16, &TileTable::gt_f16,
                                                    &TileTable::le_f16, &TileTable::lt_f16};
constexpr TileFunction TileTable::*kCompareI32[] = {&TileTable::eq_i32, &TileTable::ne_i32,
                                                    &TileTable::ge_i32, &TileTable::gt_i32,
                                                    &TileTable::le_i32, &TileTable::lt_i32};

const TileTable& table() { return tile_table(current_isa()); }

}  // namespace

const TileTable& tile_table(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAmx) return tile_table_amx;
#endif
  return ESPALIER_BY_ISA(tile_table, isa);
}

TileFunction find_tile(const OpDef& op, const Attributes* attributes, std::span<const DType> inputs,
                       DType output) {
  static const auto* index = [] {
    auto* map = new std::unordered_multimap<const OpDef*, const TileEntry*>;
    for (const TileEntry& entry : kTileEntries) {
      if (const OpDef* known = find_op(entry.op)) map->emplace(known, &entry);
    }
    return map;
  }();
  if (&op == &op_compare) {
    constexpr int64_t kTotalOrder = 2;
    if (read_integer(attributes, "compare_type") == kTotalOrder) return nullptr;
    const auto direction = static_cast<size_t>(read_integer(attributes, "comparison_direction"));
    if (inputs[0] == kF32) return table().*kCompareF32[direction];
    if (inputs[0] == kBF16) return table().*kCompareBF16[direction];
    if (inputs[0] == kF16) return table().*kCompareF16[direction];
    if (inputs[0] == kI32) return table().*kCompareI32[direction];
    return nullptr;
  }
  if (&op == &op_gelu && !read_integer(attributes, "approximate")) return nullptr;
  const DType input = &op == &op_select ? inputs[1] : inputs[0];
  const auto [first, last] = index->equal_range(&op);
  for (auto it = first; it != last; ++it) {
    if (it->second->input == input && it->second->output == output) return table().*(it->second->function);
  }
  return nullptr;
}

}  // namespace espalier
