// What an op is: one OpDef per op, each in its own file of ops/.
#pragma once

#include <span>
#include <vector>

#include "base/failure.h"
#include "base/format.h"
#include "espalier/run_context.h"
#include "ir/sink.h"

namespace espalier {

// How an op may be fused with its neighbours.
enum class Fusion : uint8_t {
  kOpaque,       // has a kernel of its own
  kElementwise,  // output i depends on element i of each input
  kView,         // moves or repeats elements by an affine map (broadcast, reshape, slice)
};

// Checks operands and states result types: the one shape-and-type rule of an op.
class InferContext {
 public:
  InferContext(const OpDef& op, const Attributes* attributes, std::span<const TensorType* const> inputs,
               std::span<const GraphPtr> regions)
      : op_(op), attributes_(attributes), inputs_(inputs), regions_(regions) {}
  size_t size() const { return inputs_.size(); }
  // Raise ShapeError[op.arity] beyond the call's inputs and regions: rules run on calls that others wrote.
  const TensorType& in(size_t i) const {
    if (i >= inputs_.size()) fail_missing("inputs", i, inputs_.size());
    return *inputs_[i];
  }
  const GraphPtr& region(size_t i) const {
    if (i >= regions_.size()) fail_missing("regions", i, regions_.size());
    return regions_[i];
  }
  size_t regions() const { return regions_.size(); }
  template <class A>
  const A& attributes() const {
    return static_cast<const A&>(*attributes_);
  }
  // Raises ShapeError[op.rule] unless `ok`. The message is composed only then.
  template <class... Parts>
  void require(bool ok, const char* rule, const Parts&... message) const {
    if (!ok) fail_shape(rule, cat(message...));
  }
  // The same with DTypeError.
  template <class... Parts>
  void require_dtype(bool ok, const char* rule, const Parts&... message) const {
    if (!ok) fail_dtype(rule, cat(message...));
  }
  // Requires `count` inputs (rule "arity").
  void require_inputs(size_t count) const;
  // Requires `axis` in [0, rank).
  void require_axis(int64_t axis, size_t rank, const char* rule) const;
  void result(TensorType type) { results.push_back(std::move(type)); }

  std::vector<TensorType> results;

 private:
  [[noreturn]] void fail_shape(const char* rule, const std::string& message) const;
  [[noreturn]] void fail_missing(const char* what, size_t i, size_t count) const;
  [[noreturn]] void fail_dtype(const char* rule, const std::string& message) const;
  const OpDef& op_;
  const Attributes* attributes_;
  std::span<const TensorType* const> inputs_;
  std::span<const GraphPtr> regions_;
};

// Runs a region of the op that is being evaluated.
class RegionRunner {
 public:
  virtual ~RegionRunner() = default;
  virtual void run(const Graph& region, std::span<const ArrayView> arguments,
                   std::span<const MutableArrayView> results) = 0;
};

// Everything a reference body sees: row-major arrays of checked types. Output buffers never overlap inputs
// unless the op is kElementwise, where output and input elements of the same index may coincide.
struct EvalContext {
  const Attributes* attribute_struct = nullptr;
  std::span<const ArrayView> inputs;
  std::span<const MutableArrayView> outputs;
  std::span<const GraphPtr> regions;
  RegionRunner* runner = nullptr;
  const RunContext* context = nullptr;  // of the run
  Failure* failure = nullptr;           // where a fallible op says so

  const ArrayView& in(size_t i) const { return inputs[i]; }
  const MutableArrayView& out(size_t i) const { return outputs[i]; }
  template <class A>
  const A& attributes() const {
    return static_cast<const A&>(*attribute_struct);
  }
};

// Reverse mode of one call. The rule calls ops; whatever sink is current receives them. A rule sets the
// gradients of wanted inputs; an input it leaves undefined has gradient zero.
struct GradientContext {
  const Attributes* attribute_struct = nullptr;
  AttributesPtr attributes_ptr;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  std::span<const Tensor> cotangents;  // undefined = zero
  std::span<const GraphPtr> regions;
  std::vector<bool> wanted;
  std::vector<Tensor> gradients;

  const Tensor& in(size_t i) const { return inputs[i]; }
  const Tensor& out(size_t i) const { return outputs[i]; }
  bool wants(size_t i) const { return wanted[i]; }
  // The gradient that reaches output i; zeros when none does.
  Tensor cotangent(size_t i = 0) const;
  void set(size_t i, Tensor gradient) { gradients[i] = std::move(gradient); }
  template <class A>
  const A& attributes() const {
    return static_cast<const A&>(*attribute_struct);
  }
};

// Batching of one call: a batched input has an extra leading axis of `size`; the rule sets outputs, all
// batched. Where a composite's rule sets none, its decomposition is batched.
struct BatchContext {
  const OpDef& op;
  const AttributesPtr& attributes_ptr;
  std::span<const Tensor> inputs;
  std::span<const GraphPtr> regions;
  std::vector<bool> batched;
  int64_t size = 0;
  std::vector<Tensor> outputs;

  const Tensor& in(size_t i) const { return inputs[i]; }
  template <class A>
  const A& attributes() const {
    return static_cast<const A&>(*attributes_ptr);
  }
};

// The decomposition of a composite: calls ops, returns the results.
struct DecomposeContext {
  const Attributes* attribute_struct = nullptr;
  std::span<const Tensor> inputs;
  std::span<const GraphPtr> regions;

  const Tensor& in(size_t i) const { return inputs[i]; }
  template <class A>
  const A& attributes() const {
    return static_cast<const A&>(*attribute_struct);
  }
};

// Arithmetic and traffic of one call, for plans and reports.
struct Cost {
  double flops = 0;
  double bytes = 0;
};

struct OpDef {
  const char* name = nullptr;  // "tanh": prints as "stablehlo.tanh", a composite as "espalier.tanh"
  const char* doc = nullptr;   // one paragraph: meaning, formula, constraints c1, c2, ...
  bool composite = false;      // not a StableHLO op: `decompose` is its meaning
  int version = 1;             // of a composite's decomposition
  AttributesFactory attributes = nullptr;
  void (*infer)(InferContext&) = nullptr;
  void (*eval)(EvalContext&) = nullptr;  // reference body; may be null for a composite
  std::vector<Tensor> (*decompose)(const DecomposeContext&) = nullptr;  // composites
  void (*gradient)(GradientContext&) = nullptr;
  const char* no_gradient = nullptr;  // the reason, for an op whose gradient is zero or undefined everywhere
  void (*batch)(BatchContext&) = nullptr;
  bool pinned = false;  // a barrier: passes neither merge, fold nor move it
  // May fail when it runs, as what talks to others: its body then calls failure->set, and the run ends there
  // with RunError[run.failed] before anything outside of it has changed (a fence). Passes treat it as pinned.
  bool fallible = false;
  Fusion fusion = Fusion::kOpaque;
  double flops_per_output = 0;  // for elementwise ops; others compute it in `cost`
  Cost (*cost)(const Attributes*, std::span<const TensorType* const> inputs,
               std::span<const TensorType> outputs) = nullptr;
  // Calls the op on small operands of a dtype, for the support table (ops/support.h). Needed only where the
  // rule takes no operands of one dtype under default attributes.
  void (*sample)(DType) = nullptr;
};

// The transforms of regions, for the rules of ops that have some. Defined by the room grad.
//
// Computes `region` on `inputs` in the current sink and returns the gradients of its inputs, weighted by one
// cotangent an output (undefined = zero). Undefined for an input that is not wanted or that nothing reached;
// a tensor that stands at several inputs gets its whole gradient at the first.
std::vector<Tensor> region_vjp(const Graph& region, std::span<const Tensor> inputs,
                               std::span<const Tensor> cotangents, const std::vector<bool>& wanted);
// Computes `region` in the current sink for `size` examples at once: a batched input or output has an extra
// leading axis. REQUIRES: `outputs_batched` covers depends(region, inputs_batched).
std::vector<Tensor> region_batch(const Graph& region, std::span<const Tensor> inputs,
                                 const std::vector<bool>& inputs_batched,
                                 const std::vector<bool>& outputs_batched, int64_t size);

// RunError[run.failed] of a call that failed, or what the failure says; `where` it ran: " in step 3 of 12 of
// "train"".
RunError failed_run(const OpDef& op, Location at, const Failure& failure, std::string_view where = {});

// Raises ShapeError[type.c1] for a size below 0, [type.c2] for more than 2^48 elements, [type.c3] for more
// than 1024 axes.
void check_type(const TensorType& type);
// Result types of a call, or an error. The only way types are computed.
std::vector<TensorType> infer_types(const OpDef& op, const Attributes* attributes,
                                    std::span<const TensorType* const> inputs,
                                    std::span<const GraphPtr> regions);

}  // namespace espalier
