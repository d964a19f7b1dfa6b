// A step of training that fails, wherever it does, leaves every variable as it was.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "eager/trace.h"
#include "espalier/espalier.h"
#include "ir/trip_test.h"
#include "passes/pass.h"
#include "runtime/donated_arrays_test.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

// Its input; fails at `place`, its gradient at the next one.
struct Trip : Layer {
  explicit Trip(int64_t place) : Layer("trip"), place(place) {}
  Tensor call(const Tensor& x) override { return trip(x, place); }
  int64_t place;
};

// Every variable that this thread reads.
struct Seen final : ReadObserver {
  void on_read(const VariablePtr& variable, const Tensor&) override {
    if (std::ranges::find(all, variable) == all.end()) all.push_back(variable);
  }
  std::string bytes() const {
    std::string out;
    for (const VariablePtr& variable : all) {
      const Literal dense = variable->value.node()->dense();
      out.append(static_cast<const char*>(dense.raw()), dense.raw_bytes());
    }
    return out;
  }
  std::vector<VariablePtr> all;
};

struct Kind {
  const char* name;
  std::function<Sequential()> model;
  Shape row;
  int64_t layers;
};

// A call that may fail before and behind each layer.
template <class... Layers>
Sequential tripped(Layers... layers) {
  int64_t place = 0;
  Sequential out{Trip(place)};
  (out.add(std::move(layers)).add(Trip(place += 2)), ...);
  return out;
}

std::vector<Kind> kinds() {
  return {
      {"mlp", [] { return tripped(Dense({.units = 8, .activation = "relu"}), Dense({.units = 1})); }, {6}, 2},
      {"cnn",
       [] {
         return tripped(Conv2D({.filters = 4, .kernel_size = {3, 3}, .activation = "relu"}),
                        MaxPooling2D({.pool_size = {2, 2}}), Flatten(), Dense({.units = 1}));
       },
       {8, 8, 1},
       4},
      {"normalized",
       [] {
         return tripped(Dense({.units = 8}), BatchNormalization(), Dropout(0.5),
                        Dense({.units = 8, .activation = "relu"}), Dense({.units = 1}));
       },
       {6},
       5}};
}

std::vector<std::pair<const char*, std::function<Optimizer()>>> optimizers() {
  return {{"momentum", [] { return SGD{.learning_rate = 0.1, .momentum = 0.9}; }},
          {"adam", [] { return Adam{}; }},
          {"rmsprop", [] { return RMSprop{}; }}};
}

class TrainingFences : public testing::Test {
 protected:
  ~TrainingFences() override { Trips::disarm(); }
};

TEST_F(TrainingFences, AStepThatFailsChangesNothing) {
  constexpr int64_t kRows = 12;
  for (const Kind& kind : kinds()) {
    for (const auto& [optimizer, rule] : optimizers()) {
      SCOPED_TRACE(cat(kind.name, " with ", optimizer));
      Shape shape = kind.row;
      shape.insert(0, kRows);
      const Tensor x = Generator(1).normal(shape);
      const Tensor y = convert(compare(Generator(2).uniform({kRows, 1}), 0.5, Comparison::kGT), DType::kF32);
      // Whatever fails, the model goes on as its twin, whose steps never do.
      std::string wanted;
      for (const bool fails : {false, true}) {
        set_seed(4);
        Sequential model = kind.model();
        model.compile({.optimizer = rule(),
                       .loss = BinaryCrossentropy({.from_logits = true}),
                       .metrics = {"binary_accuracy", "auc"}});
        Seen seen;
        for (int i = 0; i < 3; ++i) model.train_on_batch(x, y);
        if (fails) {
          const std::string before = seen.bytes();
          for (int64_t place = 0; place < 2 * (kind.layers + 1); ++place) {
            if (place == 1) continue;  // the gradient of the data is never asked for
            Trips::arm(place);
            EXPECT_EQ(rule_of([&] { model.train_on_batch(x, y); }), "run.failed") << "place " << place;
            EXPECT_EQ(seen.bytes(), before) << "place " << place;
            if (HasFailure()) return;
          }
          Trips::disarm();
        }
        model.train_on_batch(x, y);
        if (fails) {
          EXPECT_EQ(seen.bytes(), wanted);
        } else {
          wanted = seen.bytes();
        }
      }
    }
  }
}

// The same of any value of a step's graph, gradients among them, and of plans that write variables in place.
TEST_F(TrainingFences, AnyNodeOfAStepMayFail) {
  for (const Kind& kind : kinds()) {
    for (const auto& [name, rule] : optimizers()) {
      SCOPED_TRACE(cat(kind.name, " with ", name));
      Shape shape = kind.row;
      shape.insert(0, 4);
      Sequential model = kind.model();
      Optimizer optimizer = rule();
      const auto step = function([&](const Tensor& x) {
        const TrainingScope mode(true);
        GradientTape tape;
        const Tensor outputs = model(x), loss = reduce_sum(outputs * outputs, {0, 1});
        const std::vector<Variable> weights = model.trainable_variables();
        optimizer.apply(tape.gradient(loss, weights), weights);
        return loss;
      });
      const auto graph = optimize(step.graph(std::vector<Tensor>{Generator(1).normal(shape)}));
      const std::vector<Literal> values = values_for(*graph);
      int failed = 0;
      for (ValueId value = 0; value < graph->value_count(); ++value) {
        if (graph->producer(value) == kNone) continue;
        const auto fenced = with_trip(*graph, value, 1000);
        const auto plan = compile_donating(fenced);
        DonatedArrays arrays(*fenced, values), others(*graph, values);
        const std::string before = arrays.bytes();
        Trips::arm(1000);
        EXPECT_EQ(rule_of([&] { run(*plan, arrays.in, arrays.out, RunContext::current()); }), "run.failed")
            << "value " << value;
        EXPECT_EQ(arrays.bytes(), before) << "value " << value;
        Trips::disarm();
        run(*plan, arrays.in, arrays.out, RunContext::current());
        run(*compile_donating(graph), others.in, others.out, RunContext::current());
        EXPECT_EQ(arrays.bytes(), others.bytes()) << "the bits, with a fence behind value " << value;
        if (HasFailure()) return;
        ++failed;
      }
      EXPECT_GT(failed, 20);
    }
  }
}

}  // namespace
}  // namespace espalier
