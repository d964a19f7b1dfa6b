#include "text/text.h"

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ir/constant.h"
#include "ops/registry.h"
#include "passes/inline_composites.h"

namespace espalier {
namespace {

// A module around a body of @main.
std::string main_of(const std::string& body, const std::string& results = "") {
  return "func.func @main()" + results + " {\n" + body + "\n}";
}

std::string text_error_of(const std::string& source) {
  try {
    parse_program(source);
  } catch (const FormatError& error) {
    return error.message();
  }
  return "parsed";
}

// The literal that a dense attribute of this type reads as.
Literal dense(const std::string& body, const std::string& type) {
  const auto graph =
      parse_program(main_of("%0 = \"stablehlo.constant\"() {value = dense<" + body + "> : " + type +
                                "} : () -> " + type + "\n\"func.return\"(%0) : (" + type + ") -> ()",
                            " -> " + type));
  return static_cast<const ConstantAttributes&>(*graph->node(0).attributes).value;
}

template <class T>
std::vector<T> values(const Literal& literal) {
  const Literal all = literal.expanded();
  return {all.view().as<T>(), all.view().as<T>() + all.type().elements()};
}

void expect_round_trip(const Graph& graph) {
  const std::string text = print_program(graph);
  const auto back = parse_program(text);
  back->verify();
  EXPECT_TRUE(*back == graph) << text;
  EXPECT_EQ(back->content_hash(), graph.content_hash());
  EXPECT_EQ(print_program(*back), text);
}

TEST(TextDense, ReadsListsSplatsBlobsAndBits) {
  EXPECT_EQ(values<float>(dense("[[1.0, -2.5e+00], [3.0, 4]]", "tensor<2x2xf32>")),
            (std::vector<float>{1, -2.5f, 3, 4}));
  EXPECT_EQ(values<int32_t>(dense("\"0x01000000FFFFFFFF\"", "tensor<2xi32>")), (std::vector<int32_t>{1, -1}));
  EXPECT_EQ(values<uint8_t>(dense("255", "tensor<2xui8>")), (std::vector<uint8_t>{255, 255}));
  EXPECT_EQ(values<int64_t>(dense("-9223372036854775808", "tensor<i64>"))[0], INT64_MIN);
  EXPECT_EQ(values<BFloat16>(dense("0xFF80", "tensor<bf16>"))[0].bits(), 0xff80);
  EXPECT_EQ(values<double>(dense("0x7FF0000000000000", "tensor<f64>"))[0], INFINITY);
  EXPECT_EQ(values<float>(dense("9.99999974E-6", "tensor<f32>"))[0], 9.99999974e-6f);
  EXPECT_EQ(dense("", "tensor<0x4xf32>").type().elements(), 0);
  EXPECT_EQ(dense("[]", "tensor<0xf32>").type().elements(), 0);
}

TEST(TextDense, ReadsBothFormsOfBoolBlobs) {
  const std::vector<uint8_t> wanted{1, 0, 0, 1, 0, 0, 0, 0, 0, 1};
  const auto bytes = [](const Literal& l) { return values<uint8_t>(l); };
  EXPECT_EQ(bytes(dense("\"0x01000001000000000001\"", "tensor<10xi1>")), wanted);
  EXPECT_EQ(bytes(dense("\"0x0902\"", "tensor<10xi1>")), wanted);
  EXPECT_EQ(
      bytes(dense("[true, false, false, true, false, false, false, false, false, true]", "tensor<10xi1>")),
      wanted);
  EXPECT_EQ(bytes(dense("\"0xFF\"", "tensor<3xi1>")), (std::vector<uint8_t>{1, 1, 1}));
}

TEST(TextDense, ASplatOfAHugeShapeIsOneElement) {
  const Literal one = dense("1.0", "tensor<1000000x1000000xf32>");
  EXPECT_TRUE(one.is_splat());
  EXPECT_EQ(one.raw_bytes(), 4u);
  EXPECT_TRUE(dense("\"0x0000803F\"", "tensor<1000000x1000000xf32>") == one);
}

TEST(TextDense, RefusesWhatDoesNotFit) {
  const auto error = [](const std::string& body, const std::string& type) {
    try {
      dense(body, type);
    } catch (const FormatError& e) {
      return e.message();
    }
    return std::string("read");
  };
  EXPECT_EQ(error("[1, 2]", "tensor<3xi32>"), "a list of 2 on axis 0 of tensor<3xi32> at 2:44");
  EXPECT_EQ(error("[1, 2, 3]", "tensor<2xi32>"), "more elements than tensor<2xi32> holds at 2:51");
  EXPECT_EQ(error("300", "tensor<i8>"), "300 does not fit i8 at 2:44");
  EXPECT_EQ(error("-1", "tensor<ui8>"), "-1 does not fit u8 at 2:44");
  EXPECT_EQ(error("0x1FF80", "tensor<bf16>"), "0x1FF80 does not fit bf16 at 2:44");
  EXPECT_EQ(error("\"0x0102\"", "tensor<4xi32>"), "a blob of 2 bytes for tensor<4xi32> at 2:44");
  EXPECT_EQ(error("\"0x01G0\"", "tensor<2xi8>"),
            "a blob with a character that is no hexadecimal digit at 2:44");
  EXPECT_EQ(error("[1]", "tensor<1000000x1000000xi32>"),
            "fewer elements than tensor<1000000x1000000xi32> holds at 2:44");
  EXPECT_EQ(error("true", "tensor<f32>"), "expected a number, found true at 2:44");
}

TEST(TextParse, SizesThatAreNotFixedAreNamedWithTheCure) {
  const auto refusal = [](const std::string& source) {
    try {
      parse_program(source);
    } catch (const FormatError& error) {
      return cat(error.rule(), " ", error.message(), "; ", error.fix());
    }
    return std::string("parsed");
  };
  const std::string cure =
      "export for fixed sizes, in JAX with numbers where there are symbolic sizes: jax.export.export("
      "jax.jit(f))(jax.ShapeDtypeStruct((32, 8), jax.numpy.float32))";
  const auto argument = [](const std::string& type) {
    return "func.func @main(%x: " + type + ") -> " + type + " {\n  \"func.return\"(%x) : (" + type +
           ") -> ()\n}";
  };
  EXPECT_EQ(refusal(argument("tensor<4x8xf32>")), "parsed");
  for (const char* type : {"tensor<?x8xf32>", "tensor<8x?xf32>", "tensor<?xi1>"}) {
    EXPECT_EQ(refusal(argument(type)), cat("text.type unsupported type ", type,
                                           ": sizes that are not fixed are not read at 1:21; ", cure));
  }
  EXPECT_EQ(refusal(argument("tensor<?xf32, #stablehlo.bounds<4>>")),
            "text.type unsupported type tensor<?xf32, #stablehlo.bounds<4>: sizes that are not fixed are not "
            "read at 1:21; " +
                cure);
  for (const char* op : {"stablehlo.dynamic_reshape", "stablehlo.get_dimension_size"}) {
    EXPECT_EQ(refusal(main_of(cat("%0 = \"", op, "\"() : () -> tensor<2xf32>"))),
              cat("text.unsupported unsupported op ", op, " at 2:6; ", cure));
  }
  // Another type or op has another cure.
  EXPECT_EQ(refusal(argument("tensor<*xf32>")), "text.type unsupported type tensor<*xf32> at 1:21; ");
  EXPECT_EQ(refusal(main_of("%0 = \"stablehlo.fft\"() : () -> tensor<2xf32>")),
            "text.unsupported unsupported op stablehlo.fft at 2:6; ");
}

TEST(TextParse, NamesWhatIsUnsupportedAndWhere) {
  EXPECT_EQ(text_error_of("func.func @main() {\n  %0 = \"stablehlo.fft\"() : () -> tensor<f32>\n}"),
            "unsupported op stablehlo.fft at 2:8");
  EXPECT_EQ(
      text_error_of(main_of("%0 = \"stablehlo.iota\"() {iota_dimension = 0 : i64} : () -> tensor<?xf32>")),
      "unsupported type tensor<?xf32>: sizes that are not fixed are not read at 2:60");
  EXPECT_EQ(text_error_of(
                main_of("%0 = \"chlo.iota\"() {iota_dimension = 0 : i64} : () -> tensor<2xcomplex<f32>>")),
            "unsupported type tensor<2xcomplex<f32> at 2:55");
  // What is not read is named before its attributes and types.
  EXPECT_EQ(text_error_of(main_of("%0 = \"x.y\"() {a = #x.y<?>} : () -> tensor<2xcomplex<f32>>")),
            "unsupported op x.y at 2:6");
  EXPECT_EQ(text_error_of(
                main_of("%0 = \"stablehlo.custom_call\"() <{a = dense<1> : tensor<1xui4>, call_target_name = "
                        "\"lapack_sgetrf_ffi\"}> : () -> tensor<2xcomplex<f32>>")),
            "unsupported custom_call @lapack_sgetrf_ffi at 2:6");
  EXPECT_EQ(text_error_of(main_of("\"stablehlo.custom_call\"() {call_target_name = \"magic\"} : () -> ()")),
            "unsupported custom_call @magic at 2:1");
  EXPECT_EQ(text_error_of(main_of(
                "%0 = \"stablehlo.iota\"() {iota_dimension = 0 : i64, wrap = true} : () -> tensor<2xf32>")),
            "unsupported attribute wrap of stablehlo.iota at 2:59");
  EXPECT_EQ(text_error_of(
                main_of("%0 = \"stablehlo.constant\"() {value = dense_resource<w> : tensor<2xf32>} : () -> "
                        "tensor<2xf32>")),
            "unsupported attribute dense_resource: its data stands elsewhere at 2:38");
}

TEST(TextParse, RefusesWrongPrograms) {
  EXPECT_EQ(text_error_of(""), "no @main and no public function");
  EXPECT_EQ(text_error_of("module {"), "expected '}', found the end at 1:9");
  EXPECT_EQ(text_error_of("func.func @a() {}\nfunc.func @b() {}"), "no @main, and both @a and @b are public");
  EXPECT_EQ(text_error_of("func.func @a() {}\nfunc.func @a() {}"), "a second function @a at 2:1");
  EXPECT_EQ(text_error_of(main_of("%0 = \"stablehlo.negate\"(%1) : (tensor<f32>) -> tensor<f32>")),
            "unknown value %1 at 2:25");
  EXPECT_EQ(text_error_of(main_of("\"func.call\"() {callee = @f} : () -> ()")), "unknown function @f at 2:1");
  EXPECT_EQ(text_error_of(main_of("\"func.call\"() {callee = @main} : () -> ()")),
            "@main calls itself at 2:1");
  EXPECT_EQ(
      text_error_of(main_of("%0 = \"stablehlo.iota\"() {iota_dimension = 3 : i64} : () -> tensor<2xf32>")),
      "stablehlo.iota: axis 3 is outside of rank 1 (iota.c2) at 2:6");
  EXPECT_EQ(text_error_of(main_of("\"func.return\"() : () -> ()", " -> tensor<f32>")),
            "@main returns 0 values, says 1 at 1:1");
  EXPECT_EQ(
      text_error_of("func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {\n%0 = \"stablehlo.negate\"(%a) : "
                    "(tensor<2xf32>) "
                    "-> tensor<3xf32>\n}"),
      "result 0 of stablehlo.negate is f32[2], says f32[3] at 2:6");
  EXPECT_EQ(text_error_of(main_of("%0 = \"stablehlo.constant\"() : () -> tensor<f32>")),
            "stablehlo.constant needs the attribute value at 2:6");
  EXPECT_EQ(text_error_of("func.func @main(%a: tensor<2xf32>, %a: tensor<2xf32>) {}"),
            "a second value %a at 1:1");
  EXPECT_EQ(text_error_of(std::string(100, '(')), "expected a module or a function, found ( at 1:1");
  EXPECT_EQ(text_error_of(main_of("\"stablehlo.add\"() {x = " + std::string(100, '[') +
                                  std::string(100, ']') + "} : () -> ()")),
            "nested deeper than 64 levels at 2:86");
  EXPECT_EQ(text_error_of("func.func @main() {\"a"), "a string without its end at 1:20");
}

TEST(TextParse, CallsThatUnfoldWithoutEndAreRefused) {
  std::string source =
      "func.func private @f0(%a: tensor<f32>) -> tensor<f32> {\n%0 = \"stablehlo.negate\"(%a) : "
      "(tensor<f32>) -> tensor<f32>\n\"func.return\"(%0) : (tensor<f32>) -> ()\n}\n";
  const auto twice = [](const std::string& name, const std::string& callee) {
    const std::string call = "\"func.call\"(%a) {callee = @" + callee + "} : (tensor<f32>) -> tensor<f32>\n";
    return "func.func " + name + "(%a: tensor<f32>) -> tensor<f32> {\n%0 = " + call + "%1 = " + call +
           "\"func.return\"(%1) : (tensor<f32>) -> ()\n}\n";
  };
  for (int i = 1; i < 20; ++i) source += twice(cat("private @f", i), cat("f", i - 1));
  source += twice("@main", "f19");
  EXPECT_EQ(text_error_of(source).substr(0, 61),
            "calls of functions unfold to too many ops; the last one is f1");
}

TEST(TextParse, ReadsTheFormsOfOtherWriters) {
  const auto graph = parse_program(R"(// RUN: nothing
#loc = loc("x.py":1:2)
module @jit_f attributes {mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<2x3xf32> {mhlo.sharding = "{devices=[8,1]<=[8]}"} loc("a"), %arg1: tensor<f32>) -> (tensor<2xf32> {jax.result_info = "r"}) {
    %0:2 = "func.call"(%arg0, %arg1) <{callee = @both}> : (tensor<2x3xf32>, tensor<f32>) -> (tensor<f32>, tensor<2x3xf32>) loc(#loc)
    %1 = "stablehlo.custom_call"(%0#1) {call_target_name = "Sharding", backend_config = ""} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %r = "stablehlo.reduce"(%1, %0#0) ({
    ^bb0(%x: tensor<f32> loc("a"), %y: tensor<f32>):
      %s = "stablehlo.add"(%y, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) {dimensions = dense<1> : tensor<1xi64>, some.thing = #sdy.sharding<@mesh, [{"x"}, {}]>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    "func.return"(%r) : (tensor<2xf32>) -> ()
  } loc(callsite("f" at #loc))
  func.func private @both(%a: tensor<2x3xf32>, %b: tensor<f32>) -> (tensor<f32>, tensor<2x3xf32>) {
    "func.return"(%b, %a) : (tensor<f32>, tensor<2x3xf32>) -> ()
  }
}
)");
  EXPECT_EQ(graph->name(), "jit_f");
  ASSERT_EQ(graph->nodes().size(), 1u);
  EXPECT_EQ(to_string(graph->node(0).attributes), "{reducer = sum, dimensions = [1]}");
  const Literal x = Literal::copy({DType::kF32, {2, 3}}, std::vector<float>{1, 2, 3, 4, 5, 6}.data());
  const Literal ten = Literal::splat({DType::kF32, {}}, 10.0);
  EXPECT_EQ(values<float>(interpret(*graph, std::vector{x, ten}, RunContext::current())[0]),
            (std::vector<float>{16, 25}));
}

// A x = b is checked by multiplying, L L^T = A likewise.
TEST(TextParse, ReadsTheRoutinesOfLapackThatMeanTheSameAsOpsOfOurs) {
  const auto call = [](const char* target, const std::string& flags, const std::string& types) {
    return cat("\"stablehlo.custom_call\"", types.starts_with("(tensor<2x2xf64>, ") ? "(%a, %b)" : "(%a)",
               " <{api_version = 1 : i32, backend_config = \"\", call_target_name = \"", target,
               "\", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<> : "
               "tensor<0xindex>]}> {mhlo.backend_config = {",
               flags,
               "}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], []) {i=3, j=3}, custom>} : ",
               types, "\n");
  };
  const auto cholesky_of = [&](const std::string& flags) {
    return "func.func @main(%a: tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<i32>) {\n%0:2 = " +
           call("lapack_dpotrf_ffi", flags, "(tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<i32>)") +
           "\"func.return\"(%0#0, %0#1) : (tensor<2x2xf64>, tensor<i32>) -> ()\n}";
  };
  const auto matrix = [](std::vector<double> values) {
    return Literal::copy({DType::kF64, {2, 2}}, values.data());
  };
  // [[4, 2], [2, 5]] is [[2, 0], [1, 2]] times its transpose; the other triangle keeps what stood there.
  const Literal positive = matrix({4, 7, 2, 5}), other = matrix({4, 2, 7, 5}), bad = matrix({1, 2, 2, 1});
  auto got =
      interpret(*parse_program(cholesky_of("uplo = 76 : ui8")), std::vector{positive}, RunContext::current());
  EXPECT_EQ(values<double>(got[0]), (std::vector<double>{2, 7, 1, 2}));
  EXPECT_EQ(values<int32_t>(got[1]), std::vector<int32_t>{0});
  got = interpret(*parse_program(cholesky_of("uplo = 85 : ui8")), std::vector{other}, RunContext::current());
  EXPECT_EQ(values<double>(got[0]), (std::vector<double>{2, 1, 7, 2}));
  EXPECT_EQ(values<int32_t>(interpret(*parse_program(cholesky_of("uplo = 76 : ui8")), std::vector{bad},
                                      RunContext::current())[1]),
            std::vector<int32_t>{1});

  const auto solve_of = [&](const std::string& flags) {
    return "func.func @main(%a: tensor<2x2xf64>, %b: tensor<2x2xf64>) -> tensor<2x2xf64> {\n%0 = " +
           call("lapack_dtrsm_ffi", flags, "(tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>") +
           "\"func.return\"(%0) : (tensor<2x2xf64>) -> ()\n}";
  };
  const Literal a = matrix({2, 99, 1, 4}), b = matrix({2, 4, 9, 6});
  const auto solved = [&](const std::string& flags) {
    return values<double>(
        interpret(*parse_program(solve_of(flags)), std::vector{a, b}, RunContext::current())[0]);
  };
  const std::string lower = "uplo = 76 : ui8, ";
  EXPECT_EQ(solved(lower + "diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8"),
            (std::vector<double>{1, 2, 2, 1}));  // [[2, 0], [1, 4]] x = b
  EXPECT_EQ(solved(lower + "diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8"),
            (std::vector<double>{0.5, 1, 3.75, 1.5}));  // x [[2, 0], [1, 4]] = b
  EXPECT_EQ(solved(lower + "diag = 85 : ui8, side = 76 : ui8, trans_x = 84 : ui8"),
            (std::vector<double>{-7, -2, 9, 6}));  // [[1, 1], [0, 1]] x = b
  EXPECT_EQ(text_error_of(solve_of(lower + "diag = 78 : ui8, side = 76 : ui8")),
            "unsupported operands or flags of custom_call @lapack_dtrsm_ffi at 2:6");
}

TEST(TextParse, AnUnknownReducerStaysARegionThatMayCapture) {
  const auto graph = parse_program(R"(func.func @main(%x: tensor<3xf32>, %c: tensor<f32>) -> tensor<f32> {
    %r = "stablehlo.reduce"(%x, %c) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = "stablehlo.multiply"(%a, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %s = "stablehlo.add"(%p, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%r) : (tensor<f32>) -> ()
  })");
  const Literal x = Literal::of<float>({1, 2, 3}), c = Literal::splat({DType::kF32, {}}, 10.0);
  EXPECT_EQ(values<float>(interpret(*graph, std::vector{x, c}, RunContext::current())[0])[0], 10123);
  expect_round_trip(*graph);
}

TEST(TextPrint, EveryKindOfConstantComesBack) {
  GraphBuilder builder("constants");
  SinkScope scope(builder);
  const auto put = [&](Literal literal) {
    builder.result(cat("r", builder.graph().outputs().size()),
                   emit(op_constant, constant_attributes(std::move(literal)), {}));
  };
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const double value : {0.0, 1.0, 0.1, 100.0}) {
      put(Literal::splat({dtype, {}}, value));
      put(Literal::splat({dtype, {1000, 1000}}, value));
    }
    put(Literal::splat({dtype, {2, 3}}, 1.0).expanded());
    put(Literal::splat({dtype, {0, 3}}, 1.0).expanded());
    if (is_float(dtype)) {
      for (const double value :
           {double(NAN), double(INFINITY), -double(INFINITY), -0.0, 1e-300, 1e300, 3.1415926535897931})
        put(Literal::splat({dtype, {}}, value));
    }
  }
  put(Literal::splat({DType::kI64, {}}, INT64_MIN));
  const bool bools[] = {true, false, true, false, false, true};
  put(Literal::copy({DType::kBool, {3, 2}}, bools));
  expect_round_trip(*builder.finish());
}

TEST(TextPrint, SignaturesOpsAndCompositesComeBack) {
  GraphBuilder builder("a step");
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {4, 3}});
  const Tensor w = builder.input(InputKind::kVariable, "dense/\"kernel\"\n", {DType::kF32, {3, 5}});
  const Tensor packed = builder.input(InputKind::kDerived, "packed", {DType::kBF16, {5}});
  const Tensor logits = dot(x, w) + convert(packed, DType::kF32);
  const Tensor p = softmax(softmax(logits, -1), 0);
  const Tensor most = select(compare(p, 0.5, Comparison::kGT), p, transpose(reshape(p, {5, 4}), {1, 0}));
  builder.result("loss", reduce_sum(most * convert(iota({DType::kI32, {4, 5}}, 1), DType::kF32), {0, 1}));
  builder.result("top", reduce_max(most, {1}));
  builder.output(OutputKind::kUpdate, "dense/\"kernel\"\n", w - 0.1);
  const auto graph = builder.finish();
  expect_round_trip(*graph);
  const std::string text = print_program(*graph);
  EXPECT_NE(text.find("name = \"espalier.softmax\""), std::string::npos);

  const auto plain = inline_composites(*graph);
  for (const Node& node : plain->nodes()) EXPECT_FALSE(node.op->composite) << node.op->name;
  expect_round_trip(*plain);
}

TEST(TextPrint, ACompositeOfAnotherVersionIsInlined) {
  GraphBuilder builder;
  SinkScope scope(builder);
  builder.result("p", softmax(builder.argument("x", {DType::kF32, {2, 3}}), -1));
  const auto graph = builder.finish();
  std::string text = print_program(*graph);
  const size_t version = text.find("version = ");
  ASSERT_NE(version, std::string::npos);
  text.replace(version, 11, "version = 9");
  const auto inlined = parse_program(text);
  EXPECT_GT(inlined->nodes().size(), 3u);
  const Literal x = Literal::copy({DType::kF32, {2, 3}}, std::vector<float>{1, 2, 3, 4, 5, 7}.data());
  EXPECT_TRUE(interpret(*inlined, std::vector{x}, RunContext::current())[0] ==
              interpret(*inline_composites(*graph), std::vector{x}, RunContext::current())[0]);
}

TEST(TextPrint, DotLanguageNamesEveryNode) {
  GraphBuilder builder;
  SinkScope scope(builder);
  builder.result("y", negate(builder.argument("x", {DType::kF32, {2}})));
  EXPECT_EQ(to_dot(*builder.finish()), R"(digraph "main" {
  node [shape=box, fontname="monospace"];
  v0 [shape=ellipse, label="x\nf32[2]"];
  n0 [label="negate\nf32[2]"];
  v0 -> n0;
  o0 [shape=ellipse, label="y"];
  n0 -> o0;
}
)");
}

TEST(TextSlow, AMillionOpsInOneFunctionPrintAndParse) {
  Graph graph;
  ValueId value = graph.add_input(InputKind::kArgument, "x", {DType::kF32, {2}});
  for (int i = 0; i < 1000000; ++i)
    value = graph.node(graph.add_node(*find_op("negate"), nullptr, {&value, 1})).first_result;
  graph.add_output(OutputKind::kResult, "y", value);
  EXPECT_TRUE(*parse_program(print_program(graph)) == graph);
}

}  // namespace
}  // namespace espalier
