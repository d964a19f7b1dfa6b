#include "strategy/replicas.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "base/format.h"
#include "base/rank_stage.h"
#include "eager/trace.h"
#include "espalier/array.h"
#include "espalier/error.h"
#include "ir/device.h"

namespace espalier {
namespace {

thread_local std::shared_ptr<Replicas> innermost_replicas;

// Its arrays of rows get so many: what is behind their own repeats the last one.
void fill_up(std::vector<Tensor>& arguments, const RunRows& rows, int64_t count) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    Tensor& argument = arguments[i];
    if (!rows.of_batch[i] || argument.rank() == 0 || argument.size(0) == count) continue;
    Shape shape = argument.shape();
    const int64_t own = std::exchange(shape[0], count);
    argument =
        own == 0 ? full(shape, 0, argument.dtype()) : with_row_repeated({&argument, 1}, own - 1, count)[0];
  }
}

}  // namespace

Replicas::Replicas(std::vector<Seat> places, bool workers, CombineOptions options, int64_t audit_steps,
                   int logical_shards)
    : several_(places.at(0).device),
      combine_(options),
      membership_(workers ? places[0].communicator : nullptr, places[0].worker),
      logical_shards_(logical_shards) {
  constexpr int kMostShards = 4096;
  if (logical_shards < 0 || logical_shards > kMostShards)
    throw ValueError("strategy.logical_shards",
                     cat("there are 0 to ", kMostShards, " logical shards, got ", logical_shards));
  const RunContext& current = RunContext::current();
  Device *const devices = several_.get(), *const device = devices ? devices : current.device;
  if (!devices && device && device->replicas() > 1 && places[0].communicator)
    throw UnsupportedError(
        "device.strategy",
        cat("a worker has one device, and here are ", device->replicas(), ": ", device->name()),
        "a worker for each device, or strategy::Mirrored in one process");
  for (Seat& place : places) {
    contexts_.push_back(std::make_unique<RunContext>(
        RunContextOptions{.threads = place.threads,
                          .device = device,
                          .rank = device ? static_cast<int>(device->first_replica()) : 0,
                          .world = device ? static_cast<int>(device->world()) : 1,
                          .communicator = place.communicator.get(),
                          .events = current.events,
                          .shares = &current}));
    communicators_.push_back(std::move(place.communicator));
  }
  const RunContext& first = *contexts_[0];
  if (workers) hosts_ = HostCollectives(first);
  combine_.world = first.world;
  mesh_ = {.world = first.world,
           .first = first.rank,
           .count = static_cast<int>(devices ? devices->replicas() : contexts_.size()),
           .worker = hosts_.rank(),
           .workers = hosts_.world(),
           .launched = workers && first.communicator,
           .place_text = places[0].worker ? places[0].worker->place_text() : "",
           .kind = !devices && hosts_.world() > 1 ? "workers" : "devices"};
  for (size_t i = 0; devices && i < devices->replicas(); ++i) mesh_.names.push_back(devices->replica_name(i));
  shares_ = DataShares(mesh_, hosts_);
  shares_.deals_shards = !devices || mesh_.workers == 1;
  if (contexts_.size() > 1) {
    std::vector<const RunContext*> in;
    for (const auto& context : contexts_) in.push_back(context.get());
    pools_ = std::make_unique<PoolsPlace>(std::move(in));
  } else {
    one_.emplace(first, mesh_.many());
  }
  if (pools_ || devices) step_place_ = &place();
  if (workers || devices) host_ = &first;
  std::unique_ptr<Audit> audit;
  if (devices && mesh_.many()) audit = audit_of_devices(place(), first, mesh_);
  if (!devices && mesh_.workers > 1) audit = audit_of_workers(hosts_);
  if (audit) audits_ = Audits(std::move(audit), audit_steps, hosts_, membership_);
  if (logical_shards_ > 0)
    cut_in_shards();
  else if (mesh_.many())
    functions_ = std::make_unique<RunFunctions>(mesh_.world, RunFunctions::Parts::kReplicas);
  if (hosts_.world() > 1) calls_ = std::make_unique<RunCalls>(hosts_, audits_, membership_);
}

void Replicas::cut_in_shards() {
  if (pools_) all_cores_ = std::make_unique<RunContext>(RunContextOptions{.shares = &RunContext::current()});
  const RunContext& context = pools_ ? *all_cores_ : *contexts_[0];
  parts_place_ = std::make_unique<PartsPlace>(logical_shards_, context);
  const ShardRange owned = parts_place_->owned(parts_place_->key.rank);
  parts_ = mesh_;
  parts_.world = logical_shards_;
  parts_.first = owned.first;
  parts_.count = owned.count();
  parts_.names = {};
  functions_ = std::make_unique<RunFunctions>(logical_shards_, RunFunctions::Parts::kShards);
}

void Replicas::require_loops() const {
  if (logical_shards_ > 0 && logical_shards_ < mesh_.workers)
    throw ValueError("strategy.logical_shards",
                     cat("in a loop of one's own each worker has a logical shard, and there are ",
                         logical_shards_, " of them for ", mesh_.workers, " workers"),
                     "more logical shards");
}

std::shared_ptr<const Rewrite> Replicas::rewrite() const {
  return mesh_.many() ? std::make_shared<const Rewrite>(combine_replicas(combine_)) : nullptr;
}

std::vector<Tensor> Replicas::padded(const BatchRows& batch) const {
  if (batch.count() >= mesh_.world || !batch.of_shards.empty()) return {};
  return with_rows_of_no_weight(batch.rows, mesh_.world);
}

std::vector<Tensor> Replicas::arguments_of(const BatchRows& batch, int rank, int64_t most_weight) const {
  if (!batch.of_shards.empty()) {
    // They are this worker's alone.
    std::vector<Tensor> out(batch.rows.begin(), batch.rows.end());
    const std::vector<int64_t> own = shares_.shards_of(std::ssize(batch.of_shards), rank);
    const auto before = own.empty() ? batch.of_shards.begin() : batch.of_shards.begin() + own.front();
    out.push_back(Tensor::of<int64_t>(
        {std::accumulate(batch.of_shards.begin(), before, int64_t{0}), batch.count(), most_weight}));
    return out;
  }
  const auto [first, last] = shares_.rows_of(batch.count(), rank);
  std::vector<Tensor> out = rows_between(batch.rows, first, last);
  if (rows().adds && last - first < rows_each(batch)) out = with_rows_of_no_weight(out, rows_each(batch));
  out.push_back(Tensor::of<int64_t>({first, batch.count(), most_weight}));
  return out;
}

int64_t Replicas::rows_each(const BatchRows& batch) const {
  return (std::max(batch.count(), batch.at_least) + mesh_.world - 1) / mesh_.world;
}

bool Replicas::adds_rows(const BatchRows& batch) const {
  return rows().adds && batch.of_shards.empty() && rows_each(batch) * mesh_.world != batch.count();
}

std::vector<Tensor> Replicas::arguments(const BatchRows& batch) const {
  return arguments_of(batch, mesh_.first, batch.most_weight());
}

std::vector<Tensor> Replicas::run(const TracedFunction& program, const BatchRows& batch) const {
  if (!shares_.deals_shards && !batch.of_shards.empty())
    throw UnsupportedError("tpu.shards",
                           "rows of shards that each host has for itself cannot be dealt out evenly to "
                           "the devices of a TPU of several hosts",
                           "give each host all rows, in memory");
  if (!step_place_) return program.call(arguments(batch));
  std::vector<std::vector<Tensor>> each;
  const int64_t most_weight = batch.most_weight();
  for (int i = 0; i < mesh_.count; ++i) each.push_back(arguments_of(batch, mesh_.first + i, most_weight));
  return std::move(program.call_each(each, *step_place_, tracing())[0]);
}

const RunContext& Replicas::tracing() const { return pools_ ? RunContext::current() : *contexts_[0]; }

std::vector<std::vector<Tensor>> Replicas::run_each(const TracedFunction& program,
                                                    std::span<const std::vector<Tensor>> arguments) const {
  return run_on_each(program, arguments, place(), tracing(), {});
}

std::vector<int64_t> Replicas::row_counts(std::span<const std::vector<Tensor>> arguments,
                                          const RunRows& rows) const {
  std::vector<int64_t> out;
  for (const std::vector<Tensor>& own : arguments) {
    int64_t count = 0;
    for (size_t i = own.size(); i-- > 0;)
      if (rows.of_batch[i] && own[i].rank() > 0) count = own[i].size(0);
    out.push_back(count);
  }
  return out;
}

std::vector<Tensor> Replicas::places(std::span<const int64_t> counts, const RunRows& rows) const {
  int64_t next = 0, batch = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (mesh_.workers > 1 && !(rows.batch && (rows.first || !rows.firsts.empty()))) {
    const std::vector<int64_t> all = hosts_.of_each("rows", batch);
    next = std::accumulate(all.begin(), all.begin() + mesh_.worker, int64_t{0});
    batch = std::accumulate(all.begin(), all.end(), int64_t{0});
  }
  next = rows.first.value_or(next);
  std::vector<Tensor> out;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t first = rows.firsts.empty() ? next : rows.firsts[i];
    out.push_back(Tensor::of<int64_t>({first, rows.batch.value_or(batch)}));
    next += counts[i];
  }
  return out;
}

std::vector<std::vector<Tensor>> Replicas::run_placed(const TracedFunction& function,
                                                      std::span<const std::vector<Tensor>> arguments,
                                                      const RunRows& rows, const BeforeCall& before) const {
  std::optional<RunFunctions::Found> placed;
  std::vector<std::vector<Tensor>> with_place;
  const std::vector<int64_t> counts = row_counts(arguments, rows);
  const int64_t most = counts.empty() ? 0 : std::ranges::max(counts);
  const bool shards = parts_place_ != nullptr;
  const bool padded =
      several_ && !shards && most > 0 && mesh_.workers == 1 && std::ranges::min(counts) < most;
  if (functions_) placed = functions_->of(function, rows.of_batch, padded);
  if (placed) {
    with_place.assign(arguments.begin(), arguments.end());
    const std::vector<Tensor> places = this->places(counts, rows);
    for (size_t i = 0; i < with_place.size(); ++i) {
      if (padded) fill_up(with_place[i], rows, most);
      with_place[i].push_back(places[i]);
      if (padded) with_place[i].push_back(convert(iota({DType::kI64, {most}}, 0) < counts[i], DType::kF32));
    }
    arguments = with_place;
  }
  const RunContext& tracing = shards && pools_ ? *all_cores_ : this->tracing();
  std::vector<std::vector<Tensor>> out = run_on_each(placed ? placed->function : function, arguments,
                                                     shards ? *parts_place_ : place(), tracing, before);
  for (size_t i = 0; padded && placed && i < out.size(); ++i) {
    for (size_t k = 0; k < out[i].size(); ++k)
      if (const int64_t each = placed->rows_of_results()[k])
        out[i][k] = rows_between({&out[i][k], 1}, 0, counts[i] * each)[0];
  }
  return out;
}

std::vector<std::vector<Tensor>> Replicas::run_call(const TracedFunction& function,
                                                    std::span<const std::vector<Tensor>> arguments,
                                                    const RunRows& rows) const {
  require_loops();
  if (!calls_) {
    if (membership_.asked_to_go()) membership_.agree_to_go();
    return run_placed(function, arguments, rows, {});
  }
  // For those who wait for it.
  membership_.count_calls(function.name());
  RankStage stage(host_->communicator);
  stage.now(Stage::kStep, calls_->number() + 1);
  std::vector<std::vector<Tensor>> out =
      run_placed(function, arguments, rows, [this](const TracedCall& call) { calls_->begin(call); });
  calls_->end();
  stage.now(Stage::kCallback, calls_->number());
  return out;
}

void Replicas::run_rows_of(const TracedFunction& function, const BatchRows& batch) const {
  require_loops();
  RunRows rows{.of_batch = std::vector<bool>(batch.rows.size(), true), .batch = batch.count()};
  std::vector<std::vector<Tensor>> each;
  const int64_t most_weight = batch.most_weight();
  const DataShares shares = shares_of_parts();
  const bool in_shards = logical_shards_ > 0 && !batch.of_shards.empty();
  if (in_shards && std::ssize(batch.of_shards) != logical_shards_)
    throw ValueError(
        "strategy.shards",
        cat("the strategy has ", logical_shards_, " logical shards, and the source of the dataset ",
            batch.of_shards.size(), " shards"),
        "as many shards as logical shards");
  int64_t next = 0;
  for (int i = 0; i < parts().count; ++i) {
    const int part = parts().first + i;
    if (logical_shards_ == 0) {
      each.push_back(arguments_of(batch, part, most_weight));
      rows.firsts.push_back(each.back().back().data<int64_t>()[0]);
      each.back().pop_back();
      continue;
    }
    auto [first, last] = shares.rows_of(batch.count(), part);
    rows.firsts.push_back(first);
    if (in_shards) {
      rows.firsts.back() = shares.rows_before(batch.of_shards) + next;
      first = std::exchange(next, next + batch.of_shards[static_cast<size_t>(part)]);
      last = next;
    }
    each.push_back(rows_between(batch.rows, first, last));
  }
  run_placed(function, each, rows, {});
}

void Replicas::says(Stage stage) const {
  if (calls_ && calls_->number() > 0) RankStage(host_->communicator).now(stage, calls_->number());
}

Replicas::~Replicas() {
  if (calls_) calls_->leave();
}

bool Replicas::told_to_go() const {
  std::call_once(listens_, [this] { signals_ = membership_.listen(); });
  return membership_.goes();
}

std::vector<std::vector<Tensor>> Replicas::run_on_each(const TracedFunction& program,
                                                       std::span<const std::vector<Tensor>> arguments,
                                                       const Place& place, const RunContext& tracing,
                                                       const BeforeCall& before) const {
  std::vector<std::vector<Tensor>> out = program.call_each(arguments, place, tracing, before);
  for (size_t i = 0; i < out.size(); ++i)
    for (Tensor& result : out[i]) result = place.value_of(result, i);
  return out;
}

std::vector<std::vector<Tensor>> Replicas::run_rows(const TracedFunction& function,
                                                    std::span<const Tensor> rows) const {
  const int64_t count = rows[0].size(0);
  if (count < mesh_.world) return {function.call(rows)};
  const RowsPolicy policy = this->rows();
  // How many each gets; 0: those that it has.
  const int64_t equal = policy.equal_parts ? policy.to_predict(rows_each(rows)) : 0;
  std::vector<std::vector<Tensor>> each;
  for (int i = 0; i < mesh_.count; ++i) {
    const auto [first, last] = shares_.rows_of(count, mesh_.first + i);
    each.push_back(rows_between(rows, first, last));
    if (equal) each.back() = with_row_repeated(each.back(), last - first - 1, equal);
  }
  std::vector<std::vector<Tensor>> own = run_each(function, each), out(static_cast<size_t>(mesh_.world));
  for (int i = 0; equal && i < mesh_.count; ++i) {
    const auto [first, last] = shares_.rows_of(count, mesh_.first + i);
    for (Tensor& result : own[static_cast<size_t>(i)])
      if (result.rank() > 0 && result.size(0) == equal)
        result = rows_between({&result, 1}, 0, last - first)[0];
  }
  for (size_t k = 0; k < own[0].size(); ++k) {
    std::vector<Tensor> results;
    for (const std::vector<Tensor>& of : own) results.push_back(of[k]);
    const std::vector<Tensor> all = hosts_.tensors(results);
    for (size_t rank = 0; rank < out.size(); ++rank) out[rank].push_back(all[rank]);
  }
  return out;
}

void Replicas::on_each(const std::function<void(size_t)>& body) const {
  const uint64_t modes = trace_context();
  std::vector<std::exception_ptr> errors(contexts_.size());
  const auto run = [&](size_t i) {
    const RunScope scope(*contexts_[i]);
    const uint64_t before = std::exchange(trace_context(), modes);
    try {
      body(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
    trace_context() = before;
  };
  pools_ ? pools_->on_each(run) : run(0);
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

bool is_chief() { return !innermost_replicas || innermost_replicas->mesh().worker == 0; }
const std::shared_ptr<Replicas>& current_replicas() { return innermost_replicas; }

std::shared_ptr<Replicas> exchange_current_replicas(std::shared_ptr<Replicas> next) {
  return std::exchange(innermost_replicas, std::move(next));
}

}  // namespace espalier
