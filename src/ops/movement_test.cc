#include "ops/op_test.h"

namespace espalier {
namespace {

// An array of `type` whose element at each index is f(index).
template <class F>
Array filled(const TensorType& type, F f) {
  Array out{type, {}};
  Dims index = Dims::filled(type.rank(), 0);
  for (int64_t i = 0; i < type.elements(); ++i) {
    out.values.push_back(f(index));
    for (size_t axis = type.rank(); axis-- > 0;) {
      if (++index[axis] < type.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

OpCase slice_case(const std::string& name, const Shape& in, const Dims& start, const Dims& limit,
                  const Dims& strides, const Shape& out) {
  return {.name = name,
          .inputs = {{.shape = in}},
          .call = [=](Inputs x) { return slice(x[0], start, limit, strides); },
          .oracle =
              [=](Arrays x) {
                return filled({x[0].type.dtype, out}, [&](Dims index) {
                  for (size_t i = 0; i < index.size(); ++i) index[i] = start[i] + index[i] * strides[i];
                  return x[0].at(index);
                });
              },
          .dtypes = kAnyDType};
}

OP_TEST(slice) {
  return {{slice_case("part", {4, 5}, {1, 2}, {3, 5}, {1, 1}, {2, 3}),
           slice_case("strided", {7, 5, 2}, {1, 0, 0}, {7, 5, 2}, {2, 3, 1}, {3, 2, 2}),
           slice_case("stride beyond the end", {5}, {1}, {4}, {9}, {1}),
           slice_case("the largest stride", {5}, {1}, {4}, {INT64_MAX}, {1}),
           slice_case("all", {2, 3}, {0, 0}, {2, 3}, {1, 1}, {2, 3}),
           slice_case("nothing", {4, 3}, {2, 0}, {2, 3}, {3, 2}, {0, 2}),
           slice_case("of nothing", {0, 3}, {0, 1}, {0, 2}, {1, 1}, {0, 1}),
           slice_case("scalar", {}, {}, {}, {}, {})}};
}

OpCase pad_case(const std::string& name, const Shape& in, const Dims& low, const Dims& high,
                const Dims& interior, const Shape& out) {
  return {.name = name,
          .inputs = {{.shape = in}, {.shape = {}}},
          .call = [=](Inputs x) { return pad(x[0], x[1], low, high, interior); },
          .oracle =
              [=](Arrays x) {
                return filled({x[0].type.dtype, out}, [&](Dims index) {
                  for (size_t i = 0; i < index.size(); ++i) {
                    const int64_t from = index[i] - low[i], step = interior[i] + 1;
                    if (from < 0 || from % step || from / step >= in[i]) return x[1].values[0];
                    index[i] = from / step;
                  }
                  return x[0].at(index);
                });
              },
          .dtypes = kAnyDType};
}

OP_TEST(pad) {
  return {{pad_case("edges", {2, 3}, {1, 0}, {2, 1}, {0, 0}, {5, 4}),
           pad_case("interior", {3, 2}, {1, 0}, {0, 2}, {2, 1}, {8, 5}),
           pad_case("negative", {5, 4}, {-2, 1}, {-1, -2}, {0, 0}, {2, 3}),
           pad_case("negative into the interior", {4, 3}, {-2, -1}, {-1, 3}, {2, 1}, {7, 7}),
           pad_case("all but padding is cut", {2}, {-5}, {6}, {1}, {4}),
           pad_case("cut to one", {3}, {-1}, {-1}, {0}, {1}),
           pad_case("from nothing", {0, 2}, {1, 0}, {2, 0}, {3, 0}, {3, 2}),
           pad_case("to nothing", {2, 2}, {-1, 0}, {-1, 0}, {0, 0}, {0, 2}),
           pad_case("scalar", {}, {}, {}, {}, {})}};
}

OpCase reverse_case(const Shape& shape, const Dims& axes) {
  return {.name = cat(shape, axes),
          .inputs = {{.shape = shape}},
          .call = [=](Inputs x) { return reverse(x[0], axes); },
          .oracle =
              [=](Arrays x) {
                return filled(x[0].type, [&](Dims index) {
                  for (const int64_t axis : axes) index[axis] = shape[axis] - 1 - index[axis];
                  return x[0].at(index);
                });
              },
          .dtypes = kAnyDType};
}

OP_TEST(reverse) {
  return {{reverse_case({3, 4}, {1}), reverse_case({2, 3, 2}, {2, 0}), reverse_case({2, 3}, {}),
           reverse_case({1}, {0}), reverse_case({0, 3}, {0, 1})}};
}

OpCase concatenate_case(const std::vector<Shape>& shapes, int64_t axis) {
  std::vector<In> inputs;
  for (const Shape& shape : shapes) inputs.push_back({.shape = shape});
  return {.name = cat(shapes.size(), " along ", axis),
          .inputs = inputs,
          .call =
              [=](Inputs x) {
                return concatenate({x.begin(), x.end()}, axis);
              },
          .oracle =
              [=](Arrays x) {
                TensorType type = x[0].type;
                for (size_t k = 1; k < x.size(); ++k) type.shape[axis] += x[k].shape()[axis];
                return filled(type, [&](Dims index) {
                  size_t k = 0;
                  while (index[axis] >= x[k].shape()[axis]) index[axis] -= x[k++].shape()[axis];
                  return x[k].at(index);
                });
              },
          .dtypes = kAnyDType};
}

OP_TEST(concatenate) {
  return {{concatenate_case({{2, 3}, {2, 1}, {2, 2}}, 1), concatenate_case({{1, 2, 2}, {3, 2, 2}}, 0),
           concatenate_case({{2, 0}, {2, 3}, {2, 0}}, 1), concatenate_case({{1}}, 0),
           concatenate_case({{0, 2}, {0, 2}}, 0)}};
}

// Starts as StableHLO says: clamp(start, 0, size - box).
Dims clamped(Arrays starts, const Shape& shape, const Shape& box) {
  Dims out;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto last = static_cast<double>(shape[i] - box[i]);
    out.push_back(static_cast<int64_t>(std::min(std::max(starts[i].values[0], 0.0), last)));
  }
  return out;
}

std::vector<In> with_starts(std::vector<In> inputs, size_t rank, DType dtype) {
  for (size_t i = 0; i < rank; ++i)
    inputs.push_back({.shape = {}, .int_low = -3, .int_high = 7, .dtype = dtype});
  return inputs;
}

OpCase dynamic_slice_case(const Shape& shape, const Shape& box, DType dtype) {
  return {.name = cat(shape, box, dtype),
          .inputs = with_starts({{.shape = shape}}, shape.size(), dtype),
          .call =
              [=](Inputs x) {
                return dynamic_slice(x[0], {x.begin() + 1, x.end()}, box);
              },
          .oracle =
              [=](Arrays x) {
                const Dims start = clamped(x.subspan(1), shape, box);
                return filled({x[0].type.dtype, box}, [&](Dims index) {
                  for (size_t i = 0; i < index.size(); ++i) index[i] += start[i];
                  return x[0].at(index);
                });
              },
          .dtypes = kAnyDType};
}

OP_TEST(dynamic_slice) {
  return {{dynamic_slice_case({5, 4}, {2, 3}, DType::kI32), dynamic_slice_case({6}, {1}, DType::kU8),
           dynamic_slice_case({3, 2, 4}, {3, 1, 2}, DType::kI64), dynamic_slice_case({4}, {0}, DType::kU64),
           dynamic_slice_case({0, 2}, {0, 1}, DType::kI16), dynamic_slice_case({}, {}, DType::kI32)}};
}

OpCase dynamic_update_slice_case(const Shape& shape, const Shape& box, DType dtype) {
  return {.name = cat(shape, box, dtype),
          .inputs = with_starts({{.shape = shape}, {.shape = box}}, shape.size(), dtype),
          .call =
              [=](Inputs x) {
                return dynamic_update_slice(x[0], x[1], {x.begin() + 2, x.end()});
              },
          .oracle =
              [=](Arrays x) {
                const Dims start = clamped(x.subspan(2), shape, box);
                return filled(x[0].type, [&](const Dims& index) {
                  Dims inside = index;
                  for (size_t i = 0; i < index.size(); ++i) {
                    inside[i] -= start[i];
                    if (inside[i] < 0 || inside[i] >= box[i]) return x[0].at(index);
                  }
                  return x[1].at(inside);
                });
              },
          .dtypes = kAnyDType};
}

OP_TEST(dynamic_update_slice) {
  return {{dynamic_update_slice_case({5, 4}, {2, 3}, DType::kI32),
           dynamic_update_slice_case({6}, {1}, DType::kU8),
           dynamic_update_slice_case({3, 2}, {3, 1}, DType::kI64),
           dynamic_update_slice_case({4}, {0}, DType::kU64), dynamic_update_slice_case({}, {}, DType::kI32)}};
}

TEST(DynamicSlice, StartsAtTheEndsOfTheirTypesAreClamped) {
  const Tensor x = Tensor::of({1.0f, 2.0f, 3.0f, 4.0f});
  const auto first = [&](const Tensor& start) {
    return dynamic_slice(x, {start}, {2}).to_vector<float>()[0];
  };
  EXPECT_EQ(first(Tensor::scalar(std::numeric_limits<int64_t>::max())), 3);
  EXPECT_EQ(first(Tensor::scalar(std::numeric_limits<int64_t>::min())), 1);
  EXPECT_EQ(first(Tensor::scalar(std::numeric_limits<uint64_t>::max())), 3);
  EXPECT_EQ(first(Tensor::scalar(uint8_t{255})), 3);
  EXPECT_EQ(first(Tensor::scalar(int8_t{-128})), 1);
}

TEST(Movement, RefusalsNameTheRule) {
  const Tensor x = full({2, 3}, 1);
  const auto rule = [](auto f) -> std::string {
    try {
      f();
    } catch (const ShapeError& error) {
      return error.rule();
    }
    return "";
  };
  EXPECT_EQ(rule([&] { slice(x, {0}, {1}); }), "slice.c1");
  EXPECT_EQ(rule([&] { slice(x, {0, 2}, {2, 1}); }), "slice.c2");
  EXPECT_EQ(rule([&] { slice(x, {0, 0}, {2, 4}); }), "slice.c2");
  EXPECT_EQ(rule([&] { slice(x, {0, 0}, {2, 3}, {1, 0}); }), "slice.c3");
  EXPECT_EQ(rule([&] { pad(x, 0, {0}, {0}); }), "pad.c2");
  EXPECT_EQ(rule([&] { pad(x, 0, {0, 0}, {0, 0}, {0, -1}); }), "pad.c3");
  EXPECT_EQ(rule([&] { pad(x, 0, {-2, 0}, {-1, 0}); }), "pad.c4");
  EXPECT_EQ(rule([&] { pad(x, 0, {0, 0}, {0, 0}, {0, INT64_MAX}); }), "pad.c3");
  EXPECT_EQ(rule([&] { pad(x, 0, {INT64_MAX, 0}, {INT64_MAX, 0}); }), "pad.c4");
  EXPECT_EQ(rule([&] { pad(x, 0, {INT64_MIN, 0}, {0, 0}); }), "pad.c4");
  EXPECT_EQ(slice(x, {0, 1}, {2, 3}, {1, INT64_MAX}).shape(), (Shape{2, 1}));
  EXPECT_EQ(rule([&] { reverse(x, {1, 1}); }), "reverse.c2");
  EXPECT_EQ(rule([&] { concatenate({x, full({3, 3}, 1)}, 1); }), "concatenate.c2");
  EXPECT_EQ(rule([&] {
              dynamic_slice(x, {Tensor::scalar(0), Tensor::scalar(0)}, {2, 4});
            }),
            "dynamic_slice.c2");
  EXPECT_EQ(rule([&] { dynamic_slice(x, {Tensor::scalar(0)}, {2, 3}); }), "dynamic_slice.c3");
  EXPECT_EQ(rule([&] {
              dynamic_update_slice(x, full({3, 3}, 1), {Tensor::scalar(0), Tensor::scalar(0)});
            }),
            "dynamic_update_slice.c3");
}

}  // namespace
}  // namespace espalier
