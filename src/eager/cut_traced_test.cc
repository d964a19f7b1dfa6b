#include "eager/cut_traced.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"
#include "interp/interpreter.h"

namespace espalier {
namespace {

struct Stepped {
  Variable w{Tensor::of(std::vector<float>{0.5f, -1, 2}, {3}), {.name = "w"}};
  Variable count{Tensor::scalar(int64_t{4}), {.name = "count"}}, last{full({3}, 0), {.name = "last"}};
  const std::vector<NamedType> arguments{{"x", {DType::kF32, {4, 3}}}, {"unused", {DType::kF32, {2}}}};

  // A step by the gradient of a sum; `body` gives further results of the rows, and of what has met.
  TracedGraph trace(const std::function<NamedTensors(const Tensor& x, const Tensor& met)>& body) {
    return trace_graph("step", false, arguments, [&](std::span<const Tensor> in) {
      const Tensor narrow = tanh(w);
      const Tensor y = in[0] * narrow;
      const std::vector<Tensor> met = meet_parts({reduce_sum(y, {0}), reduce_sum(y * y, {0, 1})});
      count.assign_add(1);
      w.assign(w.read() - met[0] * narrow * 0.1);
      last.assign(met[0]);
      NamedTensors results{{"loss", met[1] + convert(count.read(), DType::kF32)}};
      for (NamedTensor& each : body(in[0], met[0])) results.push_back(std::move(each));
      return results;
    });
  }
};

NamedTensors nothing(const Tensor&, const Tensor&) { return {}; }
const std::vector<std::string> kNames{"total", "squares"};

// Values of a program's inputs: variables, and these arguments.
std::vector<Literal> run(const TracedGraph& program, std::vector<Literal> inputs) {
  for (const VariablePtr& variable : program.variables) inputs.push_back(variable->value.node()->dense());
  return interpret(*program.graph, inputs, RunContext::current());
}

TEST(CutTraced, APartAndTheRestAreTheWhole) {
  Stepped stepped;
  const TracedGraph whole = stepped.trace(nothing);
  const auto [part, rest] = cut_traced(whole, kNames, "rest");
  part.graph->verify();
  rest.graph->verify();
  EXPECT_EQ(part.arguments().size(), 2u);
  EXPECT_EQ(part.result_names(), kNames);
  EXPECT_EQ(part.variables, std::vector<VariablePtr>{stepped.w.state()});
  EXPECT_TRUE(part.updated.empty());
  ASSERT_EQ(rest.arguments().size(), 2u);
  EXPECT_EQ(rest.graph->name(), "rest");
  EXPECT_EQ(rest.arguments()[0].name, "total");
  EXPECT_EQ(rest.arguments()[1].name, "squares");
  EXPECT_EQ(rest.result_names(), std::vector<std::string>{"loss"});
  // Also the one that it updates and does not read.
  EXPECT_EQ(rest.variables.size(), 3u);
  EXPECT_EQ(rest.updated, whole.updated);

  std::vector<float> numbers;
  for (int i = 0; i < 12; ++i) numbers.push_back(static_cast<float>(i % 5) - 1.5f);
  const std::vector<Literal> arguments{Tensor::of(numbers, {4, 3}).node()->dense(),
                                       full({2}, 1).node()->dense()};
  const std::vector<Literal> wanted = run(whole, arguments), got = run(rest, run(part, arguments));
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i] == wanted[i]) << i;
}

TEST(CutTraced, OtherWaysFromRowsToTheRestAreRefused) {
  Stepped stepped;
  EXPECT_NO_THROW(cut_traced(stepped.trace(nothing), kNames, "rest"));
  const auto refused = [&](const std::function<NamedTensors(const Tensor& x, const Tensor& met)>& body) {
    EXPECT_THROW(cut_traced(stepped.trace(body), kNames, "rest"), InternalError);
  };
  refused([](const Tensor& x, const Tensor&) { return NamedTensors{{"x", x}}; });
  refused([](const Tensor& x, const Tensor&) { return NamedTensors{{"x", reduce_sum(x, {0})}}; });
  refused([](const Tensor& x, const Tensor& met) { return NamedTensors{{"x", x * met}}; });
  refused([](const Tensor&, const Tensor& met) { return NamedTensors{{"again", meet_parts({met})[0]}}; });
}

}  // namespace
}  // namespace espalier
