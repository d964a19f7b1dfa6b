#include <algorithm>

#include "ops/collective.h"

namespace espalier {
namespace {

struct CollectiveBroadcastAttributes final : CollectiveAttributes {
  bool dynamic_root = false;
  void fields(FieldVisitor& v) override {
    CollectiveAttributes::fields(v);
    v.field("has_dynamic_root", dynamic_root);
  }
};

void infer_collective_broadcast(InferContext& c) {
  const auto& a = c.attributes<CollectiveBroadcastAttributes>();
  check_groups(c, a.groups);
  c.require(c.size() > (a.dynamic_root ? 1u : 0u), "arity", "takes one or more inputs",
            a.dynamic_root ? ", then the roots" : "");
  const size_t count = c.size() - (a.dynamic_root ? 1 : 0);
  if (a.dynamic_root) {
    const TensorType& root = c.in(count);
    c.require_dtype(root.dtype == DType::kI32, "c2", "the roots are i32, got ", root);
    c.require(root.shape == Shape{static_cast<int64_t>(count)}, "c2", "one root an operand: ", count,
              " operands, the roots are ", root);
  }
  for (size_t i = 0; i < count; ++i) c.result(c.in(i));
}

void eval_collective_broadcast(EvalContext& c) {
  const auto& a = c.attributes<CollectiveBroadcastAttributes>();
  const std::vector<int64_t> members = own_group(grid_place(c.context), a.groups, ChannelMeans::kPartitions);
  std::optional<Meeting> meeting;
  if (!members.empty()) {
    meeting = meet(c, "collective_broadcast", members);
    if (!meeting) return;
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const size_t bytes = c.out(i).type->bytes();
    if (!meeting) {
      if (bytes) std::memset(c.out(i).data, 0, bytes);
      continue;
    }
    const int64_t root = a.dynamic_root ? c.in(c.outputs.size()).as<int32_t>()[i] : 0;
    if (root < 0 || root >= static_cast<int64_t>(members.size())) {
      c.failure->set(cat("the root ", root, " is none of the ", members.size(), " processes of its group"));
      return;
    }
    if (bytes) std::memcpy(c.out(i).data, meeting->given[static_cast<size_t>(root)][i].raw(), bytes);
  }
}

// Whether the process that runs is the first of its group.
Tensor is_root(const CollectiveGroups& groups) {
  const Tensor own = groups.channel > 0 ? partition_id() : replica_id();
  auto all = split_groups(groups.replica_groups);
  if (all.empty()) all = {{0}};
  Tensor out;
  for (const auto& group : all) {
    if (group.empty()) continue;
    const Tensor hit =
        compare(own, constant_like(own.type(), static_cast<double>(group[0])), Comparison::kEQ);
    out = out.defined() ? bitwise_or(out, hit) : hit;
  }
  return out;
}

// At least on the first of each group, the sum of what its processes hold. No reduction knows groups of
// partitions alone, so there each sends its own.
Tensor sum_at_root(const Tensor& x, const CollectiveGroups& groups) {
  auto all = split_groups(groups.replica_groups);
  if (groups.channel <= 0) {
    // A sum knows no root: it is made in the order of ids.
    for (auto& group : all) std::ranges::sort(group);
    return all_reduce({x}, Reducer::kSum, {flat_groups(all)})[0];
  }
  if (all.empty()) {
    throw UnsupportedError("collective_broadcast.gradient",
                           "the gradient of a broadcast over partitions needs replica_groups");
  }
  Tensor sum = x;
  for (size_t k = 1;; ++k) {
    Dims pairs;
    for (const auto& group : all) {
      if (k >= group.size()) continue;
      pairs.push_back(group[k]);
      pairs.push_back(group[0]);
    }
    if (pairs.empty()) return sum;
    sum = sum + collective_permute({x}, pairs, groups.channel)[0];
  }
}

// The root gets the sum over its group, all others nothing.
void gradient_collective_broadcast(GradientContext& c) {
  const auto& a = c.attributes<CollectiveBroadcastAttributes>();
  const auto [positions, cotangents] = wanted_cotangents(c);
  if (positions.empty()) return;
  if (a.dynamic_root)
    throw UnsupportedError("collective_broadcast.gradient", "a broadcast from dynamic roots has no gradient");
  const Tensor root = is_root(a.groups);
  for (size_t k = 0; root.defined() && k < positions.size(); ++k) {
    const Tensor sum = sum_at_root(cotangents[k], a.groups);
    c.set(positions[k], select(broadcast_to(root, sum.shape()), sum, 0));
  }
}

void batch_collective_broadcast(BatchContext& c) {
  const auto& a = c.attributes<CollectiveBroadcastAttributes>();
  const size_t count = c.inputs.size() - (a.dynamic_root ? 1 : 0);
  std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.end());
  if (a.dynamic_root && c.batched[count])
    throw UnsupportedError("collective_broadcast.batch",
                           "the roots of a batched broadcast must not be batched");
  for (size_t i = 0; i < count; ++i) inputs[i] = batch_expand(c, i);
  c.outputs = emit_all(c.op, c.attributes_ptr, inputs);
}

}  // namespace

const OpDef op_collective_broadcast = {
    .name = "collective_broadcast",
    .doc =
        "What the first process of the group holds, or the one that `has_dynamic_root` roots name by place; "
        "zeros for a process in no group. With a channel the ids are partitions, without one replicas. c1: "
        "ids are not negative and stand once. c2: one i32 root an operand.",
    .attributes = make_attributes<CollectiveBroadcastAttributes>,
    .infer = infer_collective_broadcast,
    .eval = eval_collective_broadcast,
    .gradient = gradient_collective_broadcast,
    .batch = batch_collective_broadcast,
    .fallible = true,
};

std::vector<Tensor> collective_broadcast(const std::vector<Tensor>& values, const CollectiveGroups& groups,
                                         Location at) {
  CallScope scope(at);
  auto attributes = std::make_shared<CollectiveBroadcastAttributes>();
  attributes->groups = groups;
  return emit_all(op_collective_broadcast, attributes, values);
}

}  // namespace espalier
