#include "strategy/replicas.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "base/format.h"
#include "base/rank_stage.h"
#include "eager/trace.h"
#include "espalier/error.h"
#include "ir/device.h"

namespace espalier {
namespace {

thread_local std::shared_ptr<Replicas> innermost_replicas;

}  // namespace

Replicas::Replicas(std::vector<Seat> places, bool workers, CombineOptions options, int64_t audit_steps)
    : several_(places.at(0).device),
      combine_(options),
      membership_(workers ? places[0].communicator : nullptr, places[0].worker) {
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
  if (hosts_.world() > 1) calls_ = std::make_unique<RunCalls>(hosts_, audits_, membership_);
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
    out.push_back(
        Tensor::of<int64_t>({std::accumulate(batch.of_shards.begin(), before, int64_t{0}), most_weight}));
    return out;
  }
  const auto [first, last] = shares_.rows_of(batch.count(), rank);
  std::vector<Tensor> out = rows_between(batch.rows, first, last);
  if (rows().adds && last - first < rows_each(batch)) out = with_rows_of_no_weight(out, rows_each(batch));
  out.push_back(Tensor::of<int64_t>({first, most_weight}));
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
  return run_on_each(program, arguments, {});
}

std::vector<std::vector<Tensor>> Replicas::run_call(const TracedFunction& function,
                                                    std::span<const std::vector<Tensor>> arguments) const {
  if (!calls_) {
    if (membership_.asked_to_go()) membership_.agree_to_go();
    return run_each(function, arguments);
  }
  // For those who wait for it.
  membership_.count_calls(function.name());
  RankStage stage(host_->communicator);
  stage.now(Stage::kStep, calls_->number() + 1);
  std::vector<std::vector<Tensor>> out =
      run_on_each(function, arguments, [this](const TracedCall& call) { calls_->begin(call); });
  calls_->end();
  stage.now(Stage::kCallback, calls_->number());
  return out;
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
                                                       const BeforeCall& before) const {
  std::vector<std::vector<Tensor>> out = program.call_each(arguments, place(), tracing(), before);
  for (size_t i = 0; i < out.size(); ++i)
    for (Tensor& result : out[i]) result = place().value_of(result, i);
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
