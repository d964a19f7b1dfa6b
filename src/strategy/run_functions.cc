#include "strategy/run_functions.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "eager/batch_place.h"
#include "eager/generator.h"
#include "eager/row_weight.h"
#include "place/shares.h"
#include "strategy/combine_replicas.h"

namespace espalier {

// A function and how it is traced on a part of a batch.
class RunFunctions::Placed {
 public:
  Placed(const TracedFunction& function, std::vector<bool> of_batch, bool padded, int parts, bool shards)
      : body_(function.body()),
        options_(function.options()),
        of_batch_(std::move(of_batch)),
        padded_(padded),
        parts_(parts),
        others_(shards ? BatchPlaceScope::Others::kShards : BatchPlaceScope::Others::kReplicas),
        observing_({std::make_shared<const Rewrite>(combine_observations(parts, shards)),
                    std::make_shared<const Rewrite>(fold_observations())}) {
    observing_.insert(observing_.end(), options_.rewrites.begin(), options_.rewrites.end());
  }

  TracedGraph trace(std::span<const TensorType> types, bool again, const std::string& after) {
    TracedRows traced = trace_placed(types, again);
    look_at_other_rows(traced, types);
    TracedGraph out = std::move(traced.program);
    out.retrace = [this](std::span<const TensorType> others) { return trace_placed(others, true).program; };
    const bool observes = !out.observations.empty();
    return rewrite(std::move(out), observes ? observing_ : options_.rewrites, again, after);
  }

  std::vector<int64_t> rows_of_results;

 private:
  size_t arguments(std::span<const TensorType> types) const { return types.size() - 1 - padded_; }
  // Of the arguments that are of the batch; nothing without one, and where they differ.
  std::optional<int64_t> rows_of(std::span<const TensorType> types) const {
    const std::vector<size_t> rows = arguments_of_rows(types);
    return rows.size() == 1 ? std::optional(types[rows[0]].shape[0]) : std::nullopt;
  }
  // The first of each number of rows.
  std::vector<size_t> arguments_of_rows(std::span<const TensorType> types) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < arguments(types); ++i) {
      const auto has_as_many = [&](size_t other) { return types[other].shape[0] == types[i].shape[0]; };
      if (is_rows(types, i) && std::ranges::none_of(out, has_as_many)) out.push_back(i);
    }
    return out;
  }
  bool is_rows(std::span<const TensorType> types, size_t i) const {
    return i < arguments(types) ? of_batch_[i] && !types[i].shape.empty() : i > arguments(types);
  }
  std::vector<TensorType> with_rows(std::span<const TensorType> types, int64_t rows) const {
    std::vector<TensorType> out(types.begin(), types.end());
    for (size_t i = 0; i < out.size(); ++i)
      if (is_rows(types, i)) out[i].shape[0] = rows;
    return out;
  }

  TracedRows trace_placed(std::span<const TensorType> types, bool again) {
    const std::optional<int64_t> rows = rows_of(types);
    if (!rows) {
      PlacedTrace out = trace_rows(types, 0, again, {});
      require_no_draws(out, types);
      return {std::move(out.program), {}};
    }
    return draws_.trace(*rows, again, [&](int64_t others, bool before, const RowsOfDraws& known) {
      return trace_rows(with_rows(types, others), others, before, known);
    });
  }

  // Of a number of rows that is not known.
  void require_no_draws(const PlacedTrace& traced, std::span<const TensorType> types) const {
    const std::vector<size_t> rows = arguments_of_rows(types);
    const auto has_elements = [](const DrawnArray& draw) { return !draw.shape.empty(); };
    const auto draw = std::ranges::find_if(traced.draws, has_elements);
    if (rows.size() < 2 || draw == traced.draws.end()) return;
    const CallScope scope(draw->at);
    throw ValueError("random.rows",
                     cat("\"", options_.name, "\" draws numbers of shape ", draw->shape,
                         ", and how many rows of the batch it has is not known: argument ", rows[0], " has ",
                         types[rows[0]].shape[0], ", argument ", rows[1], " has ", types[rows[1]].shape[0]),
                     "PerReplica::of_batch = false for values that are no rows of the batch");
  }

  PlacedTrace trace_rows(std::span<const TensorType> types, int64_t rows, bool again,
                         const RowsOfDraws& known) const {
    std::vector<NamedType> arguments;
    const size_t count = this->arguments(types);
    for (size_t i = 0; i < count; ++i) arguments.push_back({cat("arg", i), types[i]});
    arguments.push_back({"place", types[count]});
    if (padded_) arguments.push_back({"row_weight", types[count + 1]});
    PlacedTrace out;
    std::vector<TracedObservation> observations;
    out.program = trace_graph(options_.name, again, arguments, [&](std::span<const Tensor> in) {
      const ObservationScope scope;
      const BatchPlaceScope place(in[count], rows, rows * parts_, others_, known);
      const RowWeightScope weights(padded_ ? in[count + 1] : Tensor());
      NamedTensors results;
      for (Tensor& result : body_(in.first(count)))
        results.push_back({cat("result", results.size()), std::move(result)});
      if (padded_ && !weights.asked())
        throw ValueError(
            "strategy.rows",
            cat("\"", options_.name, "\" runs on devices that have ", counted(rows, "row"),
                " each, and some of them repeat another one, of weight 0, since the batch does not "
                "go round; it looks at no weights"),
            "strategy::row_weight() in it, Loss::sums(), or batches that go round");
      observations = name_observations(scope, results);
      out.draws = place.place().draws();
      out.taken = place.place().taken();
      return results;
    });
    out.program.observations = std::move(observations);
    return out;
  }

  // What a program assigns by how many rows a part has is no value of all of them.
  void look_at_other_rows(TracedRows& traced, std::span<const TensorType> types) {
    const TracedGraph& program = traced.program;
    const auto counts_draws = [](const VariablePtr& variable) { return is_random_state(Variable(variable)); };
    const std::optional<int64_t> rows = rows_of(types);
    if (!rows || (!padded_ && std::ranges::all_of(program.updated, counts_draws))) return;
    const std::optional<TracedGraph> other = traced.take_other(
        *rows, [&](int64_t others) { return trace_placed(with_rows(types, others), true).program; });
    if (other) {
      const Graph& of_others = *other->graph;
      if (padded_) rows_of_results = elements_of_rows(*program.graph, of_others, program.results, *rows);
      require_updates_of_any_rows(*program.graph, of_others);
    } else if (padded_) {
      throw ValueError("strategy.rows",
                       cat("\"", options_.name, "\" takes no other number of rows than ", *rows,
                           ": which of its results have rows is not known, and some repeat another one"),
                       "batches that go round");
    }
  }

  static std::vector<int64_t> elements_of_rows(const Graph& graph, const Graph& of_others, size_t results,
                                               int64_t rows) {
    std::vector<int64_t> out;
    for (size_t i = 0; i < results; ++i) {
      const Shape& shape = graph.type(graph.outputs()[i].value).shape;
      const Shape& other = of_others.type(of_others.outputs()[i].value).shape;
      const bool follows = !shape.empty() && !other.empty() && shape[0] != other[0];
      out.push_back(follows ? shape[0] / rows : 0);
    }
    return out;
  }

  const TracedFunction::Body body_;
  const FunctionOptions options_;
  const std::vector<bool> of_batch_;
  const bool padded_;
  const int parts_;
  const BatchPlaceScope::Others others_;
  Rewrites observing_;
  DrawsOfRows draws_;
};

const std::vector<int64_t>& RunFunctions::Found::rows_of_results() const { return placed->rows_of_results; }

auto RunFunctions::of(const TracedFunction& function, const std::vector<bool>& of_batch, bool padded)
    -> std::optional<Found> {
  if (!function.body()) return std::nullopt;
  const std::shared_ptr<const void> identity = function.identity();
  const std::lock_guard lock(mutex_);
  const auto is = [&](const Known& known) {
    return known.of.lock() == identity && known.of_batch == of_batch && known.padded == padded;
  };
  if (const auto found = std::ranges::find_if(known_, is); found != known_.end()) return *found;
  std::erase_if(known_, [](const Known& known) { return known.of.expired(); });
  const auto placed = std::make_shared<Placed>(function, of_batch, padded, parts_, kind_ == Parts::kShards);
  FunctionOptions options = function.options();
  options.rewrites = {};
  const auto trace = [placed](std::span<const TensorType> types, bool again, const std::string& after) {
    return placed->trace(types, again, after);
  };
  known_.push_back({{TracedFunction(trace, std::move(options)), placed}, identity, of_batch, padded});
  return known_.back();
}

}  // namespace espalier
