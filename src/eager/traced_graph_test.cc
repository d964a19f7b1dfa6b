#include "eager/traced_graph.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/array.h"
#include "espalier/espalier.h"
#include "grad/batch.h"
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

// What one row gives, for each row of the batch: results "of_rows/gradient/w", [rows, ...].
Rewrite gradients_of_rows() {
  const auto run = [](const TracedGraph& program, bool again) {
    Rewritten out;
    std::vector<TensorType> types;
    for (const NamedType& argument : program.arguments()) {
      if (argument.name == "seed") continue;
      types.push_back(argument.type);
      types.back().shape[0] = 1;
    }
    const TracedGraph one = program.retrace(types);
    out.program =
        trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
          Inlined all(program, in);
          all.assign_updates();
          std::vector<Tensor> inputs;
          std::vector<bool> batched;
          int64_t rows = 0;
          for (const Tensor& argument : in) {
            const bool seed = argument.rank() == 0;
            batched.push_back(!seed);
            if (seed) {
              inputs.push_back(argument);
              continue;
            }
            Shape shape = argument.shape();
            rows = shape[0];
            shape.insert(1, 1);
            inputs.push_back(reshape(argument, shape));
          }
          for (const VariablePtr& variable : one.variables) inputs.push_back(variable->read());
          batched.resize(inputs.size(), false);
          const Vectorized each = vectorize(*one.graph, inputs, batched, rows);
          const std::vector<std::string> names = one.result_names();
          for (size_t i = 0; i < names.size(); ++i) {
            if (!is_gradient(names[i])) continue;
            out.change.added_results.push_back("of_rows/" + names[i]);
            all.results.push_back({out.change.added_results.back(), each.outputs[i]});
          }
          return all.results;
        });
    return out;
  };
  return {"gradients_of_rows", run};
}

TEST(Rewrites, AskForTheProgramOfOneRow) {
  // Rows of a graph are computed where its inputs lie.
  const RunContext here({.shares = &RunContext::current()});
  const RunScope scope(here);
  constexpr int64_t kRows = 5;
  Variable w(Tensor::of(std::vector<float>{1, -2, 3, 2, 0, -1}, {3, 2}), {.name = "w"}),
      b(Tensor::of(std::vector<float>{2, -3}, {2}), {.name = "b"});
  std::vector<int64_t> traced;
  const auto loss = [&](const Tensor& x, const Tensor& y) {
    traced.push_back(x.size(0));
    const Tensor error = matmul(x, w) + b - y;
    return reduce_sum(error * error, {0, 1});
  };
  // Whole numbers, so that sums have no rounding.
  std::vector<float> numbers;
  for (int i = 0; i < 3 * kRows; ++i) numbers.push_back(static_cast<float>(i * 7 % 5 - 2));
  const Tensor x = Tensor::of(numbers, {kRows, 3});
  numbers.resize(2 * kRows);
  const Tensor y = Tensor::of(numbers, {kRows, 2}), seed = full({}, 3);
  const auto f = function(loss, {.name = "f",
                                 .rewrites = {shared(add_gradients("result0",
                                                                   [&] {
                                                                     return std::vector<Variable>{w, b};
                                                                   })),
                                              shared(gradients_of_rows())}});
  const auto graph = f.graph(std::vector<Tensor>{x, y});
  EXPECT_EQ(traced, (std::vector<int64_t>{kRows, 1}));
  ASSERT_EQ(graph->outputs().size(), 5u);
  EXPECT_EQ(graph->outputs()[3].name, "of_rows/gradient/w");
  EXPECT_EQ(graph->outputs()[4].name, "of_rows/gradient/b");
  std::vector<Literal> inputs;
  for (const GraphInput& input : graph->inputs()) {
    const Tensor value = input.name == "arg0"   ? x
                         : input.name == "arg1" ? y
                         : input.name == "seed" ? seed
                         : input.name == "w"    ? w.read()
                                                : b.read();
    inputs.push_back(value.node()->dense());
  }
  std::vector<Tensor> found;
  for (Literal& each : run(*compile(optimize(graph)), inputs, RunContext::current()))
    found.push_back(make_concrete(std::move(each)));
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(reduce_sum(found[3 + i], {0}).to_vector<float>(), found[1 + i].to_vector<float>()) << i;
  for (int64_t row = 0; row < kRows; ++row) {
    GradientTape tape;
    const Tensor of_row = loss(slice(x, {row, 0}, {row + 1, 3}), slice(y, {row, 0}, {row + 1, 2}));
    const std::vector<Tensor> wanted =
        tape.gradient(std::vector<Tensor>{of_row}, {w, b}, {.output_gradients = {seed}});
    EXPECT_EQ(slice(found[3], {row, 0, 0}, {row + 1, 3, 2}).to_vector<float>(), wanted[0].to_vector<float>());
    EXPECT_EQ(slice(found[4], {row, 0}, {row + 1, 2}).to_vector<float>(), wanted[1].to_vector<float>());
  }
}

// The rewrites before one are done to what it asks for, their questions answered, and what these traces ask
// about is asked by the program.
TEST(Rewrites, WhatIsAskedForIsRewrittenAsFarAsTheProgram) {
  Variable flag(full({}, 0), {.name = "flag"});
  std::vector<std::pair<int64_t, size_t>> asked;
  const auto asks = [&](const char* name, int64_t rows) {
    const auto run = [&asked, name, rows](const TracedGraph& program, bool again) {
      const std::vector<TensorType> types{{DType::kF32, {rows}}};
      const TracedGraph other = program.retrace(types);
      EXPECT_EQ(other.arguments()[0].type, types[0]);
      asked.emplace_back(rows, other.results);
      Rewritten out;
      out.change.added_results = {name};
      out.program =
          trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
            Inlined all(program, in);
            all.results.push_back({name, in[0]});
            return all.results;
          });
      return out;
    };
    return shared({name, run});
  };
  const auto f = function([&](const Tensor& x) { return x.size(0) == 1 && flag.trainable() ? x * 2 : x; },
                          {.name = "f", .rewrites = {asks("first", 1), asks("second", 2)}});
  const Tensor x = full({4}, 5);
  f(x);
  // The second one's has gone through the first.
  EXPECT_EQ(asked, (std::vector<std::pair<int64_t, size_t>>{{1, 1}, {1, 1}, {2, 2}}));
  f(x);
  f(x);
  const size_t before = f.traces();
  flag.set_trainable(false);
  f(x);
  EXPECT_EQ(f.traces(), before + 1);
}

}  // namespace
}  // namespace espalier
