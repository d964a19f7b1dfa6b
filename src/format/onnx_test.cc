#include "format/onnx.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "format/npy.h"
#include "format/onnx/model.h"
#include "format/onnx/wire.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ops/registry.h"

namespace espalier {
namespace {

using onnx::Model;
using onnx::WireWriter;

OnnxProgram onnx_parse(const std::string& bytes, const OnnxReadOptions& options = {}) {
  return parse_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
}

template <class F>
std::string onnx_error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return cat(error.kind(), "[", error.rule(), "]: ", error.message());
  }
  return "done";
}
std::string parse_error(const std::string& bytes) {
  return onnx_error_of([&] { onnx_parse(bytes); });
}

// f of an argument "x" of the type and of variables "w0", "w1", ... of the others.
template <class F>
std::shared_ptr<Graph> program(const std::vector<TensorType>& types, F f) {
  GraphBuilder builder("test");
  SinkScope scope(builder);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    inputs.push_back(i == 0 ? builder.argument("x", types[0])
                            : builder.input(InputKind::kVariable, cat("w", i - 1), types[i]));
  }
  builder.result("y", f(inputs));
  return builder.finish();
}

// ModelProto of onnx.proto: ir_version 1, producer_name 2, producer_version 3, doc_string 6, graph 7.
TEST(Onnx, AFileSaysWhoWroteItAndWhatItIs) {
  const auto graph = program({{DType::kF32, {2}}}, [](const auto& in) { return in[0] + in[0]; });
  const auto text_of = [&](uint32_t number, const OnnxWriteOptions& options) {
    std::string out;
    const std::string bytes = onnx_bytes(*graph, {}, options);
    for (onnx::WireReader fields(bytes); fields.next();) {
      if (fields.number() == number) out += fields.bytes();
    }
    return out;
  };
  EXPECT_EQ(text_of(2, {}), "espalier");
  const std::string version = text_of(3, {});
  EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
  EXPECT_EQ(text_of(6, {}), "");
  EXPECT_EQ(text_of(6, {.doc = "x0 is\nthe row"}), "x0 is\nthe row");
  const std::map<std::string, std::string> metadata{{"", "z"}, {"a.b", "{\"x\": 1}"}, {"c", ""}};
  const std::string bytes = onnx_bytes(*graph, {}, {.metadata = metadata});
  EXPECT_EQ(parse_onnx(std::as_bytes(std::span(bytes))).metadata, metadata);
}

std::map<std::string, Literal> weights(const Graph& graph) {
  std::map<std::string, Literal> out;
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind == InputKind::kVariable)
      out.emplace(input.name, Literal::splat(graph.type(input.value), 0.5));
  }
  return out;
}

std::vector<std::string> operators(const std::string& bytes) {
  std::vector<std::string> out;
  onnx::ModelReader(bytes).each_node([&](const onnx::Node& node) { out.push_back(node.op); });
  return out;
}

const TensorType kMatrix{DType::kF32, {2, 3}};

TEST(Onnx, ADenseLayerIsThreeOperators) {
  const auto graph = program({kMatrix, {DType::kF32, {3, 4}}, {DType::kF32, {4}}},
                             [](auto& x) { return relu(dot(x[0], x[1]) + x[2]); });
  EXPECT_EQ(operators(onnx_bytes(*graph, weights(*graph))),
            (std::vector<std::string>{"MatMul", "Add", "Relu", "Identity"}));
}

TEST(Onnx, TranspositionsBetweenConvolutionsCancel) {
  const TensorType kernel{DType::kF32, {3, 3, 2, 2}};
  const auto graph = program({{DType::kF32, {1, 9, 9, 2}}, kernel, {DType::kF32, {2}}}, [](auto& x) {
    const ConvolutionOptions options{.dimensions = channels_last(2)};
    const Tensor y = relu(convolution(x[0], x[1], options) + x[2]);
    return reduce_max(max_pool(y, {.window = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}}), {1, 2});
  });
  // Of x, of the kernel and of the bias; nothing between Conv and the result.
  EXPECT_EQ(operators(onnx_bytes(*graph, weights(*graph))),
            (std::vector<std::string>{"Transpose", "Transpose", "Conv", "Constant", "Unsqueeze", "Transpose",
                                      "Add", "Relu", "MaxPool", "ReduceMax", "Identity"}));
}

TEST(Onnx, SizesOfTheBatchHaveItsName) {
  const auto at = [](int64_t batch) {
    return program({{DType::kF32, {batch, 2, 3}}}, [&](auto& x) { return reshape(x[0], {batch * 2, 3}); });
  };
  const auto other = at(5);
  const Model model = onnx::ModelReader(onnx_bytes(*at(4), {}, {.other_batch = other.get()})).model();
  ASSERT_EQ(model.inputs.size(), 1u);
  EXPECT_EQ(model.inputs[0].shape->at(0).symbol, "N");
  EXPECT_EQ(model.inputs[0].shape->at(1).size, 2);
  EXPECT_FALSE(model.outputs[0].shape->at(0).size);
  EXPECT_EQ(model.outputs[0].shape->at(0).symbol, "");
  EXPECT_EQ(onnx::ModelReader(onnx_bytes(*at(4), {})).model().inputs[0].shape->at(0).size, 4);
}

TEST(Onnx, WhatElseDependsOnTheBatchIsRefused) {
  const auto mean_at = [](int64_t batch) {
    return program({{DType::kF32, {batch, 3}}},
                   [&](auto& x) { return reduce_sum(x[0], {0}) / static_cast<double>(batch); });
  };
  const auto refused = [](const Graph& here, const Graph& there) {
    return onnx_error_of([&] { onnx_bytes(here, {}, {.other_batch = &there}); });
  };
  EXPECT_EQ(refused(*mean_at(4), *mean_at(5)),
            "UnsupportedError[onnx.batch]: \"Constant_2\" (Constant) depends on the batch size by more than "
            "its shape");
  const auto two = program({kMatrix}, [](auto& x) { return x[0] + x[0]; });
  EXPECT_EQ(refused(*mean_at(4), *two),
            "UnsupportedError[onnx.batch]: the program is another one for the other batch size");
  const auto square = [](int64_t batch) {
    return program({{DType::kF32, {batch, 2 * batch}}}, [](auto& x) { return x[0] + x[0]; });
  };
  EXPECT_EQ(
      refused(*square(2), *square(3)),
      "UnsupportedError[onnx.batch]: axis 1 of the input \"x\" is 4 and 6 where the batch size is 2 and 3");
}

TEST(Onnx, AnOpThatOnnxLacksIsNamedWithItsPlace) {
  const auto graph = program({kMatrix}, [](auto& x) {
    NameScope outer("encoder"), inner("dense_1");
    return sort(x[0]);
  });
  try {
    onnx_bytes(*graph, {});
    FAIL();
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.message(), "sort: ONNX export does not know this op");
    EXPECT_NE(std::string(error.what()).find("encoder/dense_1"), std::string::npos) << error.what();
  }
}

TEST(Onnx, AVariableNeedsAValueOfItsType) {
  const auto graph = program({kMatrix, kMatrix}, [](auto& x) { return x[0] + x[1]; });
  EXPECT_EQ(onnx_error_of([&] { onnx_bytes(*graph, {}); }),
            "ValueError[onnx.variable]: the variable \"w0\" has no value");
  EXPECT_EQ(onnx_error_of([&] {
              onnx_bytes(*graph, {{"w0", Literal::splat({DType::kF32, {3}}, 1.0)}});
            }),
            "ValueError[onnx.variable]: the variable \"w0\" is f32[2,3], its value is f32[3]");
  GraphBuilder builder;
  const Tensor w = builder.input(InputKind::kVariable, "w", kMatrix);
  builder.output(OutputKind::kUpdate, "w", w);
  EXPECT_EQ(
      onnx_error_of([&] {
        onnx_bytes(*builder.finish(), {{"w", Literal::splat(kMatrix, 1.0)}});
      }),
      "UnsupportedError[onnx.update]: the graph updates the variable \"w\"; an ONNX model keeps no state");
}

// Files of PyTorch's exporter with PyTorch's figures: tests/golden/torch_onnx.py.
TEST(Onnx, PyTorchsModelsGivePyTorchsValues) {
  for (const std::string name : {"torch_mlp", "torch_cnn"}) {
    const std::string stem = cat("tests/golden/", name);
    const OnnxProgram torch = onnx_parse(posix_env().read_file(stem + ".onnx"), {.sizes = {{"batch", 5}}});
    torch.graph->verify();
    std::vector<Literal> inputs;
    for (const GraphInput& input : torch.graph->inputs()) {
      inputs.push_back(input.kind == InputKind::kArgument ? read_npy(stem + ".in.npy")
                                                          : torch.variables.at(input.name));
    }
    const Literal y = interpret(*torch.graph, inputs, RunContext::current())[0].expanded(),
                  wanted = read_npy(stem + ".out.npy");
    ASSERT_EQ(y.type(), wanted.type()) << name;
    for (int64_t i = 0; i < y.type().elements(); ++i) {
      const float expected = wanted.view().as<float>()[i];
      EXPECT_NEAR(y.view().as<float>()[i], expected, 1e-5 * std::max(1.0f, std::abs(expected))) << name << i;
    }
  }
}

std::string identity_of(const std::string& tensor) {
  WireWriter node, output, graph, out;
  node.bytes(1, "t");
  node.bytes(2, "y");
  node.bytes(4, "Identity");
  WireWriter type, info;
  info.integer(1, 1);
  type.bytes(1, info.take());
  output.bytes(1, "y");
  output.bytes(2, type.take());
  graph.bytes(1, node.take());
  graph.bytes(5, tensor);
  graph.bytes(12, output.take());
  WireWriter opset;
  opset.integer(2, 17);
  out.bytes(7, graph.take());
  out.bytes(8, opset.take());
  return out.take();
}

TEST(Onnx, TensorsAreReadFromTheFieldsOfTheirTypes) {
  const auto tensor = [](int64_t dtype, uint32_t field, const std::vector<int64_t>& values) {
    WireWriter out;
    out.integer(1, static_cast<int64_t>(values.size()));
    out.integer(2, dtype);
    out.bytes(8, "t");
    out.packed(field, values);
    return out.take();
  };
  const auto value_of = [](const std::string& tensor) {
    const OnnxProgram program = onnx_parse(identity_of(tensor));
    if (!program.variables.empty()) return program.variables.at("t");
    return interpret(*program.graph, {}, RunContext::current())[0];
  };
  EXPECT_EQ(value_of(tensor(6, 5, {1, -2})), Literal::of<int32_t>({1, -2}));
  EXPECT_EQ(value_of(tensor(7, 7, {1, -2})), Literal::of<int64_t>({1, -2}));
  EXPECT_EQ(value_of(tensor(13, 11, {1, 2})), Literal::of<uint64_t>({1, 2}));
  EXPECT_EQ(value_of(tensor(9, 5, {1, 0})), Literal::of<bool>({true, false}));
  EXPECT_EQ(value_of(tensor(10, 5, {0x3c00, 0x4000})), Literal::of<Float16>({Float16(1.0), Float16(2.0)}));
  WireWriter floats;
  floats.integer(1, 2);
  floats.integer(2, 1);
  floats.bytes(8, "t");
  floats.real(4, 1);
  floats.real(4, 2);
  EXPECT_EQ(value_of(floats.take()), Literal::of<float>({1, 2}));
  EXPECT_EQ(
      parse_error(identity_of(tensor(8, 5, {1}))),
      "UnsupportedError[onnx.dtype]: the tensor \"t\" has elements of ONNX data type 8, for which there is "
      "no dtype");
  WireWriter outside;
  outside.integer(2, 1);
  outside.bytes(8, "t");
  outside.integer(14, 1);
  EXPECT_EQ(parse_error(identity_of(outside.take())),
            "UnsupportedError[onnx.external]: the tensor \"t\" lies outside of the file");
  WireWriter few;
  few.integer(1, 3);
  few.integer(2, 1);
  few.bytes(8, "t");
  few.bytes(9, "12345678");
  EXPECT_EQ(parse_error(identity_of(few.take())),
            "FormatError[onnx.tensor]: the tensor \"t\" is f32[3] and has 8 bytes");
}

Model model_of(std::vector<onnx::Node> nodes) {
  Model model;
  model.inputs = {{"x", DType::kF32, std::vector<onnx::Dimension>{{2, ""}, {3, ""}}}};
  model.outputs = {{"y", DType::kF32, std::nullopt}};
  model.nodes = std::move(nodes);
  return model;
}

TEST(Onnx, ErrorsNameTheNode) {
  const auto refused = [](const std::vector<onnx::Node>& nodes) {
    return parse_error(model_bytes(model_of(nodes)));
  };
  EXPECT_EQ(refused({{.op = "LSTM", .name = "cell", .inputs = {"x"}, .outputs = {"y"}}}),
            "UnsupportedError[onnx.op]: node 0 \"cell\" (LSTM): the operator LSTM is not read");
  EXPECT_EQ(refused({{.op = "Relu", .name = "r", .inputs = {"z"}, .outputs = {"y"}}}),
            "FormatError[onnx.name]: inputs of node 0 \"r\" (Relu) use \"z\", which nothing before defines");
  EXPECT_EQ(refused({{.op = "Relu", .name = "r", .inputs = {"x"}, .outputs = {"x"}}}),
            "FormatError[onnx.name]: \"x\" is defined twice");
  EXPECT_EQ(refused({{.op = "Relu", .name = "r", .inputs = {"x"}, .outputs = {"z"}}}),
            "FormatError[onnx.name]: the outputs use \"y\", which nothing before defines");
  EXPECT_EQ(refused({{.op = "MatMul", .name = "m", .inputs = {"x", "x"}, .outputs = {"y"}}}).substr(0, 44),
            "FormatError[onnx.node]: node 0 \"m\" (MatMul):");
  EXPECT_EQ(refused({{.op = "Add", .name = "a", .inputs = {"x"}, .outputs = {"y"}}}),
            "FormatError[onnx.node]: node 0 \"a\" (Add): needs input 1");
  EXPECT_EQ(refused({{.op = "Reshape", .name = "r", .inputs = {"x", "x"}, .outputs = {"y"}}}),
            "FormatError[onnx.node]: node 0 \"r\" (Reshape): input 1 must be integers, got f32[2,3]");
  Model old = model_of({});
  old.opset = 8;
  EXPECT_EQ(parse_error(model_bytes(old)),
            "UnsupportedError[onnx.opset]: the model uses operator set 8, read are 11 to 28");
  EXPECT_EQ(parse_error(""), "FormatError[onnx.model]: the bytes hold no graph");
  Model many = model_of(std::vector<onnx::Node>(40000, {.op = "Relu", .inputs = {"x"}, .outputs = {""}}));
  EXPECT_EQ(parse_error(model_bytes(many)), "UnsupportedError[onnx.size]: more than 32768 nodes");
}

// The operator's specification: for a negative step, starts are clamped to [0, n - 1] and ends to [-1, n -
// 1].
TEST(Onnx, SlicesWithNegativeStepsBeginAtTheFirstElementAtLeast) {
  const auto sliced = [](int64_t size, int64_t start, int64_t end, int64_t step) {
    const auto constant = [](const char* name, int64_t value) {
      return onnx::Node{
          .op = "Constant", .outputs = {name}, .attributes = {{"value_ints", std::vector{value}}}};
    };
    Model model = model_of({constant("s", start),
                            constant("e", end),
                            constant("a", 0),
                            constant("step", step),
                            {.op = "Slice", .inputs = {"x", "s", "e", "a", "step"}, .outputs = {"y"}}});
    model.inputs[0].shape = std::vector<onnx::Dimension>{{size, ""}};
    std::vector<float> numbers(static_cast<size_t>(size));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    const Literal x = Literal::copy({DType::kF32, {size}}, numbers.data());
    const Literal y =
        interpret(*onnx_parse(model_bytes(model)).graph, std::vector{x}, RunContext::current())[0];
    const auto* first = static_cast<const float*>(y.raw());
    return std::vector<float>(first, first + y.type().elements());
  };
  using Values = std::vector<float>;
  constexpr int64_t kFar = -9;
  EXPECT_EQ(sliced(4, kFar, kFar, -1), Values{0});
  EXPECT_EQ(sliced(4, kFar, 0, -1), Values{});
  EXPECT_EQ(sliced(4, 99, kFar, -1), (Values{3, 2, 1, 0}));
  EXPECT_EQ(sliced(4, 99, kFar, -3), (Values{3, 0}));
  EXPECT_EQ(sliced(4, -2, kFar, -2), (Values{2, 0}));
  EXPECT_EQ(sliced(4, 2, 2, -1), Values{});
  EXPECT_EQ(sliced(4, kFar, 2, 1), (Values{0, 1}));
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(sliced(4, kMost, kLeast, kLeast), Values{3});
  EXPECT_EQ(sliced(4, kLeast, kLeast, kLeast), Values{0});
  EXPECT_EQ(sliced(4, kMost, kLeast, -1), (Values{3, 2, 1, 0}));
  EXPECT_EQ(sliced(4, kLeast, kMost, kMost), Values{0});
  EXPECT_EQ(sliced(4, kLeast, kMost, 1), (Values{0, 1, 2, 3}));
  EXPECT_EQ(sliced(1, kMost, kLeast, kLeast), Values{0});
  EXPECT_EQ(sliced(4, 99, 100, 1), Values{});
  EXPECT_EQ(sliced(0, kFar, kFar, -1), Values{});
}

// An exponent of another type keeps its fraction: 9^0.5 is 3, not 9^0.
TEST(Onnx, PowOfIntegersTakesFractions) {
  Model model = model_of({{.op = "Constant", .outputs = {"e"}, .attributes = {{"value_float", 0.5f}}},
                          {.op = "Pow", .inputs = {"x", "e"}, .outputs = {"y"}}});
  model.inputs = {{"x", DType::kI32, std::vector<onnx::Dimension>{{2, ""}}}};
  const Literal y = interpret(*onnx_parse(model_bytes(model)).graph,
                              std::vector{Literal::of<int32_t>({9, 10})}, RunContext::current())[0];
  EXPECT_EQ(y, Literal::of<int32_t>({3, 3}));
}

TEST(Onnx, NormsWhoseSquaresOverflowAreRead) {
  const Model model = model_of(
      {{.op = "ReduceL2", .inputs = {"x"}, .outputs = {"y"}, .attributes = {{"keepdims", int64_t{0}}}}});
  const Literal x = Literal::copy({DType::kF32, {2, 3}}, std::vector<float>{3e30f, 0, 0, 0, 4e30f, 0}.data());
  const Literal y =
      interpret(*onnx_parse(model_bytes(model)).graph, std::vector{x}, RunContext::current())[0];
  EXPECT_FLOAT_EQ(*static_cast<const float*>(y.raw()), 5e30f);
}

// An AttributeProto of strings, as RNN has them.
std::string node_with_strings(const char* op, const char* domain = "") {
  WireWriter attribute, node;
  attribute.bytes(1, "activations");
  attribute.bytes(9, "Tanh");
  attribute.integer(20, 8);
  node.bytes(1, "x");
  node.bytes(2, "y");
  node.bytes(3, "n");
  node.bytes(4, op);
  node.bytes(5, attribute.take());
  node.bytes(7, domain);
  return node.take();
}

// f writes what else the graph and the model have.
template <class F>
std::string model_with(const std::string& node, F f) {
  const std::string plain = model_bytes(model_of({}));
  std::string graph_bytes;
  for (onnx::WireReader field(plain); field.next();) {
    if (field.number() == 7) graph_bytes = field.bytes();
  }
  WireWriter graph, out;
  graph.bytes(1, node);
  f(graph, out);
  out.bytes(7, graph.take() + graph_bytes);
  return out.take();
}

TEST(Onnx, AnOperatorThatIsNotReadIsNamedBeforeItsDetails) {
  const std::string refusal = "UnsupportedError[onnx.op]: node 0 \"n\" (RNN): the operator RNN is not read";
  EXPECT_EQ(parse_error(model_with(node_with_strings("RNN"), [](auto&, auto&) {})), refusal);
  // A tensor of a type that is not read, one outside of the file, functions and sparse tensors say less.
  for (const bool outside : {false, true}) {
    EXPECT_EQ(parse_error(model_with(node_with_strings("RNN"),
                                     [&](WireWriter& graph, WireWriter&) {
                                       WireWriter tensor;
                                       tensor.integer(2, outside ? 1 : 17);
                                       tensor.bytes(8, "w");
                                       if (outside) tensor.integer(14, 1);
                                       graph.bytes(5, tensor.take());
                                       if (outside) graph.bytes(15, "");
                                     })),
              refusal);
  }
  EXPECT_EQ(parse_error(model_with(node_with_strings("Fused", "com.example"), [](auto&, auto&) {})),
            "UnsupportedError[onnx.op]: node 0 \"n\" (Fused): the operator com.example.Fused is not read");
  // Beside it what else is not read, each once; of another domain before the operator set, which another
  // export would change in vain.
  const auto of = [](int64_t opset, const std::vector<std::pair<const char*, const char*>>& nodes) {
    Model model = model_of({});
    for (const auto& [op, domain] : nodes)
      model.nodes.push_back({.op = op, .name = "n", .domain = domain, .inputs = {"x"}, .outputs = {""}});
    model.opset = opset;
    return parse_error(model_bytes(model));
  };
  EXPECT_EQ(
      of(9, {{"Relu", ""}, {"Fused", "com.example"}, {"Loop", "com.example"}, {"Fused", "com.example"}}),
      "UnsupportedError[onnx.op]: node 1 \"n\" (Fused): the operator com.example.Fused is not read; not read "
      "either: com.example.Loop; and the model uses operator set 9, read are 11 to 28");
  EXPECT_EQ(
      of(17, {{"A", "d"}, {"B", "d"}, {"C", "d"}, {"D", "d"}}),
      "UnsupportedError[onnx.op]: node 0 \"n\" (A): the operator d.A is not read; not read either: d.B, d.C "
      "and d.D");
  EXPECT_EQ(
      of(17, {{"A", "d"}, {"B", "d"}, {"C", "d"}, {"D", "d"}, {"E", "d"}, {"F", "d"}, {"G", "d"}}),
      "UnsupportedError[onnx.op]: node 0 \"n\" (A): the operator d.A is not read; not read either: d.B, "
      "d.C, d.D, d.E, d.F and 1 more");
  // One of ONNX's own may go by another name in another set.
  EXPECT_EQ(of(9, {{"Upsample", ""}}),
            "UnsupportedError[onnx.opset]: the model uses operator set 9, read are 11 to 28");
  // A function of the model's own matters where it is called.
  const auto with_function = [](const char* op, const char* domain) {
    return parse_error(model_with(node_with_strings(op, domain), [](WireWriter&, WireWriter& out) {
      WireWriter function;
      function.bytes(1, "Fused");
      function.bytes(10, "com.example");
      out.bytes(25, function.take());
    }));
  };
  EXPECT_EQ(
      with_function("Fused", "com.example"),
      "UnsupportedError[onnx.function]: node 0 \"n\" (Fused): com.example.Fused is a function of the model's "
      "own");
  // And so does an attribute that nobody asks for: Relu has none of that name.
  EXPECT_EQ(with_function("Relu", ""), "done");
  WireWriter mode, node;
  mode.bytes(1, "perm");
  mode.integer(20, 8);
  node.bytes(1, "x");
  node.bytes(2, "y");
  node.bytes(3, "n");
  node.bytes(4, "Transpose");
  node.bytes(5, mode.take());
  EXPECT_EQ(
      parse_error(model_with(node.take(), [](auto&, auto&) {})),
      "UnsupportedError[onnx.op]: node 0 \"n\" (Transpose): the attribute \"perm\" is of AttributeType 8");
}

// The batch that an exporter saw stands in a reshape, and the file says that it is open.
TEST(Onnx, ABatchThatIsBakedInNamesTheWayOut) {
  const auto model = [](const std::vector<int64_t>& sizes, const char* symbol) {
    Model out = model_of({{.op = "Constant", .outputs = {"s"}, .attributes = {{"value_ints", sizes}}},
                          {.op = "Reshape", .name = "r", .inputs = {"x", "s"}, .outputs = {"y"}}});
    out.inputs[0].shape = std::vector<onnx::Dimension>{{std::nullopt, symbol}, {4, ""}};
    return model_bytes(out);
  };
  const auto thrown = [](const std::string& bytes, const OnnxReadOptions& options = {}) {
    try {
      onnx_parse(bytes, options);
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.message(), " fix: ", error.fix());
    }
    return std::string("done");
  };
  const std::string baked = model({3, 2, 2}, "batch");
  EXPECT_EQ(
      thrown(baked),
      "onnx.node: node 1 \"r\" (Reshape): element counts must be equal: f32[1,4] has 4, [3,2,2] has 12; here "
      "batch = 1, which the file leaves open (--size NAME=N) fix: --size batch=3");
  EXPECT_EQ(thrown(baked, {.sizes = {{"batch", 3}}}), "done");
  // Where more is in the way, that is said too.
  Model causal = model_of(
      {{.op = "Constant", .outputs = {"s"}, .attributes = {{"value_ints", std::vector<int64_t>{3, 2, 2}}}},
       {.op = "Reshape", .name = "r", .inputs = {"x", "s"}, .outputs = {"z"}},
       {.op = "Trilu", .name = "t", .inputs = {"z"}, .outputs = {"y"}}});
  causal.inputs[0].shape = std::vector<onnx::Dimension>{{std::nullopt, "batch"}, {4, ""}};
  EXPECT_TRUE(
      thrown(model_bytes(causal))
          .ends_with("(--size NAME=N); besides, node 2 \"t\" (Trilu): the operator Trilu is not read fix: "
                     "--size batch=3"))
      << thrown(model_bytes(causal));
  // No way out is told that does not lead out: of no batch are there 6 elements, nor has this one a name.
  EXPECT_TRUE(thrown(model({3, 2}, "batch")).ends_with("(--size NAME=N) fix: "));
  EXPECT_TRUE(thrown(model({3, 2, 2}, "")).ends_with("[3,2,2] has 12 fix: "));
}

TEST(Onnx, ATensorOfTooManyElementsIsRefused) {
  WireWriter tensor, graph, out;
  for (int i = 0; i < 2; ++i) tensor.integer(1, int64_t{1} << 30);
  tensor.integer(2, 1);
  tensor.bytes(8, "w");
  graph.bytes(5, tensor.take());
  out.bytes(7, graph.take());
  EXPECT_EQ(
      parse_error(out.take()),
      "FormatError[onnx.tensor]: the tensor \"w\": more than 2^48 elements: f32[1073741824,1073741824]");
}

TEST(Onnx, AnAttributeWithoutItsTensorIsRefused) {
  WireWriter attribute, node, graph, out;
  attribute.bytes(1, "value");
  attribute.integer(20, 4);
  node.bytes(4, "Constant");
  node.bytes(5, attribute.take());
  graph.bytes(1, node.take());
  out.bytes(7, graph.take());
  EXPECT_EQ(parse_error(out.take()), "FormatError[onnx.attribute]: the attribute \"value\" holds no tensor");
}

TEST(Onnx, ShapesThatNodesComputeAreKnown) {
  const std::vector<int64_t> open{-1};
  const Model model = model_of(
      {{.op = "Shape", .inputs = {"x"}, .outputs = {"s"}, .attributes = {{"end", int64_t{1}}}},
       {.op = "Constant", .outputs = {"c"}, .attributes = {{"value_ints", open}}},
       {.op = "Constant", .outputs = {"one"}, .attributes = {{"value_ints", std::vector<int64_t>{1}}}},
       {.op = "Mul", .inputs = {"s", "one"}, .outputs = {"m"}},
       {.op = "Concat", .inputs = {"m", "one", "c"}, .outputs = {"t"}, .attributes = {{"axis", int64_t{0}}}},
       {.op = "Reshape", .inputs = {"x", "t"}, .outputs = {"y"}}});
  const auto graph = onnx_parse(model_bytes(model)).graph;
  ASSERT_EQ(graph->nodes().size(), 1u);
  EXPECT_EQ(graph->nodes()[0].op, &op_reshape);
  EXPECT_EQ(graph->type(graph->outputs()[0].value), (TensorType{DType::kF32, {2, 1, 3}}));
}

TEST(Onnx, EveryPrefixOfAModelIsRefusedOrRead) {
  const std::string bytes = posix_env().read_file("tests/golden/torch_cnn.onnx");
  size_t read = 0;
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::string error = parse_error(bytes.substr(0, size));
    read += error == "done";
    EXPECT_TRUE(error == "done" || error.starts_with("FormatError") || error.starts_with("UnsupportedError"))
        << size << error;
  }
  EXPECT_GE(read, 1u);
}

}  // namespace
}  // namespace espalier
