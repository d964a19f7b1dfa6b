// For how many rows programs are made: on this CPU for each number once, on a fake device for few.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/model.h"
#include "espalier/random.h"
#include "espalier/run_context.h"
#include "espalier/strategy.h"
#include "runtime/fake_device_test.h"
#include "strategy/replicas.h"

namespace espalier {
namespace {

// Says how often it was traced.
struct CountsTraces final : Layer {
  explicit CountsTraces(std::shared_ptr<int> times) : Layer("counted"), times(std::move(times)) {}
  Tensor call(const Tensor& x) override {
    ++*times;
    return x;
  }
  std::shared_ptr<int> times;
};

TEST(PredictPlans, OneToThirtyTwoRowsInTurnAreTracedOnce) {
  const auto times = std::make_shared<int>(0);
  Sequential model(Dense({.units = 64, .activation = "relu"}), Dense({.units = 64, .activation = "relu"}),
                   CountsTraces(times), Dense({.units = 10}));
  const Tensor x = random_normal({32, 64}, 1, 0);
  const std::vector<float> wanted = model.predict(x).to_vector<float>();
  const auto round = [&] {
    const int before = *times;
    for (int64_t rows = 1; rows <= 32; ++rows) {
      const Tensor some = model.predict(slice(x, {0, 0}, {rows, 64}));
      EXPECT_EQ(some.shape(), (Shape{rows, 10}));
      const std::vector<float> got = some.to_vector<float>();
      for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5) << rows;
    }
    return *times - before;
  };
  // The second call of each number looks whether anything that was captured has changed.
  EXPECT_GE(round(), 31);
  EXPECT_GE(round(), 31);
  EXPECT_EQ(round(), 0);
}

struct LessTheMean final : Layer {
  LessTheMean() : Layer("less_the_mean") {}
  Tensor call(const Tensor& x) override { return x - mean(x, 0, true); }
};

class RowsThere : public testing::Test {
 protected:
  // By name, in order, of programs whose first argument has rows of five numbers.
  std::vector<std::pair<std::string, int64_t>> compiled_;
  FakeDevicePtr device_of(size_t replicas) {
    const auto compiling = [this](const Graph& graph) {
      const TensorType& type = graph.type(graph.inputs()[0].value);
      if (graph.inputs()[0].kind == InputKind::kArgument && type.shape.size() == 2 && type.shape[1] == 5)
        compiled_.emplace_back(graph.name(), type.shape[0]);
    };
    return FakeDevice::create({.compiling = compiling, .replicas = replicas});
  }
  const FakeDevicePtr device_ = device_of(1);
  const RunContext there_{{.device = device_.get()}};
  const Tensor x_ = random_normal({10, 5}, 1, 0), y_ = random_normal({10, 1}, 2, 0);

  static Sequential network(bool interact) {
    set_seed(4);
    Sequential model;
    if (interact) model.add(LessTheMean());
    model.add(Dense({.units = 1}));
    model.compile({.optimizer = SGD{.learning_rate = 0.1}, .loss = MeanSquaredError()});
    return model;
  }
  // Weights behind a fit of ten rows, four at a time, then the loss of evaluations of three, and of eight.
  std::vector<float> fitted(bool interact) const {
    Sequential model = network(interact);
    model.fit(x_, y_, {.epochs = 2, .batch_size = 4, .shuffle = false});
    std::vector<float> out = model.variables()[0].read().to_vector<float>();
    for (const int64_t batch : {8, 3})
      out.push_back(static_cast<float>(model.evaluate(x_, y_, batch).at("loss")));
    return out;
  }
  void expect_fitted_as_here(bool interact) const {
    const std::vector<float> here = fitted(interact);
    const RunScope scope(there_);
    const std::vector<float> got = fitted(interact);
    ASSERT_EQ(got.size(), here.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], here[i], 1e-5) << i;
  }
  std::vector<int64_t> rows_of(const std::string& program) const {
    std::vector<int64_t> out;
    for (const auto& [name, rows] : compiled_)
      if (name == program) out.push_back(rows);
    return out;
  }
};

using Numbers = std::vector<int64_t>;

TEST_F(RowsThere, SmallerStepsAreFilledUpToTheLargest) {
  expect_fitted_as_here(false);
  EXPECT_EQ(rows_of("train_step"), Numbers{4});
  EXPECT_EQ(rows_of("test_step"), Numbers{8});
}

TEST_F(RowsThere, StepsWhoseRowsInteractHaveThoseThatAreGiven) {
  expect_fitted_as_here(true);
  EXPECT_EQ(rows_of("train_step"), (Numbers{4, 2}));
  EXPECT_EQ(rows_of("test_step"), (Numbers{8, 2, 3, 1}));
}

TEST_F(RowsThere, OfTwoDevicesAreEqualPartsAndNoneIsAddedWhereTheyInteract) {
  const std::shared_ptr<Replicas> two = std::make_shared<Replicas>(device_of(2), CombineOptions{}, 0);
  const auto trained = [&](bool interact, int64_t batch) {
    Sequential model = network(interact);
    model.fit(x_, y_, {.batch_size = batch, .shuffle = false});
    std::vector<float> out = model.predict(x_).to_vector<float>();
    const std::vector<float> weights = model.variables()[0].read().to_vector<float>();
    out.insert(out.end(), weights.begin(), weights.end());
    return out;
  };
  for (const int64_t batch : {5, 4}) {
    compiled_.clear();
    const std::vector<float> here = trained(false, batch);
    const Strategy::Scope scope(two);
    const std::vector<float> got = trained(false, batch);
    ASSERT_EQ(got.size(), here.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], here[i], 1e-5) << i;
    ASSERT_FALSE(rows_of("train_step").empty());
    for (const int64_t rows : rows_of("train_step")) EXPECT_EQ(rows, batch == 5 ? 3 : 2);
    EXPECT_EQ(rows_of("predict"), Numbers{8});
  }
  compiled_.clear();
  const Strategy::Scope scope(two);
  trained(true, 4);
  EXPECT_EQ(rows_of("train_step"), (Numbers{2, 1}));
  EXPECT_EQ(rule_of([&] { trained(true, 5); }), "device.rows");
}

TEST_F(RowsThere, PredictTakesPowersOfTwoUnlessRowsInteract) {
  for (const bool interact : {false, true}) {
    Sequential model = network(interact);
    for (const int64_t rows : {3, 4, 5, 7, 1}) {
      const Tensor some = slice(x_, {0, 0}, {rows, 5});
      const std::vector<float> here = model.predict(some).to_vector<float>();
      const RunScope scope(there_);
      const Tensor out = model.predict(some);
      EXPECT_EQ(out.shape(), (Shape{rows, 1}));
      const std::vector<float> got = out.to_vector<float>();
      for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], here[i], 1e-5) << rows;
    }
    EXPECT_EQ(rows_of("predict"), interact ? (Numbers{3, 4, 5, 7, 1}) : (Numbers{4, 8, 1})) << interact;
    compiled_.clear();
  }
}

}  // namespace
}  // namespace espalier
