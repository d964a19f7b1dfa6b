#include <filesystem>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "espalier/espalier.h"
#include "format/safetensors.h"
#include "ir/sink.h"

namespace espalier {
namespace {

struct LoadWeights : testing::Test {
  std::string path = testing::TempDir() +
                     cat("espalier-weights-", testing::UnitTest::GetInstance()->current_test_info()->name());
  Sequential model{Dense({.units = 3}), Dense({.units = 1})};

  void SetUp() override { model.predict(full({1, 2}, 1)); }
  void TearDown() override { std::filesystem::remove(path); }
  static Literal array(std::vector<float> values, Shape shape, DType dtype = DType::kF32) {
    return convert(Tensor::of(values, shape), dtype).node()->dense();
  }
  void write(std::vector<NamedArray> arrays) const {
    posix_env().write_file(path, safetensors_bytes({std::move(arrays), {}}));
  }
  std::vector<float> values(size_t variable) { return model.variables()[variable].read().to_vector<float>(); }
  size_t place(const std::string& end) {
    for (size_t i = 0; i < model.variables().size(); ++i) {
      if (model.variables()[i].path().ends_with(end)) return i;
    }
    return 99;
  }
};

TEST_F(LoadWeights, ByAMapOfNamesWithAxesMoved) {
  write({{"fc1.weight", array({1, 2, 3, 4, 5, 6}, {3, 2})},
         {"fc1.bias", array({7, 8, 9}, {3}, DType::kBF16)},
         {"fc2.weight", array({1, 1, 1}, {1, 3})},
         {"fc2.bias", array({0.5}, {1})},
         {"steps", array({1}, {1})}});
  const std::string root = model.path();
  const auto left = load_weights(model, path,
                                 {.names = {{root + "/dense/kernel", "fc1.weight"},
                                            {root + "/dense/bias", "fc1.bias"},
                                            {root + "/dense_1/kernel", "fc2.weight"},
                                            {root + "/dense_1/bias", "fc2.bias"}},
                                  .axes = {{"fc1.weight", {1, 0}}, {"fc2.weight", {1, 0}}}});
  EXPECT_EQ(left, std::vector<std::string>{"steps"});
  EXPECT_EQ(values(place("dense/kernel")), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(values(place("dense/bias")), (std::vector<float>{7, 8, 9}));
  // (1 + 2 + 7) + (3 + 4 + 8) + (5 + 6 + 9) + 0.5
  EXPECT_EQ(model.predict(full({1, 2}, 1)).item<float>(), 45.5f);
}

TEST_F(LoadWeights, AnArrayOfATypeThatIsNotReadMattersWhereItIsAskedFor) {
  const std::string root = model.path();
  write({{root + "/dense/kernel", array({1, 2, 3, 4, 5, 6}, {2, 3})},
         {root + "/dense/bias", array({7, 8, 9}, {3})},
         {root + "/dense_1/kernel", array({1, 1, 1}, {3, 1})},
         {root + "/dense_1/bias", array({0.5}, {1})},
         {"x", array({1}, {1}, DType::kI32)}});
  std::string bytes = posix_env().read_file(path);
  bytes.replace(bytes.find("I32"), 3, "F8X");
  posix_env().write_file(path, bytes);
  EXPECT_EQ(load_weights(model, path), std::vector<std::string>{"x"});
  EXPECT_EQ(values(place("dense/bias")), (std::vector<float>{7, 8, 9}));
  try {
    load_weights(model, path, {.names = {{root + "/dense_1/bias", "x"}}});
    ADD_FAILURE() << "loaded";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.message(), "array \"x\" has elements of the type F8X, which is not read");
  }
}

TEST_F(LoadWeights, WhatDoesNotFitIsNamedAndChangesNothing) {
  const std::string root = model.path();
  const auto before = values(place("dense/kernel"));
  const std::vector<NamedArray> good = {{root + "/dense/kernel", array({1, 2, 3, 4, 5, 6}, {2, 3})},
                                        {root + "/dense/bias", array({7, 8, 9}, {3})},
                                        {root + "/dense_1/kernel", array({1, 1, 1}, {3, 1})}};
  const auto rule_of = [&](std::vector<NamedArray> arrays,
                           const LoadWeightsOptions& options = {}) -> std::string {
    write(std::move(arrays));
    try {
      load_weights(model, path, options);
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("dense"), std::string::npos) << error.message();
      return error.rule();
    }
    return "";
  };
  EXPECT_EQ(rule_of(good), "load_weights.name");
  auto wrong = good;
  wrong.push_back({root + "/dense_1/bias", array({1, 2}, {2})});
  EXPECT_EQ(rule_of(wrong), "load_weights.array");
  wrong.back().value = array({1}, {1}, DType::kI32);
  EXPECT_EQ(rule_of(wrong), "load_weights.array");
  EXPECT_EQ(rule_of(good, {.names = {{root + "/dense/colonel", "x"}}, .partial = true}), "load_weights.path");
  EXPECT_EQ(rule_of(good, {.names = {{root + "/dense_1/bias", "x"}}, .partial = true}), "load_weights.name");
  EXPECT_EQ(values(place("dense/kernel")), before);
  EXPECT_EQ(rule_of(good, {.partial = true}), "");
  EXPECT_EQ(values(place("dense/kernel")), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(load_weights(Dense({.units = 1}), path), StateError);
}

TEST_F(LoadWeights, OfANamesakeWithAnotherNumber) {
  Sequential first{Dense({.units = 1})}, second{Dense({.units = 1})};
  first.predict(full({1, 2}, 1));
  second.predict(full({1, 2}, 1));
  ASSERT_NE(first.path(), second.path());
  write({{first.path() + "/dense/kernel", array({1, 2}, {2, 1})},
         {first.path() + "/dense/bias", array({3}, {1})}});
  EXPECT_TRUE(load_weights(second, path).empty());
  EXPECT_EQ(second.variables()[0].read().to_vector<float>(), (std::vector<float>{1, 2}));
  write({{"other/dense/kernel", array({1, 2}, {2, 1})}});
  try {
    load_weights(second, path);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "load_weights.name");
    EXPECT_EQ(error.message(),
              cat("unknown array \"", second.path(), "/dense/kernel\": known are other/dense/kernel"));
  }
}

}  // namespace
}  // namespace espalier
