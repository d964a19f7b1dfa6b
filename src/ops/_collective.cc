#include <algorithm>

#include "ops/collective.h"
#include "ops/registry.h"

namespace espalier {

Dims flat_groups(const std::vector<std::vector<int64_t>>& groups) {
  Dims out;
  for (const auto& group : groups) {
    for (const int64_t id : group) out.push_back(id);
    out.push_back(-1);
  }
  return out;
}

std::vector<std::vector<int64_t>> split_groups(const Dims& flat) {
  std::vector<std::vector<int64_t>> out;
  bool open = false;
  for (size_t i = 0; i < flat.size(); ++i) {
    if (!open) out.emplace_back();
    open = flat[i] != -1;
    if (open) out.back().push_back(flat[i]);
  }
  return out;
}

void check_groups(const InferContext& c, const CollectiveGroups& groups) {
  std::vector<int64_t> ids;
  for (const auto& group : split_groups(groups.replica_groups))
    ids.insert(ids.end(), group.begin(), group.end());
  std::sort(ids.begin(), ids.end());
  if (!ids.empty()) c.require(ids[0] >= 0, "c1", "ids of processes are not negative, got ", ids[0]);
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) c.require(false, "c1", "the id ", *twice, " stands twice in replica_groups");
  c.require(!groups.global || groups.channel > 0, "c2", "use_global_device_ids needs a channel above 0, got ",
            groups.channel);
}

GridPlace grid_place(const RunContext* context) {
  if (!context) return {};
  if (const auto* grid = dynamic_cast<const GridCommunicator*>(context->communicator)) {
    const int64_t partitions = grid->partitions();
    return {grid->replicas(), partitions, grid->rank() / partitions, grid->rank() % partitions};
  }
  return {context->world, 1, context->rank, 0};
}

std::vector<int64_t> own_group(const GridPlace& place, const CollectiveGroups& groups, ChannelMeans channel) {
  std::vector<std::vector<int64_t>> all = split_groups(groups.replica_groups);
  const bool both = groups.channel > 0 && channel == ChannelMeans::kReplicasAndPartitions;
  const bool of_partitions = groups.channel > 0 && channel == ChannelMeans::kPartitions;
  if (all.empty()) {
    const int64_t count = groups.global   ? place.replicas * place.partitions
                          : of_partitions ? place.partitions
                                          : place.replicas;
    all.emplace_back();
    for (int64_t id = 0; id < count; ++id) all[0].push_back(id);
  }
  const int64_t own = groups.global ? place.process() : of_partitions ? place.partition : place.replica;
  for (const auto& group : all) {
    if (std::find(group.begin(), group.end(), own) == group.end()) continue;
    if (groups.global) return group;
    std::vector<int64_t> out;
    for (int64_t p = both ? 0 : place.partition; p < (both ? place.partitions : place.partition + 1); ++p) {
      for (const int64_t id : group)
        out.push_back(of_partitions ? place.replica * place.partitions + id : id * place.partitions + p);
    }
    return out;
  }
  return {};
}

std::optional<Meeting> meet(EvalContext& c, const char* op, const std::vector<int64_t>& members) {
  const GridPlace place = grid_place(c.context);
  const int64_t world = place.replicas * place.partitions;
  Meeting out;
  std::vector<Literal> mine;
  for (const ArrayView& view : c.inputs) mine.push_back(Literal::copy(*view.type, view.data));
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == place.process()) out.place = i;
    if (members[i] >= 0 && members[i] < world) continue;
    c.failure->set(cat("its group has a process that is not there, of ", place.replicas, " replicas and ",
                       place.partitions, " partitions"));
    return {};
  }
  if (members.size() == 1) {
    out.given.push_back(std::move(mine));
    return out;
  }
  auto* grid = c.context ? dynamic_cast<GridCommunicator*>(c.context->communicator) : nullptr;
  if (!grid) {
    c.failure->set(cat("no kernel of it runs among ", world, " processes yet"));
    return {};
  }
  try {
    out.given = grid->exchange(members, op, std::move(mine));
  } catch (const RunError& error) {
    c.failure->set(error.message());
    return {};
  }
  for (const auto& given : out.given) {
    bool same = given.size() == c.inputs.size();
    for (size_t i = 0; same && i < given.size(); ++i) same = given[i].type() == *c.in(i).type;
    if (same) continue;
    c.failure->set("the processes of its group call it on operands of other types");
    return {};
  }
  return out;
}

void reduce_given(Reducer reducer, const Meeting& meeting, size_t i, const MutableArrayView& out) {
  const int64_t count = out.type->elements();
  visit_reducer(reducer, [&](auto chosen) {
    visit_dtype(out.type->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using A = Accumulator<chosen.value, T>;
      std::vector<const T*> from;
      for (const auto& given : meeting.given) from.push_back(given[i].view().template as<T>());
      for (int64_t k = 0; k < count; ++k) {
        A sum = static_cast<A>(from[0][k]);
        for (size_t j = 1; j < from.size(); ++j) sum = combine<chosen.value>(sum, static_cast<A>(from[j][k]));
        out.as<T>()[k] = static_cast<T>(sum);
      }
    });
  });
}

bool is_collective(const OpDef& op) {
  static const OpDef* const all[] = {&op_all_gather,           &op_all_reduce,         &op_all_to_all,
                                     &op_collective_broadcast, &op_collective_permute, &op_reduce_scatter};
  return std::find(std::begin(all), std::end(all), &op) != std::end(all);
}

}  // namespace espalier
