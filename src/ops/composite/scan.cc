#include "ops/composite/scan.h"

namespace espalier {
namespace {

void infer_scan(InferContext& c) {
  const auto& a = c.attributes<ScanAttributes>();
  require_regions(c, 1);
  const Graph& body = *c.region(0);
  const auto total = static_cast<int64_t>(c.size());
  c.require(a.length >= 0 && a.carries >= 0 && a.scanned >= 0 && a.carries + a.scanned <= total, "c1",
            a.carries, " carried and ", a.scanned, " scanned values over ", a.length, " steps do not fit ",
            total, " inputs");
  c.require(static_cast<int64_t>(body.inputs().size()) == total, "c2", "the body takes ",
            body.inputs().size(), " values, the call has ", total, " inputs");
  c.require(static_cast<int64_t>(body.outputs().size()) >= a.carries, "c4", "the body gives ",
            body.outputs().size(), " values, the loop carries ", a.carries);
  for (int64_t i = 0; i < total; ++i) {
    const bool sliced = i >= a.carries && i < a.carries + a.scanned;
    const TensorType &given = c.in(i), &taken = input_type(body, i);
    c.require(!sliced || (given.rank() > 0 && given.shape[0] == a.length), "c3",
              "scanned values must have a leading axis of ", a.length, ": value ", i - a.carries, " is ",
              given);
    c.require((sliced ? slice_type(given) : given) == taken, "c2", "the body takes ", taken, " as value ", i,
              ", the call gives ", sliced ? slice_type(given) : given);
  }
  for (int64_t i = 0; i < static_cast<int64_t>(body.outputs().size()); ++i) {
    const TensorType& type = output_type(body, i);
    if (i >= a.carries) {
      c.result(stack_type(type, a.length));
      continue;
    }
    c.require(type == c.in(i), "c4", "the body must give the types it carries: value ", i, " is ", c.in(i),
              ", becomes ", type);
    c.result(type);
  }
}

// Slices are offsets into the scanned arrays and the stacks; carries alternate between two buffers.
void eval_scan(EvalContext& c) {
  const auto& a = c.attributes<ScanAttributes>();
  const Graph& body = *c.regions[0];
  const auto carries = static_cast<size_t>(a.carries), scanned = static_cast<size_t>(a.scanned);
  std::vector<ArrayView> values(c.inputs.begin(), c.inputs.end());
  for (size_t i = carries; i < carries + scanned; ++i) values[i].type = &input_type(body, i);
  std::vector<MutableArrayView> results;
  std::vector<Buffer> buffers[2];
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    results.push_back({&output_type(body, i), c.out(i).data});
    if (i >= carries) continue;
    for (auto& side : buffers) side.push_back(allocate_buffer(c.in(i).type->bytes()));
  }
  for (int64_t step = 0; step < a.length; ++step) {
    const int64_t t = a.reverse ? a.length - 1 - step : step;
    for (size_t i = carries; i < carries + scanned; ++i)
      values[i].data = c.in(i).as<std::byte>() + static_cast<size_t>(t) * values[i].type->bytes();
    for (size_t i = 0; i < results.size(); ++i) {
      results[i].data = i < carries
                            ? buffers[step % 2][i].get()
                            : c.out(i).as<std::byte>() + static_cast<size_t>(t) * results[i].type->bytes();
    }
    c.runner->run(body, values, results);
    for (size_t i = 0; i < carries; ++i) values[i].data = results[i].data;
  }
  for (size_t i = 0; i < carries; ++i) {
    if (c.out(i).type->bytes()) std::memcpy(c.out(i).data, values[i].data, c.out(i).type->bytes());
  }
}

// A while loop over (step, carries..., stacks of y...).
std::vector<Tensor> decompose_scan(const DecomposeContext& c) {
  const auto& a = c.attributes<ScanAttributes>();
  const Graph& body = *c.regions[0];
  const auto carries = static_cast<size_t>(a.carries), scanned = static_cast<size_t>(a.scanned);
  const size_t state = 1 + body.outputs().size();
  std::vector<Tensor> inputs{Tensor::scalar(int64_t{0})};
  inputs.insert(inputs.end(), c.inputs.begin(), c.inputs.begin() + a.carries);
  for (size_t i = carries; i + 1 < state; ++i)
    inputs.push_back(constant_like(stack_type(output_type(body, i), a.length), 0));
  if (a.length == 0) return {inputs.begin() + 1, inputs.end()};  // no slice to take a box of
  inputs.insert(inputs.end(), c.inputs.begin() + a.carries, c.inputs.end());

  const auto box_at = [](const Tensor& stack, const Tensor& t) {
    std::vector<Tensor> starts(stack.rank(), Tensor::scalar(int64_t{0}));
    starts[0] = t;
    return starts;
  };
  const auto step = [&](std::span<const Tensor> values) {
    const Tensor t = a.reverse ? a.length - 1 - values[0] : values[0];
    std::vector<Tensor> at(values.begin() + 1, values.begin() + 1 + a.carries);
    for (size_t i = 0; i < scanned; ++i) {
      const Tensor& xs = values[state + i];
      Shape sizes = xs.shape();
      sizes[0] = 1;
      at.push_back(reshape(dynamic_slice(xs, box_at(xs, t), sizes), slice_type(xs.type()).shape));
    }
    for (const Tensor& capture : values.subspan(state + scanned)) at.push_back(capture);
    std::vector<Tensor> out = inline_graph(body, at);
    for (size_t i = carries; i + 1 < state; ++i) {
      const Tensor& stack = values[1 + i];
      out[i] =
          dynamic_update_slice(stack, reshape(out[i], stack_type(out[i].type(), 1).shape), box_at(stack, t));
    }
    out.insert(out.begin(), values[0] + 1);
    return out;
  };
  const std::vector<TensorType> types = types_of(inputs);
  const RegionSpec specs[] = {{types,
                               [&](std::span<const Tensor> values) -> std::vector<Tensor> {
                                 return {compare(values[0], a.length, Comparison::kLT)};
                               }},
                              {types, step}};
  std::vector<Tensor> out = emit_regions(op_while, nullptr, std::move(inputs), specs);
  out.erase(out.begin());
  return out;
}

// Runs forward again, keeping the carries that each step begins with, then backward through the steps. Float
// carries that depend on a wanted input carry their gradient; wanted captures carry their sum.
void gradient_scan(GradientContext& c) {
  const auto& a = c.attributes<ScanAttributes>();
  const Graph& body = *c.regions[0];
  const auto carries = static_cast<size_t>(a.carries), scanned = static_cast<size_t>(a.scanned);
  const size_t total = c.inputs.size(), stacks = c.outputs.size() - carries;

  std::vector<bool> active(total);
  for (size_t i = 0; i < total; ++i) active[i] = c.wants(i) && is_float(c.in(i).dtype());
  for (bool grew = true; grew;) {
    const std::vector<bool> after = depends(body, active);
    grew = false;
    for (size_t i = 0; i < carries; ++i) {
      if (!after[i] || active[i] || !is_float(c.in(i).dtype())) continue;
      active[i] = grew = true;
    }
  }
  std::vector<size_t> carried, gathered, sliced, reached;  // gradients of carries, captures, slices; stacks
  for (size_t i = 0; i < total; ++i) {
    if (active[i]) (i < carries ? carried : i < carries + scanned ? sliced : gathered).push_back(i);
  }
  for (size_t i = 0; i < stacks; ++i) {
    if (c.cotangents[carries + i].defined()) reached.push_back(i);
  }

  std::vector<TensorType> step_types;
  for (size_t i = 0; i < total; ++i) step_types.push_back(input_type(body, i));
  const std::vector<Tensor> forward = emit_scan(
      a, {c.inputs.begin(), c.inputs.end()},
      {step_types, [&](std::span<const Tensor> values) {
         std::vector<Tensor> out = inline_graph(body, values);
         out.resize(carries);
         out.insert(out.end(), values.begin(), values.begin() + static_cast<std::ptrdiff_t>(carries));
         return out;
       }});

  std::vector<Tensor> inputs;
  std::vector<TensorType> types;
  const auto pass = [&](const Tensor& tensor, const TensorType& type) {
    inputs.push_back(tensor);
    types.push_back(type);
  };
  for (const size_t i : carried) pass(c.cotangent(i), c.in(i).type());
  for (const size_t i : gathered) pass(constant_like(c.in(i).type(), 0), c.in(i).type());
  const size_t sums = inputs.size();
  for (size_t i = 0; i < carries; ++i) pass(forward[carries + i], c.in(i).type());
  for (size_t i = carries; i < carries + scanned; ++i) pass(c.in(i), step_types[i]);
  for (const size_t i : reached) pass(c.cotangents[carries + i], output_type(body, carries + i));
  for (size_t i = carries + scanned; i < total; ++i) pass(c.in(i), c.in(i).type());

  ScanAttributes backward;
  backward.carries = static_cast<int64_t>(sums);
  backward.scanned = static_cast<int64_t>(carries + scanned + reached.size());
  backward.length = a.length;
  backward.reverse = !a.reverse;
  const std::vector<Tensor> out =
      emit_scan(backward, std::move(inputs),
                {types, [&](std::span<const Tensor> values) {
                   const auto steps = values.subspan(sums, carries + scanned);
                   const auto weights = values.subspan(sums + carries + scanned, reached.size());
                   const auto captures = values.subspan(sums + carries + scanned + reached.size());
                   std::vector<Tensor> at(steps.begin(), steps.end());
                   at.insert(at.end(), captures.begin(), captures.end());
                   std::vector<Tensor> cotangents(carries + stacks);
                   for (size_t k = 0; k < carried.size(); ++k) cotangents[carried[k]] = values[k];
                   for (size_t k = 0; k < reached.size(); ++k) cotangents[carries + reached[k]] = weights[k];
                   const std::vector<Tensor> found = region_vjp(body, at, cotangents, active);
                   const auto gradient_of = [&](size_t i) {
                     return found[i].defined() ? found[i] : constant_like(step_types[i], 0);
                   };
                   std::vector<Tensor> results;
                   for (const size_t i : carried) results.push_back(gradient_of(i));
                   for (size_t k = 0; k < gathered.size(); ++k) {
                     const Tensor &sum = values[carried.size() + k], &term = found[gathered[k]];
                     results.push_back(term.defined() ? sum + term : sum);
                   }
                   for (const size_t i : sliced) results.push_back(gradient_of(i));
                   return results;
                 }});
  size_t next = 0;
  for (const auto* list : {&carried, &gathered, &sliced}) {
    for (const size_t i : *list) c.set(i, out[next++]);
  }
}

Tensor swap_leading(const Tensor& x) {
  Dims axes = Dims::range(x.rank());
  std::swap(axes[0], axes[1]);
  return transpose(x, axes);
}

void batch_scan(BatchContext& c) {
  const auto& a = c.attributes<ScanAttributes>();
  const Graph& body = *c.regions[0];
  const auto carries = static_cast<size_t>(a.carries), scanned = static_cast<size_t>(a.scanned);
  std::vector<bool> batched = c.batched, after;
  for (bool grew = true; grew;) {
    after = depends(body, batched);
    grew = false;
    for (size_t i = 0; i < carries; ++i) {
      if (after[i] && !batched[i]) batched[i] = grew = true;
    }
  }
  for (size_t i = 0; i < carries; ++i) after[i] = batched[i];
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  std::vector<TensorType> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool slices = i >= carries && i < carries + scanned;
    if (i < carries && batched[i]) inputs[i] = batch_expand(c, i);
    if (slices && batched[i]) inputs[i] = swap_leading(inputs[i]);
    types.push_back(slices ? slice_type(inputs[i].type()) : inputs[i].type());
  }
  c.outputs = emit_scan(a, inputs, {types, [&](std::span<const Tensor> values) {
                                      return region_batch(body, values, batched, after, c.size);
                                    }});
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!after[i])
      c.outputs[i] = repeat_leading(c.outputs[i], c.size);
    else if (i >= carries)
      c.outputs[i] = swap_leading(c.outputs[i]);
  }
}

}  // namespace

const OpDef op_scan = {
    .name = "scan",
    .doc =
        "Runs its region `length` times: (carries..., a slice of each scanned value..., captures...) gives "
        "(carries..., y...); results are the last carries and the stacked y. `reverse` begins with the last "
        "slice. c1: counts fit. c2: the region takes what the call gives. c3: scanned values have a leading "
        "axis of `length`. c4: the region gives the types it carries.",
    .composite = true,
    .attributes = make_attributes<ScanAttributes>,
    .infer = infer_scan,
    .eval = eval_scan,
    .decompose = decompose_scan,
    .gradient = gradient_scan,
    .batch = batch_scan,
    .sample =
        [](DType dtype) {
          auto attributes = std::make_shared<ScanAttributes>();
          attributes->carries = attributes->length = 1;
          sample_regions(op_scan, attributes, {constant_like({dtype, {2}}, 1)}, 0, 1);
        },
};

std::vector<Tensor> emit_scan(const ScanAttributes& attributes, std::vector<Tensor> inputs,
                              const RegionSpec& body) {
  return emit_regions(op_scan, std::make_shared<ScanAttributes>(attributes), std::move(inputs), {&body, 1});
}

TensorType slice_type(const TensorType& type) {
  TensorType out = type;
  out.shape.erase(0);
  return out;
}

TensorType stack_type(const TensorType& type, int64_t length) {
  TensorType out = type;
  out.shape.insert(0, length);
  return out;
}

}  // namespace espalier
