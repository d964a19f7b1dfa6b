#include "dist/replicas.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <utility>

#include "base/format.h"
#include "dist/rows.h"
#include "eager/trace.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "espalier/source.h"
#include "ir/device.h"
#include "ir/dispatch.h"
#include "ir/sink.h"
#include "ops/reducer.h"

namespace espalier {
namespace {

thread_local std::shared_ptr<Replicas> innermost_replicas;

template <class T>
void sum_of_ranks(std::byte* to, const std::byte* const* from, int ranks, size_t count) {
  using Sum = Accumulator<Reducer::kSum, T>;
  auto* const out = reinterpret_cast<T*>(to);
  const auto* const* const in = reinterpret_cast<const T* const*>(from);
  for (size_t i = 0; i < count; ++i) {
    auto sum = static_cast<Sum>(in[0][i]);
    for (int rank = 1; rank < ranks; ++rank) sum = combine<Reducer::kSum>(sum, static_cast<Sum>(in[rank][i]));
    out[i] = static_cast<T>(sum);
  }
}

}  // namespace

Replicas::Replicas(std::vector<Seat> places, bool workers, CombineOptions options, int64_t audit_steps)
    : several_(places.at(0).device),
      workers_(workers),
      combine_(options),
      audit_steps_(audit_steps),
      worker_(places[0].worker) {
  const RunContext& current = RunContext::current();
  if (!several_ && current.device && current.device->replicas() > 1 && places[0].communicator)
    throw UnsupportedError("device.strategy",
                           cat("a worker has one device, and here are ", current.device->replicas(), ": ",
                               current.device->name()),
                           "a worker for each device, or strategy::Mirrored in one process");
  for (Seat& place : places) {
    Device* const device = several_ ? several_.get() : current.device;
    contexts_.push_back(std::make_unique<RunContext>(
        RunContextOptions{.threads = place.threads,
                          .device = device,
                          .rank = device ? static_cast<int>(device->first_replica()) : 0,
                          .world = device ? static_cast<int>(device->world()) : 1,
                          .communicator = place.communicator.get(),
                          .shares = &current}));
    communicators_.push_back(std::move(place.communicator));
  }
  combine_.world = contexts_[0]->world;
  first_ = contexts_[0]->rank;
  count_ = static_cast<int>(several_ ? several_->replicas() : contexts_.size());
  if (contexts_.size() > 1) {
    std::vector<const RunContext*> in;
    for (const auto& context : contexts_) in.push_back(context.get());
    pools_ = std::make_unique<PoolsPlace>(std::move(in));
  } else {
    one_.emplace(*contexts_[0], many());
  }
}

void Replicas::describe(std::map<std::string, std::string> facts) const {
  if (worker_) worker_->describe(std::move(facts));
}

void Replicas::begin_step(int64_t step) const {
  if (worker_) worker_->begin_step(step);
}

void Replicas::failed(const std::exception& error) const {
  if (!workers_ || !communicators_[0]) return;
  const auto* const known = dynamic_cast<const Error*>(&error);
  if (worker_)
    worker_->failed(known ? known->rule() : "", known ? known->message() : error.what());
  else
    communicators_[0]->abort(error.what());
}

void Replicas::left() const {
  if (worker_) worker_->left();
}

std::vector<double> Replicas::lateness() const {
  return worker_ && workers() > 1 ? worker_->lateness() : std::vector<double>();
}

bool Replicas::asked_to_go() const { return told_ || (worker_ && worker_->asked_to_go()); }

std::shared_ptr<const Rewrite> Replicas::rewrite() const {
  return many() ? std::make_shared<const Rewrite>(combine_replicas(combine_)) : nullptr;
}

std::vector<Tensor> Replicas::padded(const BatchRows& batch) const {
  if (batch.count() >= world() || !batch.of_shards.empty()) return {};
  return with_rows_of_no_weight(batch.rows, world());
}

std::pair<int64_t, int64_t> Replicas::rows_of(int64_t count, int rank) const {
  return {count * rank / world(), count * (rank + 1) / world()};
}

std::vector<Tensor> Replicas::arguments_of(const BatchRows& batch, int rank, int64_t most_weight) const {
  if (!batch.of_shards.empty()) {
    // They are this worker's alone.
    std::vector<Tensor> out(batch.rows.begin(), batch.rows.end());
    const std::vector<int64_t> own = owned_shards(std::ssize(batch.of_shards), rank, world());
    const auto before = own.empty() ? batch.of_shards.begin() : batch.of_shards.begin() + own.front();
    out.push_back(
        Tensor::of<int64_t>({std::accumulate(batch.of_shards.begin(), before, int64_t{0}), most_weight}));
    return out;
  }
  const auto [first, last] = rows_of(batch.count(), rank);
  std::vector<Tensor> out = rows_between(batch.rows, first, last);
  if (contexts_[0]->device && last - first < rows_each(batch))
    out = with_rows_of_no_weight(out, rows_each(batch));
  out.push_back(Tensor::of<int64_t>({first, most_weight}));
  return out;
}

int64_t Replicas::rows_each(const BatchRows& batch) const {
  return (std::max(batch.count(), batch.at_least) + world() - 1) / world();
}

bool Replicas::adds_rows(const BatchRows& batch) const {
  return contexts_[0]->device && batch.of_shards.empty() && rows_each(batch) * world() != batch.count();
}

std::vector<Tensor> Replicas::arguments(const BatchRows& batch) const {
  return arguments_of(batch, first_, batch.most_weight());
}

std::vector<Tensor> Replicas::run(const TracedFunction& program, const BatchRows& batch) const {
  if (together() && !batch.of_shards.empty())
    throw UnsupportedError("tpu.shards",
                           "rows of shards that each host has for itself cannot be dealt out evenly to "
                           "the devices of a TPU of several hosts",
                           "give each host all rows, in memory");
  if (count() == 1 && !together()) return program.call(arguments(batch));
  std::vector<std::vector<Tensor>> each;
  const int64_t most_weight = batch.most_weight();
  for (int i = 0; i < count(); ++i) each.push_back(arguments_of(batch, first_ + i, most_weight));
  return std::move(program.call_each(each, place(), tracing())[0]);
}

const RunContext& Replicas::tracing() const { return pools_ ? RunContext::current() : *contexts_[0]; }

std::vector<std::vector<Tensor>> Replicas::run_each(const TracedFunction& program,
                                                    std::span<const std::vector<Tensor>> arguments) const {
  std::vector<std::vector<Tensor>> out = program.call_each(arguments, place(), tracing());
  for (size_t i = 0; i < out.size(); ++i)
    for (Tensor& result : out[i]) result = place().value_of(result, i);
  return out;
}

std::vector<std::vector<Tensor>> Replicas::run_rows(const TracedFunction& function,
                                                    std::span<const Tensor> rows) const {
  const int64_t count = rows[0].size(0);
  if (count < world()) return {function.call(rows)};
  // Fewer numbers of rows are fewer programs to compile.
  const int64_t padded =
      several_ ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows_each(rows)))) : 0;
  std::vector<std::vector<Tensor>> each;
  for (int i = 0; i < this->count(); ++i) {
    const auto [first, last] = rows_of(count, first_ + i);
    each.push_back(rows_between(rows, first, last));
    if (several_) each.back() = with_row_repeated(each.back(), last - first - 1, padded);
  }
  std::vector<std::vector<Tensor>> own = run_each(function, each), out(static_cast<size_t>(world()));
  for (int i = 0; several_ && i < this->count(); ++i) {
    const auto [first, last] = rows_of(count, first_ + i);
    for (Tensor& result : own[static_cast<size_t>(i)])
      if (result.rank() > 0 && result.size(0) == padded)
        result = rows_between({&result, 1}, 0, last - first)[0];
  }
  for (size_t k = 0; k < own[0].size(); ++k) {
    std::vector<Tensor> results;
    for (const std::vector<Tensor>& of : own) results.push_back(of[k]);
    const std::vector<Tensor> all = of_all(results);
    for (size_t rank = 0; rank < out.size(); ++rank) out[rank].push_back(all[rank]);
  }
  return out;
}

std::vector<std::string> Replicas::texts_of_workers(std::string_view name, std::string own) const {
  const uint64_t size = own.size();
  std::vector<uint64_t> sizes(static_cast<size_t>(workers()));
  all_gather(name, std::as_bytes(std::span(&size, 1)), reinterpret_cast<std::byte*>(sizes.data()));
  // In rooms of the size of the largest.
  const size_t room = std::ranges::max(sizes);
  own.resize(room);
  std::string all(room * sizes.size(), '\0');
  all_gather(name, std::as_bytes(std::span(own)), reinterpret_cast<std::byte*>(all.data()));
  std::vector<std::string> out;
  for (size_t i = 0; i < sizes.size(); ++i) out.push_back(all.substr(i * room, sizes[i]));
  return out;
}

Tensor Replicas::sum_of_workers(const Tensor& own) const {
  const TensorType& type = own.type();
  const std::string text = cat(type, " sum");
  Collective what{.kind = Collective::Kind::kAllReduce,
                  .name = "sum",
                  .type = text,
                  .element = size_of(type.dtype),
                  .count = static_cast<size_t>(type.elements())};
  visit_dtype(type.dtype, [&](auto tag) { what.reduce = sum_of_ranks<typename decltype(tag)::type>; });
  Communicator& communicator = *communicators_[0];
  const std::shared_ptr<std::byte[]> place = communicator.allocate(type.bytes());
  if (type.bytes()) std::memcpy(place.get(), own.bytes(), type.bytes());
  run_collective(communicator, what, place.get(), nullptr, contexts_[0]->pool);
  return make_concrete(Literal::copy(type, place.get()));
}

std::vector<Tensor> Replicas::of_all(const std::vector<Tensor>& own) const {
  if (workers() == 1) return own;
  if (own.size() > 1) {
    std::vector<Tensor> out(own.size() * static_cast<size_t>(workers()));
    for (size_t i = 0; i < own.size(); ++i) {
      const std::vector<Tensor> of_workers = of_all({own[i]});
      for (size_t k = 0; k < of_workers.size(); ++k) out[k * own.size() + i] = of_workers[k];
    }
    return out;
  }
  const Literal& mine = own.at(0).node()->dense();
  std::string type(1, static_cast<char>(mine.type().dtype));
  for (const int64_t size : mine.type().shape) type.append(reinterpret_cast<const char*>(&size), sizeof size);
  const std::vector<std::string> types = texts_of_workers("types", type);
  const std::vector<std::string> values =
      texts_of_workers("values", std::string(reinterpret_cast<const char*>(mine.raw()), mine.raw_bytes()));
  std::vector<Tensor> out;
  for (size_t i = 0; i < types.size(); ++i) {
    TensorType of{static_cast<DType>(types[i][0]), {}};
    for (size_t k = 1; k < types[i].size(); k += sizeof(int64_t)) {
      int64_t size = 0;
      std::memcpy(&size, types[i].data() + k, sizeof size);
      of.shape.push_back(size);
    }
    out.push_back(make_concrete(Literal::copy(of, values[i].data())));
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

void Replicas::all_gather(std::string_view name, std::span<const std::byte> mine, std::byte* out) const {
  const Collective what{
      .kind = Collective::Kind::kAllGather, .name = name, .type = "bytes", .count = mine.size()};
  run_collective(*communicators_[0], what, const_cast<std::byte*>(mine.data()), out, contexts_[0]->pool);
}

void Replicas::broadcast(std::span<const Variable> variables) const {
  if (workers() == 1) return;
  Communicator& communicator = *communicators_[0];
  for (const Variable& variable : variables) {
    const Tensor mine = variable.state()->value;
    const size_t bytes = mine.type().bytes();
    const std::string type = to_string(mine.type());
    const Collective what{.kind = Collective::Kind::kBroadcast,
                          .name = variable.path(),
                          .type = type,
                          .element = 1,
                          .count = bytes};
    Buffer buffer = worker() == 0 ? Buffer() : allocate_buffer(bytes);
    auto* const data = static_cast<std::byte*>(const_cast<void*>(mine.bytes()));
    run_collective(communicator, what, data, buffer.get(), contexts_[0]->pool);
    if (buffer) Variable(variable).assign(make_concrete(Literal(mine.type(), std::move(buffer))));
  }
}

bool is_chief() { return !innermost_replicas || innermost_replicas->worker() == 0; }
const std::shared_ptr<Replicas>& current_replicas() { return innermost_replicas; }

std::shared_ptr<Replicas> exchange_current_replicas(std::shared_ptr<Replicas> next) {
  return std::exchange(innermost_replicas, std::move(next));
}

}  // namespace espalier
