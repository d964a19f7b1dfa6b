// Rows that come one, two or thirty-two at a time: predict() makes a plan for each number of them, once.
#include <gtest/gtest.h>

#include "espalier/array.h"
#include "espalier/model.h"
#include "espalier/random.h"

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

}  // namespace
}  // namespace espalier
