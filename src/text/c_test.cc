#include "text/c.h"

#include "espalier/ops.h"
#include "ir/constant.h"
#include "tests/random_graph.h"
#include "text/compiled_c_test.h"

namespace espalier {
namespace {

#define REQUIRE_GCC() \
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc"

template <class F>
std::shared_ptr<const Graph> build(const std::vector<TensorType>& types, F f) {
  GraphBuilder builder;
  SinkScope scope(builder);
  std::vector<Tensor> arguments;
  for (const TensorType& type : types)
    arguments.push_back(builder.argument(cat("x", arguments.size()), type));
  size_t count = 0;
  for (const Tensor& result : std::vector<Tensor>(f(builder, arguments)))
    builder.result(cat("y", count++), result);
  return builder.finish();
}
TensorType f32(const Shape& shape) { return {DType::kF32, shape}; }
Tensor variable(GraphBuilder& builder, const std::string& name, const Shape& shape) {
  return builder.input(InputKind::kVariable, name, f32(shape));
}
using Results = std::vector<Tensor>;

std::shared_ptr<const Graph> mlp(int64_t inputs, int64_t hidden, int64_t outputs) {
  return build({f32({1, inputs})}, [&](GraphBuilder& b, auto& x) {
    const Tensor h =
        relu(dot(x[0], variable(b, "dense/kernel", {inputs, hidden})) + variable(b, "dense/bias", {hidden}));
    return Results{
        softmax(dot(h, variable(b, "out/kernel", {hidden, outputs})) + variable(b, "out/bias", {outputs}))};
  });
}

std::map<std::string, Literal> random_variables(const Graph& graph, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::map<std::string, Literal> out;
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind == InputKind::kVariable) out[input.name] = random_literal(graph.type(input.value), random);
  }
  return out;
}

TEST(C, AnMlpGivesWhatTheInterpreterGives) {
  REQUIRE_GCC();
  expect_same_in_c(*mlp(30, 17, 5), 1);
}

TEST(C, AnMlpOfImagesGivesWhatTheInterpreterGivesSlow) {
  REQUIRE_GCC();
  expect_same_in_c(*mlp(784, 128, 10), 2);
}

TEST(C, BothCompilersTakeItWithoutAWarningSlow) {
  const auto graph = mlp(12, 7, 3);
  for (const bool caller_scratch : {false, true}) {
    const CExport code = print_c(*graph, random_variables(*graph), {.caller_scratch = caller_scratch});
    for (const char* compiler : {"gcc", "clang"}) {
      if (!have_command(compiler)) continue;
      EXPECT_EQ(refusal(compiler, code.source), "") << compiler;
      EXPECT_EQ(
          refusal(compiler, code.header + "int use(void) { return MODEL_INPUT_SIZE; }\nint use(void);\n"), "")
          << compiler;
    }
  }
}

// Machine code without weights, as `size` counts it.
TEST(C, TheCodeOfAnMlpIsSmallSlow) {
  REQUIRE_GCC();
  const auto graph = mlp(784, 128, 10);
  const std::string path = c_file(print_c(*graph, random_variables(*graph)).source);
  const auto [fine, output] =
      shell(cat("gcc", kCFlags, "-c -o ", path, ".o ", path, " && size -A ", path,
                ".o | awk '$1 ~ /^.text/ {s += $2} END {print s}' && nm -u ", path, ".o"));
  ASSERT_TRUE(fine) << output;
  EXPECT_LE(std::stoi(output), 4 * 1024);
  EXPECT_EQ(output.find('U'), std::string::npos) << "the file calls a library: " << output;
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".o");
}

TEST(C, ACnnGivesWhatTheInterpreterGives) {
  REQUIRE_GCC();
  const auto graph = build({f32({1, 13, 11, 2})}, [](GraphBuilder& b, auto& x) {
    const ConvolutionOptions same{.window_strides = {2, 1},
                                  .padding_low = {1, 0},
                                  .padding_high = {1, 2},
                                  .dimensions = channels_last(2)};
    Tensor h = convolution(x[0], variable(b, "kernel", {3, 3, 2, 4}), same) + variable(b, "bias", {4});
    h = batch_normalization_inference(h, variable(b, "gamma", {4}), variable(b, "beta", {4}),
                                      variable(b, "mean", {4}), exponential(variable(b, "variance", {4})));
    h = max_pool(relu(h), {.window = {1, 2, 2, 1},
                           .strides = {1, 2, 2, 1},
                           .padding_low = {0, 1, 0, 0},
                           .padding_high = {0, 0, 1, 0}});
    h = average_pool(h, {.window = {1, 2, 2, 1},
                         .strides = {1, 1, 1, 1},
                         .padding_low = {0, 0, 1, 0},
                         .padding_high = {0, 0, 0, 0}});
    const int64_t features = num_elements(h.shape());
    h = reshape(h, {1, features});
    return Results{softmax(dot(h, variable(b, "out", {features, 5})))};
  });
  expect_same_in_c(*graph, 3);
}

TEST(C, ConvolutionsInEveryOrderOfAxes) {
  REQUIRE_GCC();
  const auto grouped = build({f32({2, 6, 7, 8})}, [](GraphBuilder& b, auto& x) {
    return Results{convolution(x[0], variable(b, "kernel", {4, 3, 3, 2}),
                               {.padding_low = {2, 0},
                                .padding_high = {0, 1},
                                .rhs_dilation = {1, 2},
                                .window_reversal = {1, 0},
                                .dimensions = channels_first(2),
                                .feature_group_count = 2})};
  });
  expect_same_in_c(*grouped, 4);
  const auto depthwise = build({f32({1, 9, 5})}, [](GraphBuilder& b, auto& x) {
    return Results{
        convolution(x[0], variable(b, "kernel", {3, 1, 10}),
                    {.window_strides = {2}, .dimensions = channels_last(1), .feature_group_count = 5})};
  });
  expect_same_in_c(*depthwise, 5);
}

TEST(C, EmbeddingsClampTheirIndices) {
  REQUIRE_GCC();
  const auto graph = build({{DType::kI32, {2, 3}}, f32({2, 3, 4})}, [](GraphBuilder& b, auto& x) {
    const Tensor rows = take(variable(b, "table", {3, 4}), x[0], 0);
    const Tensor places = broadcast_in_dim(x[0] - 2, {2, 3, 4}, {0, 1});
    return Results{concatenate({rows, x[1]}, 2), reduce_sum(rows, {1}), take_along_axis(x[1], places, 1)};
  });
  expect_same_in_c(*graph, 6);
  const auto columns = build({f32({3, 4, 5}), {DType::kU8, {2}}},
                             [](GraphBuilder&, auto& x) { return Results{take(x[0], x[1], 1)}; });
  expect_same_in_c(*columns, 7);
}

TEST(C, DynamicSlicesClampTheirStarts) {
  REQUIRE_GCC();
  const auto graph = build({f32({5, 4}), {DType::kI32, {}}}, [](GraphBuilder&, auto& x) {
    const Tensor start = x[1] - 2;
    return Results{dynamic_slice(x[0], {start, start + 1}, {2, 3}) * 2,
                   dynamic_slice(x[0], {start * 9, x[1]}, {1, 4}),
                   dynamic_slice(transpose(x[0] + 1, {1, 0}), {x[1] * 7, start}, {3, 1})};
  });
  for (const uint64_t seed : {1, 2, 3, 4, 5}) expect_same_in_c(*graph, seed, 0);
}

TEST(C, NormalisationAndActivations) {
  REQUIRE_GCC();
  const auto graph = build({f32({3, 8})}, [](GraphBuilder& b, auto& x) {
    const Tensor h = layer_normalization(x[0], variable(b, "gamma", {8}), variable(b, "beta", {8}));
    const Tensor wide = h * 3;
    return Results{relu(h),          relu6(wide),       leaky_relu(h), elu(h),         gelu(wide),
                   gelu(wide, true), silu(wide),        softplus(h),   logistic(wide), tanh(wide),
                   exponential(h),   log_softmax(wide), erf(wide),     erfc(wide),     softmax(wide, 0),
                   logsumexp(h, 1),  sqrt(abs(h)),      rsqrt(abs(h)), log(abs(h)),    power(abs(h), h)};
  });
  expect_same_in_c(*graph, 8);
}

// bf16 stands for f32 in C, so that the oracle is the same model in f32.
TEST(C, HalvesAreComputedInF32) {
  REQUIRE_GCC();
  const auto model = [](DType dtype) {
    return build({{dtype, {3, 8}}}, [&](GraphBuilder& b, auto& x) {
      const Tensor w = convert(variable(b, "w", {8, 4}), dtype),
                   bias = b.input(InputKind::kVariable, "b", {dtype, {4}});
      const Tensor h = relu(dot(x[0], w) + bias) + espalier::full({4}, 0.5, dtype);
      return Results{softmax(h), convert(layer_normalization(h, bias, bias), DType::kF32)};
    });
  };
  const auto half = model(DType::kBF16), full = model(DType::kF32);
  std::mt19937_64 random(3);
  const Literal x = random_literal(f32({3, 8}), random), w = random_literal(f32({8, 4}), random);
  const Literal bias = random_literal({DType::kBF16, {4}}, random);
  const CompiledC compiled(*full, print_c(*half, {{"w", w}, {"b", bias}}));
  half->verify();
  const Literal wide_bias =
      interpret(*build({{DType::kBF16, {4}}},
                       [](GraphBuilder&, auto& t) { return Results{convert(t[0], DType::kF32)}; }),
                {{bias}}, RunContext::current())[0];
  std::map<std::string, Literal> inputs = {{"x0", x}, {"w", w}, {"b", wide_bias}};
  std::vector<Literal> ordered;
  for (const GraphInput& input : full->inputs()) ordered.push_back(inputs.at(input.name));
  const std::vector<Literal> wanted = interpret(*full, ordered, RunContext::current()), got = compiled({x});
  for (size_t i = 0; i < wanted.size(); ++i) expect_near(got[i], wanted[i], 1e-5, cat("result ", i));
}

TEST(C, AttentionIsOrdinaryOps) {
  REQUIRE_GCC();
  const auto graph =
      build({f32({1, 2, 5, 4}), f32({1, 2, 5, 4}), f32({1, 2, 5, 3})},
            [](GraphBuilder&, auto& x) { return Results{attention(x[0], x[1], x[2], {.causal = true})}; });
  expect_same_in_c(*graph, 9);
}

TEST(C, IntegersAndFlags) {
  REQUIRE_GCC();
  const std::vector<TensorType> types = {{DType::kI8, {6}},  {DType::kI32, {6}},  {DType::kU32, {6}},
                                         {DType::kI64, {6}}, {DType::kBool, {6}}, f32({6})};
  const auto graph = build(types, [](GraphBuilder&, auto& x) {
    const Tensor high = x[1] * 1000000007, wild = x[5] * 3e9;
    return Results{x[0] * 100,
                   high * high,
                   x[2] - 3,
                   x[3] / (x[3] - 2),
                   remainder(x[1], x[1] - 3),
                   x[4] & ~x[4],
                   select(x[4], x[5], -x[5]),
                   convert(wild, DType::kI32),
                   convert(wild, DType::kI8),
                   convert(wild, DType::kU64),
                   convert(x[5], DType::kBool),
                   convert(high, DType::kF32),
                   reduce_sum(high, {0}),
                   reduce_max(x[0], {0}),
                   reduce_and(x[4], {0}),
                   sign(x[0] - 2),
                   abs(x[3] - 2),
                   clamp(-1, x[1] - 2, 1),
                   round_nearest_even(x[5] * 8 + 0.5),
                   round_nearest_afz(x[5] * 4),
                   floor(x[5] * 4),
                   ceil(x[5] * 4),
                   is_finite(x[5] / (x[5] - x[5])),
                   full({6}, -2147483648.0, DType::kI32) + x[1],
                   maximum(x[1], x[1]),
                   compare(-x[1], -x[1], Comparison::kLE) ^ compare(x[2], x[2], Comparison::kLT)};
  });
  expect_same_in_c(*graph, 10);
}

// A result that is an input, a constant, a view, twice the same, or has no element; an input nobody reads.
TEST(C, EveryKindOfResult) {
  REQUIRE_GCC();
  const auto graph = build({f32({2, 3}), f32({4}), f32({0})}, [](GraphBuilder&, auto& x) {
    const Tensor y = x[0] * 2, t = transpose(y, {1, 0});
    const Tensor tiles = Tensor::of<float>({1, 2, 1, 2}, {2, 2});
    return Results{x[0],
                   Tensor::of<float>({1, -2, 3}),
                   t,
                   y,
                   y,
                   reshape(y, {6}),
                   reshape(t, {2, 3}),
                   iota({DType::kI32, {2, 2}}, 1),
                   reshape(iota(f32({4}), 0), {2, 2}),
                   x[2] + 1,
                   slice(tiles + 1, {0, 0}, {0, 2}) * 2,
                   reduce_sum(tanh(x[2] + 1) * tanh(x[2] + 1), {0}),
                   full({2}, 7),
                   reverse(slice(y, {0, 1}, {2, 3}), {1}),
                   pad(x[0], 5, {1, -1}, {0, 2}, {1, 0}),
                   reduce_max(x[2], {0}),
                   reshape(broadcast_in_dim(reshape(y, {6}), {2, 6}, {1}), {12}),
                   reduce_max(y, {1}) + reshape(tiles, {4, 1}),
                   reshape(x[1], {2, 2}) + tiles,
                   broadcast_in_dim(slice(y, {0, 1}, {2, 2}), {2, 3}, {0, 1}) + x[0]};
  });
  expect_same_in_c(*graph, 11);
}

// Layers in a random order, from a few wide to one.
TEST(C, RandomStacksOfSmallLayersSlow) {
  REQUIRE_GCC();
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    const auto graph = build({f32({1, 4 + pick(4), 5, 2})}, [&](GraphBuilder& b, auto& x) {
      Tensor h = x[0];
      for (int i = 0; i < 8; ++i) {
        const Shape shape = h.shape();
        const int64_t features = shape[3], wider = 1 + pick(5);
        const std::string name = cat("w", i);
        switch (pick(9)) {
          case 0:
            h = convolution(h, variable(b, name, {2, 1 + pick(2), features, wider}),
                            {.window_strides = {1, 1 + pick(2)},
                             .padding_low = {pick(2), 1},
                             .padding_high = {1, pick(2)},
                             .dimensions = channels_last(2)});
            break;
          case 1:
            h = max_pool(h, {.window = {1, 2, 2, 1},
                             .strides = {1, 1 + pick(2), 1, 1},
                             .padding_low = {0, 1, 1, 0},
                             .padding_high = {0, 1, 0, 0}});
            break;
          case 2:
            h = gelu(dot_general(h, variable(b, name, {wider, features}),
                                 {.lhs_contracting = {3}, .rhs_contracting = {1}}));
            break;
          case 3:
            h = layer_normalization(h, variable(b, name, {features}), variable(b, name + "b", {features}),
                                    0.1);
            break;
          case 4:
            h = transpose(h, {0, 2, 1, 3}) * 2;
            break;
          case 5:
            h = concatenate({h, tanh(h + variable(b, name, {features}))}, 3);
            break;
          case 6:
            h = softmax(reshape(h, {1, shape[2], shape[1], features}), 1 + pick(3)) + 1;
            break;
          case 7:
            h = h * broadcast_in_dim(reduce_max(h, {1, 2}), shape, {0, 3});
            break;
          default:
            h = select(compare(h, 0, Comparison::kGT), reverse(h, {2}),
                       pad(h, 1, {0, 1, 0, 0}, {0, -1, 0, 0}));
        }
      }
      return Results{h, reduce_sum(h, {1, 2})};
    });
    expect_same_in_c(*graph, seed, 1e-5, cat("seed ", seed));
  }
}

bool is_half(DType dtype) { return is_float(dtype) && size_of(dtype) == 2; }

// The interpreter takes subnormal numbers as zero, C does not.
bool has_subnormals(const Literal& literal) {
  const DType dtype = literal.type().dtype;
  if (!is_float(dtype)) return false;
  const double least =
      dtype == DType::kF64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  for (size_t i = 0; i < literal.raw_bytes() / size_of(dtype); ++i) {
    const double x = load_scalar(dtype, static_cast<const std::byte*>(literal.raw()) + i * size_of(dtype));
    if (x != 0 && std::fabs(x) < least) return true;
  }
  return false;
}

// The results of a random graph, and its inputs; null where C cannot give the interpreter's values.
std::shared_ptr<const Graph> comparable(const RandomGraph& random) {
  GraphBuilder builder;
  SinkScope scope(builder);
  std::vector<Tensor> inputs;
  for (const GraphInput& input : random.graph->inputs())
    inputs.push_back(builder.input(input.kind, input.name, random.graph->type(input.value)));
  const std::vector<Tensor> outputs = inline_graph(*random.graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GraphOutput& output = random.graph->outputs()[i];
    if (output.kind == OutputKind::kResult) builder.result(output.name, outputs[i]);
  }
  const auto graph = builder.finish();
  bool fits = std::none_of(random.inputs.begin(), random.inputs.end(), has_subnormals);
  for (const Node& node : graph->nodes()) {
    for (uint32_t i = 0; i < node.result_count; ++i)
      fits = fits && !is_half(graph->type(node.first_result + i).dtype);
    if (node.op == &op_constant)
      fits = fits && !has_subnormals(static_cast<const ConstantAttributes&>(*node.attributes).value);
  }
  for (const GraphInput& input : graph->inputs()) fits = fits && !is_half(graph->type(input.value).dtype);
  return fits ? graph : nullptr;
}

// Graphs of any ops and dtypes either have no C form, and it says so, or give the interpreter's values.
TEST(C, RandomGraphsSlow) {
  REQUIRE_GCC();
  size_t compared = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RandomGraph random(seed, 10);
    const auto graph = comparable(random);
    if (!graph) continue;
    std::map<std::string, Literal> variables;
    std::vector<Literal> arguments;
    for (size_t i = 0; i < random.inputs.size(); ++i) {
      const GraphInput& input = graph->inputs()[i];
      if (input.kind == InputKind::kVariable)
        variables[input.name] = random.inputs[i];
      else
        arguments.push_back(random.inputs[i]);
    }
    CExport code;
    try {
      code = print_c(*graph, variables);
    } catch (const UnsupportedError&) {
      continue;
    }
    ++compared;
    const std::vector<Literal> wanted = interpret(*graph, random.inputs, RunContext::current()),
                               got = CompiledC(*graph, code)(arguments);
    for (size_t i = 0; i < wanted.size(); ++i)
      expect_near(got[i], wanted[i], 1e-5, cat("seed ", seed, " result ", i));
    if (HasFailure()) break;
  }
  EXPECT_GT(compared, 20u);
}

TEST(C, ConstantsThatRepeatAreStoredOnce) {
  const auto graph = build({f32({2, 3, 2})}, [](GraphBuilder&, auto& x) {
    return Results{x[0] * Tensor::of<float>({1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, {2, 3, 2})};
  });
  const std::string source = print_c(*graph).source;
  EXPECT_NE(source.find("static const float w0[2] = {\n  1.0f, 2.0f};"), std::string::npos) << source;
  if (have_command("gcc")) expect_same_in_c(*graph, 13);
}

// Values that are not alive at once share memory.
TEST(C, ScratchMemoryIsShared) {
  const auto graph = build({f32({1, 64})}, [](GraphBuilder& b, auto& x) {
    Tensor h = x[0];
    for (int i = 0; i < 10; ++i) h = tanh(dot(h, variable(b, cat("w", i), {64, 64})) * 0.1);
    return Results{h};
  });
  const CExport code = print_c(*graph, random_variables(*graph));
  EXPECT_NE(code.header.find("One call at a time"), std::string::npos) << code.header;
  const CExport own = print_c(*graph, random_variables(*graph), {.caller_scratch = true});
  EXPECT_EQ(own.header.find("One call at a time"), std::string::npos) << own.header;
  EXPECT_NE(code.header.find("#define MODEL_SCRATCH_SIZE 512\n"), std::string::npos) << code.header;
  if (have_command("gcc")) expect_same_in_c(*graph, 12);
}

TEST(C, ElementwiseChainsAreOneLoop) {
  const auto graph = build({f32({4, 5})}, [](GraphBuilder& b, auto& x) {
    return Results{tanh(relu(dot(x[0], variable(b, "w", {5, 3})) + variable(b, "b", {3})) * 2)};
  });
  const std::string source = print_c(*graph, random_variables(*graph)).source;
  size_t loops = 0;
  const size_t begin = source.find("\nint model_predict(const float *input, float *output) {");
  ASSERT_NE(begin, std::string::npos);
  for (size_t at = begin; (at = source.find("for (", at)) != std::string::npos; ++at) ++loops;
  EXPECT_EQ(loops, 3u) << source.substr(begin);
  EXPECT_EQ(source.find("One call at a time"), std::string::npos) << "there is none";
  EXPECT_NE(source.find("#define MODEL_SCRATCH_SIZE 0\n"), std::string::npos);
}

TEST(C, TheCommentNamesInputsAndCannotBeEnded) {
  const auto graph = mlp(2, 2, 2);
  const CExport code = print_c(
      *graph, random_variables(*graph),
      {.name = "net",
       .notes = {"columns: age, */ int x; /* ?\?/", "line\nbreak", "K\xc3\xb6ln \xf0\x9f\x8c\xb3 \xff\xc3",
                 "turned \xe2\x80\xae, \xc2\x85, \xef\xbb\xbf, \xe0\x82\xa0"}});
  EXPECT_NE(code.source.find(" * input: f32[1,2] \"x0\"\n"), std::string::npos);
  EXPECT_NE(code.source.find("int net_predict(const float *input, float *output);"), std::string::npos);
  EXPECT_NE(code.header.find(" One call at a time: its scratch memory is static. */\nint net_predict("),
            std::string::npos);
  EXPECT_EQ(code.source.find("int x; /*"), std::string::npos);
  EXPECT_NE(code.source.find("K\xc3\xb6ln \xf0\x9f\x8c\xb3 ?\n"), std::string::npos);
  EXPECT_NE(code.source.find("turned \\u202e, \\u0085, \\ufeff, ?\n"), std::string::npos);
  if (have_command("gcc")) {
    EXPECT_EQ(refusal("gcc", code.source), "");
  }
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(C, WhatHasNoFormIsNamedWithItsPlace) {
  const auto sorted = build({f32({3})}, [](GraphBuilder&, auto& x) {
    NameScope name("ranking");
    return Results{sort(x[0])};
  });
  const std::string text = error_of([&] { print_c(*sorted); });
  EXPECT_NE(text.find("UnsupportedError[c.op]"), std::string::npos) << text;
  EXPECT_NE(text.find("ranking"), std::string::npos) << text;
  EXPECT_NE(text.find("sort"), std::string::npos) << text;
  const auto places = build({f32({3})}, [](GraphBuilder&, auto& x) {
    return Results{slice(sort({x[0], x[0]}, 0)[1], {0}, {2})};
  });
  EXPECT_NE(error_of([&] { print_c(*places); }).find("UnsupportedError[c.op]"), std::string::npos);
  const auto wide = build({{DType::kF64, {3}}}, [](GraphBuilder&, auto& x) { return Results{tanh(x[0])}; });
  EXPECT_NE(error_of([&] { print_c(*wide); }).find("tanh of f64"), std::string::npos);
  const auto dilated = build({f32({1, 5, 1}), f32({2, 1, 1})}, [](GraphBuilder&, auto& x) {
    return Results{convolution(x[0], x[1], {.lhs_dilation = {2}, .dimensions = channels_last(1)})};
  });
  EXPECT_NE(error_of([&] { print_c(*dilated); }).find("[c.window]"), std::string::npos);
}

TEST(C, VariablesNamesAndUpdatesAreChecked) {
  const auto graph = mlp(2, 2, 2);
  EXPECT_NE(error_of([&] { print_c(*graph); }).find("ValueError[c.variable]"), std::string::npos);
  auto variables = random_variables(*graph);
  for (const char* name : {"", "7up", "a-b", "x y"})
    EXPECT_NE(error_of([&] { print_c(*graph, variables, {.name = name}); }).find("[c.name]"),
              std::string::npos);
  variables["out/bias"] = Literal::splat(f32({3}), 0.0);
  EXPECT_NE(error_of([&] { print_c(*graph, variables); }).find("ShapeError[c.variable]"), std::string::npos);
  GraphBuilder builder;
  SinkScope scope(builder);
  builder.output(OutputKind::kUpdate, "w", builder.input(InputKind::kVariable, "w", f32({2})) + 1);
  const auto update = builder.finish();
  EXPECT_NE(error_of([&] { print_c(*update); }).find("UnsupportedError[c.update]"), std::string::npos);
}

}  // namespace
}  // namespace espalier
