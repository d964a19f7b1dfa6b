#include <cmath>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "espalier/ops.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ir/constant.h"
#include "ir/difference_test.h"
#include "kernels/isas_test.h"
#include "kernels/loops.h"
#include "kernels/run_kernel_test.h"

namespace espalier {
namespace {

// Sums in double of f32: the reference adds in order, a kernel by lanes; both round once.
TEST(Kernels, ReductionsAreWithinTheirBound) {
  const Shape shapes[] = {{1},         {5},     {16},       {1000},        {37, 70},
                          {3, 50, 17}, {70000}, {300, 400}, {2, 600, 130}, {9, 0}};
  for (const Shape& shape : shapes) {
    for (int axes_bits = 1; axes_bits < (1 << shape.size()); ++axes_bits) {
      Dims axes;
      for (size_t i = 0; i < shape.size(); ++i) {
        if (axes_bits >> i & 1) axes.push_back(static_cast<int64_t>(i));
      }
      for (const auto& reduce : {reduce_sum, reduce_max, reduce_min}) {
        const TensorType type{DType::kF32, shape};
        GraphBuilder builder;
        {
          SinkScope scope(builder);
          builder.result("y", reduce(builder.argument("x", type), axes));
        }
        const auto graph = builder.finish();
        const bool special = reduce != static_cast<Tensor (*)(Operand, const Dims&)>(reduce_sum);
        const Literal x = random_literal(type, 9, special);
        const Literal init = static_cast<const ConstantAttributes&>(*graph->nodes()[0].attributes).value;
        const auto got = run_kernel(*graph, std::vector{x, init});
        if (got.empty()) continue;
        const Literal wanted = interpret(*graph, std::vector{x}, RunContext::current())[0].expanded();
        if (special) {
          EXPECT_EQ(difference(wanted, got[0]), "") << to_string(shape) << axes_bits;
          continue;
        }
        for (int64_t i = 0; i < wanted.type().elements(); ++i) {
          const float a = wanted.view().as<float>()[i], b = got[0].view().as<float>()[i];
          ASSERT_LE(std::fabs(a - b), 1.2e-7 * std::fabs(a) + 1e-12 * static_cast<double>(type.elements()));
        }
      }
    }
  }
}

// Few columns are cut into blocks of rows, many are not; whoever adds a block, and wherever.
TEST(Kernels, ColumnSumsDependOnShapesAlone) {
  for (const Shape& shape :
       {Shape{5000, 17}, Shape{70000, 3}, Shape{3, 700, 130}, Shape{40, 2000}, Shape{0, 6}}) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      const TensorType type{dtype, shape};
      GraphBuilder builder;
      {
        SinkScope scope(builder);
        builder.result("y",
                       reduce_sum(builder.argument("x", type), {static_cast<int64_t>(shape.size()) - 2}));
      }
      const auto graph = builder.finish();
      const float start = 0.25f;
      Buffer initial = allocate_buffer(size_of(dtype));
      store_scalar(dtype, start, initial.get());
      const std::vector<Literal> inputs{random_literal(type, 3, false), Literal({dtype, {}}, initial)};
      const auto got = run_kernel(*graph, inputs);
      ASSERT_EQ(got.size(), 1u);
      const auto at = [&](const Literal& x, int64_t i) {
        return load_scalar(dtype,
                           static_cast<const std::byte*>(x.raw()) + static_cast<size_t>(i) * size_of(dtype));
      };
      const int64_t inner = shape.back(), length = shape[shape.size() - 2];
      for (int64_t i = 0; i < got[0].type().elements(); ++i) {
        double sum = start;
        for (int64_t k = 0; k < length; ++k)
          sum += at(inputs[0], (i / inner * length + k) * inner + i % inner);
        const double eps = dtype == DType::kF32 ? 1.2e-7 : dtype == DType::kBF16 ? 0x1.02p-8 : 0x1.02p-11;
        ASSERT_NEAR(at(got[0], i), sum, eps * std::fabs(sum) + 1e-9) << cat(type) << " " << i;
      }
      for (const int threads : {1, 2, 3}) {
        thread_pool().set_threads(threads);
        for (const bool smallest : {false, true}) {
          const SmallestChunks chunks(smallest);
          EXPECT_EQ(difference(got[0], run_kernel(*graph, inputs)[0]), "") << cat(type) << " " << threads;
        }
      }
      thread_pool().set_threads(0);
    }
  }
}

TEST(Kernels, ColumnSumsDoNotDependOnTheInstructionSet) {
#if defined(__x86_64__)
  const FloatEnvironment mode;
  const int64_t rows = 37, stride = 150;
  const auto drawn = [&](DType dtype) { return random_literal({dtype, {rows, stride}}, 1, false); };
  const Literal x = drawn(DType::kF32), brain = drawn(DType::kBF16), half = drawn(DType::kF16);
  for (const Isa isa : available_isas()) {
    const LoopTable& table = ESPALIER_BY_ISA(loop_table, isa);
    for (const int64_t columns : {1, 3, 8, 9, 15, 32, 33, 64, 100, 128}) {
      const auto compare = [&]<class T>(const ElementLoops<T>& loops, const ElementLoops<T>& portable,
                                        const Literal& from) {
        const auto* elements = static_cast<const T*>(from.raw());
        std::vector<double> got(static_cast<size_t>(columns), 0.5), wanted = got;
        loops.add_columns(elements, rows, columns, stride, got.data());
        portable.add_columns(elements, rows, columns, stride, wanted.data());
        EXPECT_EQ(got, wanted) << name(isa) << " " << columns;
        double in_order = 0.5;
        for (int64_t i = 0; i < rows; ++i) {
          const auto* last = reinterpret_cast<const std::byte*>(elements + i * stride + columns - 1);
          in_order += load_scalar(from.type().dtype, last);
        }
        EXPECT_EQ(got.back(), in_order) << name(isa) << " " << columns;
      };
      compare(table.f32, loop_table_portable.f32, x);
      compare(table.bf16, loop_table_portable.bf16, brain);
      compare(table.f16, loop_table_portable.f16, half);
    }
  }
#endif
}

}  // namespace
}  // namespace espalier
