// Fast kernels by (op, dtype), and how a plan calls them. An op without one runs its reference body.
#pragma once

#include <memory>
#include <span>

#include "ir/op.h"

namespace espalier {

// What is to happen to elements [first, last) of a kernel's result once they are done.
struct Epilogue {
  void (*run)(const void* context, int64_t first, int64_t last) = nullptr;  // null: nothing
  const void* context = nullptr;
  void operator()(int64_t first, int64_t last) const {
    if (run) run(context, first, last);
  }
};

// What a kernel sees when it runs. It does not allocate, and fails only where its op is `fallible`.
struct KernelCall {
  const RunContext* context;
  Failure* failure;
  const void* params;
  const void* const* in;
  void* const* out;
  std::byte* workspace;
  Epilogue epilogue = {};  // for kernels that take one: called for every element once, on any thread
  struct BegunExchange* begun = nullptr;  // of begin and end: what the one leaves for the other

  ThreadPool& pool() const { return context->pool; }
};

// One call, before it is planned. An input that a kernel casts (`casts_operand`) has the type it has in
// memory.
struct KernelSite {
  const OpDef& op;
  const Attributes* attributes;
  std::span<const TensorType* const> inputs;
  std::span<const TensorType* const> outputs;
  DType dtype = inputs.empty() ? DType::kF32 : inputs[0]->dtype;  // of the call's first operand
  // Per input its elements where they are known ahead, else null; none at all where nothing is known. They
  // may be read while the kernel is prepared, and are those of every call.
  std::span<const void* const> constants = {};
  const void* constant(size_t input) const { return constants.empty() ? nullptr : constants[input]; }
  std::string_view name = {};  // of the call: the scope it was traced in
  // Per input that is updated (`updates_operand`) and a splat: its one element, and nothing else lies in
  // memory; else null. None at all where nothing is known.
  std::span<const void* const> splats = {};
  const void* splat(size_t input) const { return splats.empty() ? nullptr : splats[input]; }
};

// A kernel made ready for the types and attributes of one call.
struct PreparedKernel {
  void (*run)(const KernelCall&) = nullptr;  // null: the kernel does not take this call
  std::shared_ptr<const void> params;
  size_t workspace = 0;
  // Output i may be written over input i, element by element, for i below this number.
  size_t in_place = 0;
  bool takes_epilogue = false;
  bool exchange = false;  // its workspace lies in memory that other ranks reach (Communicator::allocate)
  // The same in two: begin, and end when its results are needed. Other kernels run between them, which leave
  // operands, results and workspace alone. Every begin is ended, in the order of begins, but where it failed.
  void (*begin)(const KernelCall&) = nullptr;  // null: it has no two parts
  void (*end)(const KernelCall&) = nullptr;
};

// The kernel for a call; `run` is null when there is none.
PreparedKernel prepare_kernel(const KernelSite& site);
// What `bytes` of an operand take up there: the next one begins at a multiple of 64.
constexpr size_t exchange_room(size_t bytes) { return (bytes + 63) / 64 * 64; }
// Whether operand i and result i of `op` are one array in memory that other ranks reach, and those of a call
// lie there one behind the other.
bool exchanges_in_place(const OpDef& op);
// Whether a kernel of `op` with so many operands has two parts, begin and end.
bool begins_apart(const OpDef& op, size_t operands);
// Whether the list has an entry for (op, dtype of its first operand).
bool has_kernel(const OpDef& op, DType dtype);
// Whether the kernel of `op` with this result reads an operand that lies in memory as f32 where the call has
// bf16, or as bf16 or f16 where it has f32, and casts each element as it does.
bool casts_operand(const OpDef& op, size_t operand, DType memory, DType result);
// Whether a result of a call with so many operands begins as its operand of that number: in its place, or of
// its one element where that is a splat.
bool updates_operand(const OpDef& op, const Attributes* attributes, size_t operand, size_t operands);

}  // namespace espalier
