// What collectives share: who talks with whom, and how a reference body does it.
#pragma once

#include <functional>
#include <optional>

#include "ops/call.h"
#include "ops/movement.h"
#include "ops/reducer.h"

namespace espalier {

// Groups of ids, each ended by -1: {0, 1, -1, 2, -1} are [[0, 1], [2]]. None: all ids are one group, in their
// order.
Dims flat_groups(const std::vector<std::vector<int64_t>>& groups);
std::vector<std::vector<int64_t>> split_groups(const Dims& flat);

// Who talks with whom. A process is a replica and a partition. Without a channel the ids are replicas, and
// groups are made within each partition. With one they are replicas, and a group has all their partitions,
// the partition first; with `global` ids as well they are replica * partitions + partition.
struct CollectiveGroups {
  Dims replica_groups;
  int64_t channel = 0, channel_type = 0;
  bool global = false;
};

struct CollectiveAttributes : Attributes {
  CollectiveGroups groups;
  void fields(FieldVisitor& v) override {
    v.field("replica_groups", groups.replica_groups);
    v.field("channel_handle.handle", groups.channel);
    v.field("channel_handle.type", groups.channel_type);
  }
};

// The attributes of the ops that may take global ids.
struct GlobalCollectiveAttributes : CollectiveAttributes {
  void fields(FieldVisitor& v) override {
    CollectiveAttributes::fields(v);
    v.field("use_global_device_ids", groups.global);
  }
};

// c1: ids are not negative, and none stands twice. c2: global ids need a channel.
void check_groups(const InferContext& c, const CollectiveGroups& groups);
// What a channel does to the ids: groups have all partitions of their replicas, or the ids are partitions and
// groups are made within each replica.
enum class ChannelMeans : uint8_t { kReplicasAndPartitions, kPartitions };

// The communicator of a grid of processes that exchange arrays: the interpreter's.
class GridCommunicator : public Communicator {
 public:
  virtual int64_t replicas() const = 0;
  virtual int64_t partitions() const = 0;
  // What each of `members`, in their order, gives to this call. All of them call it, with equal `members` and
  // `what` and in one order; it waits for them. Raises RunError[grid.exchange] where that cannot come.
  virtual std::vector<std::vector<Literal>> exchange(const std::vector<int64_t>& members,
                                                     const std::string& what, std::vector<Literal> mine) = 0;
};

// The place of a run in its grid: of a grid's communicator, or replica = rank of `world` replicas.
struct GridPlace {
  int64_t replicas = 1, partitions = 1, replica = 0, partition = 0;
  int64_t process() const { return replica * partitions + partition; }
};
GridPlace grid_place(const RunContext* context);

// The group of the process that runs, as processes; empty where no group has it.
std::vector<int64_t> own_group(const GridPlace& place, const CollectiveGroups& groups,
                               ChannelMeans channel = ChannelMeans::kReplicasAndPartitions);

// What the members of a group give to a call, in the group's order.
struct Meeting {
  std::vector<std::vector<Literal>> given;
  size_t place = 0;  // of this process
};
// Meets `members`, of whom this process is one. Says so in c.failure where that fails, and returns none. Who
// is alone meets nobody.
std::optional<Meeting> meet(EvalContext& c, const char* op, const std::vector<int64_t>& members);

// c.out(i) = given[0][i] (reducer) given[1][i] ..., in the order of the group and the accumulator of reduce.
void reduce_given(Reducer reducer, const Meeting& meeting, size_t i, const MutableArrayView& out);

// Whether the op talks to other processes.
bool is_collective(const OpDef& op);

// The ops.
std::vector<Tensor> all_reduce(const std::vector<Tensor>& values, Reducer reducer = Reducer::kSum,
                               const CollectiveGroups& groups = {}, Location at = Location::here());
// Operands one behind the other along `axis`; `size` processes are in a group.
std::vector<Tensor> all_gather(const std::vector<Tensor>& values, int64_t axis, int64_t size,
                               const CollectiveGroups& groups = {}, Location at = Location::here());
// This process's part of the reduction, which is cut in `size` along `axis`.
Tensor reduce_scatter(Operand x, int64_t axis, int64_t size, Reducer reducer = Reducer::kSum,
                      const CollectiveGroups& groups = {});
std::vector<Tensor> all_to_all(const std::vector<Tensor>& values, int64_t split_axis, int64_t concat_axis,
                               int64_t count, const CollectiveGroups& groups = {},
                               Location at = Location::here());
// Pairs of source and target, one behind the other; who is no target gets zeros. `channel` above 0: of
// partitions.
std::vector<Tensor> collective_permute(const std::vector<Tensor>& values, const Dims& pairs,
                                       int64_t channel = 0, Location at = Location::here());
// What the first of each group holds; zeros for who is in none.
std::vector<Tensor> collective_broadcast(const std::vector<Tensor>& values,
                                         const CollectiveGroups& groups = {}, Location at = Location::here());
Tensor replica_id(Location at = Location::here());
Tensor partition_id(Location at = Location::here());

}  // namespace espalier
