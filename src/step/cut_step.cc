#include "step/cut_step.h"

#include <algorithm>

#include "eager/cut_traced.h"
#include "eager/row_weight.h"
#include "espalier/array.h"
#include "espalier/source.h"
#include "ir/sink.h"
#include "place/packed_arrays.h"
#include "step/counted_rows.h"
#include "step/wide_gradients.h"
#include "strategy/rows.h"

namespace espalier {
namespace {

constexpr const char* kCut = "cut";  // the rewrite between the gradients and the update

std::vector<Tensor> zeros_of(const std::vector<TensorType>& types) {
  std::vector<Tensor> out;
  for (const TensorType& type : types) out.push_back(full(type.shape, 0, type.dtype));
  return out;
}

template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

CutStep::CutStep(StepToCut step)
    : step_(std::move(step)),
      shard_([this](std::span<const TensorType> types, bool again,
                    const std::string& after) { return trace_shard(types, again, after); },
             {.name = step_.shard_name, .rewrites = rewrites(std::make_shared<Crossing>())}),
      combine_([this](std::span<const TensorType> types, bool again,
                      const std::string&) { return trace_both(types, again); },
               {.name = "both_shards"}),
      update_([this](std::span<const TensorType>, bool, const std::string& after) { return rest(after); },
              {.name = step_.name, .rewrites = step_.of_update}) {}

Rewrites CutStep::rewrites(const std::shared_ptr<Crossing>& crossing) const {
  const auto run = [crossing, mean_loss = step_.mean_loss](const TracedGraph& program, bool again) {
    Rewritten out;
    out.program =
        trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
          Inlined step(program, in);
          std::ranges::stable_partition(step.results, is_gradient, &NamedTensor::name);
          *crossing = {{}, {}, program.observations};
          std::vector<Tensor> values;
          for (const NamedTensor& result : step.results) {
            (is_gradient(result.name) ? crossing->gradients : crossing->others).push_back(result.name);
            values.push_back(result.value);
          }
          // They may follow the number of rows, as a count of draws, and the rest is that of any number.
          for (size_t i = 0; i < step.updates.size(); ++i) {
            crossing->others.push_back(cat("state/", i));
            values.push_back(step.updates[i].next);
          }
          const std::vector<Tensor> of_all = meet_parts(values);
          const size_t results = step.results.size();
          for (size_t i = 0; i < of_all.size(); ++i)
            (i < results ? step.results[i].value : step.updates[i - results].next) = of_all[i];
          step.assign_updates();
          const auto value_of = [&](const char* result) -> Tensor& {
            return std::ranges::find(step.results, result, &NamedTensor::name)->value;
          };
          value_of("loss") = mean_loss(value_of("loss_sum"), value_of("loss_weight"));
          return step.results;
        });
    return out;
  };
  return step_.rewrites(std::make_shared<const Rewrite>(Rewrite{kCut, run}));
}

TracedGraph CutStep::trace_shard(std::span<const TensorType> types, bool again, const std::string& after) {
  const auto crossing = std::make_shared<Crossing>();
  const Rewrites all = rewrites(crossing);
  TracedGraph whole = step_.trace(step_.shard_name.c_str(), types, all, again, after);
  if (!after.empty() && after != all.back()->name) return whole;
  Traced next{*crossing, {types.begin(), types.end()}, {}, {}, {}};
  auto [part, rest] = cut_traced(whole, joined(next.gradients, next.others), step_.name.c_str());
  for (const GraphOutput& output : part.graph->outputs())
    (is_gradient(output.name) ? next.gradient_types : next.types).push_back(part.graph->type(output.value));
  next.rest = std::move(rest);
  traced_ = std::make_shared<const Traced>(std::move(next));
  return std::move(part);
}

TracedGraph CutStep::rest(const std::string& after) const {
  const auto crossing = std::make_shared<Crossing>();
  const Rewrites all = rewrites(crossing);
  if (after.empty() || after == all.back()->name) return traced_->rest;
  const TracedGraph whole = step_.trace(step_.shard_name.c_str(), traced_->arguments, all, true, after);
  return cut_traced(whole, joined(crossing->gradients, crossing->others), step_.name.c_str()).rest;
}

TracedGraph CutStep::trace_both(std::span<const TensorType> types, bool again) const {
  const Traced& of = *traced_;
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

auto CutStep::cut(const BatchRows& batch) const -> Cut {
  Cut out(batch);
  const int64_t all = batch.count();
  if (batch.of_shards.empty()) {
    const int64_t each = (all + step_.shards - 1) / step_.shards;
    for (int64_t number = 0; number < step_.shards; ++number)
      out.counts.push_back(std::clamp<int64_t>(all - number * each, 0, each));
  } else {
    out.counts.assign(batch.of_shards.begin(), batch.of_shards.end());
  }
  out.each = std::ranges::max(out.counts);
  out.all = batch.of_shards.empty() ? all : out.each * step_.shards;
  out.most_weight = batch.most_weight();
  std::vector<int64_t> here = owned_shards(step_.shards, 0, 1);
  if (const Replicas* const replicas = step_.replicas.get(); replicas && !batch.of_shards.empty())
    here = owned_shards(step_.shards, replicas->mesh().worker, replicas->mesh().workers);
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

std::vector<ShardRange> CutStep::owned(const Cut& cut, int replica) const {
  const int world = step_.replicas ? step_.replicas->mesh().world : 1;
  const std::vector<int64_t> own = owned_shards(step_.shards, replica, world);
  if (own.empty()) return {};
  std::vector<ShardRange> out =
      subtrees({0, step_.shards}, {static_cast<int>(own.front()), static_cast<int>(own.back()) + 1});
  std::erase_if(out, [&](const ShardRange& part) {
    return std::all_of(cut.counts.begin() + part.first, cut.counts.begin() + part.last,
                       [](int64_t count) { return count == 0; });
  });
  return out;
}

std::vector<Tensor> CutStep::shard(const Cut& cut, int number) const {
  const auto i = static_cast<size_t>(number);
  const int64_t first = cut.firsts[i], count = cut.counts[i];
  std::vector<Tensor> out = rows_between(cut.rows, first, first + count);
  if (count < cut.each) out = with_rows_of_no_weight(out, cut.each);
  if (std::optional<StepRows> counted = only_counted_rows(out, {})) out = std::move(counted->arguments);
  out.push_back(Tensor::of<int64_t>({number * cut.each, cut.all, cut.most_weight}));
  return out;
}

std::vector<Tensor> CutStep::some_shard(const Cut& cut) const {
  if (!cut.here.empty()) return shard(cut, cut.here[0]);
  Cut none = cut;
  none.counts[0] = 1;
  none.firsts[0] = 0;
  return shard(none, 0);
}

auto CutStep::run_shard(const std::vector<Tensor>& shard) const -> Found {
  const SomeRowsCount mode = rows_may_be_empty();
  return found(shard_.call(shard));
}

auto CutStep::found(const std::vector<Tensor>& results) const -> Found {
  const auto others = results.begin() + std::ssize(traced_->gradients);
  return {{results.begin(), others}, {others, results.end()}};
}

auto CutStep::both(Found a, const Found& b) const -> Found {
  Found out;
  for (size_t i = 0; i < a.gradients.size(); ++i) out.gradients.push_back(a.gradients[i] + b.gradients[i]);
  out.others = combine_.call(joined(std::move(a.others), b.others));
  return out;
}

void CutStep::prepare(const Cut& cut) const {
  const auto prepare_one = [this](const std::vector<Tensor>& one) {
    const SomeRowsCount mode = rows_may_be_empty();
    shard_.prepare(one);
  };
  for (const int number : cut.here) prepare_one(shard(cut, number));
  if (cut.here.empty()) prepare_one(some_shard(cut));
  combine_.prepare(joined(zeros_of(traced_->types), zeros_of(traced_->types)));
}

auto CutStep::run_owned(const Cut& cut, int replica) const -> Parts {
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

auto CutStep::gathered(const Parts& own, const Cut& cut) const -> Parts {
  const Replicas& replicas = *step_.replicas;
  FoundArrays mine;
  for (const auto& [range, found] : own) mine.emplace_back(range, joined(found.gradients, found.others));
  std::vector<std::vector<ShardRange>> of_ranks;
  for (int rank = 0; rank < replicas.mesh().world; ++rank) of_ranks.push_back(owned(cut, rank));
  const auto all_gather = [&](std::span<const std::byte> bytes, std::byte* all) {
    replicas.hosts().all_gather("shards", bytes, all);
  };
  Parts out;
  for (const auto& [range, arrays] :
       found_by_all(mine, of_ranks, joined(traced_->gradient_types, traced_->types), all_gather))
    out.emplace_back(range, found(arrays));
  return out;
}

auto CutStep::run_together(const Cut& cut) const -> Parts {
  const SomeRowsCount mode = rows_may_be_empty();
  const auto world = static_cast<size_t>(step_.replicas->mesh().world);
  Parts out;
  for (size_t i = 0; i < cut.here.size(); i += world) {
    const size_t end = std::min(i + world, cut.here.size());
    std::vector<std::vector<Tensor>> each;
    for (size_t k = 0; k < world; ++k) each.push_back(shard(cut, cut.here[std::min(i + k, end - 1)]));
    const std::vector<std::vector<Tensor>> results = step_.replicas->run_each(shard_, each);
    for (size_t k = i; k < end; ++k)
      out.emplace_back(ShardRange{cut.here[k], cut.here[k] + 1}, found(results[k - i]));
  }
  return out;
}

std::vector<Tensor> CutStep::run(const BatchRows& batch) const {
  const Cut cut = this->cut(batch);
  const Replicas* const replicas = step_.replicas.get();
  Parts parts;
  if (!replicas) {
    parts = run_owned(cut, 0);
  } else if (replicas->mesh().many() && replicas->rows().equal_parts) {
    parts = run_together(cut);
  } else if (replicas->mesh().workers > 1) {
    // A worker that runs no shard of this batch takes part in the exchange all the same, by the signature
    // that the others have: a layer may have been frozen since its last trace.
    if (!traced_ || owned(cut, replicas->mesh().first).empty()) prepare(cut);
    parts = gathered(run_owned(cut, replicas->mesh().first), cut);
  } else {
    prepare(cut);
    std::vector<Parts> each(static_cast<size_t>(replicas->mesh().count));
    const auto runs = step_.runs();
    replicas->on_each([&](size_t replica) {
      const std::shared_ptr<const void> inside = runs();
      each[replica] = run_owned(cut, static_cast<int>(replica));
    });
    for (Parts& own : each) std::ranges::move(own, std::back_inserter(parts));
  }
  const auto known = [&](const ShardRange& range) -> std::optional<Found> {
    const auto found = std::ranges::find(parts, range, &Parts::value_type::first);
    return found == parts.end() ? std::nullopt : std::optional<Found>(std::move(found->second));
  };
  const auto add = [this](Found a, const Found& b) { return both(std::move(a), b); };
  const Found sum = *sum_over<Found>({0, step_.shards}, known, add);
  return update_.call(joined(sum.gradients, sum.others));
}

std::pair<int64_t, int64_t> CutStep::own_rows(int64_t count) const {
  const Replicas* const replicas = step_.replicas.get();
  if (!replicas) return {0, count};
  const int64_t each = (count + step_.shards - 1) / step_.shards;
  const std::vector<int64_t> own =
      owned_shards(step_.shards, replicas->mesh().worker, replicas->mesh().workers);
  if (own.empty()) return {0, 0};
  return {std::min(own.front() * each, count), std::min((own.back() + 1) * each, count)};
}

void CutStep::make_variables(const BatchRows& batch) const {
  const SomeRowsCount mode = rows_may_be_empty();
  shard_.graph(some_shard(cut(batch)));
}

std::shared_ptr<const Graph> CutStep::graph(const BatchRows& batch, const std::string& after) const {
  const std::vector<Tensor> first = some_shard(cut(batch));
  const SomeRowsCount mode = rows_may_be_empty();
  const Rewrites all = rewrites(std::make_shared<Crossing>());
  const auto behind = std::ranges::find(all, kCut, [](const auto& rewrite) { return rewrite->name; });
  const auto is_before = [&](const auto& rewrite) { return rewrite->name == after; };
  if (after == kTraced || std::any_of(all.begin(), behind + 1, is_before)) return shard_.graph(first, after);
  shard_.graph(first);
  return update_.graph(joined(zeros_of(traced_->gradient_types), zeros_of(traced_->types)), after);
}

}  // namespace espalier
