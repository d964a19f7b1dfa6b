#include "strategy/combine_replicas.h"

#include <algorithm>
#include <array>

#include "base/format.h"
#include "espalier/ops.h"
#include "ir/sink.h"
#include "ops/collective.h"
#include "strategy/header.h"

namespace espalier {
namespace {

// Results that one all_reduce takes, as places in a list of results.
struct Bucket {
  explicit Bucket(DType dtype) : dtype(dtype) {}
  DType dtype;
  size_t bytes = 0;
  std::vector<size_t> results;
};

// The last gradients first: backward passes end with the first layers.
std::vector<Bucket> buckets_of(const NamedTensors& results, const CombineOptions& options) {
  std::vector<Bucket> out;
  for (size_t i = results.size(); i-- > 0;) {
    if (!is_gradient(results[i].name)) continue;
    const TensorType& type = results[i].value.type();
    const auto of_dtype = [&](const Bucket& bucket) { return bucket.dtype == type.dtype; };
    const auto last = std::find_if(out.rbegin(), out.rend(), of_dtype);
    Bucket* open = last == out.rend() ? nullptr : &*last;
    if (!open || open->bytes >= (open == &out.front() ? options.first_bucket : options.bucket))
      open = &out.emplace_back(type.dtype);
    open->bytes += type.bytes();
    open->results.push_back(i);
  }
  return out;
}

void reduce_gradients(NamedTensors& results, const CombineOptions& options) {
  size_t number = 0;
  for (const Bucket& bucket : buckets_of(results, options)) {
    const NameScope scope(cat("gradients/", number++));
    std::vector<Tensor> values;
    const DType travel = bucket.dtype == DType::kF32 ? options.travel : bucket.dtype;
    for (const size_t i : bucket.results) values.push_back(convert(results[i].value, travel));
    const std::vector<Tensor> sums = all_reduce(values);
    for (size_t k = 0; k < sums.size(); ++k)
      results[bucket.results[k]].value = convert(sums[k], bucket.dtype);
  }
}

void add_increments(Header& header, const TracedGraph& program, const Inlined& step) {
  for (const TracedObservation& observed : program.observations) {
    for (const std::string& name : observed.increments)
      header.add(name, step.result(name), observed.how.combination);
  }
}

// Increments become those of all rows.
void take_increments(const Header& header, const TracedGraph& program, Inlined& step) {
  for (const TracedObservation& observed : program.observations) {
    const std::vector<Tensor> all = header.combined(observed.how, observed.increments);
    for (size_t i = 0; i < all.size(); ++i)
      std::ranges::find(step.results, observed.increments[i], &NamedTensor::name)->value = all[i];
  }
}

bool is_equal_result(std::string_view name) { return name.starts_with("equal/"); }

}  // namespace

bool is_loss_sum(std::string_view result) {
  return result == "loss_sum" || result == "loss_weight" || result.starts_with("loss_sum/");
}

Rewrite combine_replicas(const CombineOptions& options) {
  const auto run = [options](const TracedGraph& program, bool again) {
    Rewritten out;
    out.program =
        trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
          Inlined step(program, in);
          step.assign_updates();
          Header header(options.world);
          for (const NamedTensor& result : step.results) {
            if (is_loss_sum(result.name)) header.add(result.name, result.value, Combination::kSum);
          }
          for (const NamedTensor& result : step.results) {
            if (is_equal_result(result.name)) header.add(result.name, result.value, Combination::kEqual);
          }
          add_increments(header, program, step);
          header.exchange();
          Observation as_first;
          as_first.combination = Combination::kEqual;
          for (NamedTensor& result : step.results) {
            if (is_loss_sum(result.name)) result.value = header.combined(result.name);
            if (is_equal_result(result.name)) result.value = header.combined(as_first, {result.name})[0];
          }
          const auto place_of = [&](const std::string& name) -> Tensor& {
            return std::ranges::find(step.results, name, &NamedTensor::name)->value;
          };
          take_increments(header, program, step);
          const Tensor weight = step.result("loss_weight");
          const Tensor some = compare(weight, 0, Comparison::kGT);
          place_of("loss") = select(some, step.result("loss_sum") / select(some, weight, 1), 0);
          reduce_gradients(step.results, options);
          return step.results;
        });
    return out;
  };
  return {"strategy", run};
}

Rewrite combine_observations(int parts, bool shards) {
  const auto run = [parts, shards](const TracedGraph& program, bool again) {
    Rewritten out;
    out.program =
        trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
          Inlined step(program, in);
          step.assign_updates();
          Header header(parts, shards ? Header::By::kSum : Header::By::kGather);
          add_increments(header, program, step);
          header.exchange();
          take_increments(header, program, step);
          return step.results;
        });
    return out;
  };
  return {"combine_observations", run};
}

}  // namespace espalier
