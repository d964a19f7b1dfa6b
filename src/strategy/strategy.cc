#include "espalier/strategy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/format.h"
#include "base/hash.h"
#include "data/dataset_shards.h"
#include "data/dataset_source.h"
#include "data/own_batches.h"
#include "eager/row_weight.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "launch/control_end.h"
#include "place/shard_tree.h"
#include "strategy/replicas.h"
#include "strategy/rows.h"
#include "strategy/same_elements.h"
#include "strategy/sums.h"

namespace espalier {
namespace {

void require_values(const Replicas& replicas, const PerReplica& values) {
  const int count = replicas.parts().count;
  if (std::cmp_equal(values.values.size(), count)) return;
  throw ValueError("strategy.values",
                   cat("there are ", count, replicas.logical_shards() > 0 ? " logical shards" : " replicas",
                       " in this process, and ", values.values.size(), " values"));
}

constexpr std::string_view kNoAxis = "there is no axis ";

// Of several workers: `types` become those of all where they differ. Gives the sum of their counts.
double add_up_workers(const HostCollectives& hosts, std::vector<std::string>& types, double count) {
  std::string text;
  for (const std::string& type : types) text += cat(type, "\n");
  struct Own {
    uint64_t types;
    double count;
  } const own{hash_bytes(text.data(), text.size(), 0), count};
  const std::vector<Own> all = hosts.of_each("values", own);
  double out = 0;
  for (const Own& theirs : all) out += theirs.count;
  if (std::ranges::all_of(all, [&](const Own& theirs) { return theirs.types == own.types; })) return out;
  types.clear();
  for (const std::string& theirs : hosts.texts("types", text)) {
    for (size_t begin = 0, end = 0; (end = theirs.find('\n', begin)) != theirs.npos; begin = end + 1)
      types.push_back(theirs.substr(begin, end - begin));
  }
  return out;
}

// By one tree, whoever has them.
Tensor sum_of_shards(const HostCollectives& hosts, const std::vector<Tensor>& own, int shards) {
  std::vector<Tensor> rows;
  Shape row = own[0].shape();
  row.insert(0, 1);
  for (const Tensor& each : own) rows.push_back(reshape(each, row));
  const Tensor all = concatenate(hosts.tensors({concatenate(rows, 0)}), 0);
  const auto leaf = [&](const ShardRange& range) -> std::optional<Tensor> {
    if (range.count() > 1) return std::nullopt;
    return reshape(rows_between({&all, 1}, range.first, range.last)[0], own[0].shape());
  };
  return *sum_over<Tensor>({0, shards}, leaf, [](const Tensor& a, const Tensor& b) { return a + b; });
}

}  // namespace

Strategy::Scope::Scope(std::shared_ptr<Replicas> replicas)
    : before_(exchange_current_replicas(std::move(replicas))) {
  if (const RunContext* const host = current_replicas()->host()) context_.emplace(*host);
}
Strategy::Scope::~Scope() { exchange_current_replicas(std::move(before_)); }

int Strategy::num_replicas_in_sync() const { return replicas_->parts().world; }
int Strategy::first_replica() const { return replicas_->parts().first; }
int Strategy::replicas_here() const { return replicas_->parts().count; }
int Strategy::worker() const { return replicas_->mesh().worker; }
int Strategy::workers() const { return replicas_->mesh().workers; }

// Public headers say it by themselves.
static_assert(Strategy::kPreempted == kPreemptedStatus);
bool Strategy::told_to_go() const { return replicas_->told_to_go(); }

std::vector<PerReplica> Strategy::run(const TracedFunction& function,
                                      const std::vector<PerReplica>& arguments, Location at) const {
  const CallScope scope(at);
  std::vector<std::vector<Tensor>> each(static_cast<size_t>(replicas_->parts().count));
  for (const PerReplica& argument : arguments) {
    require_values(*replicas_, argument);
    for (size_t i = 0; i < each.size(); ++i) each[i].push_back(argument.values[i]);
  }
  RunRows rows;
  for (const PerReplica& argument : arguments) {
    rows.of_batch.push_back(argument.of_batch);
    if (!argument.of_batch) continue;
    if (argument.first_row) rows.first = argument.first_row;
    if (argument.rows_of_batch) rows.batch = argument.rows_of_batch;
  }
  std::vector<PerReplica> out;
  for (const std::vector<Tensor>& results : replicas_->run_call(function, each, rows)) {
    out.resize(results.size(), {.values = {}, .of_batch = false});
    for (size_t i = 0; i < results.size(); ++i) out[i].values.push_back(results[i]);
  }
  return out;
}

Tensor Strategy::gather(const PerReplica& values, int64_t axis, Location at) const {
  const CallScope scope(at);
  require_values(*replicas_, values);
  // Workers may have another number of logical shards.
  if (replicas_->logical_shards() > 0)
    return concatenate(replicas_->hosts().tensors({concatenate(values.values, axis)}), axis);
  return concatenate(replicas_->hosts().tensors(values.values), axis);
}

Tensor Strategy::reduce(ReduceOp op, const PerReplica& values, std::optional<int64_t> axis,
                        Location at) const {
  const CallScope scope(at);
  require_values(*replicas_, values);
  if (op == ReduceOp::kMean && !values.values.empty()) require_mean(values.values[0].dtype());
  double count = 0;
  Tensor sum;
  std::vector<Tensor> parts;       // of logical shards
  std::vector<std::string> types;  // of what is added up, or what is wrong
  for (const Tensor& value : values.values) {
    TensorType type = value.type();
    Tensor own = widened(value);
    const auto rank = static_cast<int64_t>(value.rank());
    const int64_t along = axis ? *axis < 0 ? *axis + rank : *axis : 0;
    if (axis && (along < 0 || along >= rank)) {
      types.push_back(cat(kNoAxis, *axis, " of ", type));
      continue;
    }
    if (axis) {
      type.shape.erase(static_cast<size_t>(along));
      own = reduce_sum(own, {along});
    }
    count += axis ? static_cast<double>(value.size(static_cast<size_t>(along))) : 1;
    types.push_back(to_string(type));
    if (types.back() != types[0]) continue;
    if (replicas_->logical_shards() > 0)
      parts.push_back(own);
    else
      sum = sum.defined() ? sum + own : own;
  }
  const HostCollectives& hosts = replicas_->hosts();
  if (hosts.world() > 1) count = add_up_workers(hosts, types, count);
  for (const std::string& type : types) {
    if (type.starts_with(kNoAxis)) throw ShapeError("strategy.axis", type);
    if (type != types[0])
      throw ShapeError("strategy.values", cat("replicas have values of two types: ", types[0], " and ", type),
                       axis ? "" : "reduce along an axis, or gather");
  }
  if (replicas_->logical_shards() > 0)
    sum = sum_of_shards(hosts, parts, replicas_->logical_shards());
  else if (hosts.world() > 1)
    sum = hosts.sum(sum);
  return convert(op == ReduceOp::kSum ? sum : sum / std::max(count, 1.0), values.values[0].dtype());
}

DistributedDataset Strategy::distribute(const Dataset& dataset) const { return {dataset, replicas_}; }

DistributedDataset Strategy::distribute_from_function(
    const std::function<Dataset(const InputContext&)>& function, Location at) const {
  const CallScope scope(at);
  const Mesh& mesh = replicas_->mesh();
  return distribute(Dataset::per_worker(function({mesh.worker, mesh.workers, mesh.world}), at));
}

DistributedDataset::DistributedDataset(Dataset dataset, std::shared_ptr<Replicas> replicas)
    : dataset_(std::move(dataset)), iterator_(dataset_, 0), replicas_(std::move(replicas)) {
  replicas_->require_loops();
  const int64_t parts_of_batch = replicas_->logical_shards();
  if (replicas_->mesh().workers == 1 && parts_of_batch == 0) return;
  const HostCollectives& hosts = replicas_->hosts();
  const bool own = DatasetNode::of(dataset_)->per_worker();
  SameElements(hosts).require_named(own ? "data of its own" : to_string(dataset_));
  DatasetState state = iterator_.save();
  const uint64_t seed = hosts.of_each("seed", state.seed)[0];
  if (own) {
    own_ = std::make_shared<OwnBatches>(dataset_, seed, 0, false, replicas_->shares().readers());
    return;
  }
  if (seed != state.seed) iterator_.restore({seed, state.iteration, 0});
  shared_ = shared_at(iterator_.save());
  if (!shared_ && hosts.world() > 1) same_ = std::make_shared<SameElements>(hosts);
}

// Null where each worker reads all.
std::shared_ptr<SharedBatches> DistributedDataset::shared_at(const DatasetState& state) const {
  const int64_t parts_of_batch = replicas_->logical_shards();
  if (replicas_->mesh().workers == 1 && parts_of_batch == 0) return nullptr;
  std::optional<ShardedBatches> parts = DatasetNode::of(dataset_)->sharded_batches();
  const int64_t shards = parts ? parts->source->format().shards : 1;
  if (!parts || parts->batch == 0 || shards == 1) return nullptr;
  if (parts_of_batch > 0 && parts_of_batch != shards)
    throw ValueError("strategy.shards",
                     cat("the strategy has ", parts_of_batch,
                         " logical shards, and the source of the dataset ", shards, " shards"),
                     "as many shards as logical shards");
  auto out = std::make_shared<SharedBatches>(std::move(*parts), state.seed, state.iteration,
                                             replicas_->shares().readers());
  if (state.elements > 0) out->restore(state);
  return out;
}

DatasetState DistributedDataset::save(Location at) const {
  const CallScope scope(at);
  if (own_) return own_->save();
  if (!shared_) return iterator_.save();
  DatasetState out = shared_->save();
  out.layout = DatasetNode::of(dataset_)->layout();
  return out;
}

void DistributedDataset::restore(const DatasetState& state, Location at) {
  const CallScope scope(at);
  if (own_) {
    own_->restore(state);
  } else if (shared_) {
    DatasetNode::of(dataset_)->require_layout(state);
    shared_ = shared_at(state);
  } else {
    iterator_.restore(state);
  }
  if (same_) same_ = std::make_shared<SameElements>(replicas_->hosts(), state.elements);
}

std::optional<std::vector<PerReplica>> DistributedDataset::next_own() {
  const std::optional<OwnBatches::Part> part = own_->next();
  if (!part) return std::nullopt;
  const int64_t rows = part->rows[0].size(0), here = replicas_->parts().count;
  const std::vector<int64_t>& all = part->of_readers;
  std::vector<PerReplica> out(
      part->rows.size(), PerReplica{.values = {},
                                    .first_row = part->first,
                                    .rows_of_batch = std::accumulate(all.begin(), all.end(), int64_t{0})});
  for (size_t i = 0; i < out.size(); ++i)
    for (int64_t replica = 0; replica < here; ++replica)
      out[i].values.push_back(
          rows_between({&part->rows[i], 1}, rows * replica / here, rows * (replica + 1) / here)[0]);
  return out;
}

std::optional<std::vector<PerReplica>> DistributedDataset::next() {
  std::vector<PerReplica> out;
  if (shared_) {
    std::optional<SharedBatches::Part> part = shared_->next();
    if (!part) return std::nullopt;
    const std::vector<int64_t>& of_shards = part->of_shards;
    const PerReplica none{.values = {},
                          .first_row = replicas_->shares_of_parts().rows_before(of_shards),
                          .rows_of_batch = std::accumulate(of_shards.begin(), of_shards.end(), int64_t{0})};
    for (Tensor& rows : part->rows) {
      PerReplica& parts = out.emplace_back(none);
      if (replicas_->logical_shards() == 0) {
        parts.values.push_back(std::move(rows));
        continue;
      }
      int64_t next = 0;
      for (int i = 0; i < replicas_->parts().count; ++i) {
        const int64_t begin = next;
        next += part->of_shards[static_cast<size_t>(replicas_->parts().first + i)];
        parts.values.push_back(rows_between({&rows, 1}, begin, next)[0]);
      }
    }
    return out;
  }
  if (own_) return next_own();
  const std::optional<Tensors> element = iterator_.next();
  if (same_) same_->require(element ? std::span<const Tensor>(*element) : std::span<const Tensor>());
  if (!element) return std::nullopt;
  const DataShares shares = replicas_->shares_of_parts();
  for (const Tensor& rows : *element) {
    if (rows.rank() == 0)
      throw ShapeError("strategy.batch", cat("an element to be shared out has rows, got ", rows.type()),
                       "a dataset's elements are batches: .batch(32)");
    PerReplica& parts = out.emplace_back();
    const int64_t count = rows.size(0);
    parts.rows_of_batch = count;
    for (int i = 0; i < replicas_->parts().count; ++i) {
      const auto [first, last] = shares.rows_of(count, replicas_->parts().first + i);
      if (i == 0) parts.first_row = first;
      parts.values.push_back(rows_between({&rows, 1}, first, last)[0]);
    }
  }
  return out;
}

Tensor strategy::row_weight(const Tensor& rows, Location at) {
  const CallScope scope(at);
  if (rows.rank() == 0) throw ShapeError("strategy.rows", cat("rows have a first axis, got ", rows.type()));
  const Tensor weight = RowWeightScope::of(rows);
  return weight.defined() ? weight : full({rows.size(0)}, 1);
}

}  // namespace espalier
