// Models that strategies train, and how far apart two are that were trained.
#pragma once

#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "espalier/espalier.h"

namespace espalier {

struct TrainedWeights {
  std::vector<std::string> paths;
  std::vector<std::vector<float>> values;
  Logs logs;
};

inline TrainedWeights trained_weights(const Model& model, Logs logs) {
  TrainedWeights out;
  for (const Variable& variable : model.variables()) {
    if (variable.dtype() != DType::kF32) continue;
    const Tensor value = variable.read();
    out.paths.push_back(variable.path());
    out.values.emplace_back(value.data<float>().begin(), value.data<float>().end());
  }
  out.logs = std::move(logs);
  return out;
}

struct RowsOfFourClasses {
  Tensor x, y;
};
inline RowsOfFourClasses rows_of_four_classes(int64_t count) {
  const Tensor x = random_normal({count, 12}, 7, 0);
  const Tensor scores = matmul(x, random_normal({12, 4}, 8, 0));
  return {x, argmax(scores, 1)};
}

// Of rows of four classes.
inline Sequential dropping_model() {
  return Sequential{Dense({.units = 16, .activation = "relu"}), Dropout(0.4), Dense({.units = 4})};
}
inline Sequential narrow_model() {
  return Sequential{Dense({.units = 16, .activation = "relu", .dtype = "mixed_bfloat16"}),
                    Dense({.units = 4, .dtype = "float32"})};
}
inline Sequential normalized_by(bool synchronized) {
  return Sequential{Dense({.units = 16, .use_bias = false}),
                    BatchNormalization({.momentum = 0.9, .synchronized = synchronized}), Dense({.units = 4})};
}

using MakeModel = std::function<Sequential()>;
using CompileModel = std::function<void(Model&)>;

inline TrainedWeights trained_by(const MakeModel& make, const CompileModel& compile,
                                 const RowsOfFourClasses& rows, FitOptions options, const Strategy* strategy,
                                 uint64_t seed = 3) {
  set_seed(seed);
  std::optional<Strategy::Scope> scope;
  if (strategy) scope.emplace(strategy->replicas());
  Sequential model = make();
  compile(model);
  const std::vector<Logs> logs = model.fit(rows.x, rows.y, options);
  return trained_weights(model, logs.back());
}

// How far apart, as a share of the largest value of the tensor.
inline double trained_distance(const TrainedWeights& a, const TrainedWeights& b) {
  EXPECT_EQ(a.paths, b.paths);
  double worst = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    float largest = 0, apart = 0;
    for (size_t k = 0; k < a.values[i].size(); ++k) {
      largest = std::max(largest, std::abs(a.values[i][k]));
      apart = std::max(apart, std::abs(a.values[i][k] - b.values[i][k]));
    }
    worst = std::max<double>(worst, largest > 0 ? apart / largest : apart);
  }
  return worst;
}

}  // namespace espalier
