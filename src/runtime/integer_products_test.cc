// Products of 8-bit integers by the f32 kernels against the reference bodies, to the last bit.
#include "runtime/integer_products.h"

#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "espalier/ops.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ops/convolution.h"
#include "ops/dot_general.h"
#include "ops/registry.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

Literal bytes_of(const Shape& shape, uint64_t seed, bool extreme) {
  Philox random(seed);
  const Buffer bytes = allocate_buffer(static_cast<size_t>(num_elements(shape)));
  auto* values = reinterpret_cast<int8_t*>(bytes.get());
  for (int64_t i = 0; i < num_elements(shape); ++i)
    values[i] = extreme ? int8_t{-128} : static_cast<int8_t>(static_cast<int64_t>(random.below(256)) - 128);
  return Literal({DType::kI8, shape}, bytes);
}

using Product = std::function<Tensor(const Tensor& x, const Tensor& w)>;

// With the second factor known and not.
void expect_exact(const Shape& x, const Shape& w, const Product& product, size_t parts) {
  for (const bool known : {false, true}) {
    for (const bool extreme : {false, true}) {
      const Literal xs = bytes_of(x, 1, extreme), ws = bytes_of(w, 2, extreme);
      GraphBuilder builder("product");
      const Tensor a = builder.input(InputKind::kArgument, "x", {DType::kI8, x});
      std::vector<Literal> inputs = {xs};
      Tensor b;
      if (!known) {
        b = builder.input(InputKind::kArgument, "w", {DType::kI8, w});
        inputs.push_back(ws);
      }
      {
        SinkScope scope(builder);
        builder.result("y", product(a, known ? make_concrete(ws) : b));
      }
      const std::shared_ptr<const Graph> graph = builder.finish();
      const std::shared_ptr<const Graph> other = integer_products_in_f32(graph);
      size_t floats = 0;
      for (const Node& node : other->nodes())
        floats += (node.op == &op_dot_general || node.op == &op_convolution) &&
                  other->type(node.first_result).dtype == DType::kF32;
      EXPECT_EQ(floats, parts);
      const Literal expected = interpret(*graph, inputs, RunContext::current())[0],
                    got = run(*compile(graph), inputs, RunContext::current())[0];
      ASSERT_EQ(got.type(), expected.type());
      EXPECT_EQ(std::memcmp(got.expanded().raw(), expected.expanded().raw(),
                            static_cast<size_t>(num_elements(expected.type().shape)) * 4),
                0);
    }
  }
}

Tensor matrix_product(const Tensor& x, const Tensor& w) {
  return dot_general(x, w, {.lhs_contracting = {1}, .rhs_contracting = {0}}, DType::kI32);
}

TEST(IntegerProducts, OfMatricesAreExact) {
  expect_exact({5, 7}, {7, 3}, matrix_product, 1);
  expect_exact({3, 1024}, {1024, 4}, matrix_product, 1);
  expect_exact({3, 1025}, {1025, 4}, matrix_product, 2);
  expect_exact({2, 5000}, {5000, 9}, matrix_product, 5);
}

TEST(IntegerProducts, OfSeveralAxesAreCutAlongTheLongest) {
  const Product product = [](const Tensor& x, const Tensor& w) {
    return dot_general(x, w, {.lhs_contracting = {1, 2}, .rhs_contracting = {2, 0}}, DType::kI32);
  };
  expect_exact({2, 6, 300}, {300, 4, 6}, product, 2);
  expect_exact({2, 300, 6}, {6, 4, 300}, product, 2);
}

TEST(IntegerProducts, OfImagesAreExact) {
  const auto product = [](int64_t groups) -> Product {
    return [groups](const Tensor& x, const Tensor& w) {
      ConvolutionOptions options{.dimensions = channels_last(2), .feature_group_count = groups};
      return convolution(x, w, options, DType::kI32);
    };
  };
  expect_exact({2, 6, 5, 3}, {3, 3, 3, 4}, product(1), 1);
  expect_exact({1, 4, 4, 300}, {3, 3, 300, 2}, product(1), 3);
  expect_exact({1, 4, 4, 6}, {3, 3, 3, 4}, product(2), 1);
  expect_exact({1, 4, 4, 600}, {3, 3, 300, 2}, product(2), 0);
}

TEST(IntegerProducts, OthersStay) {
  const Product floats = [](const Tensor& x, const Tensor& w) {
    return convert(dot_general(x, w, {.lhs_contracting = {1}, .rhs_contracting = {0}}), DType::kI32);
  };
  expect_exact({2, 3}, {3, 2}, floats, 0);
  expect_exact({2, 0}, {0, 2}, matrix_product, 0);
}

}  // namespace
}  // namespace espalier
