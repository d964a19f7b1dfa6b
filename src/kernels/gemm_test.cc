#include "kernels/gemm.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "kernels/isas_test.h"

namespace espalier {
namespace {

struct Problem {
  int64_t m, n, k;
  Gemm gemm;
  std::vector<float> a, b;
  std::vector<int64_t> table;

  // layout: bit 0 transposes A, bit 1 transposes B, bit 2 reads rows of A through a table.
  Problem(int64_t m, int64_t n, int64_t k, int layout, Isa isa)
      : m(m), n(n), k(k), a(m * k + 1), b(k * n + 1) {
    std::mt19937 random(static_cast<unsigned>(m * 131 + n * 17 + k + layout));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : a) x = uniform(random);
    for (float& x : b) x = uniform(random);
    gemm.a_row = {m, layout & 1 ? 1 : k, nullptr};
    gemm.a_depth = {k, layout & 1 ? m : 1, nullptr};
    gemm.b_depth = {k, layout & 2 ? 1 : n, nullptr};
    gemm.b_column = {n, layout & 2 ? k : 1, nullptr};
    if (layout & 4) {
      for (int64_t i = 0; i < m; ++i) table.push_back((m - 1 - i) * gemm.a_row.stride);
      gemm.a_row = {m, 0, table.data()};
    }
    gemm.choose(isa);
  }
  std::vector<float> multiply(int64_t row_step, int64_t panel_step) const {
    std::vector<float> c(m * n, 77.0f), packed(gemm.packed_floats() + 1);
    if (gemm.pack_b) gemm.pack(b.data(), packed.data(), 0, gemm.panels());
    for (int64_t i = 0; i < m; i += row_step) {
      for (int64_t p = 0; p < gemm.panels(); p += panel_step) {
        gemm.multiply(a.data(), b.data(), packed.data(), c.data(), i, std::min(i + row_step, m), p,
                      std::min(p + panel_step, gemm.panels()), 0, gemm.depth_blocks(), false);
      }
    }
    return c;
  }
  std::vector<float> multiply() const { return multiply(m, gemm.panels()); }
  std::vector<float> run() const {
    std::vector<float> c(m * n, 77.0f), workspace(gemm.workspace_floats(1) + 1);
    constexpr IndexMap kOne{1, 0, nullptr};
    gemm.run(thread_pool(), a.data(), kOne, b.data(), kOne, workspace.data(), c.data(), 1, {});
    return c;
  }
};

TEST(Gemm, WithinTheBoundOfAnExactSum) {
  constexpr double kEps = std::numeric_limits<float>::epsilon() / 2;
  const int64_t shapes[][3] = {{1, 1, 1},     {1, 33, 7},    {13, 1, 300}, {12, 32, 256},
                               {64, 10, 128}, {7, 129, 513}, {25, 31, 0},  {40, 64, 257},
                               {3, 17, 1000}, {37, 48, 64},  {5, 15, 16}};
  for (const Isa isa : available_isas()) {
    for (const auto& [m, n, k] : shapes) {
      for (int layout = 0; layout < 8; ++layout) {
        const Problem problem(m, n, k, layout, isa);
        const std::vector<float> c = problem.multiply();
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < k; ++l) {
              const double term =
                  static_cast<double>(problem.a[problem.gemm.a_row[i] + problem.gemm.a_depth[l]]) *
                  problem.b[problem.gemm.b_depth[l] + problem.gemm.b_column[j]];
              sum += term;
              size += std::fabs(term);
            }
            ASSERT_NEAR(c[i * n + j], sum, 1.01 * static_cast<double>(k + 1) * kEps * size)
                << name(isa) << " " << m << "x" << n << "x" << k << " layout " << layout << " at " << i << ","
                << j;
          }
        }
      }
    }
  }
}

TEST(Gemm, NeitherPartitionNorPackingChangesBits) {
  for (const Isa isa : available_isas()) {
    for (int layout = 0; layout < 8; ++layout) {
      Problem problem(67, 150, 600, layout, isa);
      const std::vector<float> whole = problem.multiply();
      EXPECT_EQ(whole, problem.multiply(problem.gemm.tile_rows, 1)) << name(isa) << " layout " << layout;
      EXPECT_EQ(whole, problem.multiply(4 * problem.gemm.tile_rows, 2)) << name(isa) << " layout " << layout;
      for (const bool split : {false, true}) {
        problem.gemm.split_depth = split;
        EXPECT_EQ(whole, problem.run()) << name(isa) << " layout " << layout;
      }
      problem.gemm.pack_a = problem.gemm.pack_b = true;
      EXPECT_EQ(whole, problem.multiply()) << name(isa) << " layout " << layout;
    }
  }
}

// A row of a tall product is the product of the row.
TEST(Gemm, RowsDoNotDependOnTheirNeighbours) {
  for (const Isa isa : available_isas()) {
    Problem tall(29, 50, 300, 0, isa);
    const std::vector<float> c = tall.multiply();
    Problem one(1, 50, 300, 0, isa);
    one.b = tall.b;
    for (int64_t i = 0; i < 29; ++i) {
      one.a.assign(tall.a.begin() + i * 300, tall.a.begin() + (i + 1) * 300);
      EXPECT_EQ(one.multiply(), std::vector<float>(c.begin() + i * 50, c.begin() + (i + 1) * 50));
    }
  }
}

}  // namespace
}  // namespace espalier
