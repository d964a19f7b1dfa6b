#include "runtime/execute.h"

#include "base/float_environment.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "kernels/kernel.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

std::vector<Literal> run_plan(const Call& call) {
  GraphBuilder builder;
  std::vector<Literal> inputs;
  {
    SinkScope scope(builder);
    std::vector<Tensor> arguments;
    for (const Tensor& input : call.inputs) {
      arguments.push_back(builder.argument("x", input.type()));
      inputs.push_back(input.node()->literal);
    }
    for (const Tensor& result : emit_all(call.op, call.attributes, arguments, call.regions))
      builder.result("y", result);
  }
  return run(*compile(builder.finish()), inputs);
}

std::vector<Literal> run_kernel(const Call& call) {
  std::vector<const TensorType*> types, result_types;
  for (const Tensor& input : call.inputs) types.push_back(&input.type());
  const std::vector<TensorType> results = infer_types(call.op, call.attributes.get(), types, call.regions);
  for (const TensorType& type : results) result_types.push_back(&type);
  const PreparedKernel kernel = prepare_kernel({call.op, call.attributes.get(), types, result_types});
  if (!kernel.run) return {};
  std::vector<Literal> dense, out;
  std::vector<const void*> in;
  std::vector<void*> to;
  for (const Tensor& input : call.inputs) {
    dense.push_back(input.node()->literal.expanded());
    in.push_back(dense.back().raw());
  }
  for (const TensorType& type : results) {
    Buffer buffer = allocate_buffer(type.bytes());
    to.push_back(buffer.get());
    out.emplace_back(type, std::move(buffer));
  }
  const Buffer workspace = allocate_buffer(kernel.workspace);
  const FloatEnvironment mode;
  kernel.run({kernel.params.get(), in.data(), to.data(), workspace.get()});
  return out;
}

}  // namespace

std::vector<Literal> execute(const Call& call) {
  for (const Tensor& input : call.inputs) {
    if (!input.concrete()) return evaluate(call);
  }
  if (!call.regions.empty() || (!call.op.eval && call.op.decompose)) return run_plan(call);
  if (!call.inputs.empty() && has_kernel(call.op, call.inputs[0].dtype())) {
    if (std::vector<Literal> out = run_kernel(call); !out.empty()) return out;
  }
  return evaluate(call);
}

}  // namespace espalier
