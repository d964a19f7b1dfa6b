#include "train/sharded_step.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "dist/rows.h"
#include "espalier/source.h"
#include "ir/sink.h"
#include "nn/build_transaction.h"
#include "nn/row_weight.h"
#include "train/counted_rows.h"

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
      both_([this](std::span<const TensorType> types, bool again,
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
  require_equal_updates(out);
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

int64_t Model::Training::Sharded::rows_of_shard(std::span<const Tensor> rows) const {
  return (rows.back().size(0) + shards_ - 1) / shards_;
}

std::vector<ShardRange> Model::Training::Sharded::owned(std::span<const Tensor> rows, int replica) const {
  const int world = training_.replicas ? training_.replicas->world() : 1;
  const std::vector<int64_t> own = owned_shards(shards_, replica, world);
  if (own.empty()) return {};
  std::vector<ShardRange> out =
      subtrees({0, shards_}, {static_cast<int>(own.front()), static_cast<int>(own.back()) + 1});
  const int64_t each = rows_of_shard(rows);
  std::erase_if(out, [&](const ShardRange& part) { return part.first * each >= rows.back().size(0); });
  return out;
}

auto Model::Training::Sharded::shard(std::span<const Tensor> rows, int number) const -> Shard {
  const int64_t each = rows_of_shard(rows), first = each * number;
  const int64_t last = std::min(first + each, rows.back().size(0));
  Shard out{rows_between(rows, first, last)};
  if (last < first + each) out.arguments = with_empty_rows(out.arguments, first + each - last);
  if (std::optional<StepRows> counted = only_counted_rows(out.arguments, {})) {
    out.arguments = std::move(counted->arguments);
    out.some_rows_count = Running::model()->rows_are_coupled();
  }
  out.arguments.push_back(Tensor::scalar(first));
  return out;
}

auto Model::Training::Sharded::run_shard(const Shard& shard) const -> Found {
  const SomeRowsCount mode(shard.some_rows_count);
  std::vector<Tensor> results = shard_.call(shard.arguments);
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
  out.others = both_.call(joined(std::move(a.others), b.others));
  return out;
}

void Model::Training::Sharded::prepare(std::span<const Tensor> rows) const {
  const int64_t each = rows_of_shard(rows);
  for (int number = 0; number * each < rows.back().size(0); ++number) {
    const Shard one = shard(rows, number);
    const SomeRowsCount mode(one.some_rows_count);
    shard_.prepare(one.arguments);
  }
  both_.prepare(joined(zeros_of(signature_->types), zeros_of(signature_->types)));
}

auto Model::Training::Sharded::run_owned(std::span<const Tensor> rows, int replica) const -> Parts {
  const int64_t each = rows_of_shard(rows), count = rows.back().size(0);
  const auto leaf = [&](const ShardRange& range) -> std::optional<Found> {
    if (range.count() > 1 || range.first * each >= count) return std::nullopt;
    return run_shard(shard(rows, range.first));
  };
  Parts out;
  for (const ShardRange& part : owned(rows, replica)) {
    const auto add = [this](Found a, const Found& b) { return both(std::move(a), b); };
    out.emplace_back(part, *sum_over<Found>(part, leaf, add));
  }
  return out;
}

auto Model::Training::Sharded::gathered(const Parts& own, std::span<const Tensor> rows) const -> Parts {
  const Replicas& replicas = *training_.replicas;
  const Signature& of = *signature_;
  size_t bytes = 0, most = 0;
  for (const auto* types : {&of.gradient_types, &of.types}) {
    for (const TensorType& type : *types) bytes += room_of(type);
  }
  for (int rank = 0; rank < replicas.world(); ++rank) most = std::max(most, owned(rows, rank).size());
  const Buffer mine = allocate_buffer(most * bytes), all = allocate_buffer(replicas.world() * most * bytes);
  std::byte* to = mine.get();
  for (const auto& [range, found] : own) to = pack(found.others, pack(found.gradients, to));
  replicas.all_gather("shards", {mine.get(), most * bytes}, all.get());
  Parts out;
  for (int rank = 0; rank < replicas.world(); ++rank) {
    std::byte* from = all.get() + static_cast<size_t>(rank) * most * bytes;
    for (const ShardRange& part : owned(rows, rank)) {
      Found found{unpack(of.gradient_types, all, from), {}};
      found.others = unpack(of.types, all, from);
      out.emplace_back(part, std::move(found));
    }
  }
  return out;
}

std::vector<Tensor> Model::Training::Sharded::run(std::span<const Tensor> rows) const {
  const Replicas* const replicas = training_.replicas.get();
  Parts parts;
  if (!replicas) {
    parts = run_owned(rows, 0);
  } else if (replicas->workers() > 1) {
    if (!signature_) prepare(rows);
    parts = gathered(run_owned(rows, replicas->first()), rows);
  } else {
    prepare(rows);
    std::vector<Parts> each(static_cast<size_t>(replicas->count()));
    Model* const model = Running::model();
    replicas->on_each([&](size_t replica) {
      const Running run_this(*model);
      each[replica] = run_owned(rows, static_cast<int>(replica));
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

void Model::Training::Sharded::make_variables(std::span<const Tensor> rows) const {
  shard_.graph(shard(rows, 0).arguments);
  update_.graph(joined(zeros_of(signature_->gradient_types), zeros_of(signature_->types)));
}

std::shared_ptr<const Graph> Model::Training::Sharded::graph(std::span<const Tensor> rows,
                                                             const std::string& after) const {
  const Shard first = shard(rows, 0);
  const SomeRowsCount mode(first.some_rows_count);
  const Rewrites of_shard = shard_rewrites(std::make_shared<std::vector<VariablePtr>>());
  const auto is_of_shard = [&](const auto& rewrite) { return rewrite->name == after; };
  if (after == kTraced || std::ranges::any_of(of_shard, is_of_shard))
    return shard_.graph(first.arguments, after);
  shard_.graph(first.arguments);
  return update_.graph(joined(zeros_of(signature_->gradient_types), zeros_of(signature_->types)), after);
}

}  // namespace espalier
