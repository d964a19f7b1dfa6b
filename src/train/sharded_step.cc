#include "train/sharded_step.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "dist/rows.h"
#include "espalier/source.h"
#include "ir/sink.h"
#include "nn/build_transaction.h"
#include "nn/row_weight.h"
#include "place/shares.h"
#include "train/counted_rows.h"
#include "train/wide_gradients.h"

namespace espalier {
namespace {

constexpr const char* kStateResult = "state/";
constexpr const char* kAllOfShard = "state_as_results";  // the last rewrite of a shard's program

// New values of variables are results, not assigned.
Rewrite state_as_results(const std::shared_ptr<std::vector<VariablePtr>>& state) {
  const auto run = [state](const TracedGraph& program, bool again) {
    Rewritten out;
    *state = program.updated;
    out.program =
        trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
          Inlined step(program, in);
          for (size_t i = 0; i < step.updates.size(); ++i) {
            out.change.added_results.push_back(cat(kStateResult, i));
            step.results.push_back({out.change.added_results.back(), step.updates[i].next});
          }
          return step.results;
        });
    return out;
  };
  return {kAllOfShard, run};
}

Rewrite bind_seed(const std::function<Tensor()>& seed) {
  const auto run = [seed](const TracedGraph& program, bool again) {
    std::vector<NamedType> arguments = program.arguments();
    arguments.pop_back();
    Rewritten out;
    out.change.bound_arguments = {"seed"};
    out.program = trace_graph(program.graph->name(), again, arguments, [&](std::span<const Tensor> in) {
      std::vector<Tensor> all(in.begin(), in.end());
      all.push_back(seed());
      Inlined step(program, all);
      step.assign_updates();
      return step.results;
    });
    return out;
  };
  return {"bind_seed", run};
}

// In each shard, so that one program is that of all: whether some are is not known alike on all ranks.
SomeRowsCount rows_may_be_empty() { return SomeRowsCount(Running::model()->rows_are_coupled()); }

// Arrays one behind the other, each from a multiple of 64 bytes on.
size_t room_of(const TensorType& type) { return (type.bytes() + 63) / 64 * 64; }

std::byte* pack(const std::vector<Tensor>& tensors, std::byte* to) {
  for (const Tensor& tensor : tensors) {
    if (const size_t bytes = tensor.type().bytes()) std::memcpy(to, tensor.bytes(), bytes);
    to += room_of(tensor.type());
  }
  return to;
}

std::vector<Tensor> unpack(const std::vector<TensorType>& types, const Buffer& buffer, std::byte*& from) {
  std::vector<Tensor> out;
  for (const TensorType& type : types) {
    out.push_back(make_concrete(Literal(type, Buffer(buffer, from))));
    from += room_of(type);
  }
  return out;
}

std::vector<Tensor> zeros_of(const std::vector<TensorType>& types) {
  std::vector<Tensor> out;
  for (const TensorType& type : types) out.push_back(full(type.shape, 0, type.dtype));
  return out;
}

std::vector<Tensor> joined(std::vector<Tensor> a, const std::vector<Tensor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Model::Training::Sharded::Sharded(Training& training, bool trains)
    : training_(training),
      trains_(trains),
      shards_(training.options.logical_shards),
      shard_(
          [this](std::span<const TensorType> types, bool again, const std::string& after) {
            return trace_shard(types, again, after);
          },
          {.name = shard_name(), .rewrites = shard_rewrites(std::make_shared<std::vector<VariablePtr>>())}),
      combine_([this](std::span<const TensorType> types, bool again,
                      const std::string&) { return trace_both(types, again); },
               {.name = "both_shards"}),
      update_([this](std::span<const TensorType> types, bool again,
                     const std::string& after) { return trace_update(types, again, after); },
              {.name = trains ? "train_step" : "test_step", .rewrites = training.update_rewrites(trains)}) {}

Rewrites Model::Training::Sharded::shard_rewrites(
    const std::shared_ptr<std::vector<VariablePtr>>& state) const {
  Rewrites out;
  const auto add = [&](Rewrite rewrite) {
    out.push_back(std::make_shared<const Rewrite>(std::move(rewrite)));
  };
  if (trains_) {
    add(add_gradients("loss_sum", [] { return Running::model()->trainable_variables(); }));
    add(widen_gradients());
    if (training_.scaling) add(LossScaling::scale_rows());
    add(bind_seed([this] { return training_.seed({}); }));
  }
  add(state_as_results(state));
  return out;
}

TracedGraph Model::Training::Sharded::trace_shard(std::span<const TensorType> types, bool again,
                                                  const std::string& after) {
  const BuildTransaction transaction;
  Signature next;
  const auto state = std::make_shared<std::vector<VariablePtr>>();
  TracedGraph out = training_.trace_forward(shard_name(), types, again, trains_);
  if (trains_) training_.require_trainable(out);
  training_.require_equal_updates_of_parts(out, shard_name(), types, trains_);
  next.observations = out.observations;
  out = rewrite(std::move(out), shard_rewrites(state), again, after);
  if (!after.empty() && after != kAllOfShard) return out;
  next.state = *state;
  next.gradient_of = out.gradients;
  for (size_t i = 0; i < out.results; ++i) {
    const GraphOutput& output = out.graph->outputs()[i];
    const bool gradient = is_gradient(output.name);
    (gradient ? next.gradients : next.others).push_back(output.name);
    (gradient ? next.gradient_types : next.types).push_back(out.graph->type(output.value));
  }
  signature_ = std::make_shared<const Signature>(std::move(next));
  return out;
}

TracedGraph Model::Training::Sharded::trace_both(std::span<const TensorType> types, bool again) const {
  const Signature& of = *signature_;
  std::vector<NamedType> arguments;
  for (const char* side : {"a/", "b/"}) {
    for (const std::string& name : of.others) arguments.push_back({side + name, types[arguments.size()]});
  }
  return trace_graph("both_shards", again, arguments, [&](std::span<const Tensor> in) {
    const auto a = in.first(of.others.size()), b = in.subspan(of.others.size());
    NamedTensors results;
    for (size_t i = 0; i < of.others.size(); ++i)
      results.push_back({of.others[i], is_loss_sum(of.others[i]) ? a[i] + b[i] : a[i]});
    for (const TracedObservation& observed : of.observations) {
      std::vector<size_t> places;
      std::vector<Tensor> left, right;
      for (const std::string& name : observed.increments) {
        places.push_back(static_cast<size_t>(std::ranges::find(of.others, name) - of.others.begin()));
        left.push_back(a[places.back()]);
        right.push_back(b[places.back()]);
      }
      const std::vector<Tensor> sums = combine_increments(observed.how, left, right);
      for (size_t i = 0; i < sums.size(); ++i) results[places[i]].value = sums[i];
    }
    return results;
  });
}

TracedGraph Model::Training::Sharded::trace_update(std::span<const TensorType> types, bool again,
                                                   const std::string& after) const {
  const BuildTransaction transaction;
  const Signature& of = *signature_;
  std::vector<NamedType> arguments;
  for (const auto* names : {&of.gradients, &of.others}) {
    for (const std::string& name : *names) arguments.push_back({name, types[arguments.size()]});
  }
  const char* const name = trains_ ? "train_step" : "test_step";
  TracedGraph out = trace_graph(name, again, arguments, [&](std::span<const Tensor> in) {
    NamedTensors results;
    size_t state = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name.starts_with(kStateResult))
        Variable(of.state[state++]).assign(in[i]);
      else
        results.push_back({arguments[i].name, in[i]});
    }
    const auto value_of = [&](const char* result) -> Tensor& {
      return std::ranges::find(results, result, &NamedTensor::name)->value;
    };
    value_of("loss") = LossSums{value_of("loss_sum"), value_of("loss_weight")}.mean();
    return results;
  });
  out.observations = of.observations;
  out.gradients = of.gradient_of;
  return rewrite(std::move(out), training_.update_rewrites(trains_), again, after);
}

auto Model::Training::Sharded::cut(const BatchRows& batch) const -> Cut {
  Cut out(batch);
  const int64_t all = batch.count();
  if (batch.of_shards.empty()) {
    const int64_t each = (all + shards_ - 1) / shards_;
    for (int64_t number = 0; number < shards_; ++number)
      out.counts.push_back(std::clamp<int64_t>(all - number * each, 0, each));
  } else {
    out.counts.assign(batch.of_shards.begin(), batch.of_shards.end());
  }
  out.each = std::ranges::max(out.counts);
  out.most_weight = batch.most_weight();
  std::vector<int64_t> here = owned_shards(shards_, 0, 1);
  if (const Replicas* const replicas = training_.replicas.get(); replicas && !batch.of_shards.empty())
    here = owned_shards(shards_, replicas->mesh().worker, replicas->mesh().workers);
  out.firsts.resize(out.counts.size());
  int64_t first = 0;
  for (const int64_t number : here) {
    const auto i = static_cast<size_t>(number);
    out.firsts[i] = first;
    first += out.counts[i];
    if (out.counts[i] > 0) out.here.push_back(static_cast<int>(number));
  }
  return out;
}

std::vector<ShardRange> Model::Training::Sharded::owned(const Cut& cut, int replica) const {
  const int world = training_.replicas ? training_.replicas->mesh().world : 1;
  const std::vector<int64_t> own = owned_shards(shards_, replica, world);
  if (own.empty()) return {};
  std::vector<ShardRange> out =
      subtrees({0, shards_}, {static_cast<int>(own.front()), static_cast<int>(own.back()) + 1});
  std::erase_if(out, [&](const ShardRange& part) {
    return std::all_of(cut.counts.begin() + part.first, cut.counts.begin() + part.last,
                       [](int64_t count) { return count == 0; });
  });
  return out;
}

std::vector<Tensor> Model::Training::Sharded::shard(const Cut& cut, int number) const {
  const auto i = static_cast<size_t>(number);
  const int64_t first = cut.firsts[i], count = cut.counts[i];
  std::vector<Tensor> out = rows_between(cut.rows, first, first + count);
  if (count < cut.each) out = with_rows_of_no_weight(out, cut.each);
  if (std::optional<StepRows> counted = only_counted_rows(out, {})) out = std::move(counted->arguments);
  out.push_back(Tensor::of<int64_t>({number * cut.each, cut.most_weight}));
  return out;
}

std::vector<Tensor> Model::Training::Sharded::some_shard(const Cut& cut) const {
  if (!cut.here.empty()) return shard(cut, cut.here[0]);
  Cut none = cut;
  none.counts[0] = 1;
  none.firsts[0] = 0;
  return shard(none, 0);
}

auto Model::Training::Sharded::run_shard(const std::vector<Tensor>& shard) const -> Found {
  const SomeRowsCount mode = rows_may_be_empty();
  return found(shard_.call(shard));
}

auto Model::Training::Sharded::found(const std::vector<Tensor>& results) const -> Found {
  const Signature& of = *signature_;
  Found out;
  // Gradients stand together behind the results of the forward pass, state behind them.
  size_t first = 0;
  while (first < of.others.size() && !of.others[first].starts_with(kStateResult)) ++first;
  const auto gradients = results.begin() + static_cast<std::ptrdiff_t>(first);
  const auto state = gradients + static_cast<std::ptrdiff_t>(of.gradients.size());
  out.others.assign(results.begin(), gradients);
  out.gradients.assign(gradients, state);
  out.others.insert(out.others.end(), state, results.end());
  return out;
}

auto Model::Training::Sharded::both(Found a, const Found& b) const -> Found {
  Found out;
  for (size_t i = 0; i < a.gradients.size(); ++i) out.gradients.push_back(a.gradients[i] + b.gradients[i]);
  out.others = combine_.call(joined(std::move(a.others), b.others));
  return out;
}

void Model::Training::Sharded::prepare(const Cut& cut) const {
  const auto prepare_one = [this](const std::vector<Tensor>& one) {
    const SomeRowsCount mode = rows_may_be_empty();
    shard_.prepare(one);
  };
  for (const int number : cut.here) prepare_one(shard(cut, number));
  if (cut.here.empty()) prepare_one(some_shard(cut));
  combine_.prepare(joined(zeros_of(signature_->types), zeros_of(signature_->types)));
}

auto Model::Training::Sharded::run_owned(const Cut& cut, int replica) const -> Parts {
  const auto leaf = [&](const ShardRange& range) -> std::optional<Found> {
    if (range.count() > 1 || cut.counts[static_cast<size_t>(range.first)] == 0) return std::nullopt;
    return run_shard(shard(cut, range.first));
  };
  Parts out;
  for (const ShardRange& part : owned(cut, replica)) {
    const auto add = [this](Found a, const Found& b) { return both(std::move(a), b); };
    out.emplace_back(part, *sum_over<Found>(part, leaf, add));
  }
  return out;
}

auto Model::Training::Sharded::gathered(const Parts& own, const Cut& cut) const -> Parts {
  const Replicas& replicas = *training_.replicas;
  const Signature& of = *signature_;
  size_t bytes = 0, most = 0;
  for (const auto* types : {&of.gradient_types, &of.types}) {
    for (const TensorType& type : *types) bytes += room_of(type);
  }
  for (int rank = 0; rank < replicas.mesh().world; ++rank) most = std::max(most, owned(cut, rank).size());
  const Buffer mine = allocate_buffer(most * bytes),
               all = allocate_buffer(replicas.mesh().world * most * bytes);
  std::byte* to = mine.get();
  for (const auto& [range, found] : own) to = pack(found.others, pack(found.gradients, to));
  replicas.hosts().all_gather("shards", {mine.get(), most * bytes}, all.get());
  Parts out;
  for (int rank = 0; rank < replicas.mesh().world; ++rank) {
    std::byte* from = all.get() + static_cast<size_t>(rank) * most * bytes;
    for (const ShardRange& part : owned(cut, rank)) {
      Found found{unpack(of.gradient_types, all, from), {}};
      found.others = unpack(of.types, all, from);
      out.emplace_back(part, std::move(found));
    }
  }
  return out;
}

auto Model::Training::Sharded::run_together(const Cut& cut) const -> Parts {
  const SomeRowsCount mode = rows_may_be_empty();
  const auto world = static_cast<size_t>(training_.replicas->mesh().world);
  Parts out;
  for (size_t i = 0; i < cut.here.size(); i += world) {
    const size_t end = std::min(i + world, cut.here.size());
    std::vector<std::vector<Tensor>> each;
    for (size_t k = 0; k < world; ++k) each.push_back(shard(cut, cut.here[std::min(i + k, end - 1)]));
    const std::vector<std::vector<Tensor>> results = training_.replicas->run_each(shard_, each);
    for (size_t k = i; k < end; ++k)
      out.emplace_back(ShardRange{cut.here[k], cut.here[k] + 1}, found(results[k - i]));
  }
  return out;
}

std::vector<Tensor> Model::Training::Sharded::run(const BatchRows& batch) const {
  const Cut cut = this->cut(batch);
  const Replicas* const replicas = training_.replicas.get();
  Parts parts;
  if (!replicas) {
    parts = run_owned(cut, 0);
  } else if (replicas->mesh().many() && replicas->of_device()) {
    parts = run_together(cut);
  } else if (replicas->mesh().workers > 1) {
    // A worker that runs no shard of this batch takes part in the exchange all the same, by the signature
    // that the others have: a layer may have been frozen since its last trace.
    if (!signature_ || owned(cut, replicas->mesh().first).empty()) prepare(cut);
    parts = gathered(run_owned(cut, replicas->mesh().first), cut);
  } else {
    prepare(cut);
    std::vector<Parts> each(static_cast<size_t>(replicas->mesh().count));
    Model* const model = Running::model();
    replicas->on_each([&](size_t replica) {
      const Running run_this(*model);
      each[replica] = run_owned(cut, static_cast<int>(replica));
    });
    for (Parts& own : each) std::ranges::move(own, std::back_inserter(parts));
  }
  const auto known = [&](const ShardRange& range) -> std::optional<Found> {
    const auto found = std::ranges::find(parts, range, &Parts::value_type::first);
    return found == parts.end() ? std::nullopt : std::optional<Found>(std::move(found->second));
  };
  const auto add = [this](Found a, const Found& b) { return both(std::move(a), b); };
  const Found sum = *sum_over<Found>({0, shards_}, known, add);
  return update_.call(joined(sum.gradients, sum.others));
}

std::pair<int64_t, int64_t> Model::Training::Sharded::own_rows(int64_t count) const {
  const Replicas* const replicas = training_.replicas.get();
  if (!replicas) return {0, count};
  const int64_t each = (count + shards_ - 1) / shards_;
  const std::vector<int64_t> own = owned_shards(shards_, replicas->mesh().worker, replicas->mesh().workers);
  if (own.empty()) return {0, 0};
  return {std::min(own.front() * each, count), std::min((own.back() + 1) * each, count)};
}

void Model::Training::Sharded::make_variables(const BatchRows& batch) const {
  const SomeRowsCount mode = rows_may_be_empty();
  shard_.graph(some_shard(cut(batch)));
  update_.graph(joined(zeros_of(signature_->gradient_types), zeros_of(signature_->types)));
}

std::shared_ptr<const Graph> Model::Training::Sharded::graph(const BatchRows& batch,
                                                             const std::string& after) const {
  const std::vector<Tensor> first = some_shard(cut(batch));
  const SomeRowsCount mode = rows_may_be_empty();
  const Rewrites of_shard = shard_rewrites(std::make_shared<std::vector<VariablePtr>>());
  const auto is_of_shard = [&](const auto& rewrite) { return rewrite->name == after; };
  if (after == kTraced || std::ranges::any_of(of_shard, is_of_shard)) return shard_.graph(first, after);
  shard_.graph(first);
  return update_.graph(joined(zeros_of(signature_->gradient_types), zeros_of(signature_->types)), after);
}

}  // namespace espalier
