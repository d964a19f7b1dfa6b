#include "espalier/ops.h"
#include "text/compiled_c_test.h"

namespace espalier {
namespace {

template <class F>
std::shared_ptr<const Graph> program_of(const std::vector<TensorType>& types, F f) {
  GraphBuilder builder;
  SinkScope scope(builder);
  std::vector<Tensor> arguments;
  for (const TensorType& type : types)
    arguments.push_back(builder.argument(cat("x", arguments.size()), type));
  size_t count = 0;
  for (const Tensor& result : f(arguments)) builder.result(cat("y", count++), result);
  return builder.finish();
}
TensorType floats_of(const Shape& shape) { return {DType::kF32, shape}; }

// Shifts by less than nothing, by as many bits as there are, and by more.
TEST(CBits, AreThoseOfEveryIntegerType) {
  if (!have_command("gcc")) GTEST_SKIP() << "there is no gcc";
  std::vector<TensorType> types;
  for (const DType dtype :
       {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16, DType::kU32, DType::kU64})
    types.push_back({dtype, {7}});
  const auto integers = program_of(types, [](auto& arguments) {
    std::vector<Tensor> out;
    for (const Tensor& x : arguments) {
      const auto bits = static_cast<double>(8 * size_of(x.dtype()));
      const Tensor by = convert(Tensor::of<double>({-1, 0, 1, 3, bits - 1, bits, 100}), x.dtype());
      const Tensor value = bitwise_not(x) * 37, top = shift_left(value, by);
      out.insert(out.end(), {top, shift_right_logical(top, by), shift_right_arithmetic(top, by),
                             shift_right_arithmetic(value, by), popcnt(value), count_leading_zeros(x)});
    }
    return out;
  });
  const auto floats = program_of({floats_of({64}), {DType::kI32, {64}}}, [](auto& x) {
    const Tensor wide = x[0] * 1e30;
    return std::vector<Tensor>{bitcast_convert(x[0], DType::kI32),
                               bitcast_convert(x[0], DType::kU32),
                               bitcast_convert(x[1] * 300000001, DType::kF32),
                               reduce_precision(wide, 8, 7),
                               reduce_precision(-wide, 5, 10),
                               reduce_precision(wide, 4, 3),
                               reduce_precision(x[0], 4, 3),
                               reduce_precision(x[0] * 1e-4, 5, 10),
                               reduce_precision(x[0], 8, 23)};
  });
  for (const auto& graph : {integers, floats}) {
    expect_same_in_c(*graph, 13, 0);
    if (have_command("clang")) {
      EXPECT_EQ(refusal("clang", print_c(*graph).source), "");
    }
  }
  const auto halves = program_of({{DType::kF16, {2, 2}}}, [](auto& x) {
    return std::vector<Tensor>{bitcast_convert(x[0], DType::kI32)};
  });
  EXPECT_THROW(print_c(*halves), UnsupportedError);
}

}  // namespace
}  // namespace espalier
