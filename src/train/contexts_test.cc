// Models that train beside each other, each in a context of its own, share nothing.
#include <thread>

#include <gtest/gtest.h>

#include "base/until_helped_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

struct Task {
  uint64_t seed;
  int64_t units;
  int rounds = 3;
};

// The bits of all that training leaves: what the model says, and what the generator draws next.
std::vector<float> trained(const Task& task) {
  const Tensor x = Generator(task.seed).normal({96, 12}), y = argmax(slice(x, {0, 0}, {96, 3}), 1);
  Sequential model{Dense({.units = task.units, .activation = "relu"}), BatchNormalization(), Dropout(0.5),
                   Dense({.units = 3})};
  model.compile({.optimizer = Adam{.learning_rate = 0.01}, .metrics = {"accuracy"}});
  model.fit(x, y, {.epochs = task.rounds, .batch_size = 16});
  std::vector<float> out = model.predict(x).to_vector<float>();
  for (const float value : random_normal({16}).to_vector<float>()) out.push_back(value);
  return out;
}

std::vector<float> in_a_context(const Task& task, int threads = 1) {
  const RunContext context({.threads = threads, .seed = task.seed});
  const RunScope scope(context);
  return trained(task);
}

TEST(TwoContexts, TrainAtOnceAsEachAlone) {
  const Task tasks[] = {{1, 16}, {2, 24}};
  const std::vector<float> alone[] = {in_a_context(tasks[0]), in_a_context(tasks[1])};
  EXPECT_NE(alone[0], alone[1]);
  EXPECT_EQ(alone[0], in_a_context(tasks[0]));
  for (const int of_each : {1, 1, 2}) {
    std::vector<float> got[2];
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 2; ++i) threads.emplace_back([&, i] { got[i] = in_a_context(tasks[i], of_each); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(got[0], alone[0]);
    EXPECT_EQ(got[1], alone[1]);
  }
}

TEST(TwoContexts, ASeedIsSetInOne) {
  set_seed(5);
  const std::vector<float> wanted = trained({1, 8});
  const RunContext context;
  {
    const RunScope scope(context);
    set_seed(5);
    EXPECT_EQ(trained({1, 8}), wanted) << "as in the process";
    set_seed(6);
    EXPECT_EQ(seed(), 6u);
    EXPECT_NE(trained({1, 8}), wanted);
  }
  EXPECT_EQ(seed(), 5u);
  set_seed(5);
  EXPECT_EQ(trained({1, 8}), wanted);
}

// A function that draws from the default generator draws from that of the context it is called in.
TEST(TwoContexts, AFunctionDrawsInItsCallers) {
  const auto draw = function([] { return random_normal({4}); });
  const auto drawn = [&] { return draw().to_vector<float>(); };
  const RunContext a({.seed = 3}), b({.seed = 3});
  std::vector<std::vector<float>> in_a, in_b;
  {
    const RunScope scope(a);
    for (int i = 0; i < 3; ++i) in_a.push_back(drawn());
  }
  const RunScope scope(b);
  for (int i = 0; i < 3; ++i) in_b.push_back(drawn());
  EXPECT_EQ(in_a, in_b);
  EXPECT_NE(in_a[0], in_a[1]);
}

// Threads that a pipeline starts, and those that share a map out.
TEST(TwoContexts, PipelinesWorkInTheirs) {
  const RunContext context({.threads = 1});
  const RunScope scope(context);
  const Dataset rows = Dataset::from_tensor_slices({Generator(1).uniform({20, 2})});
  std::mutex mutex;
  std::vector<const RunContext*> seen;
  const auto look = [&](const Tensor& x) {
    const std::lock_guard lock(mutex);
    seen.push_back(&RunContext::current());
    return x;
  };
  const auto go_through = [&](const Dataset& dataset) {
    seen.clear();
    int64_t count = 0;
    for (const Tensors& element : dataset) count += static_cast<int64_t>(element.size());
    EXPECT_EQ(count, 20);
    EXPECT_EQ(seen, std::vector<const RunContext*>(20, &context));
  };
  go_through(rows.map(look).prefetch(2));
  const int before = threads();
  set_threads(2);
  until_helped(background_pool(), [&] { go_through(rows.map(look, {.num_parallel_calls = 10})); });
  set_threads(before);
}

// Freezing a layer is news for the functions that asked, and for no others.
TEST(Structures, AFrozenLayerRetracesItsModelAlone) {
  Sequential a{Dense({.units = 3}), Dense({.units = 2})}, b{Dense({.units = 2})};
  const Tensor x = Generator(1).normal({4, 5});
  const auto step = [](Sequential& model) {
    return function([&model](const Tensor& x) {
      GradientTape tape;
      const Tensor loss = reduce_sum(model(x), {0, 1});
      Tensor sum = loss * 0;
      const std::vector<Variable> weights = model.trainable_variables();
      for (const Tensor& gradient : tape.gradient(loss, weights)) {
        if (gradient.defined())
          sum = sum + reduce_sum(reshape(gradient * gradient, {gradient.type().elements()}), {0});
      }
      return sum + static_cast<double>(weights.size());
    });
  };
  const auto of_a = step(a), of_b = step(b);
  for (int i = 0; i < 3; ++i) {
    of_a(x);
    of_b(x);
  }
  EXPECT_EQ(of_a.traces(), 1u);
  EXPECT_EQ(of_b.traces(), 1u);
  a.set_trainable(false);
  EXPECT_EQ(of_a(x).item<float>(), 0);
  of_b(x);
  EXPECT_EQ(of_a.traces(), 2u);
  EXPECT_EQ(of_b.traces(), 1u);
  a.variables()[0].set_trainable(true);
  of_a(x);
  of_b(x);
  EXPECT_EQ(of_a.traces(), 3u);
  EXPECT_EQ(of_b.traces(), 1u);
  a.variables()[0].set_trainable(true);
  of_a(x);
  EXPECT_EQ(of_a.traces(), 3u) << "nothing changed";
}

TEST(Structures, TheSameHoldsOfTraining) {
  struct Counted : Layer {
    explicit Counted(int& count) : Layer("counted"), count(&count) {}
    Tensor call(const Tensor& x) override {
      ++*count;
      return x;
    }
    int* count;
  };
  int of_a = 0, of_b = 0;
  const Tensor x = Generator(1).normal({8, 4}), y = argmax(slice(x, {0, 0}, {8, 2}), 1);
  Dense frozen({.units = 3});
  Sequential a{frozen, Counted(of_a), Dense({.units = 2})}, b{Counted(of_b), Dense({.units = 2})};
  for (Sequential* model : {&a, &b}) {
    model->compile();
    for (int i = 0; i < 3; ++i) model->train_on_batch(x, y);
  }
  const int before = of_b;
  const int a_before = of_a;
  const auto kernel = frozen.variables()[0].read().to_vector<float>();
  frozen.set_trainable(false);
  a.train_on_batch(x, y);
  b.train_on_batch(x, y);
  EXPECT_GT(of_a, a_before);
  EXPECT_EQ(of_b, before);
  EXPECT_EQ(frozen.variables()[0].read().to_vector<float>(), kernel);
}

// A variable that no trace asked about may change: slots and metrics cost a call nothing.
TEST(Structures, OnlyWhatWasAskedCounts) {
  Variable read(Tensor::scalar(1.0f)), watched(Tensor::scalar(2.0f));
  const auto f = function([&](const Tensor& x) {
    const Tensor before = read.read() * x;
    GradientTape tape;
    const Tensor loss = watched.read() * before;
    const Tensor gradient = tape.gradient(loss, std::vector<Variable>{watched})[0];
    return gradient.defined() ? gradient : before * 0;
  });
  const Tensor three = Tensor::scalar(3.0f);
  for (int i = 0; i < 3; ++i) f(three);
  read.set_trainable(false);
  f(three);
  EXPECT_EQ(f.traces(), 1u);
  watched.set_trainable(false);
  f(three);
  EXPECT_EQ(f.traces(), 2u);
}

// Layers take the policy when they are made; a function that makes some depends on it.
TEST(Structures, APolicyRetracesWhatMakesLayers) {
  const auto makes = function([](const Tensor& x) {
    EXPECT_EQ(DTypePolicy().name(), dtype_policy().name());
    return x + 1;
  });
  const auto other = function([](const Tensor& x) { return x + 1; });
  const Tensor one = Tensor::scalar(1.0f);
  for (int i = 0; i < 3; ++i) {
    makes(one);
    other(one);
  }
  set_dtype_policy(DTypePolicy("mixed_bfloat16"));
  makes(one);
  other(one);
  set_dtype_policy(DTypePolicy("float32"));
  EXPECT_EQ(makes.traces(), 2u);
  EXPECT_EQ(other.traces(), 1u);
}

}  // namespace
}  // namespace espalier
