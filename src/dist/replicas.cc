#include "dist/replicas.h"

#include <exception>
#include <utility>

#include "base/format.h"
#include "dist/rows.h"
#include "eager/trace.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "ir/sink.h"

namespace espalier {
namespace {

thread_local std::shared_ptr<Replicas> innermost_replicas;

}  // namespace

Replicas::Replicas(std::vector<Place> places, bool workers, CombineOptions options)
    : workers_(workers), combine_(options), worker_(places.at(0).worker) {
  const RunContext& current = RunContext::current();
  for (Place& place : places) {
    contexts_.push_back(std::make_unique<RunContext>(RunContextOptions{
        .threads = place.threads, .communicator = place.communicator.get(), .shares = &current}));
    communicators_.push_back(std::move(place.communicator));
  }
  combine_.world = contexts_[0]->world;
  first_ = contexts_[0]->rank;
  if (count() > 1) threads_ = std::make_unique<ReplicaThreads>(contexts_.size());
}

void Replicas::describe(std::map<std::string, std::string> facts) const {
  if (worker_) worker_->describe(std::move(facts));
}

void Replicas::begin_step(int64_t step) const {
  stage(Stage::kStep, step);
  if (worker_) worker_->begin_step(step);
}

void Replicas::failed(const std::exception& error) const {
  if (workers() == 1) return;
  const auto* const known = dynamic_cast<const Error*>(&error);
  if (worker_)
    worker_->failed(known ? known->rule() : "", known ? known->message() : error.what());
  else
    communicators_[0]->abort(error.what());
}

void Replicas::left() const {
  if (worker_) worker_->left();
}

void Replicas::stage(Stage stage, int64_t number) const {
  if (workers() > 1) communicators_[0]->stage(stage, number);
}

bool Replicas::asked_to_go() const { return told_ || (worker_ && worker_->asked_to_go()); }

std::shared_ptr<const Rewrite> Replicas::rewrite() const {
  return many() ? std::make_shared<const Rewrite>(combine_replicas(combine_)) : nullptr;
}

std::vector<Tensor> Replicas::padded(std::span<const Tensor> rows) const {
  const int64_t count = rows.back().size(0), more = world() - count;
  if (more <= 0) return {};
  return with_empty_rows(rows, more);
}

std::vector<Tensor> Replicas::arguments_of(std::span<const Tensor> rows, int rank) const {
  const int64_t count = rows.back().size(0);
  const int64_t first = count * rank / world(), last = count * (rank + 1) / world();
  std::vector<Tensor> out = rows_between(rows, first, last);
  out.push_back(Tensor::scalar(first));
  return out;
}

std::vector<Tensor> Replicas::arguments(std::span<const Tensor> rows) const {
  return arguments_of(rows, first_);
}

std::vector<Tensor> Replicas::run(const TracedFunction& program, std::span<const Tensor> rows) const {
  if (count() == 1) return program.call(arguments(rows));
  std::vector<std::vector<Tensor>> each;
  std::vector<const RunContext*> in;
  for (int i = 0; i < count(); ++i) {
    each.push_back(arguments_of(rows, first_ + i));
    in.push_back(contexts_[static_cast<size_t>(i)].get());
  }
  const auto at_once = [this](const std::function<void(size_t)>& body) { threads_->run(body); };
  return std::move(program.call_replicas(each, in, at_once)[0]);
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
  threads_ ? threads_->run(run) : run(0);
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

Strategy::Scope::Scope(std::shared_ptr<Replicas> replicas)
    : before_(std::exchange(innermost_replicas, std::move(replicas))) {
  if (const RunContext* const host = innermost_replicas->host()) context_.emplace(*host);
}
Strategy::Scope::~Scope() { innermost_replicas = std::move(before_); }

int Strategy::num_replicas_in_sync() const { return replicas_->world(); }
int Strategy::worker() const { return replicas_->worker(); }
int Strategy::workers() const { return replicas_->workers(); }

}  // namespace espalier
