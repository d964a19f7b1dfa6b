// Programs that the mutations of fuzz_text start from: regions, indexing, windows, literals and composites in
// the forms that StableHLO's writers use.
#pragma once

namespace espalier::fuzz {

inline constexpr const char* kPrograms[] = {
    // Functions that call each other, and a reducer that captures.
    R"("builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{function_type = (tensor<3xf32>, tensor<f32>) -> tensor<f32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<f32>):
    %0:2 = "func.call"(%x, %c) <{callee = @f}> : (tensor<3xf32>, tensor<f32>) -> (tensor<f32>, tensor<3xf32>)
    %r = "stablehlo.reduce"(%0#1, %0#0) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = "stablehlo.multiply"(%a, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %s = "stablehlo.add"(%p, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%r) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3xf32>, tensor<f32>) -> (tensor<f32>, tensor<3xf32>), sym_name = "f", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<f32>):
    "func.return"(%c, %x) : (tensor<f32>, tensor<3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
)",
    // Routines of LAPACK, with attributes that are skipped.
    R"(func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i32>) {
  %0:2 = "stablehlo.custom_call"(%a) <{call_target_name = "lapack_spotrf_ffi", backend_config = "", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]}> {mhlo.backend_config = {uplo = 76 : ui8}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], []) {i=2, j=2}, custom>} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  %1 = "stablehlo.custom_call"(%0#0, %b) {call_target_name = "lapack_strsm_ffi", backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  "func.return"(%1, %0#1) : (tensor<2x3xf32>, tensor<i32>) -> ()
}
)",
    // A loop that carries two values and captures a third.
    R"(func.func @main(%n: tensor<i32>, %x: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
  %zero = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %0:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %y: tensor<4xf32>):
    %more = "stablehlo.compare"(%i, %n) {comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %y: tensor<4xf32>):
    %one = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %z = "stablehlo.multiply"(%y, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%next, %z) : (tensor<i32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  "func.return"(%0#0, %0#1) : (tensor<i32>, tensor<4xf32>) -> ()
}
)",
    // Branches, one of them inside of another.
    R"(func.func @main(%p: tensor<i1>, %k: tensor<i32>, %x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = "stablehlo.case"(%k) ({
      %2 = "stablehlo.negate"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      "stablehlo.return"(%2) : (tensor<2x3xf32>) -> ()
    }, {
      %2 = "stablehlo.exponential"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      "stablehlo.return"(%2) : (tensor<2x3xf32>) -> ()
    }, {
      "stablehlo.return"(%x) : (tensor<2x3xf32>) -> ()
    }) : (tensor<i32>) -> tensor<2x3xf32>
    "stablehlo.return"(%1) : (tensor<2x3xf32>) -> ()
  }, {
    "stablehlo.return"(%x) : (tensor<2x3xf32>) -> ()
  }) : (tensor<i1>) -> tensor<2x3xf32>
  "func.return"(%0) : (tensor<2x3xf32>) -> ()
}
)",
    // Rows taken and added to.
    R"(func.func @main(%x: tensor<5x4xf32>, %i: tensor<3x1xi32>) -> (tensor<3x4xf32>, tensor<5x4xf32>) {
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>} : (tensor<5x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %1 = "stablehlo.scatter"(%x, %i, %0) ({
  ^bb0(%old: tensor<f32>, %update: tensor<f32>):
    %2 = "stablehlo.add"(%old, %update) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%2) : (tensor<f32>) -> ()
  }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %3 = "stablehlo.scatter"(%1, %i, %0) ({
  ^bb0(%old: tensor<f32>, %update: tensor<f32>):
    %half = "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
    %4 = "stablehlo.multiply"(%old, %half) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %5 = "stablehlo.subtract"(%4, %update) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%5) : (tensor<f32>) -> ()
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  "func.return"(%0, %3) : (tensor<3x4xf32>, tensor<5x4xf32>) -> ()
}
)",
    // A convolution with strides, padding and dilation, then a pooling window.
    R"(func.func @main(%x: tensor<2x8x7x3xf32>, %k: tensor<3x2x3x5xf32>) -> tensor<2x3x2x5xf32> {
  %0 = "stablehlo.convolution"(%x, %k) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>, rhs_dilation = array<i64: 2, 1>, window_reversal = array<i1: false, true>, window_strides = array<i64: 1, 2>} : (tensor<2x8x7x3xf32>, tensor<3x2x3x5xf32>) -> tensor<2x6x4x5xf32>
  %low = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %1 = "stablehlo.reduce_window"(%0, %low) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%2) : (tensor<f32>) -> ()
  }) {base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<2x6x4x5xf32>, tensor<f32>) -> tensor<2x3x2x5xf32>
  "func.return"(%1) : (tensor<2x3x2x5xf32>) -> ()
}
)",
    // Keys sorted with their payload, and a reduction of two operands at once.
    R"(func.func @main(%keys: tensor<2x6xf32>, %values: tensor<2x6xi32>) -> (tensor<2x6xf32>, tensor<2x6xi32>, tensor<2xf32>, tensor<2xi32>) {
  %0:2 = "stablehlo.sort"(%keys, %values) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%1) : (tensor<i1>) -> ()
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x6xf32>, tensor<2x6xi32>) -> (tensor<2x6xf32>, tensor<2x6xi32>)
  %low = "stablehlo.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %none = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %2:2 = "stablehlo.reduce"(%keys, %values, %low, %none) ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    %3 = "stablehlo.compare"(%a, %c) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = "stablehlo.select"(%3, %a, %c) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %5 = "stablehlo.select"(%3, %b, %d) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%4, %5) : (tensor<f32>, tensor<i32>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<2x6xf32>, tensor<2x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  "func.return"(%0#0, %0#1, %2#0, %2#1) : (tensor<2x6xf32>, tensor<2x6xi32>, tensor<2xf32>, tensor<2xi32>) -> ()
}
)",
    // A composite of another maker, and one of ours in another version: both are read as what they decompose
    // into.
    R"(module @composites {
  func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = "stablehlo.composite"(%x) {composite_attributes = {factor = 3 : i64, note = "n", scale = 2.5 : f32}, decomposition = @triple, name = "other.triple", version = 2 : i32} : (tensor<3xf32>) -> tensor<3xf32>
    %1 = "stablehlo.composite"(%0) {composite_attributes = {}, decomposition = @triple, name = "espalier.square", version = 99 : i32} : (tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%0, %1) : (tensor<3xf32>, tensor<3xf32>) -> ()
  }
  func.func private @triple(%x: tensor<3xf32>) -> tensor<3xf32> {
    %three = "stablehlo.constant"() {value = dense<3.0> : tensor<3xf32>} : () -> tensor<3xf32>
    %0 = "stablehlo.multiply"(%x, %three) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
)",
    // Literals: lists, splats, blobs, bits, every kind of element.
    R"(func.func @main() -> (tensor<2x3xf32>, tensor<4xi32>, tensor<6xi1>, tensor<3xbf16>, tensor<2xf64>, tensor<2x2xui8>, tensor<0x3xi64>, tensor<2xf16>) {
  %0 = "stablehlo.constant"() {value = dense<[[1.0, -2.5e+00, 3.0], [0x7FC00000, 4.0, 1.0E-6]]> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
  %1 = "stablehlo.constant"() {value = dense<"0x01000000FFFFFFFF0200000000000080"> : tensor<4xi32>} : () -> tensor<4xi32>
  %2 = "stablehlo.constant"() {value = dense<[true, false, false, true, true, false]> : tensor<6xi1>} : () -> tensor<6xi1>
  %3 = "stablehlo.constant"() {value = dense<0xFF80> : tensor<3xbf16>} : () -> tensor<3xbf16>
  %4 = "stablehlo.constant"() {value = dense<[3.1415926535897931, 0x7FF0000000000000]> : tensor<2xf64>} : () -> tensor<2xf64>
  %5 = "stablehlo.constant"() {value = dense<[[0, 255], [7, 8]]> : tensor<2x2xui8>} : () -> tensor<2x2xui8>
  %6 = "stablehlo.constant"() {value = dense<> : tensor<0x3xi64>} : () -> tensor<0x3xi64>
  %7 = "stablehlo.constant"() {value = dense<"0x003C00C0"> : tensor<2xf16>} : () -> tensor<2xf16>
  "func.return"(%0, %1, %2, %3, %4, %5, %6, %7) : (tensor<2x3xf32>, tensor<4xi32>, tensor<6xi1>, tensor<3xbf16>, tensor<2xf64>, tensor<2x2xui8>, tensor<0x3xi64>, tensor<2xf16>) -> ()
}
)",
    // Views and slices with every list that an attribute can be.
    R"(func.func @main(%x: tensor<4x6xf32>, %i: tensor<i32>) -> (tensor<2x2xf32>, tensor<9x6xf32>, tensor<4x6xf32>, tensor<1x6xf32>) {
  %0 = "stablehlo.slice"(%x) {limit_indices = array<i64: 4, 5>, start_indices = array<i64: 0, 1>, strides = array<i64: 2, 2>} : (tensor<4x6xf32>) -> tensor<2x2xf32>
  %c = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "stablehlo.pad"(%x, %c) {edge_padding_high = array<i64: 1, -1>, edge_padding_low = array<i64: 1, 1>, interior_padding = dense<[1, 0]> : tensor<2xi64>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<9x6xf32>
  %2 = "stablehlo.reverse"(%x) {dimensions = array<i64: 0, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = "stablehlo.dynamic_slice"(%x, %i, %i) {slice_sizes = array<i64: 1, 6>} : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
  "func.return"(%0, %1, %2, %3) : (tensor<2x2xf32>, tensor<9x6xf32>, tensor<4x6xf32>, tensor<1x6xf32>) -> ()
}
)"};

}  // namespace espalier::fuzz
