#include "ops/collective.h"

namespace espalier {
namespace {

struct AllToAllAttributes final : CollectiveAttributes {
  int64_t split = 0, concat = 0, count = 1;
  void fields(FieldVisitor& v) override {
    CollectiveAttributes::fields(v);
    v.field("split_dimension", split);
    v.field("concat_dimension", concat);
    v.field("split_count", count);
  }
};

void infer_all_to_all(InferContext& c) {
  const auto& a = c.attributes<AllToAllAttributes>();
  c.require(c.size() > 0, "arity", "takes one or more inputs");
  check_groups(c, a.groups);
  c.require(a.count > 0, "c2", "split_count must be above 0, got ", a.count);
  for (size_t i = 0; i < c.size(); ++i) {
    c.require_axis(a.split, c.in(i).rank(), "c3");
    c.require_axis(a.concat, c.in(i).rank(), "c3");
    TensorType out = c.in(i);
    c.require(out.shape[a.split] % a.count == 0, "c4", "axis ", a.split, " of ", c.in(i),
              " cannot be cut in ", a.count, " equal parts");
    out.shape[a.split] /= a.count;
    out.shape[a.concat] *= a.count;
    c.result(std::move(out));
  }
  for (const auto& group : split_groups(a.groups.replica_groups)) {
    c.require(static_cast<int64_t>(group.size()) == a.count, "c5", "a group has ", group.size(),
              " processes, split_count is ", a.count);
  }
}

void eval_all_to_all(EvalContext& c) {
  const auto& a = c.attributes<AllToAllAttributes>();
  const GridPlace place = grid_place(c.context);
  std::vector<int64_t> members = own_group(place, a.groups, ChannelMeans::kPartitions);
  if (members.empty()) members = {place.process()};
  if (static_cast<int64_t>(members.size()) != a.count) {
    c.failure->set(cat("split_count is ", a.count, ", its group has ", members.size(), " processes"));
    return;
  }
  const auto meeting = meet(c, "all_to_all", members);
  if (!meeting) return;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Shape box = c.in(i).type->shape;
    const Dims from = row_major_strides(box), to = row_major_strides(c.out(i).type->shape);
    box[a.split] /= a.count;
    int64_t base = 0;
    for (const auto& given : meeting->given) {
      const int64_t start = static_cast<int64_t>(meeting->place) * box[a.split] * from[a.split];
      copy_box(given[i].view(), from, start, c.out(i), to, base, box);
      base += box[a.concat] * to[a.concat];
    }
  }
}

void gradient_all_to_all(GradientContext& c) {
  const auto& a = c.attributes<AllToAllAttributes>();
  const auto [positions, cotangents] = wanted_cotangents(c);
  if (positions.empty()) return;
  const std::vector<Tensor> back = all_to_all(cotangents, a.concat, a.split, a.count, a.groups);
  for (size_t k = 0; k < back.size(); ++k) c.set(positions[k], back[k]);
}

void batch_all_to_all(BatchContext& c) {
  const auto& a = c.attributes<AllToAllAttributes>();
  c.outputs = all_to_all(batch_expand_all(c), a.split + 1, a.concat + 1, a.count, a.groups);
}

}  // namespace

const OpDef op_all_to_all = {
    .name = "all_to_all",
    .doc =
        "Cuts each operand in `split_count` parts along `split_dimension`, gives part i to process i of the "
        "group and joins what it gets along `concat_dimension`, in the group's order. With a channel the ids "
        "are partitions. c1: ids are not negative and stand once. c2: split_count above 0. c3: axes in "
        "range. c4: equal parts. c5: groups of split_count.",
    .attributes = make_attributes<AllToAllAttributes>,
    .infer = infer_all_to_all,
    .eval = eval_all_to_all,
    .gradient = gradient_all_to_all,
    .batch = batch_all_to_all,
    .fallible = true,
};

std::vector<Tensor> all_to_all(const std::vector<Tensor>& values, int64_t split_axis, int64_t concat_axis,
                               int64_t count, const CollectiveGroups& groups, Location at) {
  CallScope scope(at);
  auto attributes = std::make_shared<AllToAllAttributes>();
  attributes->groups = groups;
  attributes->split = values.empty() ? 0 : normalize_axis("all_to_all", split_axis, values[0].rank());
  attributes->concat = values.empty() ? 0 : normalize_axis("all_to_all", concat_axis, values[0].rank());
  attributes->count = count;
  return emit_all(op_all_to_all, attributes, values);
}

}  // namespace espalier
