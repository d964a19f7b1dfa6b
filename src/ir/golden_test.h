// What tests read from tests/golden/*.json.
#pragma once

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "espalier/tensor.h"

namespace espalier {

inline nlohmann::json read_golden(const std::string& name) {
  std::ifstream file("tests/golden/" + name);
  return nlohmann::json::parse(file);
}

// {"dtype", "shape", "data"}; in f32 also "inf", "-inf" and "nan".
inline Tensor golden_array(const nlohmann::json& array) {
  const Shape shape(array.at("shape").get<std::vector<int64_t>>());
  const std::string dtype = array.at("dtype");
  if (dtype == "i32") return Tensor::of(array.at("data").get<std::vector<int32_t>>(), shape);
  if (dtype == "f64") return Tensor::of(array.at("data").get<std::vector<double>>(), shape);
  std::vector<float> values;
  for (const nlohmann::json& value : array.at("data"))
    values.push_back(value.is_string() ? std::stof(value.get<std::string>()) : value.get<float>());
  return Tensor::of(std::move(values), shape);
}

// Each number of f32 `got` within `bound`, relative to it or to a tenth of the largest number.
inline void expect_golden(const Tensor& got, const nlohmann::json& wanted, double bound) {
  const Tensor expected = golden_array(wanted);
  ASSERT_EQ(got.type(), expected.type());
  double largest = 0;
  for (const float value : expected.data<float>()) largest = std::max<double>(largest, std::abs(value));
  for (size_t i = 0; i < got.data<float>().size(); ++i) {
    const double value = expected.data<float>()[i];
    EXPECT_NEAR(got.data<float>()[i], value, bound * std::max(std::abs(value), largest / 10))
        << "number " << i;
  }
}

// Sets `field` to the argument of that name, where it is given.
template <class T>
void take_argument(const nlohmann::json& arguments, const char* name, T& field) {
  if (arguments.contains(name)) field = arguments.at(name).get<T>();
}

}  // namespace espalier
