#include "kernels/bf16_gemm.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "espalier/dtype.h"

namespace espalier {
namespace {

constexpr IndexMap kOne{1, 0, nullptr};

// layout: bit 0 transposes A, bit 1 transposes B, bit 2 reads rows of A and columns of B through tables, bit
// 3 gives operands in f32, to be rounded.
struct Problem {
  int64_t m, n, k;
  Bf16Gemm gemm;
  std::vector<float> a, b;  // of values that are bf16
  std::vector<uint16_t> a_bits, b_bits;
  std::vector<float> a_long, b_long;  // what rounds to them
  std::vector<int64_t> rows, columns;

  Problem(int64_t m, int64_t n, int64_t k, int layout) : m(m), n(n), k(k) {
    std::mt19937 random(static_cast<unsigned>(m * 131 + n * 17 + k + layout));
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto fill = [&](int64_t count, auto& values, auto& bits, auto& longer) {
      for (int64_t i = 0; i < count; ++i) {
        longer.push_back(uniform(random));
        bits.push_back(BFloat16(longer.back()).bits());
        values.push_back(BFloat16::from_bits(bits.back()));
      }
    };
    fill(m * k + 1, a, a_bits, a_long);
    fill(k * n + 1, b, b_bits, b_long);
    gemm.a_row = {m, layout & 1 ? 1 : k, nullptr};
    gemm.a_depth = {k, layout & 1 ? m : 1, nullptr};
    gemm.b_depth = {k, layout & 2 ? 1 : n, nullptr};
    gemm.b_column = {n, layout & 2 ? k : 1, nullptr};
    if (layout & 4) {
      for (int64_t i = 0; i < m; ++i) rows.push_back((m - 1 - i) * gemm.a_row.stride);
      for (int64_t j = 0; j < n; ++j) columns.push_back((n - 1 - j) * gemm.b_column.stride);
      gemm.a_row = {m, 0, rows.data()};
      gemm.b_column = {n, 0, columns.data()};
    }
    gemm.a_f32 = gemm.b_f32 = layout & 8;
    gemm.choose();
  }
  std::vector<float> run(bool round, const Follower& follower = {}) {
    gemm.round = round;
    std::vector<std::byte> workspace(gemm.workspace_bytes(1) + 64, std::byte{0x7f});
    std::vector<float> c(static_cast<size_t>(m * n), 77.0f);
    std::vector<uint16_t> bits(c.size(), 0x4f00);
    auto* const start = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64) % 64;
    const void* const left = gemm.a_f32 ? static_cast<const void*>(a_long.data()) : a_bits.data();
    const void* const right = gemm.b_f32 ? static_cast<const void*>(b_long.data()) : b_bits.data();
    gemm.run(left, kOne, right, kOne, start, round ? static_cast<void*>(bits.data()) : c.data(), 1, follower);
    if (round) {
      for (size_t i = 0; i < c.size(); ++i) c[i] = BFloat16::from_bits(bits[i]);
    }
    return c;
  }
};

const int64_t kShapes[][3] = {{1, 1, 1},      {1, 33, 7},    {13, 1, 300},   {12, 32, 256},
                              {64, 10, 128},  {7, 129, 513}, {25, 31, 0},    {40, 64, 257},
                              {33, 17, 1000}, {65, 48, 64},  {150, 70, 600}, {5, 15, 16}};

class Bf16Products : public ::testing::Test {
 protected:
  void SetUp() override {
    if (current_isa() < Isa::kAmx) GTEST_SKIP() << "needs AMX: " << lacking_isa();
  }
  void TearDown() override { thread_pool().set_threads(0); }
};

TEST_F(Bf16Products, AreWithinTheBoundOfAnExactSum) {
  for (const auto& [m, n, k] : kShapes) {
    for (int layout = 0; layout < 16; ++layout) {
      Problem problem(m, n, k, layout);
      const std::vector<float> c = problem.run(false), rounded = problem.run(true);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0, size = 0;
          for (int64_t l = 0; l < k; ++l) {
            const double term =
                static_cast<double>(
                    problem.a[static_cast<size_t>(problem.gemm.a_row[i] + problem.gemm.a_depth[l])]) *
                problem.b[static_cast<size_t>(problem.gemm.b_depth[l] + problem.gemm.b_column[j])];
            sum += term;
            size += std::fabs(term);
          }
          const auto at = static_cast<size_t>(i * n + j);
          ASSERT_NEAR(c[at], sum, 0x1.02p-24 * static_cast<double>(k + 1) * size)
              << m << "x" << n << "x" << k << " layout " << layout << " at " << i << "," << j;
          ASSERT_EQ(rounded[at], static_cast<float>(BFloat16(c[at]))) << "layout " << layout;
        }
      }
    }
  }
}

TEST_F(Bf16Products, NeitherThreadsNorLayoutChangeABit) {
  for (const auto& [m, n, k] : kShapes) {
    thread_pool().set_threads(1);
    const std::vector<float> wanted = Problem(m, n, k, 0).run(false);
    for (const int threads : {1, 2, 3, 7}) {
      thread_pool().set_threads(threads);
      const SmallestChunks smallest(threads > 1);
      for (const int layout : {0, 8}) {
        Problem problem(m, n, k, 0);
        problem.gemm.a_f32 = problem.gemm.b_f32 = layout == 8;
        if (layout == 8) problem.a_long = problem.a, problem.b_long = problem.b;
        EXPECT_EQ(wanted, problem.run(false)) << m << "x" << n << "x" << k << " on " << threads << " threads";
      }
    }
  }
}

TEST_F(Bf16Products, TheFollowerSeesEveryElementOnceAfterItsSum) {
  for (const auto& [m, n, k] : kShapes) {
    for (const int threads : {1, 2, 5}) {
      thread_pool().set_threads(threads);
      std::vector<std::atomic<int>> seen(static_cast<size_t>(m * n));
      const auto count = [](const void* context, int64_t first, int64_t last) {
        auto* at = static_cast<std::atomic<int>*>(const_cast<void*>(context));
        for (int64_t i = first; i < last; ++i) ++at[i];
      };
      Problem(m, n, k, 0).run(false, {count, seen.data()});
      for (size_t i = 0; i < seen.size(); ++i)
        ASSERT_EQ(seen[i], 1) << m << "x" << n << "x" << k << " at " << i;
    }
  }
}

}  // namespace
}  // namespace espalier
