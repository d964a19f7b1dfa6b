#include "runtime/execute.h"

#include <algorithm>

#include "base/float_environment.h"
#include "base/thread_pool.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ir/constant.h"
#include "kernels/kernel.h"
#include "kernels/tile.h"
#include "ops/collective.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

std::vector<Literal> run_plan(const Call& call, const RunContext& context) {
  std::vector<Literal> inputs;
  for (const Tensor& input : call.inputs) inputs.push_back(input.node()->literal());
  return run(*compile(graph_of(call), {.world = context.world}), inputs, context);
}

std::vector<Tensor> concrete(std::vector<Literal> literals) {
  std::vector<Tensor> out;
  out.reserve(literals.size());
  for (Literal& literal : literals) out.push_back(make_concrete(std::move(literal)));
  return out;
}

// `count` elements, without the heap for as few as most calls have.
template <class T>
class SmallArray {
 public:
  explicit SmallArray(size_t count) : many_(count > kInline ? count : 0), size_(count) {}
  T* data() { return many_.empty() ? few_ : many_.data(); }
  T& operator[](size_t i) { return data()[i]; }
  operator std::span<const T>() { return {data(), size_}; }

 private:
  static constexpr size_t kInline = 8;
  T few_[kInline];
  std::vector<T> many_;
  size_t size_;
};

// Runs an elementwise call by its loop; false when there is none, or operands are broadcast.
bool run_tile(const Call& call, std::span<const TensorType* const> types, const TensorType& result, void* to,
              ThreadPool& pool) {
  constexpr int64_t kParallelElements = 1 << 16, kChunkElements = 1 << 13;
  if (call.op.fusion != Fusion::kElementwise || types.empty() || types.size() > 3) return false;
  const int64_t elements = result.elements();
  DType dtypes[3];
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i]->elements() != elements) return false;
    dtypes[i] = types[i]->dtype;
  }
  const TileFunction f = find_tile(call.op, call.attributes.get(), {dtypes, types.size()}, result.dtype);
  if (!f) return false;
  const std::byte* in[3] = {};
  size_t sizes[3] = {};
  alignas(64) std::byte filled[3][kTile * 8];
  for (size_t i = 0; i < types.size(); ++i) {
    sizes[i] = size_of(dtypes[i]);
    const TensorNode& operand = *call.inputs[i].node();
    if (operand.literal().is_splat() && elements <= kTile) {
      // Cheaper than to store all elements with the tensor.
      fill_elements(filled[i], operand.literal().raw(), sizes[i], elements);
      in[i] = filled[i];
    } else {
      in[i] = static_cast<const std::byte*>(operand.dense().raw());
    }
  }
  const size_t size = size_of(result.dtype);
  const auto part = [&](int64_t first, int64_t n) {
    const auto at = static_cast<size_t>(first);
    f(static_cast<std::byte*>(to) + at * size, in[0] + at * sizes[0], in[1] + at * sizes[1],
      in[2] + at * sizes[2], n);
  };
  if (elements < chunk_work(kParallelElements)) {
    part(0, elements);
  } else {
    pool.parallel_for((elements + kChunkElements - 1) / kChunkElements, [&](int64_t chunk) {
      part(chunk * kChunkElements, std::min(kChunkElements, elements - chunk * kChunkElements));
    });
  }
  return true;
}

// The one element of an operand that the call's kernel updates, where that is a splat; else null.
const void* updated_splat(const Call& call, size_t i) {
  if (!updates_operand(call.op, call.attributes.get(), i, call.inputs.size())) return nullptr;
  const Literal& literal = call.inputs[i].node()->literal();
  return literal.is_splat() ? literal.raw() : nullptr;
}

PreparedKernel kernel_of(const Call& call, std::span<const TensorType* const> types,
                         std::span<const TensorType* const> results) {
  SmallArray<const void*> splats(types.size());
  for (size_t i = 0; i < types.size(); ++i) splats[i] = updated_splat(call, i);
  return prepare_kernel({.op = call.op,
                         .attributes = call.attributes.get(),
                         .inputs = types,
                         .outputs = results,
                         .splats = splats});
}

// By the kernel where there is one, or else by the reference body.
std::vector<Tensor> run_body(const Call& call, const RunContext& context) {
  const size_t in_count = call.inputs.size();
  SmallArray<const TensorType*> types(in_count);
  for (size_t i = 0; i < in_count; ++i) types[i] = &call.inputs[i].node()->type;
  std::vector<TensorType> results = infer_types(call.op, call.attributes.get(), types, call.regions);

  SmallArray<const TensorType*> result_types(results.size());
  for (size_t i = 0; i < results.size(); ++i) result_types[i] = &results[i];
  PreparedKernel kernel;
  if (in_count && has_kernel(call.op, types[0]->dtype)) kernel = kernel_of(call, types, result_types);

  std::vector<Tensor> out;
  out.reserve(results.size());
  SmallArray<void*> to(results.size());
  SmallArray<MutableArrayView> targets(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    Buffer buffer = allocate_buffer(results[i].bytes());
    to[i] = buffer.get();
    out.push_back(make_concrete(Literal(std::move(results[i]), std::move(buffer))));
    targets[i] = {&out[i].node()->type, to[i]};
  }
  const FloatEnvironment mode;
  Failure failure;
  if (kernel.run) {
    SmallArray<const void*> in(in_count);
    for (size_t i = 0; i < in_count; ++i)
      in[i] = updated_splat(call, i) ? nullptr : call.inputs[i].node()->dense().raw();
    const Buffer workspace = allocate_buffer(kernel.workspace);
    kernel.run({&context, &failure, kernel.params.get(), in.data(), to.data(), workspace.get()});
  } else if (results.size() != 1 || !run_tile(call, types, out[0].node()->type, to[0], context.pool)) {
    SmallArray<ArrayView> views(in_count);
    for (size_t i = 0; i < in_count; ++i) views[i] = {types[i], call.inputs[i].node()->dense().raw()};
    EvalContext body{call.attributes.get(), views, targets, {}, nullptr, &context, &failure};
    call.op.eval(body);
  }
  if (failure.failed()) throw failed_run(call.op, CallScope::current(), failure);
  return out;
}

}  // namespace

std::vector<Tensor> execute(const Call& call, const RunContext& context) {
  const bool all_concrete =
      std::all_of(call.inputs.begin(), call.inputs.end(), [](const Tensor& x) { return x.concrete(); });
  if (all_concrete && (!call.regions.empty() || (!call.op.eval && call.op.decompose) ||
                       (call.op.fallible && is_collective(call.op))))
    return concrete(run_plan(call, context));
  if (all_concrete && call.op.eval && &call.op != &op_constant) return run_body(call, context);
  return concrete(evaluate(call, context));
}

GraphPtr graph_of(const Call& call, std::string name) {
  GraphBuilder builder(std::move(name));
  const SinkScope scope(builder);
  std::vector<Tensor> arguments;
  for (const Tensor& input : call.inputs) arguments.push_back(builder.argument("x", input.type()));
  for (const Tensor& result : emit_all(call.op, call.attributes, arguments, call.regions))
    builder.result("y", result);
  return builder.finish();
}

}  // namespace espalier
