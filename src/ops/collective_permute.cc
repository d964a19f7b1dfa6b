#include <algorithm>

#include "ops/collective.h"

namespace espalier {
namespace {

struct CollectivePermuteAttributes final : Attributes {
  Dims pairs;  // source, target, source, target, ...
  int64_t channel = 0, channel_type = 0;
  void fields(FieldVisitor& v) override {
    v.field("source_target_pairs", pairs);
    v.field("channel_handle.handle", channel);
    v.field("channel_handle.type", channel_type);
  }
};

void infer_collective_permute(InferContext& c) {
  const auto& a = c.attributes<CollectivePermuteAttributes>();
  c.require(c.size() > 0, "arity", "takes one or more inputs");
  c.require(a.pairs.size() % 2 == 0, "c1", "source_target_pairs are pairs, got ", a.pairs);
  for (size_t i = 0; i < a.pairs.size(); ++i) {
    c.require(a.pairs[i] >= 0, "c1", "ids of processes are not negative, got ", a.pairs[i]);
    for (size_t k = i % 2; k < i; k += 2) {
      c.require(a.pairs[i] != a.pairs[k], "c2", a.pairs[i], " stands twice as a ",
                i % 2 ? "target" : "source");
    }
  }
  for (size_t i = 0; i < c.size(); ++i) c.result(c.in(i));
}

// Everybody of the row meets; who is no target gets zeros.
void eval_collective_permute(EvalContext& c) {
  const auto& a = c.attributes<CollectivePermuteAttributes>();
  const GridPlace place = grid_place(c.context);
  const bool partitions = a.channel > 0;
  const int64_t own = partitions ? place.partition : place.replica;
  CollectiveGroups row;
  row.channel = a.channel;
  const std::vector<int64_t> members = own_group(place, row, ChannelMeans::kPartitions);
  for (size_t i = 0; i < a.pairs.size(); ++i) {
    if (a.pairs[i] < static_cast<int64_t>(members.size())) continue;
    c.failure->set(cat("a pair names process ", a.pairs[i], " of ", members.size()));
    return;
  }
  const auto meeting = meet(c, "collective_permute", members);
  if (!meeting) return;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const size_t bytes = c.out(i).type->bytes();
    if (!bytes) continue;
    std::memset(c.out(i).data, 0, bytes);
    for (size_t k = 0; k + 1 < a.pairs.size(); k += 2) {
      if (a.pairs[k + 1] == own)
        std::memcpy(c.out(i).data, meeting->given[static_cast<size_t>(a.pairs[k])][i].raw(), bytes);
    }
  }
}

void gradient_collective_permute(GradientContext& c) {
  const auto& a = c.attributes<CollectivePermuteAttributes>();
  const auto [positions, cotangents] = wanted_cotangents(c);
  if (positions.empty()) return;
  Dims back = a.pairs;
  for (size_t k = 0; k + 1 < back.size(); k += 2) std::swap(back[k], back[k + 1]);
  const std::vector<Tensor> sent = collective_permute(cotangents, back, a.channel);
  for (size_t k = 0; k < sent.size(); ++k) c.set(positions[k], sent[k]);
}

}  // namespace

const OpDef op_collective_permute = {
    .name = "collective_permute",
    .doc =
        "The target of each pair gets what its source holds; who is no target gets zeros. With a channel the "
        "ids are partitions, without one replicas. c1: pairs of ids that are not negative. c2: no source and "
        "no target stands twice.",
    .attributes = make_attributes<CollectivePermuteAttributes>,
    .infer = infer_collective_permute,
    .eval = eval_collective_permute,
    .gradient = gradient_collective_permute,
    .batch = batch_elementwise,
    .fallible = true,
};

std::vector<Tensor> collective_permute(const std::vector<Tensor>& values, const Dims& pairs, int64_t channel,
                                       Location at) {
  CallScope scope(at);
  auto attributes = std::make_shared<CollectivePermuteAttributes>();
  attributes->pairs = pairs;
  attributes->channel = channel;
  return emit_all(op_collective_permute, attributes, values);
}

}  // namespace espalier
