#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "espalier/function.h"
#include "espalier/ops.h"
#include "espalier/optimizers.h"

namespace espalier {
namespace {

TEST(Optimizers, ARefusedApplyChangesNothing) {
  for (Optimizer optimizer : std::vector<Optimizer>{SGD{.learning_rate = 0.5, .momentum = 0.9}, Adam{}}) {
    Variable w(full({2}, 1), {.name = "w"}), u(full({3}, 1), {.name = "u"});
    Variable counts(full({2}, 1, DType::kI32), {.name = "counts"});
    Tensor symbolic;
    function([&](const Tensor& x) {
      symbolic = x * 2;
      return x;
    })(full({3}, 1));
    const Tensor g = full({2}, 1);
    EXPECT_THROW(optimizer.apply({g, full({4}, 1)}, {w, u}), ShapeError);
    EXPECT_THROW(optimizer.apply({g, full({3}, 1, DType::kF64)}, {w, u}), DTypeError);
    EXPECT_THROW(optimizer.apply({g, full({2}, 1, DType::kI32)}, {w, counts}), DTypeError);
    EXPECT_THROW(optimizer.apply({g, symbolic}, {w, u}), StateError);
    EXPECT_THROW(optimizer.apply({g}, {w, u}), ValueError);
    EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{1, 1}));
    EXPECT_EQ(u.read().to_vector<float>(), (std::vector<float>{1, 1, 1}));
    EXPECT_EQ(optimizer.variables().size(), 2u);  // rate and step: no slots yet
    EXPECT_EQ(optimizer.variables()[1].read().item<int64_t>(), 0);
    optimizer.apply({g, Tensor()}, {w, u});
    EXPECT_LT(w.read().to_vector<float>()[0], 1);
    EXPECT_EQ(u.read().to_vector<float>()[0], 1);
    EXPECT_EQ(optimizer.variables()[1].read().item<int64_t>(), 1);
  }
}

TEST(Optimizers, OptionsOutsideOfTheirRangeAreRefused) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](auto options, const std::string& rule) {
    try {
      Optimizer optimizer = options;
      return false;
    } catch (const ValueError& error) {
      return error.rule() == rule &&
             std::string(error.what()).find(" at optimizer_test.cc:") != std::string::npos;
    }
  };
  for (const double bad : {-0.1, 1.0, 2.0, kNan}) {
    EXPECT_TRUE(refused(Adam{.beta_1 = bad}, "adam.beta_1")) << bad;
    EXPECT_TRUE(refused(Adam{.beta_2 = bad}, "adam.beta_2")) << bad;
  }
  for (const double bad : {0.0, -1e-7, kNan}) EXPECT_TRUE(refused(Adam{.epsilon = bad}, "adam.epsilon"));
  for (const double bad : {-1e-3, kNan}) {
    EXPECT_TRUE(refused(Adam{.learning_rate = bad}, "optimizer.learning_rate")) << bad;
    EXPECT_TRUE(refused(SGD{.learning_rate = bad}, "optimizer.learning_rate")) << bad;
    EXPECT_TRUE(refused(Adam{.weight_decay = bad}, "adam.weight_decay")) << bad;
    EXPECT_TRUE(refused(SGD{.momentum = bad}, "sgd.momentum")) << bad;
  }
  EXPECT_TRUE(refused(SGD{.momentum = 1.5}, "sgd.momentum"));
  EXPECT_NO_THROW(Optimizer(Adam{.learning_rate = 0, .beta_1 = 0, .beta_2 = 0}));
  EXPECT_NO_THROW(Optimizer(SGD{.momentum = 1}));
}

TEST(Optimizers, ErrorsNameTheUsersLine) {
  Optimizer sgd = SGD{};
  Variable w(full({2}, 1));
  const std::vector<std::function<void()>> mistakes = {
      [&] { sgd.apply({full({3}, 1)}, {w}); },
      [&] { sgd.apply({}, {w}); },
      [&] { Optimizer adam = Adam{.beta_1 = 2}; },
      [&] { sgd = SGD{.momentum = -1}; },
  };
  for (const auto& mistake : mistakes) {
    try {
      mistake();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(" at optimizer_test.cc:"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace espalier
