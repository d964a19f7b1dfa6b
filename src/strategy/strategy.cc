#include "espalier/strategy.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "base/hash.h"
#include "data/dataset_shards.h"
#include "data/dataset_source.h"
#include "data/own_batches.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "ir/sink.h"
#include "launch/control_end.h"
#include "ops/collective.h"
#include "strategy/replicas.h"
#include "strategy/rows.h"
#include "strategy/same_elements.h"

namespace espalier {
namespace {

void require_values(const Replicas& replicas, const PerReplica& values) {
  if (std::cmp_equal(values.values.size(), replicas.mesh().count)) return;
  throw ValueError("strategy.values",
                   cat("there are ", replicas.mesh().count, " replicas in this process, and ",
                       values.values.size(), " values"));
}

void require_mean(DType dtype) {
  if (!is_float(dtype))
    throw DTypeError("strategy.mean", cat("the mean of replicas is of floating-point values, got ", dtype),
                     "convert(x, DType::kF32), or ReduceOp::kSum");
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

// What sums and means are made in, and rounded once: in 16 bits a sum overflows where its mean does not.
Tensor widened(const Tensor& value) {
  return is_float(value.dtype()) && size_of(value.dtype()) == 2 ? convert(value, DType::kF32) : value;
}

}  // namespace

Strategy::Scope::Scope(std::shared_ptr<Replicas> replicas)
    : before_(exchange_current_replicas(std::move(replicas))) {
  if (const RunContext* const host = current_replicas()->host()) context_.emplace(*host);
}
Strategy::Scope::~Scope() { exchange_current_replicas(std::move(before_)); }

int Strategy::num_replicas_in_sync() const { return replicas_->mesh().world; }
int Strategy::first_replica() const { return replicas_->mesh().first; }
int Strategy::replicas_here() const { return replicas_->mesh().count; }
int Strategy::worker() const { return replicas_->mesh().worker; }
int Strategy::workers() const { return replicas_->mesh().workers; }

// Public headers say it by themselves.
static_assert(Strategy::kPreempted == kPreemptedStatus);
bool Strategy::told_to_go() const { return replicas_->told_to_go(); }

std::vector<PerReplica> Strategy::run(const TracedFunction& function,
                                      const std::vector<PerReplica>& arguments, Location at) const {
  const CallScope scope(at);
  std::vector<std::vector<Tensor>> each(static_cast<size_t>(replicas_->mesh().count));
  for (const PerReplica& argument : arguments) {
    require_values(*replicas_, argument);
    for (size_t i = 0; i < each.size(); ++i) each[i].push_back(argument.values[i]);
  }
  std::vector<PerReplica> out;
  for (const std::vector<Tensor>& results : replicas_->run_call(function, each)) {
    out.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) out[i].values.push_back(results[i]);
  }
  return out;
}

Tensor Strategy::gather(const PerReplica& values, int64_t axis, Location at) const {
  const CallScope scope(at);
  require_values(*replicas_, values);
  return concatenate(replicas_->hosts().tensors(values.values), axis);
}

Tensor Strategy::reduce(ReduceOp op, const PerReplica& values, std::optional<int64_t> axis,
                        Location at) const {
  const CallScope scope(at);
  require_values(*replicas_, values);
  if (op == ReduceOp::kMean && !values.values.empty()) require_mean(values.values[0].dtype());
  double count = 0;
  Tensor sum;
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
    if (types.back() == types[0]) sum = sum.defined() ? sum + own : own;
  }
  const HostCollectives& hosts = replicas_->hosts();
  if (hosts.world() > 1) count = add_up_workers(hosts, types, count);
  for (const std::string& type : types) {
    if (type.starts_with(kNoAxis)) throw ShapeError("strategy.axis", type);
    if (type != types[0])
      throw ShapeError("strategy.values", cat("replicas have values of two types: ", types[0], " and ", type),
                       axis ? "" : "reduce along an axis, or gather");
  }
  if (hosts.world() > 1) sum = hosts.sum(sum);
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
    : iterator_(dataset, 0), replicas_(std::move(replicas)) {
  if (replicas_->mesh().workers == 1) return;
  const HostCollectives& hosts = replicas_->hosts();
  const bool own = DatasetNode::of(dataset)->per_worker();
  SameElements(hosts).require_named(own ? "data of its own" : to_string(dataset));
  DatasetState state = iterator_.save();
  const uint64_t seed = hosts.of_each("seed", state.seed)[0];
  if (own) {
    own_ = std::make_shared<OwnBatches>(dataset, seed, 0, false, replicas_->shares().readers());
    return;
  }
  if (seed != state.seed) iterator_.restore({seed, state.iteration, 0});
  std::optional<ShardedBatches> parts = DatasetNode::of(dataset)->sharded_batches();
  if (!parts || parts->batch == 0 || parts->source->format().shards == 1) {
    same_ = std::make_shared<SameElements>(hosts);
    return;
  }
  shared_ = std::make_shared<SharedBatches>(std::move(*parts), iterator_.save().seed, 0,
                                            replicas_->shares().readers());
}

std::optional<std::vector<PerReplica>> DistributedDataset::next_own() {
  const std::optional<OwnBatches::Part> part = own_->next();
  if (!part) return std::nullopt;
  const int64_t rows = part->rows[0].size(0), here = replicas_->mesh().count;
  std::vector<PerReplica> out(part->rows.size());
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
    for (Tensor& rows : part->rows) out.push_back({{std::move(rows)}});
    return out;
  }
  if (own_) return next_own();
  const std::optional<Tensors> element = iterator_.next();
  if (same_) same_->require(element ? std::span<const Tensor>(*element) : std::span<const Tensor>());
  if (!element) return std::nullopt;
  for (const Tensor& rows : *element) {
    if (rows.rank() == 0)
      throw ShapeError("strategy.batch", cat("an element to be shared out has rows, got ", rows.type()),
                       "a dataset's elements are batches: .batch(32)");
    PerReplica& parts = out.emplace_back();
    const int64_t count = rows.size(0);
    for (int i = 0; i < replicas_->mesh().count; ++i) {
      const auto [first, last] = replicas_->shares().rows_of(count, replicas_->mesh().first + i);
      parts.values.push_back(rows_between({&rows, 1}, first, last)[0]);
    }
  }
  return out;
}

std::vector<Tensor> strategy::all_reduce(const std::vector<Tensor>& values, ReduceOp op, Location at) {
  const CallScope scope(at);
  const bool traced = std::ranges::any_of(values, [](const Tensor& value) { return !value.concrete(); });
  const Replicas* const replicas = current_replicas().get();
  if (!traced && replicas && replicas->mesh().many() && replicas->mesh().workers == 1)
    throw StateError(
        "strategy.outside",
        cat("all_reduce() of a value outside of a function that replicas run: here is one value, "
            "and there are ",
            replicas->mesh().world, " replicas"),
        "call it in a function that Strategy::run() runs; Strategy::reduce() takes a PerReplica");
  if (op == ReduceOp::kSum) return espalier::all_reduce(values);
  if (values.empty()) return {};
  require_mean(values[0].dtype());
  // A program that was traced for some replicas may be run by others: they count themselves.
  std::vector<Tensor> with_count;
  for (const Tensor& value : values) with_count.push_back(widened(value));
  with_count.push_back(full({}, 1, with_count[0].dtype()));
  std::vector<Tensor> out = espalier::all_reduce(with_count);
  const Tensor count = out.back();
  out.pop_back();
  for (Tensor& value : out) value = convert(value / count, values[0].dtype());
  return out;
}

}  // namespace espalier
