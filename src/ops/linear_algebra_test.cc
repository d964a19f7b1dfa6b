#include "ops/linear_algebra.h"

#include "ops/op_test.h"

namespace espalier {
namespace {

// The k-th matrix of a stack, as a function of row and column.
std::function<double(int64_t, int64_t)> matrix(const Array& a, int64_t k) {
  const int64_t rows = a.shape()[a.shape().size() - 2], columns = a.shape().back();
  return [&a, k, rows, columns](int64_t i, int64_t j) {
    return a.values[static_cast<size_t>((k * rows + i) * columns + j)];
  };
}
int64_t stacked(const Array& a) { return num_elements(Dims(a.shape().span().first(a.shape().size() - 2))); }

// Solves by Cramer's rule on the matrix that is meant.
double determinant(std::vector<std::vector<double>> m) {
  double out = 1;
  for (size_t i = 0; i < m.size(); ++i) {
    size_t best = i;
    for (size_t r = i; r < m.size(); ++r) best = std::abs(m[r][i]) > std::abs(m[best][i]) ? r : best;
    if (best != i) std::swap(m[i], m[best]), out = -out;
    out *= m[i][i];
    for (size_t r = i + 1; r < m.size(); ++r) {
      const double factor = m[r][i] / m[i][i];
      for (size_t k = i; k < m.size(); ++k) m[r][k] -= factor * m[i][k];
    }
  }
  return out;
}

OpCase solve_case(const std::string& name, const Shape& a, const Shape& b, const TriangularOptions& o) {
  const auto oracle = [=](Arrays in) {
    Array out = in[1];
    const int64_t n = a.back(), rows = b[b.size() - 2], columns = b.back();
    for (int64_t s = 0; s < stacked(in[0]) && out.type.elements(); ++s) {
      const auto at = matrix(in[0], s), given = matrix(in[1], s);
      std::vector<std::vector<double>> m(static_cast<size_t>(n), std::vector<double>(static_cast<size_t>(n)));
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const bool read = o.lower ? i >= j : i <= j;
          const double value = i == j && o.unit_diagonal ? 1 : read ? at(i, j) : 0;
          // The matrix that multiplies columns: op(a), or its transpose when x stands on the left.
          const bool flip = o.transpose_a == o.left_side;
          m[static_cast<size_t>(flip ? j : i)][static_cast<size_t>(flip ? i : j)] = value;
        }
      }
      for (int64_t v = 0; v < (o.left_side ? columns : rows); ++v) {
        for (int64_t i = 0; i < n; ++i) {
          auto replaced = m;
          for (int64_t r = 0; r < n; ++r)
            replaced[static_cast<size_t>(r)][static_cast<size_t>(i)] =
                o.left_side ? given(r, v) : given(v, r);
          const int64_t row = o.left_side ? i : v, column = o.left_side ? v : i;
          out.values[static_cast<size_t>((s * rows + row) * columns + column)] =
              determinant(replaced) / determinant(m);
        }
      }
    }
    return out;
  };
  return {.name = name,
          .inputs = {{.shape = a, .low = 1, .high = 2}, {.shape = b}},
          .call = [=](Inputs x) { return triangular_solve(x[0], x[1], o); },
          .oracle = oracle,
          .tolerance = {.ulp = 2, .absolute = 200}};
}

OP_TEST(triangular_solve) {
  std::vector<OpCase> cases;
  for (int bits = 0; bits < 16; ++bits) {
    const TriangularOptions o{bool(bits & 1), bool(bits & 2), bool(bits & 4), bool(bits & 8)};
    cases.push_back(solve_case(cat("options ", bits), {3, 3}, o.left_side ? Shape{3, 2} : Shape{2, 3}, o));
  }
  cases.push_back(solve_case("stack", {2, 2, 2}, {2, 2, 3}, {.lower = true}));
  cases.push_back(solve_case("one", {1, 1}, {1, 1}, {}));
  cases.push_back(solve_case("nothing", {2, 2}, {2, 0}, {}));
  return {.cases = cases};
}

// r, made into the positive definite r r^T + 1 of which the wrong triangle is spoiled.
Tensor positive_definite(const Tensor& r, bool lower) {
  const Tensor product = matrix_product(r, matrix_transpose(r));
  const TensorType index{DType::kI64, r.shape()};
  const auto last = static_cast<int64_t>(r.rank()) - 1;
  const Tensor one = select(compare(iota(index, last - 1), iota(index, last), Comparison::kEQ),
                            constant_like(r.type(), 1), constant_like(r.type(), 0));
  return keep_triangle(product + one, lower ? Comparison::kGE : Comparison::kLE);
}

OP_TEST(cholesky) {
  std::vector<OpCase> cases;
  const auto add = [&](const char* name, const Shape& shape, bool lower) {
    cases.push_back(
        {.name = name,
         .inputs = {{.shape = shape, .low = -1, .high = 1}},
         .call =
             [=](Inputs x) {
               return cholesky(is_float(x[0].dtype()) ? positive_definite(x[0], lower) : x[0], lower);
             },
         // A = L L^T is solved column by column for L: Cholesky's definition.
         .oracle =
             [=](Arrays in) {
               Array out = in[0];
               const int64_t n = shape.back();
               for (int64_t s = 0; s < stacked(in[0]) && n; ++s) {
                 const auto r = matrix(in[0], s);
                 const auto l = [&](int64_t i, int64_t j) -> double& {
                   return out.values[static_cast<size_t>((s * n + (lower ? i : j)) * n + (lower ? j : i))];
                 };
                 for (int64_t i = 0; i < n; ++i) {
                   for (int64_t j = 0; j < n; ++j) {
                     double sum = i == j;
                     for (int64_t k = 0; k < n; ++k) sum += r(i, k) * r(j, k);
                     for (int64_t k = 0; k < std::min(i, j); ++k) sum -= l(i, k) * l(j, k);
                     l(i, j) = j > i ? 0 : i == j ? std::sqrt(sum) : sum / l(j, j);
                   }
                 }
               }
               return out;
             },
         .tolerance = {.ulp = 2, .absolute = 30}});
  };
  add("lower", {3, 3}, true);
  add("upper", {3, 3}, false);
  add("stack", {2, 2, 2}, true);
  add("one", {1, 1}, false);
  add("nothing", {0, 2, 2}, true);
  return {.cases = cases};
}

TEST(Cholesky, ProductGivesTheMatrixBack) {
  const Tensor a = Tensor::of<double>({4, 2, 0.6, 2, 5, 1, 0.6, 1, 3}, {3, 3});
  const Tensor l = cholesky(a, true);
  const auto back = matrix_product(l, matrix_transpose(l)).to_vector<double>();
  for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(back[i], a.data<double>()[i], 1e-14);
  EXPECT_EQ(l.data<double>()[1], 0);
  EXPECT_TRUE(std::isnan(cholesky(negate(a), true).data<double>()[0]));
}

}  // namespace
}  // namespace espalier
