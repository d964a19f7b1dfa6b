#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ir/constant.h"
#include "ir/difference_test.h"
#include "kernels/isas_test.h"
#include "kernels/loops.h"
#include "kernels/run_kernel_test.h"
#include "ops/reduce_window.h"
#include "ops/select_and_scatter.h"

namespace espalier {
namespace {

// One call, and what the reference body makes of it.
struct Case {
  std::shared_ptr<Graph> graph;
  std::vector<Literal> inputs;
  Literal wanted;
  bool gradient;
  std::string what;
};

Literal scalar(DType dtype, double x) {
  Buffer buffer = allocate_buffer(size_of(dtype));
  store_scalar(dtype, x, buffer.get());
  return Literal({dtype, {}}, buffer);
}

// Random windows, paddings, gaps, and values where ties, NaN and signed zeros meet.
std::vector<Case> cases(DType dtype) {
  std::vector<Case> out;
  std::mt19937_64 random(5);
  const auto in = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (unsigned round = 0; round < 150; ++round) {
    const size_t rank = static_cast<size_t>(in(2, 4));
    Shape shape = Dims::filled(rank, 1);
    Window window;
    for (size_t i = 0; i < rank; ++i) {
      const bool last = i + 1 == rank, whole = i == 0 && round % 4 == 0;
      shape[i] = last ? (round % 3 ? in(1, 80) : 16 * in(1, 5)) : in(1, 8);
      window.sizes.push_back(last || whole ? 1 : in(1, 3));
      // Sometimes as many windows as elements on the last axis, but in other places.
      const bool sparse = last && round % 5 == 0;
      window.strides.push_back(sparse          ? 2
                               : last || whole ? 1
                               : round % 2     ? window.sizes[i] + in(0, 1)
                                               : in(1, 3));
      window.low.push_back(last || whole ? 0 : in(-1, 2));
      window.high.push_back(sparse ? shape[i] - 1 : last || whole ? 0 : in(0, 2));
      if (round % 7 == 1) window.base_dilations.push_back(last ? 1 : in(1, 2));
    }
    if (num_elements(window_counts(window, shape)) == 0) continue;
    const TensorType type{dtype, shape}, result{dtype, window_counts(window, shape)}, one{dtype, {}};
    const Literal x = random_literal(type, round, true), g = random_literal(result, round + 1, true);
    for (const bool largest : {true, false}) {
      const std::string what = cat("round ", round, largest ? " largest of " : " least of ", type);
      GraphBuilder pool;
      {
        SinkScope scope(pool);
        const Tensor operand = pool.argument("x", type), initial = pool.argument("initial", one);
        pool.result("y", reduce_window(operand, initial, window, largest ? Reducer::kMax : Reducer::kMin));
      }
      const double initials[] = {largest ? -INFINITY : INFINITY, 0.0, -0.0, NAN};
      out.push_back({pool.finish(), {x, scalar(dtype, initials[round % 4])}, {}, false, what});
      if (!window.base_dilations.empty()) continue;
      GraphBuilder gradient;
      {
        SinkScope scope(gradient);
        const Tensor operand = gradient.argument("x", type), source = gradient.argument("g", result),
                     initial = gradient.argument("initial", one);
        gradient.result("y", select_and_scatter(operand, source, initial, window,
                                                largest ? SelectBy::kGE : SelectBy::kLE));
      }
      out.push_back({gradient.finish(), {x, g, scalar(dtype, round % 3 ? 0.0 : 0.3)}, {}, true, what});
    }
  }
  for (Case& c : out) c.wanted = interpret(*c.graph, c.inputs, RunContext::current())[0];
  return out;
}

// The epilogue sees each element once, after it is done.
struct Watch {
  size_t element_bytes;
  const std::byte* result;
  std::vector<int> times;
  std::vector<std::byte> seen;
  static void run(const void* context, int64_t first, int64_t last) {
    auto& watch = *const_cast<Watch*>(static_cast<const Watch*>(context));
    for (int64_t i = first; i < last; ++i) ++watch.times[static_cast<size_t>(i)];
    std::memcpy(watch.seen.data() + first * watch.element_bytes, watch.result + first * watch.element_bytes,
                (last - first) * watch.element_bytes);
  }
};

TEST(Kernels, PoolingGivesTheReferenceBodysBits) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const std::vector<Case> all = cases(dtype);
    for (const int threads : {1, 2, 3}) {
      thread_pool().set_threads(threads);
      for (const bool smallest : {false, true}) {
        const SmallestChunks chunks(smallest);
        int pooled = 0, scattered = 0;
        for (const Case& c : all) {
          const TensorType& type = c.wanted.type();
          const auto elements = static_cast<size_t>(type.elements());
          Watch watch{size_of(dtype), nullptr, std::vector<int>(elements),
                      std::vector<std::byte>(type.bytes())};
          const auto got = run_kernel(*c.graph, c.inputs, [&](const PreparedKernel& kernel, const auto& out) {
            EXPECT_TRUE(kernel.takes_epilogue);
            watch.result = static_cast<const std::byte*>(out[0]);
            return Epilogue{Watch::run, &watch};
          });
          if (got.empty()) continue;
          ++(c.gradient ? scattered : pooled);
          EXPECT_EQ(difference(c.wanted, got[0]), "") << c.what << ", " << threads << " threads";
          EXPECT_EQ(watch.times, std::vector<int>(elements, 1)) << c.what;
          EXPECT_EQ(std::memcmp(watch.seen.data(), got[0].raw(), type.bytes()), 0) << c.what;
        }
        EXPECT_GE(pooled, 150);
        EXPECT_GE(scattered, 80);
      }
    }
  }
  thread_pool().set_threads(0);
}

// Blocks of every width of vector, and what is left of them.
TEST(Kernels, WindowsDoNotDependOnTheInstructionSet) {
#if defined(__x86_64__)
  const FloatEnvironment mode;
  constexpr int64_t kWindows = 3, kMostTaps = 9;
  for (const Isa isa : available_isas()) {
    const LoopTable& table = ESPALIER_BY_ISA(loop_table, isa);
    for (const int64_t channels : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 64}) {
      for (const int64_t taps : {0, 1, 2, 4, 9}) {
        const auto compare = [&](DType dtype, const auto& loops, const auto& portable, auto element) {
          using T = decltype(element);
          const TensorType base{dtype, {kWindows * kMostTaps * channels}},
              result{dtype, {kWindows * channels}};
          const Literal x = random_literal(base, 1, true), g = random_literal(result, 2, true);
          std::vector<int64_t> offsets(static_cast<size_t>(taps));
          for (size_t i = 0; i < offsets.size(); ++i)
            offsets[i] = static_cast<int64_t>(i) * kWindows * channels;
          const WindowRun run{kWindows, channels, channels, taps, offsets.data()};
          const auto both = [&](const TensorType& type, auto one) {
            Buffer u = allocate_buffer(type.bytes()), v = allocate_buffer(type.bytes());
            std::memset(u.get(), 0, type.bytes());
            std::memset(v.get(), 0, type.bytes());
            one(loops, reinterpret_cast<T*>(u.get()));
            one(portable, reinterpret_cast<T*>(v.get()));
            EXPECT_EQ(difference(Literal(type, u), Literal(type, v)), "")
                << name(isa) << " " << channels << " channels, " << taps << " taps";
          };
          const auto *from = static_cast<const T*>(x.raw()), *given = static_cast<const T*>(g.raw());
          both(result, [&](const auto& l, T* out) { l.largest(from, run, -1.0f, out); });
          both(result, [&](const auto& l, T* out) { l.least(from, run, 1.0f, out); });
          both(base, [&](const auto& l, T* out) { l.scatter_largest(from, given, run, 0.3f, out); });
          both(base, [&](const auto& l, T* out) { l.scatter_least(from, given, run, 0.0f, out); });
        };
        compare(DType::kF32, table.f32, loop_table_portable.f32, float{});
        compare(DType::kBF16, table.bf16, loop_table_portable.bf16, Bf16{});
        compare(DType::kF16, table.f16, loop_table_portable.f16, F16{});
      }
    }
  }
#endif
}

}  // namespace
}  // namespace espalier
