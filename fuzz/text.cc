// Mutated programs: the parser refuses them with a FormatError or gives a graph that verifies, prints and
// parses back to itself.
#include "text/text.h"

#include "espalier/ops.h"
#include "fuzz/mutate.h"
#include "fuzz/text_seeds.h"
#include "ir/builder.h"

using namespace espalier;

namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  const auto add = [&](const std::function<void(GraphBuilder&)>& body) {
    GraphBuilder builder("seed");
    SinkScope scope(builder);
    body(builder);
    out.push_back(print_program(*builder.finish()));
  };
  add([](GraphBuilder& b) {
    const Tensor x = b.argument("x", {DType::kF32, {2, 3}});
    const Tensor w = b.input(InputKind::kVariable, "dense/kernel", {DType::kF32, {3, 4}});
    b.result("loss", reduce_sum(softmax(dot(x, w), -1), {0, 1}));
    b.output(OutputKind::kUpdate, "dense/kernel", w - 0.5);
  });
  add([](GraphBuilder& b) {
    const Tensor x = b.argument("x", {DType::kI32, {4}});
    const Tensor y = transpose(broadcast_to(convert(x, DType::kBF16), {3, 4}), {1, 0});
    b.result("y", reduce_max(y, {1}));
    b.result("c", Tensor::of({1, 2, 3, 4}) + x);
    b.result("s", select(compare(x, 2, Comparison::kLT), x, Tensor::of({0, 0, 0, 1})));
    b.result("i", iota({DType::kF16, {2, 2}}, 1));
    b.result("m", Tensor::of<bool>({true, false}, {2}));
  });
  for (const char* program : fuzz::kPrograms) out.emplace_back(program);
  return out;
}

bool accept(const std::string& source) {
  std::shared_ptr<Graph> graph;
  try {
    graph = parse_program(source);
  } catch (const FormatError&) {
    return false;
  }
  graph->verify();
  if (!(*parse_program(print_program(*graph)) == *graph))
    throw InternalError("printed and parsed it is another graph");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(argc, argv, "fuzz_text", seeds(),
                   {"tensor<1000000x1000000xf32>",
                    "dense<1.0>",
                    "dense<\"0x00\">",
                    "-1",
                    "9223372036854775807",
                    "{",
                    "}",
                    "(",
                    ")",
                    "[",
                    "]",
                    "<{",
                    "}>",
                    "%0",
                    "%0#1",
                    "@main",
                    "\"func.call\"",
                    "array<i64: 1, 0>",
                    "dense<[[1],[2]]>",
                    "0x7FC00000",
                    "tensor<0x2xf32>",
                    "tensor<i1>",
                    "true",
                    "\"stablehlo.reshape\"",
                    "\"stablehlo.negate\"",
                    "\"stablehlo.broadcast_in_dim\"",
                    "\"stablehlo.dot_general\"",
                    "\"stablehlo.composite\"",
                    "loc(",
                    "#loc",
                    "->"},
                   accept);
}
