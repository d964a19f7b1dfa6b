#include "espalier/control.h"
#include "ops/regions.h"

namespace espalier {
namespace {

constexpr size_t kCondition = 0, kBody = 1;

void infer_while(InferContext& c) {
  require_regions(c, 2);
  require_region_inputs(c, kCondition, 0, "c1");
  require_region_inputs(c, kBody, 0, "c1");
  const Graph &condition = *c.region(kCondition), &body = *c.region(kBody);
  c.require(condition.outputs().size() == 1 && output_type(condition, 0) == TensorType{DType::kBool, {}},
            "c2", "the condition must give bool[], gives ", output_types(condition));
  c.require(body.outputs().size() <= c.size(), "c3", "the body gives ", body.outputs().size(),
            " values, the loop carries at most ", c.size());
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    c.require(output_type(body, i) == c.in(i), "c3", "the body must give the types it takes: value ", i,
              " is ", c.in(i), ", becomes ", output_type(body, i));
    c.result(c.in(i));
  }
}

void eval_while(EvalContext& c) {
  const size_t carries = c.outputs.size();
  std::vector<ArrayView> values(c.inputs.begin(), c.inputs.end());
  std::vector<Buffer> buffers[2];
  std::vector<MutableArrayView> next[2];
  for (int side = 0; side < 2; ++side) {
    for (const MutableArrayView& out : c.outputs) {
      buffers[side].push_back(allocate_buffer(out.type->bytes()));
      next[side].push_back({out.type, buffers[side].back().get()});
    }
  }
  const TensorType predicate{DType::kBool, {}};
  bool again = false;
  const MutableArrayView verdict{&predicate, &again};
  for (int side = 0;; side = 1 - side) {
    c.runner->run(*c.regions[kCondition], values, {&verdict, 1});
    if (!again) break;
    c.runner->run(*c.regions[kBody], values, next[side]);
    for (size_t i = 0; i < carries; ++i) values[i] = next[side][i];
  }
  for (size_t i = 0; i < carries; ++i) {
    if (c.out(i).type->bytes()) std::memcpy(c.out(i).data, values[i].data, c.out(i).type->bytes());
  }
}

void gradient_while(GradientContext&) {
  throw UnsupportedError("while.gradient", "a loop without a bound keeps too little for reverse mode",
                         "bound it: while_loop(max_iterations)");
}

void batch_while(BatchContext& c) {
  const Graph &condition = *c.regions[kCondition], &body = *c.regions[kBody];
  const size_t carries = body.outputs().size();
  std::vector<bool> batched = c.batched;
  bool each = false;
  for (bool grew = true; grew;) {
    each = depends(condition, batched)[0];
    std::vector<bool> after = depends(body, batched);
    grew = false;
    for (size_t i = 0; i < carries; ++i) {
      if (batched[i] || !(each || after[i])) continue;
      batched[i] = grew = true;
    }
  }
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  for (size_t i = 0; i < carries; ++i) {
    if (batched[i]) inputs[i] = batch_expand(c, i);
  }
  const std::vector<bool> carried(batched.begin(), batched.begin() + static_cast<std::ptrdiff_t>(carries));
  const auto holds = [&](std::span<const Tensor> values) {
    return region_batch(condition, values, batched, {each}, c.size)[0];
  };
  const std::vector<TensorType> types = types_of(inputs);
  const RegionSpec specs[] = {{types,
                               [&](std::span<const Tensor> values) -> std::vector<Tensor> {
                                 return {each ? reduce_or(holds(values), {0}) : holds(values)};
                               }},
                              {types, [&](std::span<const Tensor> values) {
                                 std::vector<Tensor> out =
                                     region_batch(body, values, batched, carried, c.size);
                                 if (!each) return out;
                                 const Tensor running = holds(values);
                                 for (size_t i = 0; i < carries; ++i)
                                   out[i] = select_examples(running, out[i], values[i]);
                                 return out;
                               }}};
  c.outputs = emit_regions(op_while, nullptr, inputs, specs);
  for (size_t i = 0; i < carries; ++i) {
    if (!batched[i]) c.outputs[i] = repeat_leading(c.outputs[i], c.size);
  }
}

}  // namespace

const OpDef op_while = {
    .name = "while",
    .doc =
        "While the first region gives true, the carried values become what the second region makes of them. "
        "Inputs: carried values, then what the regions capture. c1: both regions take all inputs. c2: the "
        "condition gives bool[]. c3: the body gives the carried types.",
    .infer = infer_while,
    .eval = eval_while,
    .gradient = gradient_while,
    .batch = batch_while,
    .sample =
        [](DType dtype) {
          while_loop([](const Tensor&) { return Tensor::scalar(false); }, [](const Tensor& x) { return x; },
                     constant_like({dtype, {2}}, 1));
        },
};

}  // namespace espalier
