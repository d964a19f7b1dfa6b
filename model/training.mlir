module @training {
  func.func public @main(%arg0: tensor<${B}x115xf32> {espalier.name = "x0"}, %arg1: tensor<128xf32> {espalier.variable = "sequential/dense/bias"}, %arg2: tensor<115x128xf32> {espalier.variable = "sequential/dense/kernel"}, %arg3: tensor<ui64> {espalier.variable = "random/step"}, %arg4: tensor<ui64> {espalier.variable = "random/key"}, %arg5: tensor<64xf32> {espalier.variable = "sequential/dense_1/bias"}, %arg6: tensor<128x64xf32> {espalier.variable = "sequential/dense_1/kernel"}, %arg7: tensor<2xf32> {espalier.variable = "sequential/dense_2/bias"}, %arg8: tensor<64x2xf32> {espalier.variable = "sequential/dense_2/kernel"}) -> (tensor<${B}x2xf32> {espalier.name = "y0"}, tensor<ui64> {espalier.update = "random/step"}) {
    %0 = "stablehlo.dot_general"(%arg0, %arg2) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<${B}x115xf32>, tensor<115x128xf32>) -> tensor<${B}x128xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<128xf32>) -> tensor<${B}x128xf32>
    %2 = "stablehlo.add"(%0, %1) : (tensor<${B}x128xf32>, tensor<${B}x128xf32>) -> tensor<${B}x128xf32>
    %3 = "stablehlo.composite"(%2) {decomposition = @relu.0, name = "espalier.relu", version = 1 : i32} : (tensor<${B}x128xf32>) -> tensor<${B}x128xf32>
    %4 = "stablehlo.constant"() {value = dense<1> : tensor<ui64>} : () -> tensor<ui64>
    %5 = "stablehlo.add"(%arg3, %4) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %6 = "stablehlo.composite"(%3, %arg4, %arg3) {composite_attributes = {rate = 0.1 : f64}, decomposition = @dropout.1, name = "espalier.dropout", version = 1 : i32} : (tensor<${B}x128xf32>, tensor<ui64>, tensor<ui64>) -> tensor<${B}x128xf32>
    %7 = "stablehlo.dot_general"(%6, %arg6) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<${B}x128xf32>, tensor<128x64xf32>) -> tensor<${B}x64xf32>
    %8 = "stablehlo.broadcast_in_dim"(%arg5) {broadcast_dimensions = array<i64: 1>} : (tensor<64xf32>) -> tensor<${B}x64xf32>
    %9 = "stablehlo.add"(%7, %8) : (tensor<${B}x64xf32>, tensor<${B}x64xf32>) -> tensor<${B}x64xf32>
    %10 = "stablehlo.composite"(%9) {decomposition = @relu.2, name = "espalier.relu", version = 1 : i32} : (tensor<${B}x64xf32>) -> tensor<${B}x64xf32>
    %11 = "stablehlo.constant"() {value = dense<1> : tensor<ui64>} : () -> tensor<ui64>
    %12 = "stablehlo.add"(%5, %11) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %13 = "stablehlo.composite"(%10, %arg4, %5) {composite_attributes = {rate = 0.1 : f64}, decomposition = @dropout.3, name = "espalier.dropout", version = 1 : i32} : (tensor<${B}x64xf32>, tensor<ui64>, tensor<ui64>) -> tensor<${B}x64xf32>
    %14 = "stablehlo.dot_general"(%13, %arg8) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<${B}x64xf32>, tensor<64x2xf32>) -> tensor<${B}x2xf32>
    %15 = "stablehlo.broadcast_in_dim"(%arg7) {broadcast_dimensions = array<i64: 1>} : (tensor<2xf32>) -> tensor<${B}x2xf32>
    %16 = "stablehlo.add"(%14, %15) : (tensor<${B}x2xf32>, tensor<${B}x2xf32>) -> tensor<${B}x2xf32>
    "func.return"(%16, %12) : (tensor<${B}x2xf32>, tensor<ui64>) -> ()
  }
  func.func private @relu.0(%arg0: tensor<${B}x128xf32>) -> (tensor<${B}x128xf32>) {
    %0 = "stablehlo.constant"() {value = dense<0.0> : tensor<${B}x128xf32>} : () -> tensor<${B}x128xf32>
    %1 = "stablehlo.maximum"(%arg0, %0) : (tensor<${B}x128xf32>, tensor<${B}x128xf32>) -> tensor<${B}x128xf32>
    "func.return"(%1) : (tensor<${B}x128xf32>) -> ()
  }
  func.func private @dropout.1(%arg0: tensor<${B}x128xf32>, %arg1: tensor<ui64>, %arg2: tensor<ui64>) -> (tensor<${B}x128xf32>) {
    %0 = "stablehlo.composite"(%arg1, %arg2) {composite_attributes = {dtype = ui32, global_shape = array<i64: ${B}, 128>, shape = array<i64: ${B}, 128>}, decomposition = @random_bits.4, name = "espalier.random_bits", version = 1 : i32} : (tensor<ui64>, tensor<ui64>) -> tensor<${B}x128xui32>
    %1 = "stablehlo.constant"() {value = dense<429496729> : tensor<ui32>} : () -> tensor<ui32>
    %2 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %3 = "stablehlo.compare"(%0, %2) {compare_type = #stablehlo<comparison_type NOTYPE>, comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xi1>
    %4 = "stablehlo.constant"() {value = dense<1.1111112> : tensor<${B}x128xf32>} : () -> tensor<${B}x128xf32>
    %5 = "stablehlo.multiply"(%arg0, %4) : (tensor<${B}x128xf32>, tensor<${B}x128xf32>) -> tensor<${B}x128xf32>
    %6 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    %7 = "stablehlo.broadcast_in_dim"(%6) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<${B}x128xf32>
    %8 = "stablehlo.select"(%3, %5, %7) : (tensor<${B}x128xi1>, tensor<${B}x128xf32>, tensor<${B}x128xf32>) -> tensor<${B}x128xf32>
    "func.return"(%8) : (tensor<${B}x128xf32>) -> ()
  }
  func.func private @relu.2(%arg0: tensor<${B}x64xf32>) -> (tensor<${B}x64xf32>) {
    %0 = "stablehlo.constant"() {value = dense<0.0> : tensor<${B}x64xf32>} : () -> tensor<${B}x64xf32>
    %1 = "stablehlo.maximum"(%arg0, %0) : (tensor<${B}x64xf32>, tensor<${B}x64xf32>) -> tensor<${B}x64xf32>
    "func.return"(%1) : (tensor<${B}x64xf32>) -> ()
  }
  func.func private @dropout.3(%arg0: tensor<${B}x64xf32>, %arg1: tensor<ui64>, %arg2: tensor<ui64>) -> (tensor<${B}x64xf32>) {
    %0 = "stablehlo.composite"(%arg1, %arg2) {composite_attributes = {dtype = ui32, global_shape = array<i64: ${B}, 64>, shape = array<i64: ${B}, 64>}, decomposition = @random_bits.5, name = "espalier.random_bits", version = 1 : i32} : (tensor<ui64>, tensor<ui64>) -> tensor<${B}x64xui32>
    %1 = "stablehlo.constant"() {value = dense<429496729> : tensor<ui32>} : () -> tensor<ui32>
    %2 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %3 = "stablehlo.compare"(%0, %2) {compare_type = #stablehlo<comparison_type NOTYPE>, comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xi1>
    %4 = "stablehlo.constant"() {value = dense<1.1111112> : tensor<${B}x64xf32>} : () -> tensor<${B}x64xf32>
    %5 = "stablehlo.multiply"(%arg0, %4) : (tensor<${B}x64xf32>, tensor<${B}x64xf32>) -> tensor<${B}x64xf32>
    %6 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    %7 = "stablehlo.broadcast_in_dim"(%6) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<${B}x64xf32>
    %8 = "stablehlo.select"(%3, %5, %7) : (tensor<${B}x64xi1>, tensor<${B}x64xf32>, tensor<${B}x64xf32>) -> tensor<${B}x64xf32>
    "func.return"(%8) : (tensor<${B}x64xf32>) -> ()
  }
  func.func private @random_bits.4(%arg0: tensor<ui64>, %arg1: tensor<ui64>) -> (tensor<${B}x128xui32>) {
    %0 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<${B}x128xui64>
    %1 = "stablehlo.constant"() {value = dense<128> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %2 = "stablehlo.multiply"(%0, %1) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %3 = "stablehlo.constant"() {value = dense<0> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %4 = "stablehlo.add"(%3, %2) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %5 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<${B}x128xui64>
    %6 = "stablehlo.constant"() {value = dense<1> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %7 = "stablehlo.multiply"(%5, %6) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %8 = "stablehlo.add"(%4, %7) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %9 = "stablehlo.constant"() {value = dense<2> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %10 = "stablehlo.shift_right_logical"(%8, %9) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %11 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %12 = "stablehlo.and"(%10, %11) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %13 = "stablehlo.convert"(%12) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %14 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %15 = "stablehlo.shift_right_logical"(%10, %14) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %16 = "stablehlo.convert"(%15) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %17 = "stablehlo.constant"() {value = dense<4294967295> : tensor<ui64>} : () -> tensor<ui64>
    %18 = "stablehlo.and"(%arg1, %17) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %19 = "stablehlo.convert"(%18) : (tensor<ui64>) -> tensor<ui32>
    %20 = "stablehlo.broadcast_in_dim"(%19) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %21 = "stablehlo.constant"() {value = dense<32> : tensor<ui64>} : () -> tensor<ui64>
    %22 = "stablehlo.shift_right_logical"(%arg1, %21) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %23 = "stablehlo.convert"(%22) : (tensor<ui64>) -> tensor<ui32>
    %24 = "stablehlo.broadcast_in_dim"(%23) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %25 = "stablehlo.constant"() {value = dense<4294967295> : tensor<ui64>} : () -> tensor<ui64>
    %26 = "stablehlo.and"(%arg0, %25) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %27 = "stablehlo.convert"(%26) : (tensor<ui64>) -> tensor<ui32>
    %28 = "stablehlo.constant"() {value = dense<32> : tensor<ui64>} : () -> tensor<ui64>
    %29 = "stablehlo.shift_right_logical"(%arg0, %28) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %30 = "stablehlo.convert"(%29) : (tensor<ui64>) -> tensor<ui32>
    %31 = "stablehlo.convert"(%13) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %32 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %33 = "stablehlo.multiply"(%31, %32) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %34 = "stablehlo.convert"(%20) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %35 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %36 = "stablehlo.multiply"(%34, %35) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %37 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %38 = "stablehlo.shift_right_logical"(%36, %37) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %39 = "stablehlo.convert"(%38) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %40 = "stablehlo.xor"(%39, %16) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %41 = "stablehlo.broadcast_in_dim"(%27) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %42 = "stablehlo.xor"(%40, %41) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %43 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %44 = "stablehlo.and"(%36, %43) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %45 = "stablehlo.convert"(%44) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %46 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %47 = "stablehlo.shift_right_logical"(%33, %46) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %48 = "stablehlo.convert"(%47) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %49 = "stablehlo.xor"(%48, %24) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %50 = "stablehlo.broadcast_in_dim"(%30) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %51 = "stablehlo.xor"(%49, %50) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %52 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %53 = "stablehlo.and"(%33, %52) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %54 = "stablehlo.convert"(%53) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %55 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %56 = "stablehlo.add"(%27, %55) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %57 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %58 = "stablehlo.add"(%30, %57) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %59 = "stablehlo.convert"(%42) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %60 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %61 = "stablehlo.multiply"(%59, %60) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %62 = "stablehlo.convert"(%51) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %63 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %64 = "stablehlo.multiply"(%62, %63) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %65 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %66 = "stablehlo.shift_right_logical"(%64, %65) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %67 = "stablehlo.convert"(%66) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %68 = "stablehlo.xor"(%67, %45) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %69 = "stablehlo.broadcast_in_dim"(%56) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %70 = "stablehlo.xor"(%68, %69) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %71 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %72 = "stablehlo.and"(%64, %71) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %73 = "stablehlo.convert"(%72) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %74 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %75 = "stablehlo.shift_right_logical"(%61, %74) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %76 = "stablehlo.convert"(%75) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %77 = "stablehlo.xor"(%76, %54) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %78 = "stablehlo.broadcast_in_dim"(%58) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %79 = "stablehlo.xor"(%77, %78) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %80 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %81 = "stablehlo.and"(%61, %80) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %82 = "stablehlo.convert"(%81) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %83 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %84 = "stablehlo.add"(%56, %83) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %85 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %86 = "stablehlo.add"(%58, %85) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %87 = "stablehlo.convert"(%70) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %88 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %89 = "stablehlo.multiply"(%87, %88) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %90 = "stablehlo.convert"(%79) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %91 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %92 = "stablehlo.multiply"(%90, %91) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %93 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %94 = "stablehlo.shift_right_logical"(%92, %93) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %95 = "stablehlo.convert"(%94) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %96 = "stablehlo.xor"(%95, %73) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %97 = "stablehlo.broadcast_in_dim"(%84) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %98 = "stablehlo.xor"(%96, %97) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %99 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %100 = "stablehlo.and"(%92, %99) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %101 = "stablehlo.convert"(%100) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %102 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %103 = "stablehlo.shift_right_logical"(%89, %102) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %104 = "stablehlo.convert"(%103) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %105 = "stablehlo.xor"(%104, %82) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %106 = "stablehlo.broadcast_in_dim"(%86) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %107 = "stablehlo.xor"(%105, %106) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %108 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %109 = "stablehlo.and"(%89, %108) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %110 = "stablehlo.convert"(%109) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %111 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %112 = "stablehlo.add"(%84, %111) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %113 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %114 = "stablehlo.add"(%86, %113) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %115 = "stablehlo.convert"(%98) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %116 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %117 = "stablehlo.multiply"(%115, %116) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %118 = "stablehlo.convert"(%107) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %119 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %120 = "stablehlo.multiply"(%118, %119) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %121 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %122 = "stablehlo.shift_right_logical"(%120, %121) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %123 = "stablehlo.convert"(%122) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %124 = "stablehlo.xor"(%123, %101) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %125 = "stablehlo.broadcast_in_dim"(%112) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %126 = "stablehlo.xor"(%124, %125) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %127 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %128 = "stablehlo.and"(%120, %127) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %129 = "stablehlo.convert"(%128) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %130 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %131 = "stablehlo.shift_right_logical"(%117, %130) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %132 = "stablehlo.convert"(%131) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %133 = "stablehlo.xor"(%132, %110) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %134 = "stablehlo.broadcast_in_dim"(%114) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %135 = "stablehlo.xor"(%133, %134) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %136 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %137 = "stablehlo.and"(%117, %136) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %138 = "stablehlo.convert"(%137) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %139 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %140 = "stablehlo.add"(%112, %139) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %141 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %142 = "stablehlo.add"(%114, %141) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %143 = "stablehlo.convert"(%126) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %144 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %145 = "stablehlo.multiply"(%143, %144) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %146 = "stablehlo.convert"(%135) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %147 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %148 = "stablehlo.multiply"(%146, %147) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %149 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %150 = "stablehlo.shift_right_logical"(%148, %149) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %151 = "stablehlo.convert"(%150) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %152 = "stablehlo.xor"(%151, %129) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %153 = "stablehlo.broadcast_in_dim"(%140) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %154 = "stablehlo.xor"(%152, %153) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %155 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %156 = "stablehlo.and"(%148, %155) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %157 = "stablehlo.convert"(%156) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %158 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %159 = "stablehlo.shift_right_logical"(%145, %158) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %160 = "stablehlo.convert"(%159) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %161 = "stablehlo.xor"(%160, %138) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %162 = "stablehlo.broadcast_in_dim"(%142) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %163 = "stablehlo.xor"(%161, %162) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %164 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %165 = "stablehlo.and"(%145, %164) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %166 = "stablehlo.convert"(%165) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %167 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %168 = "stablehlo.add"(%140, %167) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %169 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %170 = "stablehlo.add"(%142, %169) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %171 = "stablehlo.convert"(%154) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %172 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %173 = "stablehlo.multiply"(%171, %172) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %174 = "stablehlo.convert"(%163) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %175 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %176 = "stablehlo.multiply"(%174, %175) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %177 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %178 = "stablehlo.shift_right_logical"(%176, %177) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %179 = "stablehlo.convert"(%178) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %180 = "stablehlo.xor"(%179, %157) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %181 = "stablehlo.broadcast_in_dim"(%168) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %182 = "stablehlo.xor"(%180, %181) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %183 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %184 = "stablehlo.and"(%176, %183) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %185 = "stablehlo.convert"(%184) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %186 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %187 = "stablehlo.shift_right_logical"(%173, %186) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %188 = "stablehlo.convert"(%187) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %189 = "stablehlo.xor"(%188, %166) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %190 = "stablehlo.broadcast_in_dim"(%170) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %191 = "stablehlo.xor"(%189, %190) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %192 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %193 = "stablehlo.and"(%173, %192) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %194 = "stablehlo.convert"(%193) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %195 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %196 = "stablehlo.add"(%168, %195) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %197 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %198 = "stablehlo.add"(%170, %197) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %199 = "stablehlo.convert"(%182) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %200 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %201 = "stablehlo.multiply"(%199, %200) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %202 = "stablehlo.convert"(%191) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %203 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %204 = "stablehlo.multiply"(%202, %203) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %205 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %206 = "stablehlo.shift_right_logical"(%204, %205) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %207 = "stablehlo.convert"(%206) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %208 = "stablehlo.xor"(%207, %185) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %209 = "stablehlo.broadcast_in_dim"(%196) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %210 = "stablehlo.xor"(%208, %209) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %211 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %212 = "stablehlo.and"(%204, %211) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %213 = "stablehlo.convert"(%212) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %214 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %215 = "stablehlo.shift_right_logical"(%201, %214) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %216 = "stablehlo.convert"(%215) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %217 = "stablehlo.xor"(%216, %194) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %218 = "stablehlo.broadcast_in_dim"(%198) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %219 = "stablehlo.xor"(%217, %218) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %220 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %221 = "stablehlo.and"(%201, %220) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %222 = "stablehlo.convert"(%221) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %223 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %224 = "stablehlo.add"(%196, %223) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %225 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %226 = "stablehlo.add"(%198, %225) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %227 = "stablehlo.convert"(%210) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %228 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %229 = "stablehlo.multiply"(%227, %228) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %230 = "stablehlo.convert"(%219) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %231 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %232 = "stablehlo.multiply"(%230, %231) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %233 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %234 = "stablehlo.shift_right_logical"(%232, %233) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %235 = "stablehlo.convert"(%234) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %236 = "stablehlo.xor"(%235, %213) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %237 = "stablehlo.broadcast_in_dim"(%224) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %238 = "stablehlo.xor"(%236, %237) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %239 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %240 = "stablehlo.and"(%232, %239) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %241 = "stablehlo.convert"(%240) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %242 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %243 = "stablehlo.shift_right_logical"(%229, %242) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %244 = "stablehlo.convert"(%243) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %245 = "stablehlo.xor"(%244, %222) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %246 = "stablehlo.broadcast_in_dim"(%226) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %247 = "stablehlo.xor"(%245, %246) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %248 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %249 = "stablehlo.and"(%229, %248) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %250 = "stablehlo.convert"(%249) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %251 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %252 = "stablehlo.add"(%224, %251) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %253 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %254 = "stablehlo.add"(%226, %253) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %255 = "stablehlo.convert"(%238) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %256 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %257 = "stablehlo.multiply"(%255, %256) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %258 = "stablehlo.convert"(%247) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %259 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %260 = "stablehlo.multiply"(%258, %259) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %261 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %262 = "stablehlo.shift_right_logical"(%260, %261) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %263 = "stablehlo.convert"(%262) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %264 = "stablehlo.xor"(%263, %241) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %265 = "stablehlo.broadcast_in_dim"(%252) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %266 = "stablehlo.xor"(%264, %265) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %267 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %268 = "stablehlo.and"(%260, %267) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %269 = "stablehlo.convert"(%268) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %270 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %271 = "stablehlo.shift_right_logical"(%257, %270) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %272 = "stablehlo.convert"(%271) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %273 = "stablehlo.xor"(%272, %250) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %274 = "stablehlo.broadcast_in_dim"(%254) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %275 = "stablehlo.xor"(%273, %274) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %276 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %277 = "stablehlo.and"(%257, %276) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %278 = "stablehlo.convert"(%277) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %279 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %280 = "stablehlo.add"(%252, %279) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %281 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %282 = "stablehlo.add"(%254, %281) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %283 = "stablehlo.convert"(%266) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %284 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %285 = "stablehlo.multiply"(%283, %284) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %286 = "stablehlo.convert"(%275) : (tensor<${B}x128xui32>) -> tensor<${B}x128xui64>
    %287 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %288 = "stablehlo.multiply"(%286, %287) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %289 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %290 = "stablehlo.shift_right_logical"(%288, %289) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %291 = "stablehlo.convert"(%290) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %292 = "stablehlo.xor"(%291, %269) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %293 = "stablehlo.broadcast_in_dim"(%280) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %294 = "stablehlo.xor"(%292, %293) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %295 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %296 = "stablehlo.and"(%288, %295) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %297 = "stablehlo.convert"(%296) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %298 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %299 = "stablehlo.shift_right_logical"(%285, %298) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %300 = "stablehlo.convert"(%299) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %301 = "stablehlo.xor"(%300, %278) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %302 = "stablehlo.broadcast_in_dim"(%282) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x128xui32>
    %303 = "stablehlo.xor"(%301, %302) : (tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %304 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %305 = "stablehlo.and"(%285, %304) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %306 = "stablehlo.convert"(%305) : (tensor<${B}x128xui64>) -> tensor<${B}x128xui32>
    %307 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %308 = "stablehlo.add"(%280, %307) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %309 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %310 = "stablehlo.add"(%282, %309) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %311 = "stablehlo.constant"() {value = dense<1> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %312 = "stablehlo.and"(%8, %311) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %313 = "stablehlo.constant"() {value = dense<1> : tensor<ui64>} : () -> tensor<ui64>
    %314 = "stablehlo.broadcast_in_dim"(%313) {broadcast_dimensions = array<i64>} : (tensor<ui64>) -> tensor<${B}x128xui64>
    %315 = "stablehlo.compare"(%312, %314) {compare_type = #stablehlo<comparison_type NOTYPE>, comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xi1>
    %316 = "stablehlo.constant"() {value = dense<2> : tensor<${B}x128xui64>} : () -> tensor<${B}x128xui64>
    %317 = "stablehlo.and"(%8, %316) : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xui64>
    %318 = "stablehlo.constant"() {value = dense<2> : tensor<ui64>} : () -> tensor<ui64>
    %319 = "stablehlo.broadcast_in_dim"(%318) {broadcast_dimensions = array<i64>} : (tensor<ui64>) -> tensor<${B}x128xui64>
    %320 = "stablehlo.compare"(%317, %319) {compare_type = #stablehlo<comparison_type NOTYPE>, comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<${B}x128xui64>, tensor<${B}x128xui64>) -> tensor<${B}x128xi1>
    %321 = "stablehlo.select"(%315, %297, %294) : (tensor<${B}x128xi1>, tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %322 = "stablehlo.select"(%315, %306, %303) : (tensor<${B}x128xi1>, tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    %323 = "stablehlo.select"(%320, %322, %321) : (tensor<${B}x128xi1>, tensor<${B}x128xui32>, tensor<${B}x128xui32>) -> tensor<${B}x128xui32>
    "func.return"(%323) : (tensor<${B}x128xui32>) -> ()
  }
  func.func private @random_bits.5(%arg0: tensor<ui64>, %arg1: tensor<ui64>) -> (tensor<${B}x64xui32>) {
    %0 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<${B}x64xui64>
    %1 = "stablehlo.constant"() {value = dense<64> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %2 = "stablehlo.multiply"(%0, %1) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %3 = "stablehlo.constant"() {value = dense<0> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %4 = "stablehlo.add"(%3, %2) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %5 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<${B}x64xui64>
    %6 = "stablehlo.constant"() {value = dense<1> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %7 = "stablehlo.multiply"(%5, %6) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %8 = "stablehlo.add"(%4, %7) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %9 = "stablehlo.constant"() {value = dense<2> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %10 = "stablehlo.shift_right_logical"(%8, %9) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %11 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %12 = "stablehlo.and"(%10, %11) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %13 = "stablehlo.convert"(%12) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %14 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %15 = "stablehlo.shift_right_logical"(%10, %14) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %16 = "stablehlo.convert"(%15) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %17 = "stablehlo.constant"() {value = dense<4294967295> : tensor<ui64>} : () -> tensor<ui64>
    %18 = "stablehlo.and"(%arg1, %17) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %19 = "stablehlo.convert"(%18) : (tensor<ui64>) -> tensor<ui32>
    %20 = "stablehlo.broadcast_in_dim"(%19) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %21 = "stablehlo.constant"() {value = dense<32> : tensor<ui64>} : () -> tensor<ui64>
    %22 = "stablehlo.shift_right_logical"(%arg1, %21) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %23 = "stablehlo.convert"(%22) : (tensor<ui64>) -> tensor<ui32>
    %24 = "stablehlo.broadcast_in_dim"(%23) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %25 = "stablehlo.constant"() {value = dense<4294967295> : tensor<ui64>} : () -> tensor<ui64>
    %26 = "stablehlo.and"(%arg0, %25) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %27 = "stablehlo.convert"(%26) : (tensor<ui64>) -> tensor<ui32>
    %28 = "stablehlo.constant"() {value = dense<32> : tensor<ui64>} : () -> tensor<ui64>
    %29 = "stablehlo.shift_right_logical"(%arg0, %28) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
    %30 = "stablehlo.convert"(%29) : (tensor<ui64>) -> tensor<ui32>
    %31 = "stablehlo.convert"(%13) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %32 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %33 = "stablehlo.multiply"(%31, %32) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %34 = "stablehlo.convert"(%20) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %35 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %36 = "stablehlo.multiply"(%34, %35) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %37 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %38 = "stablehlo.shift_right_logical"(%36, %37) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %39 = "stablehlo.convert"(%38) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %40 = "stablehlo.xor"(%39, %16) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %41 = "stablehlo.broadcast_in_dim"(%27) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %42 = "stablehlo.xor"(%40, %41) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %43 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %44 = "stablehlo.and"(%36, %43) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %45 = "stablehlo.convert"(%44) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %46 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %47 = "stablehlo.shift_right_logical"(%33, %46) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %48 = "stablehlo.convert"(%47) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %49 = "stablehlo.xor"(%48, %24) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %50 = "stablehlo.broadcast_in_dim"(%30) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %51 = "stablehlo.xor"(%49, %50) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %52 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %53 = "stablehlo.and"(%33, %52) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %54 = "stablehlo.convert"(%53) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %55 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %56 = "stablehlo.add"(%27, %55) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %57 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %58 = "stablehlo.add"(%30, %57) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %59 = "stablehlo.convert"(%42) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %60 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %61 = "stablehlo.multiply"(%59, %60) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %62 = "stablehlo.convert"(%51) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %63 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %64 = "stablehlo.multiply"(%62, %63) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %65 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %66 = "stablehlo.shift_right_logical"(%64, %65) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %67 = "stablehlo.convert"(%66) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %68 = "stablehlo.xor"(%67, %45) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %69 = "stablehlo.broadcast_in_dim"(%56) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %70 = "stablehlo.xor"(%68, %69) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %71 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %72 = "stablehlo.and"(%64, %71) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %73 = "stablehlo.convert"(%72) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %74 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %75 = "stablehlo.shift_right_logical"(%61, %74) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %76 = "stablehlo.convert"(%75) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %77 = "stablehlo.xor"(%76, %54) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %78 = "stablehlo.broadcast_in_dim"(%58) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %79 = "stablehlo.xor"(%77, %78) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %80 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %81 = "stablehlo.and"(%61, %80) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %82 = "stablehlo.convert"(%81) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %83 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %84 = "stablehlo.add"(%56, %83) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %85 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %86 = "stablehlo.add"(%58, %85) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %87 = "stablehlo.convert"(%70) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %88 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %89 = "stablehlo.multiply"(%87, %88) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %90 = "stablehlo.convert"(%79) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %91 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %92 = "stablehlo.multiply"(%90, %91) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %93 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %94 = "stablehlo.shift_right_logical"(%92, %93) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %95 = "stablehlo.convert"(%94) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %96 = "stablehlo.xor"(%95, %73) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %97 = "stablehlo.broadcast_in_dim"(%84) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %98 = "stablehlo.xor"(%96, %97) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %99 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %100 = "stablehlo.and"(%92, %99) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %101 = "stablehlo.convert"(%100) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %102 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %103 = "stablehlo.shift_right_logical"(%89, %102) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %104 = "stablehlo.convert"(%103) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %105 = "stablehlo.xor"(%104, %82) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %106 = "stablehlo.broadcast_in_dim"(%86) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %107 = "stablehlo.xor"(%105, %106) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %108 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %109 = "stablehlo.and"(%89, %108) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %110 = "stablehlo.convert"(%109) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %111 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %112 = "stablehlo.add"(%84, %111) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %113 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %114 = "stablehlo.add"(%86, %113) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %115 = "stablehlo.convert"(%98) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %116 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %117 = "stablehlo.multiply"(%115, %116) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %118 = "stablehlo.convert"(%107) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %119 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %120 = "stablehlo.multiply"(%118, %119) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %121 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %122 = "stablehlo.shift_right_logical"(%120, %121) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %123 = "stablehlo.convert"(%122) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %124 = "stablehlo.xor"(%123, %101) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %125 = "stablehlo.broadcast_in_dim"(%112) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %126 = "stablehlo.xor"(%124, %125) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %127 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %128 = "stablehlo.and"(%120, %127) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %129 = "stablehlo.convert"(%128) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %130 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %131 = "stablehlo.shift_right_logical"(%117, %130) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %132 = "stablehlo.convert"(%131) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %133 = "stablehlo.xor"(%132, %110) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %134 = "stablehlo.broadcast_in_dim"(%114) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %135 = "stablehlo.xor"(%133, %134) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %136 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %137 = "stablehlo.and"(%117, %136) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %138 = "stablehlo.convert"(%137) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %139 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %140 = "stablehlo.add"(%112, %139) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %141 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %142 = "stablehlo.add"(%114, %141) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %143 = "stablehlo.convert"(%126) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %144 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %145 = "stablehlo.multiply"(%143, %144) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %146 = "stablehlo.convert"(%135) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %147 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %148 = "stablehlo.multiply"(%146, %147) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %149 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %150 = "stablehlo.shift_right_logical"(%148, %149) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %151 = "stablehlo.convert"(%150) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %152 = "stablehlo.xor"(%151, %129) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %153 = "stablehlo.broadcast_in_dim"(%140) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %154 = "stablehlo.xor"(%152, %153) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %155 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %156 = "stablehlo.and"(%148, %155) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %157 = "stablehlo.convert"(%156) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %158 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %159 = "stablehlo.shift_right_logical"(%145, %158) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %160 = "stablehlo.convert"(%159) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %161 = "stablehlo.xor"(%160, %138) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %162 = "stablehlo.broadcast_in_dim"(%142) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %163 = "stablehlo.xor"(%161, %162) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %164 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %165 = "stablehlo.and"(%145, %164) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %166 = "stablehlo.convert"(%165) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %167 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %168 = "stablehlo.add"(%140, %167) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %169 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %170 = "stablehlo.add"(%142, %169) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %171 = "stablehlo.convert"(%154) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %172 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %173 = "stablehlo.multiply"(%171, %172) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %174 = "stablehlo.convert"(%163) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %175 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %176 = "stablehlo.multiply"(%174, %175) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %177 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %178 = "stablehlo.shift_right_logical"(%176, %177) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %179 = "stablehlo.convert"(%178) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %180 = "stablehlo.xor"(%179, %157) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %181 = "stablehlo.broadcast_in_dim"(%168) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %182 = "stablehlo.xor"(%180, %181) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %183 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %184 = "stablehlo.and"(%176, %183) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %185 = "stablehlo.convert"(%184) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %186 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %187 = "stablehlo.shift_right_logical"(%173, %186) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %188 = "stablehlo.convert"(%187) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %189 = "stablehlo.xor"(%188, %166) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %190 = "stablehlo.broadcast_in_dim"(%170) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %191 = "stablehlo.xor"(%189, %190) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %192 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %193 = "stablehlo.and"(%173, %192) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %194 = "stablehlo.convert"(%193) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %195 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %196 = "stablehlo.add"(%168, %195) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %197 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %198 = "stablehlo.add"(%170, %197) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %199 = "stablehlo.convert"(%182) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %200 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %201 = "stablehlo.multiply"(%199, %200) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %202 = "stablehlo.convert"(%191) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %203 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %204 = "stablehlo.multiply"(%202, %203) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %205 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %206 = "stablehlo.shift_right_logical"(%204, %205) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %207 = "stablehlo.convert"(%206) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %208 = "stablehlo.xor"(%207, %185) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %209 = "stablehlo.broadcast_in_dim"(%196) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %210 = "stablehlo.xor"(%208, %209) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %211 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %212 = "stablehlo.and"(%204, %211) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %213 = "stablehlo.convert"(%212) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %214 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %215 = "stablehlo.shift_right_logical"(%201, %214) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %216 = "stablehlo.convert"(%215) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %217 = "stablehlo.xor"(%216, %194) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %218 = "stablehlo.broadcast_in_dim"(%198) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %219 = "stablehlo.xor"(%217, %218) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %220 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %221 = "stablehlo.and"(%201, %220) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %222 = "stablehlo.convert"(%221) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %223 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %224 = "stablehlo.add"(%196, %223) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %225 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %226 = "stablehlo.add"(%198, %225) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %227 = "stablehlo.convert"(%210) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %228 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %229 = "stablehlo.multiply"(%227, %228) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %230 = "stablehlo.convert"(%219) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %231 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %232 = "stablehlo.multiply"(%230, %231) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %233 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %234 = "stablehlo.shift_right_logical"(%232, %233) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %235 = "stablehlo.convert"(%234) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %236 = "stablehlo.xor"(%235, %213) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %237 = "stablehlo.broadcast_in_dim"(%224) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %238 = "stablehlo.xor"(%236, %237) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %239 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %240 = "stablehlo.and"(%232, %239) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %241 = "stablehlo.convert"(%240) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %242 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %243 = "stablehlo.shift_right_logical"(%229, %242) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %244 = "stablehlo.convert"(%243) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %245 = "stablehlo.xor"(%244, %222) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %246 = "stablehlo.broadcast_in_dim"(%226) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %247 = "stablehlo.xor"(%245, %246) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %248 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %249 = "stablehlo.and"(%229, %248) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %250 = "stablehlo.convert"(%249) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %251 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %252 = "stablehlo.add"(%224, %251) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %253 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %254 = "stablehlo.add"(%226, %253) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %255 = "stablehlo.convert"(%238) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %256 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %257 = "stablehlo.multiply"(%255, %256) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %258 = "stablehlo.convert"(%247) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %259 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %260 = "stablehlo.multiply"(%258, %259) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %261 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %262 = "stablehlo.shift_right_logical"(%260, %261) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %263 = "stablehlo.convert"(%262) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %264 = "stablehlo.xor"(%263, %241) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %265 = "stablehlo.broadcast_in_dim"(%252) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %266 = "stablehlo.xor"(%264, %265) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %267 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %268 = "stablehlo.and"(%260, %267) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %269 = "stablehlo.convert"(%268) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %270 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %271 = "stablehlo.shift_right_logical"(%257, %270) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %272 = "stablehlo.convert"(%271) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %273 = "stablehlo.xor"(%272, %250) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %274 = "stablehlo.broadcast_in_dim"(%254) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %275 = "stablehlo.xor"(%273, %274) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %276 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %277 = "stablehlo.and"(%257, %276) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %278 = "stablehlo.convert"(%277) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %279 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %280 = "stablehlo.add"(%252, %279) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %281 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %282 = "stablehlo.add"(%254, %281) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %283 = "stablehlo.convert"(%266) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %284 = "stablehlo.constant"() {value = dense<3528531795> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %285 = "stablehlo.multiply"(%283, %284) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %286 = "stablehlo.convert"(%275) : (tensor<${B}x64xui32>) -> tensor<${B}x64xui64>
    %287 = "stablehlo.constant"() {value = dense<3449720151> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %288 = "stablehlo.multiply"(%286, %287) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %289 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %290 = "stablehlo.shift_right_logical"(%288, %289) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %291 = "stablehlo.convert"(%290) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %292 = "stablehlo.xor"(%291, %269) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %293 = "stablehlo.broadcast_in_dim"(%280) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %294 = "stablehlo.xor"(%292, %293) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %295 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %296 = "stablehlo.and"(%288, %295) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %297 = "stablehlo.convert"(%296) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %298 = "stablehlo.constant"() {value = dense<32> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %299 = "stablehlo.shift_right_logical"(%285, %298) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %300 = "stablehlo.convert"(%299) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %301 = "stablehlo.xor"(%300, %278) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %302 = "stablehlo.broadcast_in_dim"(%282) {broadcast_dimensions = array<i64>} : (tensor<ui32>) -> tensor<${B}x64xui32>
    %303 = "stablehlo.xor"(%301, %302) : (tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %304 = "stablehlo.constant"() {value = dense<4294967295> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %305 = "stablehlo.and"(%285, %304) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %306 = "stablehlo.convert"(%305) : (tensor<${B}x64xui64>) -> tensor<${B}x64xui32>
    %307 = "stablehlo.constant"() {value = dense<2654435769> : tensor<ui32>} : () -> tensor<ui32>
    %308 = "stablehlo.add"(%280, %307) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %309 = "stablehlo.constant"() {value = dense<3144134277> : tensor<ui32>} : () -> tensor<ui32>
    %310 = "stablehlo.add"(%282, %309) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %311 = "stablehlo.constant"() {value = dense<1> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %312 = "stablehlo.and"(%8, %311) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %313 = "stablehlo.constant"() {value = dense<1> : tensor<ui64>} : () -> tensor<ui64>
    %314 = "stablehlo.broadcast_in_dim"(%313) {broadcast_dimensions = array<i64>} : (tensor<ui64>) -> tensor<${B}x64xui64>
    %315 = "stablehlo.compare"(%312, %314) {compare_type = #stablehlo<comparison_type NOTYPE>, comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xi1>
    %316 = "stablehlo.constant"() {value = dense<2> : tensor<${B}x64xui64>} : () -> tensor<${B}x64xui64>
    %317 = "stablehlo.and"(%8, %316) : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xui64>
    %318 = "stablehlo.constant"() {value = dense<2> : tensor<ui64>} : () -> tensor<ui64>
    %319 = "stablehlo.broadcast_in_dim"(%318) {broadcast_dimensions = array<i64>} : (tensor<ui64>) -> tensor<${B}x64xui64>
    %320 = "stablehlo.compare"(%317, %319) {compare_type = #stablehlo<comparison_type NOTYPE>, comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<${B}x64xui64>, tensor<${B}x64xui64>) -> tensor<${B}x64xi1>
    %321 = "stablehlo.select"(%315, %297, %294) : (tensor<${B}x64xi1>, tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %322 = "stablehlo.select"(%315, %306, %303) : (tensor<${B}x64xi1>, tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    %323 = "stablehlo.select"(%320, %322, %321) : (tensor<${B}x64xi1>, tensor<${B}x64xui32>, tensor<${B}x64xui32>) -> tensor<${B}x64xui32>
    "func.return"(%323) : (tensor<${B}x64xui32>) -> ()
  }
}
