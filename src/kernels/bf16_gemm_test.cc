#include "kernels/bf16_gemm.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "espalier/dtype.h"

namespace espalier {
namespace {

constexpr IndexMap kOne{1, 0, nullptr};

// One product for each shape, in memory as `layout` says: bit 0 transposes A, bit 1 transposes B, bit 2 turns
// the order of A's rows and B's columns round and reads them through tables, bit 3 has f32 that rounds to the
// operands.
struct Bf16Problem {
  int64_t m, n, k;
  Bf16Gemm gemm;
  std::vector<uint16_t> a_bits, b_bits;
  std::vector<float> a, b, a_long, b_long;
  std::vector<int64_t> rows, columns;

  Bf16Problem(int64_t m, int64_t n, int64_t k, int layout) : m(m), n(n), k(k) {
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
    std::mt19937 random(static_cast<unsigned>(m * 131 + n * 17 + k));
    const auto fill = [&](const IndexMap& outer, const IndexMap& inner, auto& values, auto& bits,
                          auto& longer) {
      const auto size = static_cast<size_t>(outer.count * inner.count + 1);
      values.resize(size), bits.resize(size), longer.resize(size);
      for (int64_t i = 0; i < outer.count; ++i) {
        for (int64_t l = 0; l < inner.count; ++l) {
          const auto at = static_cast<size_t>(outer[i] + inner[l]);
          longer[at] = std::uniform_real_distribution<float>(-1, 1)(random);
          bits[at] = BFloat16(longer[at]).bits();
          values[at] = BFloat16::from_bits(bits[at]);
        }
      }
    };
    fill(gemm.a_row, gemm.a_depth, a, a_bits, a_long);
    fill(gemm.b_depth, gemm.b_column, b, b_bits, b_long);
  }
  // `follow` gets C and what is done of it.
  using Follow = std::function<void(const float* c, int64_t first, int64_t last)>;
  std::vector<float> run(bool round, const Follow& follow = {}) {
    gemm.round = round;
    std::vector<std::byte> workspace(gemm.workspace_bytes(1) + 64, std::byte{0x7f});
    std::vector<float> c(static_cast<size_t>(m * n), 77.0f);
    std::vector<uint16_t> bits(c.size(), 0x4f00);
    auto* const start = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64) % 64;
    const void* const left = gemm.a_f32 ? static_cast<const void*>(a_long.data()) : a_bits.data();
    const void* const right = gemm.b_f32 ? static_cast<const void*>(b_long.data()) : b_bits.data();
    struct Context {
      const Follow& follow;
      const float* c;
    } const context{follow, c.data()};
    const Epilogue epilogue{[](const void* memory, int64_t first, int64_t last) {
                              const auto& context = *static_cast<const Context*>(memory);
                              context.follow(context.c, first, last);
                            },
                            &context};
    gemm.run(thread_pool(), left, kOne, right, kOne, start,
             round ? static_cast<void*>(bits.data()) : c.data(), 1, follow ? epilogue : Epilogue{});
    if (round) {
      for (size_t i = 0; i < c.size(); ++i) c[i] = BFloat16::from_bits(bits[i]);
    }
    return c;
  }
};

const int64_t kShapes[][3] = {{1, 1, 1},       {1, 33, 7},    {13, 1, 300},   {12, 32, 256},  {64, 10, 128},
                              {7, 129, 513},   {25, 31, 0},   {40, 64, 257},  {33, 17, 1000}, {65, 48, 64},
                              {150, 70, 600},  {5, 15, 16},   {450, 70, 700}, {9, 33, 9000},  {400, 10, 31},
                              {400, 40, 1100}, {390, 290, 40}};

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
      Bf16Problem problem(m, n, k, layout);
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

// More panels than have their sums kept, while the rest of a long sum is packed.
TEST_F(Bf16Products, ColumnsDoNotDependOnThoseBeside) {
  thread_pool().set_threads(1);
  Bf16Problem wide(390, 530, 1060, 0), narrow(390, 30, 1060, 0);
  for (int64_t l = 0; l < wide.k; ++l) {
    for (int64_t j = 0; j < narrow.n; ++j)
      narrow.b_bits[static_cast<size_t>(l * narrow.n + j)] =
          wide.b_bits[static_cast<size_t>(l * wide.n + wide.n - narrow.n + j)];
  }
  narrow.a_bits = wide.a_bits;
  const std::vector<float> c = wide.run(false), last = narrow.run(false);
  for (int64_t i = 0; i < wide.m; ++i) {
    for (int64_t j = 0; j < narrow.n; ++j) {
      ASSERT_EQ(c[static_cast<size_t>(i * wide.n + wide.n - narrow.n + j)],
                last[static_cast<size_t>(i * narrow.n + j)])
          << i << "," << j;
    }
  }
}

TEST_F(Bf16Products, NeitherThreadsNorLayoutChangeABit) {
  for (const auto& [m, n, k] : kShapes) {
    thread_pool().set_threads(1);
    const std::vector<float> wanted = Bf16Problem(m, n, k, 0).run(false);
    for (const int threads : {1, 2, 3, 7}) {
      thread_pool().set_threads(threads);
      const SmallestChunks smallest(threads > 1);
      for (const int layout : {0, 1, 2, 3, 8, 11}) {
        Bf16Problem problem(m, n, k, 0), other(m, n, k, layout);
        // The same matrices, laid out otherwise.
        for (int64_t l = 0; l < k; ++l) {
          for (int64_t i = 0; i < m; ++i) {
            const auto from = static_cast<size_t>(problem.gemm.a_row[i] + problem.gemm.a_depth[l]);
            const auto to = static_cast<size_t>(other.gemm.a_row[i] + other.gemm.a_depth[l]);
            other.a_bits[to] = problem.a_bits[from], other.a_long[to] = problem.a_long[from];
          }
          for (int64_t j = 0; j < n; ++j) {
            const auto from = static_cast<size_t>(problem.gemm.b_depth[l] + problem.gemm.b_column[j]);
            const auto to = static_cast<size_t>(other.gemm.b_depth[l] + other.gemm.b_column[j]);
            other.b_bits[to] = problem.b_bits[from], other.b_long[to] = problem.b_long[from];
          }
        }
        EXPECT_EQ(wanted, other.run(false))
            << m << "x" << n << "x" << k << " layout " << layout << " on " << threads << " threads";
      }
    }
  }
}

TEST_F(Bf16Products, TheEpilogueSeesEveryElementOnceAfterItsSum) {
  for (const auto& [m, n, k] : kShapes) {
    for (const int threads : {1, 2, 5}) {
      thread_pool().set_threads(threads);
      const SmallestChunks smallest(threads > 1);
      std::vector<std::atomic<int>> times(static_cast<size_t>(m * n));
      std::vector<float> seen(times.size());
      const std::vector<float> c =
          Bf16Problem(m, n, k, 0).run(false, [&](const float* c, int64_t first, int64_t last) {
            for (int64_t i = first; i < last; ++i) {
              ++times[static_cast<size_t>(i)];
              seen[static_cast<size_t>(i)] = c[i];
            }
          });
      for (const auto& count : times) ASSERT_EQ(count, 1) << m << "x" << n << "x" << k;
      EXPECT_EQ(c, seen) << m << "x" << n << "x" << k << " on " << threads << " threads";
    }
  }
}

// A and B as the maps of a product have them, from dense ones; all else in memory is NaN.
std::vector<float> spread_product(Bf16Gemm gemm, const std::vector<uint16_t>& a,
                                  const std::vector<uint16_t>& b) {
  const auto spread = [](const IndexMap& outer, const IndexMap& inner, const std::vector<uint16_t>& dense) {
    int64_t last = 0;
    for (int64_t i = 0; i < outer.count; ++i) last = std::max(last, outer[i]);
    std::vector<uint16_t> out(static_cast<size_t>(last + inner[inner.count - 1] + 1), 0x7fc0);
    for (int64_t i = 0; i < outer.count; ++i) {
      for (int64_t l = 0; l < inner.count; ++l)
        out[static_cast<size_t>(outer[i] + inner[l])] = dense[static_cast<size_t>(i * inner.count + l)];
    }
    return out;
  };
  gemm.round = false;
  gemm.choose();
  const std::vector<uint16_t> left = spread(gemm.a_row, gemm.a_depth, a),
                              right = spread(gemm.b_depth, gemm.b_column, b);
  std::vector<std::byte> workspace(gemm.workspace_bytes(1) + 64, std::byte{0x7f});
  auto* const start = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64) % 64;
  std::vector<float> c(static_cast<size_t>(gemm.rows() * gemm.columns()));
  gemm.run(thread_pool(), left.data(), kOne, right.data(), kOne, start, c.data(), 1, {});
  return c;
}

std::vector<uint16_t> random_bits(int64_t count) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::vector<uint16_t> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(BFloat16(std::uniform_real_distribution<float>(-1, 1)(random)).bits());
  return out;
}

// `lines` runs of `run` offsets `step` apart, each run `pitch` after the one before.
std::vector<int64_t> runs(int64_t lines, int64_t pitch, int64_t run, int64_t step) {
  return sums_of({multiples(lines, pitch), multiples(run, step)});
}

TEST_F(Bf16Products, RowsInLinesGiveTheBitsOfDenseRows) {
  struct Case {
    int64_t lines, run, gap, depth;
    bool in_place;
  };
  for (const Case& c : {Case{5, 13, 2, 32, true}, Case{40, 11, 2, 64, true}, Case{30, 26, 2, 352, true},
                        Case{30, 26, 2, 40, false}, Case{40, 3, 9, 64, false}, Case{1, 15, 0, 64, false}}) {
    for (const bool backwards : {false, true}) {
      for (const int64_t columns : {32, 70}) {
        const int64_t rows = c.lines * c.run, pitch = c.run + c.gap;
        const auto a = random_bits(rows * c.depth), b = random_bits(c.depth * columns);
        const std::string what = testing::PrintToString(std::vector{c.lines, c.run, c.depth, columns});
        Bf16Gemm dense{{rows, c.depth}, {c.depth, 1}, {c.depth, columns}, {columns, 1}}, by_row = dense,
                                                                                         by_term = dense;
        const std::vector<float> wanted = spread_product(dense, a, b);

        auto table = runs(c.lines, pitch * c.depth, c.run, c.depth);
        if (backwards) table = sums_of({multiples(c.run, c.depth), multiples(c.lines, pitch * c.depth)});
        by_row.a_row = {rows, 0, table.data()};
        by_row.choose();
        EXPECT_EQ(by_row.in_place, c.in_place && !backwards) << what;
        EXPECT_EQ(wanted, spread_product(by_row, a, b)) << what;

        const auto near = runs(c.lines, pitch, c.run, 1);
        by_term.a_row = {rows, 0, near.data()};
        by_term.a_depth = {c.depth, c.lines * pitch};
        EXPECT_EQ(wanted, spread_product(by_term, a, b)) << what;
      }
    }
  }
}

// Runs of terms are filled up to whole steps.
TEST_F(Bf16Products, TermsInLinesGiveTheBitsOfTermsBetweenZeros) {
  for (const int64_t lines : {3, 60, 1000}) {
    constexpr int64_t kRows = 9, kColumns = 40, kRun = 26;
    auto a = random_bits(kRows * lines * kBf16Terms), b = random_bits(lines * kBf16Terms * kColumns);
    std::vector<uint16_t> short_a, short_b;
    for (int64_t i = 0; i < std::ssize(a); ++i) {
      if (i % kBf16Terms < kRun) short_a.push_back(a[static_cast<size_t>(i)]);
      if (i % kBf16Terms >= kRun) a[static_cast<size_t>(i)] = 0;
    }
    for (int64_t i = 0; i < std::ssize(b); ++i) {
      if (i / kColumns % kBf16Terms < kRun) short_b.push_back(b[static_cast<size_t>(i)]);
      if (i / kColumns % kBf16Terms >= kRun) b[static_cast<size_t>(i)] = 0;
    }
    const int64_t padded = lines * kBf16Terms, depth = lines * kRun;
    const Bf16Gemm whole{{kRows, padded}, {padded, 1}, {padded, kColumns}, {kColumns, 1}};
    const auto terms = runs(lines, 28, kRun, 1);
    const Bf16Gemm in_runs{{kRows, lines * 28}, {depth, 0, terms.data()}, {depth, kColumns}, {kColumns, 1}};
    EXPECT_EQ(spread_product(whole, a, b), spread_product(in_runs, short_a, short_b)) << lines;
  }
}

}  // namespace
}  // namespace espalier
