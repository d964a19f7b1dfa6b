#include "ops/dot_general.h"

#include "ops/op_test.h"

namespace espalier {
namespace {

// The sum over k of lhs(b, i, k) * rhs(b, k, j), each operand addressed by its own order of axes: `lhs_at`
// and `rhs_at` give the index of (b, i, k) and (b, k, j).
using Address = std::function<Dims(int64_t, int64_t, int64_t)>;
Oracle products(Dims sizes, Shape result, Address lhs_at, Address rhs_at, std::optional<DType> dtype = {}) {
  return [=](Arrays x) {
    Array out{{dtype.value_or(x[0].type.dtype), result}, {}};
    for (int64_t b = 0; b < sizes[0]; ++b) {
      for (int64_t i = 0; i < sizes[1]; ++i) {
        for (int64_t j = 0; j < sizes[2]; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < sizes[3]; ++k) sum += x[0].at(lhs_at(b, i, k)) * x[1].at(rhs_at(b, k, j));
          out.values.push_back(sum);
        }
      }
    }
    return out;
  };
}

OP_TEST(dot_general) {
  OpTest test;
  const auto add = [&](const char* name, const Shape& lhs, const Shape& rhs, const DotAxes& axes,
                       const Oracle& oracle) {
    test.cases.push_back({.name = name,
                          .inputs = {{.shape = lhs}, {.shape = rhs}},
                          .call = [=](Inputs x) { return dot_general(x[0], x[1], axes); },
                          .oracle = oracle,
                          .dtypes = kAnyDType,
                          .tolerance = {.ulp = 1, .absolute = 4}});
  };
  const Address ik = [](int64_t, int64_t i, int64_t k) { return Dims{i, k}; };
  const Address kj = [](int64_t, int64_t k, int64_t j) { return Dims{k, j}; };
  const DotAxes matrix{.lhs_contracting = {1}, .rhs_contracting = {0}};
  add("matrices", {2, 3}, {3, 4}, matrix, products({1, 2, 4, 3}, {2, 4}, ik, kj));
  add("single elements", {1, 1}, {1, 1}, matrix, products({1, 1, 1, 1}, {1, 1}, ik, kj));
  add("no rows", {0, 3}, {3, 4}, matrix, products({1, 0, 4, 3}, {0, 4}, ik, kj));
  add("nothing to sum", {2, 0}, {0, 4}, matrix, products({1, 2, 4, 0}, {2, 4}, ik, kj));
  add("axes out of order", {3, 2, 4}, {2, 3, 4},
      {.lhs_batching = {1}, .rhs_batching = {0}, .lhs_contracting = {2}, .rhs_contracting = {2}},
      products(
          {2, 3, 3, 4}, {2, 3, 3},
          [](int64_t b, int64_t i, int64_t k) {
            return Dims{i, b, k};
          },
          [](int64_t b, int64_t k, int64_t j) {
            return Dims{b, j, k};
          }));
  add("two contracted axes, crossed", {2, 3, 2}, {2, 4, 3},
      {.lhs_contracting = {1, 2}, .rhs_contracting = {2, 0}},
      products(
          {1, 2, 4, 6}, {2, 4},
          [](int64_t, int64_t i, int64_t k) {
            return Dims{i, k / 2, k % 2};
          },
          [](int64_t, int64_t k, int64_t j) {
            return Dims{k % 2, j, k / 2};
          }));
  add("outer product", {2}, {3}, {},
      products(
          {1, 2, 3, 1}, {2, 3}, [](int64_t, int64_t i, int64_t) { return Dims{i}; },
          [](int64_t, int64_t, int64_t j) { return Dims{j}; }));
  test.cases.push_back(
      {.name = "f32 result of bf16",
       .inputs = {{.shape = {2, 3}, .dtype = DType::kBF16}, {.shape = {3, 4}, .dtype = DType::kBF16}},
       .call = [=](Inputs x) { return dot_general(x[0], x[1], matrix, DType::kF32); },
       .oracle = products({1, 2, 4, 3}, {2, 4}, ik, kj, DType::kF32),
       .tolerance = {.ulp = 1, .absolute = 4}});
  return test;
}

}  // namespace
}  // namespace espalier
