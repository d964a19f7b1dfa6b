#include "ir/constant.h"
#include "ops/op_test.h"

namespace espalier {
namespace {

// Element i of the result is the element of x at index f(i).
Oracle moved(const Shape& shape, std::function<Dims(const Dims&)> f) {
  return [shape, f](Arrays x) {
    Array out{{x[0].type.dtype, shape}, {}};
    const Dims strides = row_major_strides(shape);
    for (int64_t i = 0; i < num_elements(shape); ++i) {
      Dims index;
      for (size_t axis = 0; axis < shape.size(); ++axis) index.push_back(i / strides[axis] % shape[axis]);
      out.values.push_back(x[0].at(f(index)));
    }
    return out;
  };
}

OpCase movement(const std::string& name, const Shape& shape, OpCall call, Oracle oracle) {
  return {.name = name,
          .inputs = {{.shape = shape}},
          .call = std::move(call),
          .oracle = std::move(oracle),
          .dtypes = kAnyDType,
          .tolerance = {.ulp = 0}};
}

OP_TEST(transpose) {
  const auto permuted = [](const Shape& shape, const Dims& permutation) {
    Shape out;
    for (const int64_t axis : permutation) out.push_back(shape[static_cast<size_t>(axis)]);
    return movement(
        cat(shape, " by ", permutation), shape, [=](Inputs x) { return transpose(x[0], permutation); },
        moved(out, [=](const Dims& i) {
          Dims source = Dims::filled(i.size(), 0);
          for (size_t k = 0; k < i.size(); ++k) source[static_cast<size_t>(permutation[k])] = i[k];
          return source;
        }));
  };
  return {{permuted({2, 3, 4}, {2, 0, 1}), permuted({2, 3}, {1, 0}), permuted({1, 1}, {1, 0}),
           permuted({0, 3}, {1, 0}), permuted({2, 3, 4}, {0, 2, 1})}};
}

OP_TEST(reshape) {
  const auto reshaped = [](const Shape& from, const Shape& to) {
    return movement(
        cat(from, " to ", to), from, [=](Inputs x) { return reshape(x[0], to); },
        [=](Arrays x) {
          return Array{{x[0].type.dtype, to}, x[0].values};
        });
  };
  return {{reshaped({2, 6}, {3, 4}), reshaped({1}, {}), reshaped({}, {1, 1}), reshaped({0, 3}, {5, 0})}};
}

TEST(Reshape, MinusOneIsTheRest) { EXPECT_EQ(reshape(full({2, 6}, 0), {3, -1}).shape(), (Shape{3, 4})); }

OP_TEST(broadcast_in_dim) {
  const auto spread = [](const Shape& from, const Shape& to, const Dims& axes) {
    return movement(
        cat(from, " to ", to, " at ", axes), from, [=](Inputs x) { return broadcast_in_dim(x[0], to, axes); },
        moved(to, [=](const Dims& i) {
          Dims source;
          for (size_t k = 0; k < from.size(); ++k)
            source.push_back(from[k] == 1 ? 0 : i[static_cast<size_t>(axes[k])]);
          return source;
        }));
  };
  return {{spread({3}, {2, 3}, {1}), spread({3}, {3, 2}, {0}), spread({}, {2, 2}, {}),
           spread({2, 3}, {3, 4, 2}, {2, 0}), spread({1, 3}, {2, 3}, {0, 1}), spread({1}, {1, 1}, {1}),
           spread({1, 3}, {0, 3}, {0, 1}), spread({0}, {2, 0}, {1})}};
}

OP_TEST(iota) {
  const auto counted = [](const Shape& shape, size_t axis) {
    return OpCase{.name = cat(shape, " along ", axis),
                  .inputs = {},
                  .call =
                      [=](Inputs, DType dtype) {
                        return iota({dtype, shape}, static_cast<int64_t>(axis));
                      },
                  .oracle =
                      [=](Arrays, DType dtype) {
                        Array out{{dtype, shape}, {}};
                        const int64_t inner = row_major_strides(shape)[axis];
                        for (int64_t i = 0; i < num_elements(shape); ++i)
                          out.values.push_back(static_cast<double>(i / inner % shape[axis]));
                        return out;
                      },
                  .dtypes = kNumbers,
                  .tolerance = {.ulp = 0.5}};
  };
  return {{counted({3, 4}, 0), counted({3, 4}, 1), counted({300}, 0), counted({1}, 0), counted({2, 0}, 0)}};
}

OP_TEST(constant) {
  const auto constant = [](const Shape& shape, bool splat) {
    const OpCall call = [=](Inputs, DType dtype) {
      const Literal value = Literal::splat({dtype, shape}, int64_t{1});
      return emit(op_constant, constant_attributes(splat ? value : value.expanded()), {});
    };
    const Oracle ones = [=](Arrays, DType dtype) {
      return Array{{dtype, shape}, std::vector<double>(static_cast<size_t>(num_elements(shape)), 1.0)};
    };
    return OpCase{.name = cat(shape, splat ? " splat" : ""),
                  .inputs = {},
                  .call = call,
                  .oracle = ones,
                  .dtypes = kAnyDType};
  };
  return {{constant({2, 3}, true), constant({2, 3}, false), constant({}, true), constant({0}, false)}};
}

}  // namespace
}  // namespace espalier
