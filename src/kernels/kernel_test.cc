#include "kernels/kernel.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "base/float_environment.h"
#include "base/thread_pool.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ir/constant.h"
#include "kernels/isas_test.h"
#include "kernels/run_kernel_test.h"
#include "kernels/tile.h"
#include "ops/call.h"
#include "ops/composite/arg_reduce.h"
#include "ops/composite/optimizer.h"
#include "ops/registry.h"
#include "tests/random_graph.h"

namespace espalier {
namespace {

// A graph of one call on arguments of these types.
std::shared_ptr<Graph> single(const OpDef& op, const AttributesPtr& attributes,
                              std::span<const TensorType> types) {
  GraphBuilder builder;
  SinkScope scope(builder);
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) inputs.push_back(builder.argument("x", type));
  for (const Tensor& result : emit_all(op, attributes, inputs)) builder.result("y", result);
  return builder.finish();
}

TEST(Tiles, EveryInstructionSetGivesTheReferenceBodysBits) {
  struct Case {
    const char* op;
    std::vector<DType> inputs;
    DType output;
  };
  using enum DType;
  std::vector<Case> cases;
  for (const OpDef* op : all_ops()) {
    if (op->fusion != Fusion::kElementwise || op->attributes) continue;
    for (const std::vector<DType>& inputs : std::vector<std::vector<DType>>{{kF32},
                                                                            {kI32},
                                                                            {kBool},
                                                                            {kF32, kF32},
                                                                            {kI32, kI32},
                                                                            {kBool, kBool},
                                                                            {kI64, kI64},
                                                                            {kBool, kF32, kF32},
                                                                            {kBF16},
                                                                            {kBF16, kBF16},
                                                                            {kBool, kBF16, kBF16},
                                                                            {kF16},
                                                                            {kF16, kF16},
                                                                            {kBool, kF16, kF16},
                                                                            {kBool, kI32, kI32}}) {
      std::vector<TensorType> types;
      std::vector<const TensorType*> pointers;
      for (const DType dtype : inputs) types.push_back({dtype, {3}});
      for (const TensorType& type : types) pointers.push_back(&type);
      try {
        cases.push_back({op->name, inputs, infer_types(*op, nullptr, pointers, {})[0].dtype});
      } catch (const Error&) {
      }
    }
  }
  int compared = 0;
  for (const Case& c : cases) {
    const OpDef& op = *find_op(c.op);
    if (!find_tile(op, nullptr, c.inputs, c.output)) continue;
    std::vector<TensorType> types;
    std::vector<Literal> inputs;
    for (const DType dtype : c.inputs) {
      types.push_back({dtype, {kTile - 3}});
      inputs.push_back(random_literal(types.back(), 5 + static_cast<unsigned>(types.size()), true));
    }
    const auto graph = single(op, nullptr, types);
    const Literal wanted = interpret(*graph, inputs, RunContext::current())[0];
    Buffer buffer = allocate_buffer(wanted.type().bytes());
    const auto operand = [&](size_t i) { return i < inputs.size() ? inputs[i].raw() : nullptr; };
    {
      FloatEnvironment mode;
      find_tile(op, nullptr, c.inputs, c.output)(buffer.get(), operand(0), operand(1), operand(2), kTile - 3);
    }
    EXPECT_EQ(difference(wanted, Literal(wanted.type(), buffer)), "") << c.op;
    ++compared;
  }
  EXPECT_GE(compared, 55);
}

// The tables of all instruction sets agree with each other, entry by entry.
TEST(Tiles, TablesAgree) {
#if defined(__x86_64__)
  const TensorType f32{DType::kF32, {kTile}}, mask{DType::kBool, {kTile}}, half{DType::kBF16, {kTile}};
  const Literal x = random_literal(f32, 1, true), y = random_literal(f32, 2, true),
                p = random_literal(mask, 3, false);
  // From 2^-40 to 2^40, both signs: where the functions saturate.
  std::vector<float> spread;
  for (int64_t i = 0; i < kTile; ++i)
    spread.push_back(std::ldexp(1.0f + static_cast<float>(i % 7) / 7, static_cast<int>(i % 81) - 40) *
                     (i % 2 ? 1.0f : -1.0f));
  const Literal far = Literal::copy(f32, spread.data());
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < kTile; ++i) integers.push_back(i % 3 ? i * 7919 : INT64_MAX - i);
  const Literal whole = Literal::copy({DType::kI64, {kTile}}, integers.data());
  FloatEnvironment mode;
  for (const Isa isa : available_isas()) {
    const TileTable& table = tile_table(isa);
    const auto compare = [&](TileFunction one, TileFunction other, DType out, const Literal& a,
                             const Literal& b, const Literal& c, const char* what) {
      const TensorType type{out, {kTile}};
      Buffer u = allocate_buffer(type.bytes()), v = allocate_buffer(type.bytes());
      one(u.get(), a.raw(), b.raw(), c.raw(), kTile);
      other(v.get(), a.raw(), b.raw(), c.raw(), kTile);
      EXPECT_EQ(difference(Literal(type, u), Literal(type, v)), "") << what << " " << name(isa);
    };
#define CHECK_F32(entry) compare(table.entry, tile_table_portable.entry, DType::kF32, x, y, y, #entry)
#define CHECK_BOOL(entry) compare(table.entry, tile_table_portable.entry, DType::kBool, x, y, y, #entry)
    CHECK_F32(add_f32), CHECK_F32(subtract_f32), CHECK_F32(multiply_f32), CHECK_F32(divide_f32);
    CHECK_F32(maximum_f32), CHECK_F32(minimum_f32), CHECK_F32(negate_f32), CHECK_F32(abs_f32),
        CHECK_F32(sqrt_f32);
    CHECK_F32(relu_f32), CHECK_F32(relu_gradient_f32), CHECK_F32(exp_f32), CHECK_F32(tanh_f32),
        CHECK_F32(logistic_f32);
    CHECK_F32(rsqrt_f32), CHECK_F32(gelu_by_tanh_f32), CHECK_F32(tanh_slope_f32);
    compare(table.exp_f32, tile_table_portable.exp_f32, DType::kF32, far, far, far, "exp_f32 far");
    compare(table.tanh_f32, tile_table_portable.tanh_f32, DType::kF32, far, far, far, "tanh_f32 far");
    compare(table.logistic_f32, tile_table_portable.logistic_f32, DType::kF32, far, far, far,
            "logistic_f32 far");
    compare(table.tanh_slope_f32, tile_table_portable.tanh_slope_f32, DType::kF32, far, far, far,
            "tanh_slope_f32 far");
    compare(table.rsqrt_f32, tile_table_portable.rsqrt_f32, DType::kF32, far, far, far, "rsqrt_f32 far");
    compare(table.gelu_by_tanh_f32, tile_table_portable.gelu_by_tanh_f32, DType::kF32, far, far, far,
            "gelu_by_tanh_f32 far");
    compare(table.add_i64, tile_table_portable.add_i64, DType::kI64, whole, whole, whole, "add_i64");
    CHECK_BOOL(eq_f32), CHECK_BOOL(ne_f32), CHECK_BOOL(ge_f32), CHECK_BOOL(gt_f32), CHECK_BOOL(le_f32),
        CHECK_BOOL(lt_f32);
    CHECK_BOOL(eq_i32), CHECK_BOOL(ne_i32), CHECK_BOOL(ge_i32), CHECK_BOOL(gt_i32), CHECK_BOOL(le_i32),
        CHECK_BOOL(lt_i32);
    compare(table.select_32, tile_table_portable.select_32, DType::kF32, p, x, y, "select_32");
    compare(table.bool_to_f32, tile_table_portable.bool_to_f32, DType::kF32, p, p, p, "bool_to_f32");
    const Literal u = random_literal(half, 1, true), v = random_literal(half, 2, true);
#define CHECK_BF16(entry) compare(table.entry, tile_table_portable.entry, DType::kBF16, u, v, v, #entry)
#define CHECK_BF16_BOOL(entry) compare(table.entry, tile_table_portable.entry, DType::kBool, u, v, v, #entry)
    CHECK_BF16(add_bf16), CHECK_BF16(subtract_bf16), CHECK_BF16(multiply_bf16), CHECK_BF16(divide_bf16);
    // Every exponent, both signs, NaN: sums and products overflow and vanish.
    std::vector<uint16_t> patterns;
    for (int64_t i = 0; i < 2 * kTile; ++i) patterns.push_back(static_cast<uint16_t>(i * 40503 >> 3));
    const Literal any = Literal::copy(half, patterns.data()),
                  other = Literal::copy(half, patterns.data() + kTile);
    for (const auto entry : {&TileTable::add_bf16, &TileTable::subtract_bf16, &TileTable::multiply_bf16,
                             &TileTable::divide_bf16}) {
      compare(table.*entry, tile_table_portable.*entry, DType::kBF16, any, other, any, "any bf16");
    }
    CHECK_BF16(maximum_bf16), CHECK_BF16(minimum_bf16), CHECK_BF16(negate_bf16), CHECK_BF16(abs_bf16),
        CHECK_BF16(sqrt_bf16);
    CHECK_BF16(relu_bf16), CHECK_BF16(relu_gradient_bf16), CHECK_BF16(exp_bf16), CHECK_BF16(tanh_bf16),
        CHECK_BF16(logistic_bf16);
    CHECK_BF16(rsqrt_bf16), CHECK_BF16(gelu_by_tanh_bf16), CHECK_BF16(tanh_slope_bf16);
    CHECK_BF16_BOOL(eq_bf16), CHECK_BF16_BOOL(ne_bf16), CHECK_BF16_BOOL(ge_bf16), CHECK_BF16_BOOL(gt_bf16),
        CHECK_BF16_BOOL(le_bf16), CHECK_BF16_BOOL(lt_bf16);
    compare(table.select_16, tile_table_portable.select_16, DType::kBF16, p, u, v, "select_16");
    compare(table.f32_to_bf16, tile_table_portable.f32_to_bf16, DType::kBF16, x, x, x, "f32_to_bf16");
    compare(table.f32_to_bf16, tile_table_portable.f32_to_bf16, DType::kBF16, far, far, far,
            "f32_to_bf16 far");
    compare(table.bf16_to_f32, tile_table_portable.bf16_to_f32, DType::kF32, u, u, u, "bf16_to_f32");
    compare(table.bool_to_bf16, tile_table_portable.bool_to_bf16, DType::kBF16, p, p, p, "bool_to_bf16");
#undef CHECK_BF16
#undef CHECK_BF16_BOOL
    compare(table.i32_to_f32, tile_table_portable.i32_to_f32, DType::kF32, x, x, x, "i32_to_f32");
    std::vector<double> wide(kTile), sums(kTile);
    table.f32_to_f64(wide.data(), far.raw(), nullptr, nullptr, kTile);
    EXPECT_TRUE(std::equal(wide.begin(), wide.end(), spread.begin())) << name(isa);
    for (double& w : wide) w += 1.0 / 3;
    table.add_f64(sums.data(), wide.data(), wide.data(), nullptr, kTile);
    EXPECT_TRUE(std::equal(sums.begin(), sums.end(), wide.begin(), [](double sum, double w) {
      return sum == 2 * w;
    })) << name(isa);
#undef CHECK_F32
#undef CHECK_BOOL
  }
#endif
}

// One call of the reference body gives the bits of the loops where exp overflows, vanishes and tanh is 1.
TEST(Tiles, ElementaryFunctionsHaveOneMeaning) {
  std::vector<float> x;
  for (float v = 1e-12f; v < 1e12f; v *= 1.07f) x.insert(x.end(), {v, -v});
  for (const float v :
       {0.0f, -0.0f, 88.72283f, 88.72284f, 89.0f, 103.9f, 104.0f, 10.0f, 0.625f, INFINITY, NAN})
    x.insert(x.end(), {v, -v});
  const TensorType type{DType::kF32, {static_cast<int64_t>(x.size())}};
  const auto by_tanh = [](const Tensor& x) { return gelu(x, true); };
  for (const std::function<Tensor(const Tensor&)>& f : std::vector<std::function<Tensor(const Tensor&)>>{
           exponential, espalier::tanh, logistic, rsqrt, by_tanh}) {
    GraphBuilder builder;
    {
      SinkScope scope(builder);
      builder.result("y", f(builder.argument("x", type)));
    }
    const auto graph = builder.finish();
    const Node& node = graph->nodes()[0];
    const Literal input = Literal::copy(type, x.data()),
                  wanted = interpret(*graph, {&input, 1}, RunContext::current())[0];
    Buffer buffer = allocate_buffer(type.bytes());
    FloatEnvironment mode;
    find_tile(*node.op, node.attributes.get(), std::vector<DType>{DType::kF32}, DType::kF32)(
        buffer.get(), input.raw(), nullptr, nullptr, type.elements());
    EXPECT_EQ(difference(wanted, Literal(type, buffer)), "") << node.op->name;
  }
}

// `dtype`: of the gradient.
void expect_adam(DType dtype) {
  const TensorType type{DType::kF32, {100, 371}}, gradient{dtype, type.shape}, scalar{DType::kF32, {}};
  for (const double decay : {0.0, 0.01}) {
    GraphBuilder builder;
    {
      SinkScope scope(builder);
      const auto arg = [&](const TensorType& t) { return builder.argument("x", t); };
      const Tensor p = arg(type), m = arg(type), v = arg(type), g = arg(gradient), rate = arg(scalar),
                   step = arg({DType::kI64, {}}), scale = arg(scalar), apply = arg({DType::kBool, {}});
      for (const Tensor& y : adam(p, m, v, g, rate, step, scale, apply, {.weight_decay = decay}))
        builder.result("y", y);
    }
    const auto graph = builder.finish();
    for (const bool apply : {true, false}) {
      std::vector<Literal> inputs;
      for (unsigned i = 0; i < 4; ++i) inputs.push_back(random_literal(i == 3 ? gradient : type, i, false));
      std::vector<float> squares(type.elements(), 0.25f);
      inputs[2] = Literal::copy(type, squares.data());
      const float rate = 1e-3f, scale = 0.5f;
      const int64_t step = 3;
      inputs.push_back(Literal::copy(scalar, &rate));
      inputs.push_back(Literal::copy({DType::kI64, {}}, &step));
      inputs.push_back(Literal::copy(scalar, &scale));
      inputs.push_back(Literal::copy({DType::kBool, {}}, &apply));
      const auto wanted = interpret(*graph, inputs, RunContext::current()), got = run_kernel(*graph, inputs);
      ASSERT_EQ(got.size(), 3u);
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(difference(wanted[i], got[i]), "");
    }
  }
}
TEST(Kernels, AdamGivesTheReferenceBodysBits) {
  expect_adam(DType::kF32);
  expect_adam(DType::kBF16);
  expect_adam(DType::kF16);
}

// In f32 within 2e-6; in f16 within that before both are rounded, to the same or to neighbours.
void expect_near(const Literal& wanted, const Literal& got, const std::string& what) {
  ASSERT_EQ(wanted.type(), got.type()) << what;
  const DType dtype = wanted.type().dtype;
  const auto at = [&](const Literal& x, int64_t i) {
    return load_scalar(dtype, static_cast<const std::byte*>(x.raw()) + i * size_of(dtype));
  };
  int64_t rounded_apart = 0;
  for (int64_t i = 0; i < wanted.type().elements(); ++i) {
    const double x = at(wanted, i), y = at(got, i);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(y)) << what << " at " << i;
    } else if (std::isinf(x)) {
      ASSERT_EQ(x, y) << what << " at " << i;
    } else if (dtype == DType::kF32) {
      ASSERT_NEAR(x, y, 2e-6 * std::max(1.0, std::fabs(x))) << what << " at " << i;
    } else {
      ASSERT_NEAR(x, y, std::max(0x1p-10 * std::fabs(x), 0x1p-24)) << what << " at " << i;
      rounded_apart += x != y;
    }
  }
  EXPECT_LE(rounded_apart, 3 + wanted.type().elements() / 50) << what;
}

// Short rows, rows longer than a block, no rows; special values; labels that are no class.
void expect_rows(DType dtype) {
  unsigned seed = 0;
  for (const bool chunked : {false, true}) {
    const SmallestChunks smallest(chunked);
    for (const Shape& shape : {Shape{64, 10}, Shape{37, 3}, Shape{5, 1}, Shape{3, 5000}, Shape{2, 2048},
                               Shape{2, 3, 17}, Shape{7}, Shape{0, 4}}) {
      for (const bool special : {false, true}) {
        const std::string what = cat(shape, special ? " special" : "", chunked ? " chunked" : "");
        const TensorType logits{dtype, shape};
        Shape rows = shape;
        rows.erase(rows.size() - 1);
        const Literal x = random_literal(logits, ++seed, special);
        Buffer labels = allocate_buffer(static_cast<size_t>(num_elements(rows)) * 8);
        for (int64_t i = 0; i < num_elements(rows); ++i) {
          const int64_t label = i % (shape.back() + 2) - 1;  // from -1 to the number of classes
          std::memcpy(labels.get() + i * 8, &label, 8);
        }
        const Literal y({DType::kI64, rows}, labels), g = random_literal({dtype, rows}, ++seed, false);
        const auto compare = [&](const char* op, const AttributesPtr& attributes,
                                 std::vector<Literal> inputs) {
          std::vector<TensorType> types;
          for (const Literal& input : inputs) types.push_back(input.type());
          const auto graph = single(*find_op(op), attributes, types);
          const auto got = run_kernel(*graph, inputs);
          ASSERT_EQ(got.size(), 1u) << op << " " << what;
          const Literal wanted = interpret(*graph, inputs, RunContext::current())[0];
          if (is_float(wanted.type().dtype)) return expect_near(wanted, got[0], cat(op, " ", what));
          EXPECT_EQ(difference(wanted, got[0]), "") << op << " " << what;
        };
        auto axis = std::make_shared<AxisAttributes>();
        axis->axis = static_cast<int64_t>(shape.size()) - 1;
        auto index = std::make_shared<ArgAttributes>();
        index->axis = axis->axis;
        compare("softmax", axis, {x});
        compare("argmax", index, {x});
        compare("softmax_cross_entropy", nullptr, {x, y});
        compare("softmax_cross_entropy_gradient", nullptr, {x, y, g});
      }
    }
  }
}
TEST(Kernels, RowsOfSoftmaxAndArgmaxAreTheReferenceBodys) {
  expect_rows(DType::kF32);
  expect_rows(DType::kF16);
}

// Random windows, paddings, dilations and layouts; the exact result is the f64 body's, the bound that of
// docs/numerics.md.
TEST(Kernels, ConvolutionsAreWithinTheirBound) {
  std::mt19937_64 random(3);
  const auto in = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const auto axes = [&](size_t rank, bool feature_last) {
    std::vector<int64_t> out;
    for (size_t i = 0; i < rank; ++i) out.push_back(static_cast<int64_t>(i));
    std::shuffle(out.begin(), out.end() - (feature_last ? 1 : 0), random);
    if (feature_last) std::rotate(out.begin() + 1, out.end() - 1, out.end());
    return out;  // batch (or input features), features, then the window's axes
  };
  const auto rest = [](const std::vector<int64_t>& order) { return Dims(std::span(order).subspan(2)); };
  int taken = 0;
  for (int round = 0; round < 300; ++round) {
    const size_t spatial = static_cast<size_t>(in(0, 3)), rank = spatial + 2;
    const bool usual = round % 3 == 0;
    const auto i = usual ? axes(rank, true) : axes(rank, false), k = axes(rank, usual), r = axes(rank, true);
    ConvolutionOptions o;
    o.dimensions = usual
                       ? channels_last(spatial)
                       : ConvolutionDimensions{i[0], i[1], rest(i), k[0], k[1], rest(k), r[0], r[1], rest(r)};
    const ConvolutionDimensions& d = o.dimensions;
    Shape input = Dims::filled(rank, 1), kernel = input;
    input[d.input_batch] = in(1, 3);
    input[d.input_feature] = kernel[d.kernel_input_feature] = round % 5 ? in(1, 7) : in(0, 150);
    if (round % 4 == 1) input[d.input_feature] = kernel[d.kernel_input_feature] = 32 * in(1, 2);
    kernel[d.kernel_output_feature] = in(1, 70);
    for (size_t axis = 0; axis < spatial; ++axis) {
      input[d.input_spatial[axis]] = in(1, 9);
      kernel[d.kernel_spatial[axis]] = in(1, 3);
      o.window_strides.push_back(in(1, 2));
      o.lhs_dilation.push_back(usual ? 1 : in(1, 2));
      o.rhs_dilation.push_back(in(1, 2));
      o.padding_low.push_back(in(-1, 3));
      o.padding_high.push_back(in(-1, 3));
      o.window_reversal.push_back(in(0, 1));
    }
    const auto graph_of = [&](DType dtype) {
      GraphBuilder builder;
      SinkScope scope(builder);
      const Tensor x = builder.argument("x", {dtype, input}), w = builder.argument("w", {dtype, kernel});
      builder.result("y", convolution(x, w, o));
      return builder.finish();
    };
    try {
      graph_of(DType::kF32);
    } catch (const ShapeError&) {
      continue;  // nothing is left after negative padding
    }
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      const std::vector<Literal> given{random_literal({dtype, input}, static_cast<unsigned>(round), false),
                                       random_literal({dtype, kernel}, 77, false)};
      const auto at = [](const Literal& x, int64_t n) {
        return load_scalar(x.type().dtype, static_cast<const std::byte*>(x.raw()) +
                                               static_cast<size_t>(n) * size_of(x.type().dtype));
      };
      std::vector<Literal> wide, sizes;
      for (const Literal& x : given) {
        std::vector<double> plain, absolute;
        for (int64_t n = 0; n < x.type().elements(); ++n) {
          plain.push_back(at(x, n));
          absolute.push_back(std::fabs(plain.back()));
        }
        wide.push_back(Literal::copy({DType::kF64, x.type().shape}, plain.data()));
        sizes.push_back(Literal::copy({DType::kF64, x.type().shape}, absolute.data()));
      }
      const auto got = run_kernel(*graph_of(dtype), given);
      ASSERT_EQ(got.size(), 1u) << round;
      ++taken;
      const auto exact_graph = graph_of(DType::kF64);
      const Literal exact = interpret(*exact_graph, wide, RunContext::current())[0],
                    scale = interpret(*exact_graph, sizes, RunContext::current())[0];
      const int64_t depth = TensorType{DType::kF32, kernel}.elements() / kernel[d.kernel_output_feature];
      for (int64_t n = 0; n < exact.type().elements(); ++n) {
        const double rounding = dtype == DType::kBF16  ? 0x1.02p-8 * std::fabs(at(exact, n))
                                : dtype == DType::kF16 ? 0x1.02p-11 * std::fabs(at(exact, n)) + 0x1p-25
                                                       : 0;
        const double bound =
            1.2e-7 * static_cast<double>(std::min<int64_t>(depth, 256) + depth / 256 + 1) * at(scale, n) +
            rounding;
        ASSERT_LE(std::fabs(at(got[0], n) - at(exact, n)), bound)
            << name(dtype) << " round " << round << " element " << n;
      }
    }
  }
  EXPECT_GE(taken, 600);
}

TEST(Kernels, MovementIsExact) {
  int taken = 0;
  const auto check = [&](const TensorType& type, auto call) {
    GraphBuilder builder;
    std::vector<Literal> inputs{random_literal(type, 4, false)};
    {
      SinkScope scope(builder);
      const Tensor x = builder.argument("x", type);
      if constexpr (std::is_invocable_v<decltype(call), Tensor, Tensor>) {
        inputs.push_back(random_literal({type.dtype, {}}, 5, false));
        builder.result("y", call(x, builder.argument("value", inputs[1].type())));
      } else {
        builder.result("y", call(x));
      }
    }
    const auto graph = builder.finish();
    const auto got = run_kernel(*graph, inputs);
    if (got.empty()) return;
    ++taken;
    EXPECT_EQ(difference(interpret(*graph, inputs, RunContext::current())[0], got[0]), "")
        << type.shape.size();
  };
  Dims order{0, 1, 2, 3};
  do {
    for (const Shape& shape : {Shape{3, 17, 5, 33}, Shape{1, 20, 1, 37}, Shape{2, 1, 18, 3}})
      check({DType::kF32, shape}, [&](const Tensor& x) { return transpose(x, order); });
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_GE(taken, 40);
  taken = 0;
  check({DType::kF32, {7}}, [](const Tensor& x) { return broadcast_in_dim(x, {3, 7, 5}, {1}); });
  check({DType::kF32, {3, 7}}, [](const Tensor& x) { return broadcast_in_dim(x, {3, 7, 5}, {0, 1}); });
  check({DType::kI32, {1, 7}}, [](const Tensor& x) { return broadcast_in_dim(x, {4, 3, 7}, {1, 2}); });
  check({DType::kF32, {}}, [](const Tensor& x) { return broadcast_in_dim(x, {4, 0}, {}); });
  check({DType::kF32, {1}}, [](const Tensor& x) { return broadcast_in_dim(x, {4, 9}, {1}); });
  EXPECT_EQ(taken, 5);
  check({DType::kF32, {3, 5}}, [](const Tensor& x) { return broadcast_in_dim(x, {3, 7, 5}, {0, 2}); });
  check({DType::kF32, {3, 5}}, [](const Tensor& x) { return broadcast_in_dim(x, {5, 3}, {1, 0}); });
  EXPECT_EQ(taken, 5);
  taken = 0;
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kBF16, DType::kF16}) {
    const TensorType block{dtype, {3, 4, 5, 6}};
    check(block, [](const Tensor& x) { return slice(x, {0, 1, 0, 0}, {3, 3, 5, 6}); });
    check(block, [](const Tensor& x) { return slice(x, {1, 1, 2, 3}, {3, 3, 5, 5}); });
    check(block, [](const Tensor& x) { return slice(x, {0, 0, 1, 1}, {3, 4, 5, 6}, {2, 3, 2, 2}); });
    check(block, [](const Tensor& x) { return slice(x, {2, 3, 4, 5}, {3, 4, 5, 6}); });
    check(block, [](const Tensor& x) { return slice(x, {1, 1, 2, 3}, {3, 1, 5, 5}); });
    check({dtype, {}}, [](const Tensor& x) { return slice(x, {}, {}); });
    check(block, [](const Tensor& x, const Tensor& v) { return pad(x, v, {0, 1, 0, 0}, {0, 2, 0, 0}); });
    check(block, [](const Tensor& x, const Tensor& v) {
      return pad(x, v, {1, 0, 2, 3}, {0, 2, 1, 1}, {0, 1, 2, 1});
    });
    check(block, [](const Tensor& x, const Tensor& v) {
      return pad(x, v, {-1, 1, -2, 3}, {1, -2, 1, -4}, {1, 0, 3, 1});
    });
    check(block, [](const Tensor& x, const Tensor& v) { return pad(x, v, {-3, 0, 0, 0}, {2, 0, 0, 0}); });
    check({dtype, {2, 0}}, [](const Tensor& x, const Tensor& v) { return pad(x, v, {0, 1}, {0, 2}); });
    check({dtype, {}}, [](const Tensor& x, const Tensor& v) { return pad(x, v, {}, {}); });
  }
  EXPECT_EQ(taken, 48);
}

}  // namespace
}  // namespace espalier
