// gather, scatter and dynamic_update_slice against their reference bodies: drawn shapes, dtypes, windows and
// indices, some of them outside, some met twice.
#include "kernels/indexed.h"

#include <random>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "espalier/ops.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ir/difference_test.h"
#include "kernels/run_kernel_test.h"
#include "ops/scatter.h"

namespace espalier {
namespace {

// Where results are written, and what stands for an operand that is updated.
enum class Way { kApart, kInPlace, kOfOneElement };

std::vector<Literal> by_kernel(const Graph& graph, std::span<const Literal> inputs, Way way) {
  const Node& node = graph.nodes().back();
  std::vector<const TensorType*> types, result_types;
  std::vector<const void*> in, splats;
  std::vector<void*> out;
  std::vector<Literal> results;
  for (const ValueId input : graph.inputs(node)) types.push_back(&graph.type(input));
  for (uint32_t i = 0; i < node.result_count; ++i) result_types.push_back(&graph.type(node.first_result + i));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool updated = updates_operand(*node.op, node.attributes.get(), i, inputs.size());
    const bool one = way == Way::kOfOneElement && updated;
    splats.push_back(one ? inputs[i].raw() : nullptr);
    in.push_back(one ? nullptr : inputs[i].raw());
  }
  const PreparedKernel kernel = prepare_kernel({.op = *node.op,
                                                .attributes = node.attributes.get(),
                                                .inputs = types,
                                                .outputs = result_types,
                                                .splats = splats});
  if (!kernel.run) return {};
  for (size_t i = 0; i < result_types.size(); ++i) {
    const TensorType& type = *result_types[i];
    Buffer buffer = allocate_buffer(type.bytes());
    if (way == Way::kInPlace && i < kernel.in_place) {
      if (type.bytes()) std::memcpy(buffer.get(), inputs[i].raw(), type.bytes());
      in[i] = buffer.get();
    } else if (type.bytes()) {
      std::memset(buffer.get(), 0xab, type.bytes());
    }
    results.emplace_back(type, buffer);
    out.push_back(buffer.get());
  }
  const FloatEnvironment mode;
  kernel.run({&RunContext::current(), nullptr, kernel.params.get(), in.data(), out.data(), nullptr});
  return results;
}

// Numbers of every kind where they are floats, any bits where they are integers.
Literal any_literal(const TensorType& type, unsigned seed) {
  if (is_float(type.dtype)) return random_literal(type, seed, true);
  std::mt19937 random(seed);
  Buffer buffer = allocate_buffer(type.bytes());
  for (size_t i = 0; i < type.bytes(); ++i)
    buffer.get()[i] = static_cast<std::byte>(type.dtype == DType::kBool ? random() & 1 : random());
  return Literal(type, buffer);
}

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  unsigned seed() { return static_cast<unsigned>(random_()); }
  template <class List>
  auto one_of(const List& list) {
    return list[static_cast<size_t>(pick(static_cast<int64_t>(std::size(list))))];
  }
  void shuffle(Dims& dims) { std::shuffle(dims.begin(), dims.end(), random_); }
  DType any_dtype() { return static_cast<DType>(pick(kDTypeCount)); }
  DType index_dtype() {
    constexpr DType kAll[] = {DType::kI32, DType::kI64, DType::kI32, DType::kI64,
                              DType::kI16, DType::kU8,  DType::kU64};
    return one_of(kAll);
  }
  // Around an axis of `size`; now and then as far away as the type goes.
  int64_t any_index(DType dtype, int64_t size) {
    const bool is_signed = is_signed_integer(dtype);
    if (pick(40) == 0 && size_of(dtype) == 8) return !is_signed ? -1 : pick(2) ? INT64_MIN : INT64_MAX;
    const int64_t low = is_signed && pick(3) == 0 ? -3 : 0;
    return low + pick(std::max<int64_t>(size - low + (pick(3) == 0 ? 4 : 0), 1));
  }

 private:
  std::mt19937 random_;
};

// A call of gather or scatter but for its dtypes.
struct Windows {
  IndexAxes axes;
  Shape operand, indices, sizes, array;
  std::vector<int64_t> component_sizes;  // per component of an index vector: its axis' size

  explicit Windows(Draws& draw) {
    constexpr int64_t kSizes[] = {1, 2, 3, 5, 8, 17, 33};
    Dims mapped, free_dims;
    const int64_t rank = draw.pick(5);
    for (int64_t axis = 0; axis < rank; ++axis) {
      const int64_t size = num_elements(operand) > 4000 ? 1 : draw.pick(30) ? draw.one_of(kSizes) : 0;
      operand.push_back(size);
      const int64_t role = draw.pick(8);
      if (role == 0) {
        axes.operand_batching.push_back(axis);
      } else if (role < 4) {
        axes.collapsed.push_back(axis);
        if (role > 1) mapped.push_back(axis);
      } else if (role < 6) {
        mapped.push_back(axis);
      }
      const bool kept = role > 3;
      const int64_t part = size && draw.pick(20) ? 1 + draw.pick(size) : 0;
      const int64_t one = draw.pick(20) ? std::min<int64_t>(size, 1) : 0;
      sizes.push_back(!kept ? one : draw.pick(2) ? size : part);
    }
    draw.shuffle(mapped);
    axes.index_map = mapped;
    for (const int64_t axis : mapped) component_sizes.push_back(operand[axis]);
    // The indices: batching axes and others, and the vectors somewhere between.
    Shape batch;
    Dims order = Dims::range(axes.operand_batching.size() + static_cast<size_t>(draw.pick(3)));
    draw.shuffle(order);
    Dims place = Dims::filled(axes.operand_batching.size(), 0);
    for (const int64_t which : order) {
      const auto number = static_cast<size_t>(which);
      if (number < place.size()) place[number] = static_cast<int64_t>(batch.size());
      constexpr int64_t kBatch[] = {1, 2, 5, 9, 40};
      batch.push_back(number < place.size()      ? operand[axes.operand_batching[number]]
                      : draw.pick(25) == 0       ? 0
                      : num_elements(batch) > 60 ? 1
                                                 : draw.one_of(kBatch));
    }
    indices = batch;
    axes.index_vector = static_cast<int64_t>(batch.size());
    if (mapped.size() != 1 || draw.pick(3)) {
      axes.index_vector = draw.pick(static_cast<int64_t>(batch.size()) + 1);
      indices.insert(static_cast<size_t>(axes.index_vector), static_cast<int64_t>(mapped.size()));
    }
    for (const int64_t at : place)
      axes.indices_batching.push_back(at +
                                      (static_cast<size_t>(at) >= static_cast<size_t>(axes.index_vector)));
    const Dims kept = kept_axes(axes, operand.size());
    for (size_t window = 0, other = 0; window + other < kept.size() + batch.size();) {
      const bool takes = window < kept.size() && (other == batch.size() || draw.pick(2));
      if (takes) axes.window.push_back(static_cast<int64_t>(window + other));
      array.push_back(takes ? sizes[kept[window]] : batch[other]);
      ++(takes ? window : other);
    }
  }

  Literal draw_indices(Draws& draw) const {
    const TensorType type{draw.index_dtype(), indices};
    Buffer buffer = allocate_buffer(type.bytes());
    const Dims strides = row_major_strides(indices);
    for (int64_t i = 0; i < type.elements(); ++i) {
      const auto axis = static_cast<size_t>(axes.index_vector);
      const int64_t component = axis < indices.size() ? i / strides[axis] % indices[axis] : 0;
      store_scalar(type.dtype, draw.any_index(type.dtype, component_sizes[static_cast<size_t>(component)]),
                   buffer.get() + static_cast<size_t>(i) * size_of(type.dtype));
    }
    return Literal(type, buffer);
  }
};

Tensor argument(GraphBuilder& builder, std::vector<Literal>& inputs, const Literal& value) {
  inputs.push_back(value);
  return builder.argument(cat("x", inputs.size()), value.type());
}

// Every way gives the bits of the reference body, but those of NaN where numbers are combined.
int expect_bits(const Graph& graph, const std::vector<Literal>& inputs, bool moved, const std::string& what) {
  if (graph.nodes().back().op == &op_constant) return 0;
  int compared = 0;
  for (const Way way : {Way::kApart, Way::kInPlace, Way::kOfOneElement}) {
    std::vector<Literal> values = inputs;
    if (way == Way::kOfOneElement) {
      const Node& node = graph.nodes().back();
      for (size_t i = 0; i < values.size(); ++i) {
        if (updates_operand(*node.op, node.attributes.get(), i, values.size()) &&
            values[i].type().elements() > 0)
          values[i] = Literal::splat(values[i].type(), values[i].raw());
      }
    }
    const std::vector<Literal> wanted = interpret(graph, values, RunContext::current());
    const std::vector<Literal> results = by_kernel(graph, values, way);
    EXPECT_EQ(results.size(), wanted.size()) << what << " has no kernel";
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(difference(wanted[i], results[i]), "") << what << ", way " << static_cast<int>(way);
      EXPECT_TRUE(!moved || wanted[i] == results[i]) << what << ", way " << static_cast<int>(way);
      ++compared;
    }
  }
  return compared;
}

// Runs `body` once as usual, and once shared out among one to three threads in the smallest parts.
template <class F>
void on_any_threads(const F& body) {
  const int before = thread_pool().threads();
  for (const int threads : {0, 1, 2, 3}) {
    SCOPED_TRACE(cat(threads, " threads"));
    const SmallestChunks chunks(threads > 0);
    if (threads) thread_pool().set_threads(threads);
    body();
  }
  thread_pool().set_threads(before);
}

TEST(IndexedKernels, GatherMovesTheReferenceBodysBits) {
  on_any_threads([] {
    int compared = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
      Draws draw(seed);
      const Windows windows(draw);
      std::vector<Literal> inputs;
      GraphBuilder builder;
      {
        const SinkScope scope(builder);
        const Literal operand = any_literal({draw.any_dtype(), windows.operand}, draw.seed());
        const Tensor x = argument(builder, inputs, operand),
                     indices = argument(builder, inputs, windows.draw_indices(draw));
        builder.result("y", gather(x, indices, windows.axes, windows.sizes));
      }
      compared += expect_bits(*builder.finish(), inputs, true, cat("seed ", seed));
    }
    EXPECT_GE(compared, 800);
  });
}

TEST(IndexedKernels, ScatterCombinesInTheReferenceBodysOrder) {
  on_any_threads([] {
    int compared = 0;
    for (unsigned seed = 0; seed < 350; ++seed) {
      Draws draw(seed);
      const Windows windows(draw);
      using enum Reducer;
      constexpr Reducer kNumbers[] = {kSum, kSum, kSum, kUpdate, kUpdate, kProd, kMax, kMin};
      constexpr Reducer kBits[] = {kSum, kUpdate, kAnd, kOr, kXor};
      std::vector<Literal> inputs;
      std::vector<Tensor> operands, updates;
      GraphBuilder builder;
      Reducer reducer = kSum;
      {
        const SinkScope scope(builder);
        std::vector<DType> dtypes{draw.any_dtype()};
        if (draw.pick(4) == 0) dtypes.push_back(draw.any_dtype());
        const bool bits = std::ranges::none_of(dtypes, [](DType dtype) { return is_float(dtype); });
        reducer = bits && draw.pick(2) ? draw.one_of(kBits) : draw.one_of(kNumbers);
        for (const DType dtype : dtypes)
          operands.push_back(argument(builder, inputs, any_literal({dtype, windows.operand}, draw.seed())));
        const Tensor indices = argument(builder, inputs, windows.draw_indices(draw));
        for (const DType dtype : dtypes)
          updates.push_back(argument(builder, inputs, any_literal({dtype, windows.array}, draw.seed())));
        for (const Tensor& result : scatter(operands, indices, updates, reducer, windows.axes, {}))
          builder.result(cat("y", compared++), result);
      }
      compared += expect_bits(*builder.finish(), inputs, reducer == Reducer::kUpdate, cat("seed ", seed));
    }
    EXPECT_GE(compared, 1200);
  });
}

TEST(IndexedKernels, DynamicUpdateSliceMovesTheReferenceBodysBits) {
  on_any_threads([] {
    int compared = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
      Draws draw(seed);
      constexpr int64_t kSizes[] = {1, 2, 3, 5, 8, 17, 33, 0};
      Shape shape, box;
      for (int64_t rank = draw.pick(5); rank > 0; --rank) {
        shape.push_back(num_elements(shape) > 4000 ? 1 : draw.one_of(kSizes));
        box.push_back(draw.pick(2) ? shape.back() : draw.pick(shape.back() + 1));
      }
      std::vector<Literal> inputs;
      GraphBuilder builder;
      {
        const SinkScope scope(builder);
        const DType dtype = draw.any_dtype(), index = draw.index_dtype();
        const Tensor x = argument(builder, inputs, any_literal({dtype, shape}, draw.seed())),
                     update = argument(builder, inputs, any_literal({dtype, box}, draw.seed()));
        std::vector<Tensor> starts;
        for (const int64_t size : shape) {
          Buffer buffer = allocate_buffer(size_of(index));
          store_scalar(index, draw.any_index(index, size), buffer.get());
          starts.push_back(argument(builder, inputs, Literal({index, {}}, buffer)));
        }
        builder.result("y", dynamic_update_slice(x, update, starts));
      }
      compared += expect_bits(*builder.finish(), inputs, true, cat("seed ", seed));
    }
    EXPECT_GE(compared, 800);
  });
}

// Large enough to be shared out as in use: rows met often, in every width of a sum's loops.
TEST(IndexedKernels, AddRowsInOrderOnAnyNumberOfThreads) {
  const int before = thread_pool().threads();
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI64}) {
    for (const int64_t width : {1, 15, 32, 300}) {
      const int64_t rows = 40, updates = (1 << 18) / width;
      std::vector<Literal> inputs;
      std::mt19937 random(7);
      GraphBuilder builder;
      {
        const SinkScope scope(builder);
        std::vector<int32_t> places;
        for (int64_t i = 0; i < updates; ++i) places.push_back(static_cast<int32_t>(random() % 44) - 2);
        const Tensor x = argument(builder, inputs, any_literal({dtype, {rows, width}}, 1)),
                     at =
                         argument(builder, inputs, Literal::copy({DType::kI32, {updates, 1}}, places.data())),
                     u = argument(builder, inputs, any_literal({dtype, {updates, width}}, 2));
        const IndexAxes axes{.window = {1}, .collapsed = {0}, .index_map = {0}, .index_vector = 1};
        builder.result("y", scatter_add(x, at, u, axes));
      }
      const auto graph = builder.finish();
      const Literal wanted = interpret(*graph, inputs, RunContext::current())[0];
      for (const int threads : {1, 2, 3}) {
        thread_pool().set_threads(threads);
        EXPECT_EQ(difference(wanted, by_kernel(*graph, inputs, Way::kApart)[0]), "")
            << cat(dtype, ", ", width, ", ", threads, " threads");
      }
    }
  }
  thread_pool().set_threads(before);
}

}  // namespace
}  // namespace espalier
