module @inference {
  func.func public @main(%arg0: tensor<${B}x115xf32> {espalier.name = "x0"}, %arg1: tensor<128xf32> {espalier.variable = "sequential/dense/bias"}, %arg2: tensor<115x128xf32> {espalier.variable = "sequential/dense/kernel"}, %arg3: tensor<64xf32> {espalier.variable = "sequential/dense_1/bias"}, %arg4: tensor<128x64xf32> {espalier.variable = "sequential/dense_1/kernel"}, %arg5: tensor<2xf32> {espalier.variable = "sequential/dense_2/bias"}, %arg6: tensor<64x2xf32> {espalier.variable = "sequential/dense_2/kernel"}) -> (tensor<${B}x2xf32> {espalier.name = "y0"}) {
    %0 = "stablehlo.dot_general"(%arg0, %arg2) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<${B}x115xf32>, tensor<115x128xf32>) -> tensor<${B}x128xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<128xf32>) -> tensor<${B}x128xf32>
    %2 = "stablehlo.add"(%0, %1) : (tensor<${B}x128xf32>, tensor<${B}x128xf32>) -> tensor<${B}x128xf32>
    %3 = "stablehlo.composite"(%2) {decomposition = @relu.0, name = "espalier.relu", version = 1 : i32} : (tensor<${B}x128xf32>) -> tensor<${B}x128xf32>
    %4 = "stablehlo.dot_general"(%3, %arg4) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<${B}x128xf32>, tensor<128x64xf32>) -> tensor<${B}x64xf32>
    %5 = "stablehlo.broadcast_in_dim"(%arg3) {broadcast_dimensions = array<i64: 1>} : (tensor<64xf32>) -> tensor<${B}x64xf32>
    %6 = "stablehlo.add"(%4, %5) : (tensor<${B}x64xf32>, tensor<${B}x64xf32>) -> tensor<${B}x64xf32>
    %7 = "stablehlo.composite"(%6) {decomposition = @relu.1, name = "espalier.relu", version = 1 : i32} : (tensor<${B}x64xf32>) -> tensor<${B}x64xf32>
    %8 = "stablehlo.dot_general"(%7, %arg6) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<${B}x64xf32>, tensor<64x2xf32>) -> tensor<${B}x2xf32>
    %9 = "stablehlo.broadcast_in_dim"(%arg5) {broadcast_dimensions = array<i64: 1>} : (tensor<2xf32>) -> tensor<${B}x2xf32>
    %10 = "stablehlo.add"(%8, %9) : (tensor<${B}x2xf32>, tensor<${B}x2xf32>) -> tensor<${B}x2xf32>
    "func.return"(%10) : (tensor<${B}x2xf32>) -> ()
  }
  func.func private @relu.0(%arg0: tensor<${B}x128xf32>) -> (tensor<${B}x128xf32>) {
    %0 = "stablehlo.constant"() {value = dense<0.0> : tensor<${B}x128xf32>} : () -> tensor<${B}x128xf32>
    %1 = "stablehlo.maximum"(%arg0, %0) : (tensor<${B}x128xf32>, tensor<${B}x128xf32>) -> tensor<${B}x128xf32>
    "func.return"(%1) : (tensor<${B}x128xf32>) -> ()
  }
  func.func private @relu.1(%arg0: tensor<${B}x64xf32>) -> (tensor<${B}x64xf32>) {
    %0 = "stablehlo.constant"() {value = dense<0.0> : tensor<${B}x64xf32>} : () -> tensor<${B}x64xf32>
    %1 = "stablehlo.maximum"(%arg0, %0) : (tensor<${B}x64xf32>, tensor<${B}x64xf32>) -> tensor<${B}x64xf32>
    "func.return"(%1) : (tensor<${B}x64xf32>) -> ()
  }
}
