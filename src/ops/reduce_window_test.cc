#include "ops/reduce_window.h"

#include <functional>
#include <random>

#include "ops/op_test.h"
#include "ops/registry.h"
#include "ops/select_and_scatter.h"

namespace espalier {
namespace {

// The base spread and padded, element by element: `hole` where there is none.
struct Padded {
  Shape shape;
  std::vector<int64_t> element;  // -1 in a hole
  Padded(const Shape& base, const Window& w) {
    Dims strides = row_major_strides(base);
    for (size_t i = 0; i < base.size(); ++i) {
      const int64_t spread = base[i] ? (base[i] - 1) * w.base_dilation(i) + 1 : 0;
      shape.push_back(std::max<int64_t>(0, spread + w.pad_low(i) + w.pad_high(i)));
    }
    const Dims place = row_major_strides(shape);
    for (int64_t n = 0; n < num_elements(shape); ++n) {
      int64_t offset = 0;
      for (size_t i = 0; i < base.size() && offset >= 0; ++i) {
        const int64_t at = n / place[i] % shape[i] - w.pad_low(i);
        const bool real = at >= 0 && at % w.base_dilation(i) == 0 && at / w.base_dilation(i) < base[i];
        offset = real ? offset + at / w.base_dilation(i) * strides[i] : -1;
      }
      element.push_back(offset);
    }
  }
};

// Calls f(window index, elements under it in row-major order, -1 for holes); returns the windows' shape.
Shape slide(const Shape& base, const Window& w,
            const std::function<void(int64_t, const std::vector<int64_t>&)>& f) {
  const Padded padded(base, w);
  const Dims place = row_major_strides(padded.shape);
  Shape counts;
  for (size_t i = 0; i < base.size(); ++i) {
    int64_t count = 0;
    while (count * w.stride(i) + (w.sizes[i] - 1) * w.window_dilation(i) < padded.shape[i]) ++count;
    counts.push_back(count);
  }
  const Dims windows = row_major_strides(counts), inside = row_major_strides(w.sizes);
  for (int64_t r = 0; r < num_elements(counts); ++r) {
    std::vector<int64_t> elements;
    for (int64_t k = 0; k < num_elements(w.sizes); ++k) {
      int64_t offset = 0;
      for (size_t i = 0; i < base.size(); ++i) {
        offset += place[i] * (r / windows[i] % counts[i] * w.stride(i) +
                              k / inside[i] % w.sizes[i] * w.window_dilation(i));
      }
      elements.push_back(padded.element[static_cast<size_t>(offset)]);
    }
    f(r, elements);
  }
  return counts;
}

Oracle window_oracle(const Window& w, std::function<double(double, double)> combine) {
  return [=](Arrays in) {
    Array out{in[0].type, {}};
    out.type.shape = slide(in[0].shape(), w, [&](int64_t, const std::vector<int64_t>& elements) {
      double sum = in[1].values[0];
      for (const int64_t e : elements)
        sum = combine(sum, e < 0 ? in[1].values[0] : in[0].values[static_cast<size_t>(e)]);
      out.values.push_back(sum);
    });
    return out;
  };
}

OpCase window_case(const std::string& name, const Shape& shape, const Window& w, Reducer reducer,
                   std::function<double(double, double)> combine) {
  OpCase c{.name = name,
           .inputs = {{.shape = shape, .int_low = -3, .int_high = 3, .distinct = reducer != Reducer::kSum},
                      {.shape = {}, .low = -0.2, .high = 0.2, .int_low = 0, .int_high = 1}},
           .call = [=](Inputs x) { return reduce_window(x[0], x[1], w, reducer); },
           .oracle = window_oracle(w, combine),
           .dtypes = kAnyDType,
           .tolerance = {.ulp = 1, .absolute = 20}};
  return c;
}

double largest(double a, double b) { return std::max(a, b); }
double smallest(double a, double b) { return std::min(a, b); }

OP_TEST(reduce_window) {
  const auto sum = std::plus<double>();
  const Window plain{{2, 3}, {2, 1}, {}, {}, {0, 1}, {1, 0}};
  const Window spread{{2, 2}, {1, 2}, {2, 1}, {1, 3}, {-1, 2}, {2, 1}};
  std::vector<OpCase> cases{
      window_case("sum", {4, 5}, plain, Reducer::kSum, sum),
      window_case("sum, spread and cropped", {3, 4}, spread, Reducer::kSum, sum),
      window_case("max", {4, 5}, plain, Reducer::kMax, largest),
      window_case("min", {4, 5}, plain, Reducer::kMin, smallest),
      window_case("max, rows of channels", {5, 3}, {{2, 1}, {2, 1}, {}, {}, {1, 0}, {0, 0}}, Reducer::kMax,
                  largest),
      window_case("one", {1}, {{1}, {}, {}, {}, {}, {}}, Reducer::kSum, sum),
      window_case("nothing", {0, 3}, {{1, 2}, {}, {}, {}, {}, {}}, Reducer::kSum, sum),
  };
  cases.push_back(window_case("product, spread", {3, 4}, spread, Reducer::kProd, std::multiplies<double>()));
  cases.back().no_gradient = "products over windows have none";
  cases.push_back(window_case("max, spread", {3, 4}, spread, Reducer::kMax, largest));
  cases.back().no_gradient = "a maximum over spread windows has none";
  return {.cases = cases, .unbatched = {1}};
}

// The element a window chooses: the first largest (or smallest).
int64_t chosen(const std::vector<int64_t>& elements, const Array& x, bool by_max) {
  int64_t best = -1;
  for (const int64_t e : elements) {
    if (e < 0) continue;
    const auto at = [&](int64_t i) { return x.values[static_cast<size_t>(i)]; };
    if (best < 0 || (by_max ? at(e) > at(best) : at(e) < at(best))) best = e;
  }
  return best;
}

const Window kPool{{2, 2}, {2, 1}, {}, {}, {1, 0}, {0, 2}};

OP_TEST(select_and_scatter) {
  std::vector<OpCase> cases;
  const auto add = [&](const char* name, const Shape& base, const Shape& source, const Window& w,
                       bool by_max) {
    cases.push_back({.name = name,
                     .inputs = {{.shape = base, .distinct = true, .differentiable = false},
                                {.shape = source, .int_low = -2, .int_high = 2},
                                {.shape = {}, .int_low = -2, .int_high = 2}},
                     .call =
                         [=](Inputs x) {
                           return select_and_scatter(x[0], x[1], x[2], w,
                                                     by_max ? SelectBy::kGE : SelectBy::kLE);
                         },
                     .oracle =
                         [=](Arrays in) {
                           Array out = in[0];
                           std::fill(out.values.begin(), out.values.end(), in[2].values[0]);
                           slide(in[0].shape(), w, [&](int64_t r, const std::vector<int64_t>& elements) {
                             const int64_t e = chosen(elements, in[0], by_max);
                             if (e >= 0)
                               out.values[static_cast<size_t>(e)] += in[1].values[static_cast<size_t>(r)];
                           });
                           return out;
                         },
                     .dtypes = kAnyDType,
                     .tolerance = {.ulp = 1, .absolute = 20}});
  };
  add("largest", {4, 3}, {2, 4}, kPool, true);
  add("smallest", {4, 3}, {2, 4}, kPool, false);
  add("largest, rows of channels", {5, 3}, {3, 3}, {{2, 1}, {2, 1}, {}, {}, {1, 0}, {0, 0}}, true);
  add("one", {1}, {1}, {{1}, {}, {}, {}, {}, {}}, true);
  add("no window", {1}, {0}, {{2}, {}, {}, {}, {}, {}}, true);
  return {.cases = cases, .unbatched = {2}};
}

OP_TEST(select_and_gather) {
  std::vector<OpCase> cases;
  const auto add = [&](const char* name, const Shape& base, const Window& w, bool by_max) {
    cases.push_back({.name = name,
                     .inputs = {{.shape = base}, {.shape = base, .distinct = true, .differentiable = false}},
                     .call =
                         [=](Inputs x) {
                           return select_and_gather(x[0], x[1], w, by_max ? SelectBy::kGE : SelectBy::kLE);
                         },
                     .oracle =
                         [=](Arrays in) {
                           Array out{in[0].type, {}};
                           out.type.shape =
                               slide(in[0].shape(), w, [&](int64_t, const std::vector<int64_t>& elements) {
                                 const int64_t e = chosen(elements, in[1], by_max);
                                 out.values.push_back(e < 0 ? 0 : in[0].values[static_cast<size_t>(e)]);
                               });
                           return out;
                         },
                     .dtypes = kAnyDType});
  };
  add("largest", {4, 3}, kPool, true);
  add("smallest", {4, 3}, kPool, false);
  add("one", {1}, {{1}, {}, {}, {}, {}, {}}, true);
  add("no window", {1}, {{2}, {}, {}, {}, {}, {}}, true);
  return {.cases = cases};
}

TEST(ReduceWindow, EqualsSlidingLoopForRandomWindows) {
  std::mt19937_64 random(3);
  const auto in = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    Shape base;
    Window w;
    for (int64_t i = in(0, 3); i > 0; --i) {
      base.push_back(in(1, 5));
      w.sizes.push_back(in(1, 3));
      w.strides.push_back(in(1, 3));
      w.base_dilations.push_back(in(1, 3));
      w.window_dilations.push_back(in(1, 3));
      w.low.push_back(in(-2, 3));
      w.high.push_back(in(-2, 3));
    }
    for (const bool sum : {true, false}) {
      const OpCase c = window_case("", base, w, sum ? Reducer::kSum : Reducer::kMax,
                                   sum ? [](double a, double b) { return a + b; } : largest);
      const std::vector<Tensor> inputs = draw_inputs(c, DType::kF64, static_cast<uint64_t>(round));
      const std::vector<Array> arrays{to_array(inputs[0]), to_array(inputs[1])};
      expect_close(c.call(inputs, DType::kF64)[0], c.oracle(arrays)[0], {.absolute = 100},
                   cat("round ", round));
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Pooling, KnownValues) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  const PoolOptions two{.window = {2, 2}};
  EXPECT_EQ(max_pool(x, two).to_vector<float>(), (std::vector<float>{5, 6, 8, 9}));
  EXPECT_EQ(min_pool(x, two).to_vector<float>(), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(sum_pool(x, two).to_vector<float>(), (std::vector<float>{12, 16, 24, 28}));
  const PoolOptions same{.window = {2, 2}, .strides = {2, 2}, .padding_high = {1, 1}};
  EXPECT_EQ(average_pool(x, same).to_vector<float>(), (std::vector<float>{3, 4.5, 7.5, 9}));
}

}  // namespace
}  // namespace espalier
