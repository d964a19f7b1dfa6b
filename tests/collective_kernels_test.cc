// Kernels of collectives among ranks, held against the interpreter's grid, which says what they mean.
#include <gtest/gtest.h>

#include "base/format.h"
#include "ops/collective.h"
#include "tests/as_on_grid.h"

namespace espalier {
namespace {

TEST(CollectiveKernels, AreWhatTheGridSays) {
  for (const int world : {1, 2, 3, 5}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI32, DType::kU8}) {
      for (const Reducer reducer : {Reducer::kSum, Reducer::kProd, Reducer::kMax, Reducer::kMin}) {
        expect_as_on_grid(
            cat("all_reduce ", kReducerWords[static_cast<int>(reducer)]),
            [&](const auto& x) { return all_reduce(x, reducer); },
            {{dtype, {7, 3}}, {dtype, {}}, {dtype, {1000}}}, world);
      }
      expect_as_on_grid(
          "all_gather", [&](const auto& x) { return all_gather(x, 0, world); },
          {{dtype, {5, 2}}, {dtype, {3}}}, world);
      expect_as_on_grid(
          "all_gather along 1", [&](const auto& x) { return all_gather(x, 1, world); },
          {{dtype, {4, 3, 2}}, {dtype, {2, 1}}}, world);
      for (const int64_t axis : {0, 1}) {
        expect_as_on_grid(
            cat("reduce_scatter along ", axis),
            [&](const auto& x) { return std::vector<Tensor>{reduce_scatter(x[0], axis, world)}; },
            {{dtype, {world * 2, world * 3}}}, world);
      }
      expect_as_on_grid(
          "collective_broadcast", [](const auto& x) { return collective_broadcast(x); },
          {{dtype, {6, 2}}, {dtype, {}}}, world);
    }
    for (const Reducer reducer : {Reducer::kAnd, Reducer::kOr, Reducer::kXor}) {
      expect_as_on_grid(
          cat("all_reduce ", kReducerWords[static_cast<int>(reducer)]),
          [&](const auto& x) { return all_reduce(x, reducer); }, {{DType::kU32, {40}}}, world);
    }
    expect_as_on_grid(
        "all_reduce or", [](const auto& x) { return all_reduce(x, Reducer::kOr); }, {{DType::kBool, {9}}},
        world);
  }
}

// What a collective works on in place is still there for others: inputs, an operand that is read later, twice
// the same operand, results that go into another one, and empty ones.
TEST(CollectiveKernels, LeaveWhatOthersRead) {
  const TensorType row{DType::kF32, {33}};
  for (const int world : {2, 3}) {
    expect_as_on_grid(
        "operands read later",
        [](const std::vector<Tensor>& x) {
          const Tensor own = x[0] + x[1], sum = all_reduce({own, x[1], own})[0];
          return std::vector<Tensor>{sum * own, x[1] - sum};
        },
        {row, row}, world);
    expect_as_on_grid(
        "one behind another",
        [](const std::vector<Tensor>& x) {
          const auto first = all_reduce({x[0] * 2, x[1]});
          const auto second = all_reduce({first[1], first[0]}, Reducer::kMax);
          return std::vector<Tensor>{second[0] + first[0], second[1], first[1]};
        },
        {row, row}, world);
    expect_as_on_grid(
        "beside an empty one",
        [](const std::vector<Tensor>& x) {
          return all_reduce({x[0] + 1, x[1]});
        },
        {{DType::kF32, {5}}, {DType::kF32, {0, 4}}}, world);
  }
}

}  // namespace
}  // namespace espalier
