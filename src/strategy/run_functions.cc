#include "strategy/run_functions.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "eager/batch_place.h"
#include "eager/generator.h"
#include "place/shares.h"
#include "strategy/combine_replicas.h"

namespace espalier {
namespace {

// A function and how it is traced on a part of a batch.
class PlacedFunction {
 public:
  PlacedFunction(const TracedFunction& function, std::vector<bool> of_batch, int parts, bool shards)
      : body_(function.body()),
        options_(function.options()),
        of_batch_(std::move(of_batch)),
        parts_(parts),
        others_(shards ? BatchPlaceScope::Others::kShards : BatchPlaceScope::Others::kReplicas),
        observing_({std::make_shared<const Rewrite>(combine_observations(parts, shards)),
                    std::make_shared<const Rewrite>(fold_observations())}) {
    observing_.insert(observing_.end(), options_.rewrites.begin(), options_.rewrites.end());
  }

  TracedGraph trace(std::span<const TensorType> types, bool again, const std::string& after) {
    TracedGraph out = trace_placed(types, again);
    require_updates_of_all_rows(out, types);
    out.retrace = [this](std::span<const TensorType> others) { return trace_placed(others, true); };
    const bool observes = !out.observations.empty();
    return rewrite(std::move(out), observes ? observing_ : options_.rewrites, again, after);
  }

 private:
  // Of the arguments that are of the batch; nothing without one.
  std::optional<int64_t> rows_of(std::span<const TensorType> types) const {
    std::optional<int64_t> out;
    for (size_t i = 0; i + 1 < types.size(); ++i) {
      if (!is_rows(types, i)) continue;
      if (out && *out != types[i].shape[0]) return std::nullopt;
      out = types[i].shape[0];
    }
    return out;
  }
  bool is_rows(std::span<const TensorType> types, size_t i) const {
    return i + 1 < types.size() && of_batch_[i] && !types[i].shape.empty();
  }
  std::vector<TensorType> with_rows(std::span<const TensorType> types, int64_t rows) const {
    std::vector<TensorType> out(types.begin(), types.end());
    for (size_t i = 0; i < out.size(); ++i)
      if (is_rows(types, i)) out[i].shape[0] = rows;
    return out;
  }

  TracedGraph trace_placed(std::span<const TensorType> types, bool again) {
    const std::optional<int64_t> rows = rows_of(types);
    if (!rows) return trace_rows(types, 0, again, {}).program;
    return draws_.trace(*rows, again, [&](int64_t others, bool before, const RowsOfDraws& known) {
      return trace_rows(with_rows(types, others), others, before, known);
    });
  }

  PlacedTrace trace_rows(std::span<const TensorType> types, int64_t rows, bool again,
                         const RowsOfDraws& known) const {
    std::vector<NamedType> arguments;
    for (size_t i = 0; i + 1 < types.size(); ++i) arguments.push_back({cat("arg", i), types[i]});
    arguments.push_back({"place", types.back()});
    PlacedTrace out;
    std::vector<TracedObservation> observations;
    out.program = trace_graph(options_.name, again, arguments, [&](std::span<const Tensor> in) {
      const ObservationScope scope;
      const BatchPlaceScope place(in.back(), rows, rows * parts_, others_, known);
      NamedTensors results;
      for (Tensor& result : body_(in.first(in.size() - 1)))
        results.push_back({cat("result", results.size()), std::move(result)});
      observations = name_observations(scope, results);
      out.draws = place.place().draws();
      out.taken = place.place().taken();
      return results;
    });
    out.program.observations = std::move(observations);
    return out;
  }

  // What a program assigns by how many rows a part has is no value of all of them.
  void require_updates_of_all_rows(const TracedGraph& program, std::span<const TensorType> types) {
    const auto counts_draws = [](const VariablePtr& variable) { return is_random_state(Variable(variable)); };
    const std::optional<int64_t> rows = rows_of(types);
    if (!rows || std::ranges::all_of(program.updated, counts_draws)) return;
    for (const int64_t other : {*rows + 1, *rows * 2}) {
      std::optional<TracedGraph> traced;
      try {
        traced = trace_placed(with_rows(types, other), true);
      } catch (const std::exception&) {
        continue;  // other rows are none of this function
      }
      require_updates_of_any_rows(*program.graph, *traced->graph);
      return;
    }
  }

  const TracedFunction::Body body_;
  const FunctionOptions options_;
  const std::vector<bool> of_batch_;
  const int parts_;
  const BatchPlaceScope::Others others_;
  Rewrites observing_;
  DrawsOfRows draws_;
};

}  // namespace

std::optional<TracedFunction> RunFunctions::of(const TracedFunction& function,
                                               const std::vector<bool>& of_batch) {
  if (!function.body()) return std::nullopt;
  const std::shared_ptr<const void> identity = function.identity();
  const std::lock_guard lock(mutex_);
  const auto is = [&](const Known& known) {
    return known.function.lock() == identity && known.of_batch == of_batch;
  };
  if (const auto found = std::ranges::find_if(known_, is); found != known_.end()) return found->placed;
  std::erase_if(known_, [](const Known& known) { return known.function.expired(); });
  const auto placed = std::make_shared<PlacedFunction>(function, of_batch, parts_, kind_ == Parts::kShards);
  FunctionOptions options = function.options();
  std::vector<std::shared_ptr<const Rewrite>> none;
  options.rewrites.swap(none);
  known_.push_back(
      {identity, of_batch,
       TracedFunction([placed](std::span<const TensorType> types, bool again,
                               const std::string& after) { return placed->trace(types, again, after); },
                      std::move(options))});
  return known_.back().placed;
}

}  // namespace espalier
