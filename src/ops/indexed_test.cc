#include <random>

#include "ir/builder.h"
#include "ops/op_test.h"
#include "ops/scatter.h"

namespace espalier {
namespace {

template <class F>
void each_index(const Shape& shape, F f) {
  Dims index = Dims::filled(shape.size(), 0);
  for (int64_t i = 0; i < num_elements(shape); ++i) {
    f(index);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// The specification's formulas, index by index: the operand index of a place in the array (gather's result,
// scatter's updates), from its index in the indices' batch and in the window. `limit[axis]` clamps starts.
Dims operand_index(const IndexAxes& axes, size_t rank, const Array& indices, const Dims& batch,
                   const Dims& window, const Dims* limit) {
  Dims index = Dims::filled(rank, 0);
  for (size_t i = 0; i < axes.index_map.size(); ++i) {
    Dims at = batch;
    if (static_cast<size_t>(axes.index_vector) < indices.shape().size())
      at.insert(static_cast<size_t>(axes.index_vector), static_cast<int64_t>(i));
    auto start = static_cast<int64_t>(indices.at(at));
    const int64_t axis = axes.index_map[i];
    if (limit) start = std::max<int64_t>(0, std::min(start, (*limit)[axis]));
    index[axis] = start;
  }
  for (size_t i = 0; i < axes.operand_batching.size(); ++i) {
    const int64_t axis = axes.indices_batching[i];
    index[axes.operand_batching[i]] = batch[axis < axes.index_vector ? axis : axis - 1];
  }
  size_t next = 0;
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto a = static_cast<int64_t>(axis);
    if (!axes.collapsed.contains(a) && !axes.operand_batching.contains(a)) index[axis] += window[next++];
  }
  return index;
}

// The index in the array of a batch index and a window index.
Dims array_index(const IndexAxes& axes, const Dims& batch, const Dims& window) {
  Dims out;
  for (size_t axis = 0, b = 0, w = 0; axis < batch.size() + window.size(); ++axis)
    out.push_back(axes.window.contains(static_cast<int64_t>(axis)) ? window[w++] : batch[b++]);
  return out;
}

Shape batch_shape(const IndexAxes& axes, const Shape& indices) {
  Shape out;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (static_cast<int64_t>(i) != axes.index_vector) out.push_back(indices[i]);
  }
  return out;
}

Array naive_gather(const Array& x, const Array& indices, const IndexAxes& axes, const Dims& sizes) {
  const size_t rank = sizes.size();
  Shape window;
  Dims limit;
  for (size_t axis = 0; axis < rank; ++axis) {
    limit.push_back(x.shape()[axis] - sizes[axis]);
    const auto a = static_cast<int64_t>(axis);
    if (!axes.collapsed.contains(a) && !axes.operand_batching.contains(a)) window.push_back(sizes[axis]);
  }
  const Shape batch = batch_shape(axes, indices.shape()), out = array_index(axes, batch, window);
  Array result{{x.type.dtype, out}, std::vector<double>(static_cast<size_t>(num_elements(out)))};
  const Dims strides = row_major_strides(out);
  each_index(batch, [&](const Dims& b) {
    each_index(window, [&](const Dims& w) {
      result.values[static_cast<size_t>(offset_of(array_index(axes, b, w), strides))] =
          x.at(operand_index(axes, rank, indices, b, w, &limit));
    });
  });
  return result;
}

using Combine = std::function<double(double, double)>;

// Every combination of floats rounds once; integers wrap at the end.
double rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::kF16:
      return Float16(value);
    case DType::kBF16:
      return BFloat16(value);
    case DType::kF32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

Array naive_scatter(const Array& x, const Array& indices, const Array& updates, const IndexAxes& axes,
                    const Combine& combine) {
  Array result = x;
  const Shape batch = batch_shape(axes, indices.shape());
  Shape window;
  for (const int64_t axis : axes.window) window.push_back(updates.shape()[axis]);
  const Dims strides = row_major_strides(x.shape());
  each_index(batch, [&](const Dims& b) {
    each_index(window, [&](const Dims& w) {
      const Dims index = operand_index(axes, x.shape().size(), indices, b, w, nullptr);
      for (size_t i = 0; i < index.size(); ++i) {
        if (index[i] < 0 || index[i] >= x.shape()[i]) return;
      }
      double& target = result.values[static_cast<size_t>(offset_of(index, strides))];
      target = rounded(x.type.dtype, combine(target, updates.at(array_index(axes, b, w))));
    });
  });
  return result;
}

// Dimension numbers and shapes drawn at random; `sizes` are the window's in all operand axes.
struct Draw {
  IndexAxes axes;
  Shape operand, indices, updates;
  Dims sizes;
};

Draw draw(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto upto = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n + 1)); };
  Draw d;
  const int64_t rank = upto(3) + (seed % 8 ? 1 : 0);
  Dims movable, batched;
  Shape window;
  for (int64_t axis = 0; axis < rank; ++axis) {
    d.operand.push_back(1 + upto(3));
    const int64_t kind = upto(4);
    d.sizes.push_back(kind < 3 ? 1 : upto(d.operand.back()));
    if (kind == 0) {
      d.axes.operand_batching.push_back(axis);
      batched.push_back(axis);
    } else {
      if (kind == 1) d.axes.collapsed.push_back(axis);
      if (kind > 1) window.push_back(d.sizes.back());
      movable.push_back(axis);
    }
  }
  std::shuffle(movable.begin(), movable.end(), random);
  for (const int64_t axis : movable) {
    if (upto(3)) d.axes.index_map.push_back(axis);
  }
  // The batch axes of the indices: free ones of size 0 to 3 and the paired ones, in any order.
  Dims order;
  for (size_t i = 0; i < batched.size(); ++i) order.push_back(static_cast<int64_t>(i));
  for (int64_t free = upto(2); free > 0; --free) order.push_back(-1);
  std::shuffle(order.begin(), order.end(), random);
  d.axes.index_vector = upto(static_cast<int64_t>(order.size()));
  const bool scalars = d.axes.index_map.size() == 1 && upto(1);
  if (scalars) d.axes.index_vector = static_cast<int64_t>(order.size());
  d.axes.indices_batching = Dims::filled(batched.size(), 0);
  Shape batch;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t pair = order[i];
    batch.push_back(pair < 0 ? (upto(9) ? 1 + upto(2) : 0) : d.operand[batched[static_cast<size_t>(pair)]]);
    const auto at = static_cast<int64_t>(i);
    if (pair >= 0) d.axes.indices_batching[static_cast<size_t>(pair)] = at + (at >= d.axes.index_vector);
  }
  d.indices = batch;
  if (!scalars)
    d.indices.insert(static_cast<size_t>(d.axes.index_vector), static_cast<int64_t>(d.axes.index_map.size()));
  Dims places = Dims::range(batch.size() + window.size());
  std::shuffle(places.begin(), places.end(), random);
  for (size_t i = 0; i < window.size(); ++i) d.axes.window.push_back(places[i]);
  std::sort(d.axes.window.begin(), d.axes.window.end());
  d.updates = array_index(d.axes, batch, window);
  return d;
}

In index_input(const Shape& shape, DType dtype = DType::kI32) {
  return {.shape = shape, .int_low = -2, .int_high = 5, .dtype = dtype};
}

OpCase gather_case(const std::string& name, const Draw& d, DType dtype = DType::kI32) {
  return {.name = name,
          .inputs = {{.shape = d.operand}, index_input(d.indices, dtype)},
          .call = [=](Inputs x) { return gather(x[0], x[1], d.axes, d.sizes); },
          .oracle = [=](Arrays x) { return naive_gather(x[0], x[1], d.axes, d.sizes); },
          .dtypes = kAnyDType};
}

OP_TEST(gather) {
  OpTest test;
  const Draw rows{
      {.window = {1}, .collapsed = {0}, .index_map = {0}, .index_vector = 1}, {4, 3}, {5}, {5, 3}, {1, 3}};
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI64, DType::kU64})
    test.cases.push_back(gather_case(cat("rows by ", dtype), rows, dtype));
  Draw empty = rows;
  empty.indices = {0};
  empty.updates = {0, 3};
  test.cases.push_back(gather_case("no indices", empty));
  Draw one{{.collapsed = {0}, .index_map = {0}, .index_vector = 0}, {4}, {}, {}, {1}};
  test.cases.push_back(gather_case("one element", one));
  for (uint64_t seed = 0; seed < 40; ++seed)
    test.cases.push_back(gather_case(cat("random ", seed), draw(seed)));
  return test;
}

using ScatterCall = Tensor (*)(Operand, Operand, Operand, const IndexAxes&, const IndexHints&);

OpCase scatter_case(const std::string& name, const Draw& d, ScatterCall call, const Combine& combine,
                    const IndexHints& hints = {}) {
  return {.name = name,
          .inputs = {{.shape = d.operand, .distinct = true},
                     index_input(d.indices),
                     {.shape = d.updates, .low = -2.9, .high = 3, .distinct = true}},
          .call = [=](Inputs x) { return call(x[0], x[1], x[2], d.axes, hints); },
          .oracle = [=](Arrays x) { return naive_scatter(x[0], x[1], x[2], d.axes, combine); },
          .dtypes = kAnyDType,
          .tolerance = {.ulp = 0}};
}

constexpr double sum(double a, double b) { return a + b; }
constexpr double product(double a, double b) { return a * b; }
constexpr double later(double, double b) { return b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }

Tensor scatter_by_region(Inputs x, const IndexAxes& axes) {
  const TensorType scalar{x[0].dtype(), {}};
  const RegionSpec spec{{scalar, scalar},
                        [&](std::span<const Tensor> v) { return std::vector<Tensor>{v[0] + v[1] * x[3]}; }};
  const Regions regions = trace_regions({&spec, 1});
  auto attributes = std::make_shared<ScatterAttributes>();
  attributes->axes = axes;
  std::vector<Tensor> inputs(x.begin(), x.begin() + 3);
  inputs.insert(inputs.end(), regions.captures.begin(), regions.captures.end());
  return emit_all(op_scatter, attributes, inputs, regions.graphs)[0];
}

OP_TEST(scatter) {
  OpTest test;
  const Draw rows{
      {.window = {1}, .collapsed = {0}, .index_map = {0}, .index_vector = 1}, {4, 3}, {5}, {5, 3}, {1, 3}};
  test.cases = {
      scatter_case("add", rows, scatter_add, sum), scatter_case("update", rows, scatter_update, later),
      scatter_case("max", rows, scatter_max, larger), scatter_case("min", rows, scatter_min, smaller)};
  OpCase meeting = scatter_case("mul", rows, scatter_mul, product);
  meeting.no_gradient = "indices are not unique";
  test.cases.push_back(meeting);
  // Distinct indices -1, 0, ..., 3: one is dropped.
  for (const auto& [name, call, combine] :
       {std::tuple{"unique mul", ScatterCall{scatter_mul}, Combine(product)},
        std::tuple{"unique update", ScatterCall{scatter_update}, Combine(later)}}) {
    OpCase unique = scatter_case(name, rows, call, combine, {.unique = true});
    unique.inputs[1].int_low = -1;
    unique.inputs[1].distinct = true;
    test.cases.push_back(unique);
  }
  // A window that may hang over the edges: its outer part alone is dropped.
  const Draw hanging{
      {.window = {1, 2}, .index_map = {0, 1}, .index_vector = 1}, {3, 4}, {4, 2}, {4, 2, 3}, {2, 3}};
  test.cases.push_back(scatter_case("hanging add", hanging, scatter_add, sum));
  test.cases.push_back(scatter_case("hanging update", hanging, scatter_update, later));
  Draw empty = rows;
  empty.indices = {0};
  empty.updates = {0, 3};
  test.cases.push_back(scatter_case("no updates", empty, scatter_add, sum));
  const Draw one{{.collapsed = {0}, .index_map = {0}, .index_vector = 0}, {1}, {}, {}, {1}};
  test.cases.push_back(scatter_case("one element", one, scatter_add, sum));
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const bool add = seed % 2;
    test.cases.push_back(scatter_case(cat("random ", seed), draw(seed), add ? scatter_add : scatter_update,
                                      add ? sum : later));
  }
  return test;
}

TEST(Scatter, RegionCombinesWithACapturedValue) {
  const Draw d{{.collapsed = {0}, .index_map = {0}, .index_vector = 1}, {4}, {5}, {5}, {1}};
  const OpCase c{.name = "region",
                 .inputs = {{.shape = {4}}, index_input({5}), {.shape = {5}}, {.shape = {}}},
                 .call = [=](Inputs x) { return scatter_by_region(x, d.axes); },
                 .oracle =
                     [=](Arrays x) {
                       const double factor = x[3].values[0];
                       return naive_scatter(x[0], x[1], x[2], d.axes,
                                            [=](double a, double b) { return a + b * factor; });
                     },
                 .dtypes = kAnyDType,
                 .tolerance = {.ulp = 4, .absolute = 8},
                 .no_gradient = "a region has none"};
  check_op(op_scatter, {.cases = {c},
                        .no_zero_size = "one case",
                        .no_size_one = "one case",
                        .no_kernel = "regions run in the reference body",
                        .unbatched = {3}});
}

TEST(Scatter, SeveralOperandsMoveTogether) {
  const IndexAxes axes{.collapsed = {0}, .index_map = {0}, .index_vector = 1};
  const Tensor indices = Tensor::of({1, 7, 1});
  const std::vector<Tensor> x{Tensor::of({1.0f, 2.0f}), Tensor::of({10, 20})};
  const std::vector<Tensor> u{Tensor::of({0.5f, 1.0f, 0.25f}), Tensor::of({3, 4, 5})};
  const auto out = scatter(x, indices, u, Reducer::kSum, axes, {});
  EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{1, 2.75f}));
  EXPECT_EQ(out[1].to_vector<int32_t>(), (std::vector<int32_t>{10, 28}));
}

TEST(Indexed, RefusalsNameTheRule) {
  const Tensor x = full({4, 3}, 1), i = Tensor::of({0, 1}), u = full({2, 3}, 1);
  const IndexAxes good{.window = {1}, .collapsed = {0}, .index_map = {0}, .index_vector = 1};
  const auto rule = [&](auto change, const Dims& sizes = {1, 3}) -> std::string {
    IndexAxes axes = good;
    change(axes);
    try {
      gather(x, i, axes, sizes);
    } catch (const Error& error) {
      return error.rule();
    }
    return "";
  };
  EXPECT_EQ(rule([](IndexAxes&) {}), "");
  EXPECT_EQ(rule([](IndexAxes& a) { a.index_vector = 2; }), "gather.c2");
  EXPECT_EQ(rule([](IndexAxes& a) { a.index_map = {0, 1}; }), "gather.c3");
  EXPECT_EQ(rule([](IndexAxes& a) { a.index_map = {2}; }), "gather.c3");
  EXPECT_EQ(rule([](IndexAxes& a) { a.collapsed = {}; }), "gather.c4");
  EXPECT_EQ(rule([](IndexAxes& a) { a.window = {2}; }), "gather.c5");
  EXPECT_EQ(rule([](IndexAxes& a) { a.collapsed = {-1}; }), "gather.c6");
  EXPECT_EQ(rule([](IndexAxes& a) { a.collapsed = {}, a.operand_batching = {0}; }), "gather.c7");
  EXPECT_EQ(rule([](IndexAxes&) {}, {1, 4}), "gather.c9");
  EXPECT_EQ(rule([](IndexAxes&) {}, {2, 3}), "gather.c10");
  EXPECT_THROW(gather(x, full({2}, 0), good, {1, 3}), DTypeError);
  EXPECT_THROW(scatter_add(x, i, full({3, 3}, 1), good), ShapeError);
  EXPECT_THROW(scatter_add(x, i, full({2, 4}, 1), good), ShapeError);
  EXPECT_THROW(scatter_add(x, i, convert(u, DType::kI32), good), DTypeError);
}

}  // namespace
}  // namespace espalier
