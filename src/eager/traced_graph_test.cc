#include "eager/traced_graph.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/array.h"
#include "espalier/espalier.h"
#include "passes/pass.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

std::shared_ptr<const Rewrite> shared(Rewrite rewrite) {
  return std::make_shared<const Rewrite>(std::move(rewrite));
}

// Every result times `factor`.
Rewrite times(const char* name, double factor) {
  const auto run = [factor](const TracedGraph& program, bool again) {
    Rewritten out;
    out.program =
        trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
          Inlined all(program, in);
          for (Inlined::Update& update : all.updates) update.variable.assign(update.next);
          for (NamedTensor& result : all.results) result.value = result.value * factor;
          return all.results;
        });
    return out;
  };
  return {name, run};
}

TEST(Rewrites, RunInOrderBetweenTraceAndPlan) {
  Variable count(full({}, 0), {.name = "count", .trainable = false});
  const auto add = [](std::string name) {
    const auto run = [name](const TracedGraph& program, bool again) {
      Rewritten out;
      out.change.added_results = {name};
      out.program =
          trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
            Inlined all(program, in);
            for (Inlined::Update& update : all.updates) update.variable.assign(update.next);
            all.results.push_back({name, all.result("result0") + 1});
            return all.results;
          });
      return out;
    };
    return shared({"add_" + name, run});
  };
  const auto f = function(
      [count](const Tensor& x) mutable {
        count.assign_add(1);
        return std::vector<Tensor>{x + 1};
      },
      {.name = "f", .rewrites = {shared(times("twice", 2)), add("more"), shared(times("thrice", 3))}});
  const Tensor x = full({2}, 5);
  for (int call = 1; call <= 3; ++call) {
    const std::vector<Tensor> out = f(x);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{36, 36}));  // (5 + 1) * 2 * 3
    EXPECT_EQ(out[1].to_vector<float>(), (std::vector<float>{39, 39}));  // ((5 + 1) * 2 + 1) * 3
    EXPECT_EQ(count.read().item<float>(), static_cast<float>(call));
  }
  const std::vector<Tensor> in{x};
  EXPECT_EQ(f.graph(in, "trace")->outputs().size(), 2u);
  EXPECT_EQ(f.graph(in, "twice")->outputs().size(), 2u);
  EXPECT_EQ(f.graph(in, "add_more")->outputs().size(), 3u);
  EXPECT_GT(f.graph(in, "thrice")->nodes().size(), f.graph(in, "twice")->nodes().size());
  EXPECT_LE(f.graph(in, "dce")->nodes().size(), f.graph(in)->nodes().size());
  EXPECT_EQ(f.graph(in)->content_hash(), f.graph(in, "thrice")->content_hash());
  EXPECT_EQ(f.graph(in, "integer_products")->content_hash(), f.graph(in, "dce")->content_hash());
  try {
    f.graph(in, "tvice");
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "function.after");
    EXPECT_NE(std::string(error.what()).find("twice"), std::string::npos) << error.what();
  }
}

TEST(Rewrites, TheGraphIsAlsoShownAsThisCpuPlansIt) {
  const auto f = function([](const Tensor& x) { return digamma(x); });
  const std::vector<Tensor> in{full({2}, 3)};
  EXPECT_EQ(f.graph(in, "dce")->nodes().size(), 1u);
  EXPECT_GT(f.graph(in, "decompose")->nodes().size(), 1u);
}

TEST(Rewrites, SayHowTheyChangeTheSignature) {
  const TracedGraph program =
      trace_graph("f", false, std::vector<NamedType>{{"x", {DType::kF32, {2}}}, {"y", {DType::kF32, {2}}}},
                  [](std::span<const Tensor> in) {
                    return NamedTensors{{"sum", in[0] + in[1]}, {"product", in[0] * in[1]}};
                  });
  const auto changing = [](SignatureChange said) {
    const auto run = [said](const TracedGraph& before, bool again) {
      const std::vector<NamedType> arguments{{"x", {DType::kF32, {2}}}, {"z", {DType::kF32, {2}}}};
      Rewritten out{.program = {}, .change = said};
      out.program = trace_graph("f", again, arguments, [&](std::span<const Tensor> in) {
        const Inlined all(before, std::vector<Tensor>{in[0], in[1] * 2});
        return NamedTensors{{"sum", all.result("sum")}, {"difference", in[0] - in[1]}};
      });
      return out;
    };
    return Rewrites{shared({"changing", run})};
  };
  const SignatureChange true_change{.added_arguments = {"z"},
                                    .bound_arguments = {"y"},
                                    .added_results = {"difference"},
                                    .dropped_results = {"product"}};
  EXPECT_EQ(rewrite(program, changing(true_change), false).result_names(),
            (std::vector<std::string>{"sum", "difference"}));
  for (const auto part : {&SignatureChange::added_arguments, &SignatureChange::bound_arguments,
                          &SignatureChange::added_results, &SignatureChange::dropped_results}) {
    SignatureChange lie = true_change;
    (lie.*part).clear();
    EXPECT_THROW(rewrite(program, changing(lie), false), InternalError);
    lie = true_change;
    (lie.*part).push_back("sum");
    EXPECT_THROW(rewrite(program, changing(lie), false), InternalError);
  }
}

// The two roads to a gradient: the tape's, eager, and the graph's.
TEST(Rewrites, GradientsAreThoseOfTheTape) {
  Generator random(5);
  Variable w(random.normal({3, 4}), {.name = "w"}), b(random.normal({4}), {.name = "b"}),
      unused(random.normal({2}), {.name = "unused"}),
      mean_of(full({4}, 0), {.name = "mean", .trainable = false});
  const auto loss = [&](const Tensor& x) {
    const Tensor y = tanh(matmul(x, w) + b);
    mean_of.assign(mean(y, 0));
    return reduce_sum(y * y * reduce_max(w, {0, 1}), {0, 1});
  };
  const Tensor x = random.normal({6, 3});
  const auto f = function([&](const Tensor& in) { return loss(in); },
                          {.name = "f", .rewrites = {shared(add_gradients("result0", [&] {
                                          return std::vector<Variable>{b, unused, w};
                                        }))}});
  const auto graph = f.graph(std::vector<Tensor>{x});
  const auto outputs = graph->outputs();
  ASSERT_EQ(outputs.size(), 4u);
  EXPECT_EQ(outputs[1].name, "gradient/b");
  EXPECT_EQ(outputs[2].name, "gradient/w");
  EXPECT_EQ(outputs[3].name, "mean");

  GradientTape tape;
  const Tensor eager = loss(x);
  const std::vector<Tensor> wanted =
      tape.gradient(std::vector<Tensor>{eager}, {b, w}, {.output_gradients = {full({}, 3)}});
  std::vector<Literal> inputs;
  for (const GraphInput& input : graph->inputs()) {
    const Tensor value = input.name == "arg0"   ? x
                         : input.name == "seed" ? full({}, 3)
                         : input.name == "w"    ? w.read()
                         : input.name == "b"    ? b.read()
                                                : mean_of.read();
    inputs.push_back(value.node()->dense());
  }
  const std::vector<Literal> found = run(*compile(optimize(graph)), inputs, RunContext::current());
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<float> values = make_concrete(found[i + 1]).to_vector<float>();
    EXPECT_EQ(values, wanted[i].to_vector<float>()) << i;
  }
}

}  // namespace
}  // namespace espalier
