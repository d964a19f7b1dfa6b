// The rewrites that make a step of a forward pass.
#include <algorithm>

#include "base/format.h"
#include "espalier/tape.h"
#include "ops/finite_sum.h"
#include "optim/rule.h"
#include "step/wide_gradients.h"
#include "train/scaled_rows.h"
#include "train/step.h"

namespace espalier {

// Binds the seed, and updates the variables that have gradients.
Rewrite Model::Training::apply_update() {
  const auto run = [this](const TracedGraph& program, bool again) {
    std::vector<NamedType> arguments = program.arguments();
    const auto place_of = [&](const char* name) {
      return static_cast<size_t>(std::ranges::find(arguments, name, &NamedType::name) - arguments.begin());
    };
    const size_t seed_at = place_of("seed"), weight_at = place_of("row_weight");
    const bool binds = seed_at < arguments.size();
    Rewritten out;
    if (binds) {
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(seed_at));
      out.change.bound_arguments = {"seed"};
    }
    out.program = trace_graph(program.graph->name(), again, arguments, [&](std::span<const Tensor> in) {
      Tensors all_arguments(in.begin(), in.end());
      Tensor weight;
      if (!placed()) weight = reduce_sum(in[weight_at], {0});
      if (binds)
        all_arguments.insert(all_arguments.begin() + static_cast<std::ptrdiff_t>(seed_at), seed(weight));
      Inlined step(program, all_arguments);
      if (placed()) weight = step.result("loss_weight");

      const std::vector<Variable> weights = Running::model()->trainable_variables();
      std::vector<Tensor> gradients;
      for (const Variable& variable : weights) {
        const auto found = std::ranges::find(program.gradients, variable.state(),
                                             &std::pair<VariablePtr, std::string>::first);
        gradients.push_back(found == program.gradients.end() ? Tensor() : step.result(found->second));
      }
      const Tensor skipped = update(gradients, weights, weight, step.result(ScaledRows::kOfRows));
      Tensor applies, counts;
      if (skipped.defined()) {
        applies = compare(skipped, 0, Comparison::kEQ);
        FiniteSum loss;
        loss.add(step.result("loss_sum"));
        counts = applies | compare(loss.value(), 0, Comparison::kEQ);
      }
      // Rows of a step that is skipped have a loss all the same; averages of layers belong to the step.
      const std::vector<Variable> sums = sums_of_rows();
      const auto of_rows = [&](const Variable& variable) {
        return std::ranges::any_of(sums,
                                   [&](const Variable& sum) { return sum.state() == variable.state(); });
      };
      for (Inlined::Update& observed : step.updates) {
        observed.variable.assign(
            if_applied(of_rows(observed.variable) ? counts : applies, observed.variable, observed.next));
      }
      if (skipped.defined()) {
        out.change.added_results = {"skipped"};
        step.results.push_back({"skipped", skipped});
      }
      return step.results;
    });
    return out;
  };
  return {"update", run};
}

// Keeps every variable as it is unless the loss, gradients and new weights are finite.
Rewrite Model::Training::check_numerics(bool trains) {
  const auto run = [this, trains](const TracedGraph& program, bool again) {
    Rewritten out;
    out.change.added_results = {"not_finite"};
    out.program =
        trace_graph(program.graph->name(), again, program.arguments(), [&](std::span<const Tensor> in) {
          Inlined step(program, in);
          FiniteSum sum;
          sum.add(step.result("loss"));
          for (const NamedTensor& result : step.results) {
            // What overflows under a loss scale is skipped, and no fault.
            if (!scaling && is_gradient(result.name)) sum.add(result.value);
          }
          const auto next_of = [&](const Variable& variable) {
            for (const Inlined::Update& update : step.updates) {
              if (update.variable.state() == variable.state()) return update.next;
            }
            return variable.state()->read();
          };
          for (const Variable& variable : trains ? Running::model()->variables() : std::vector<Variable>()) {
            if (is_float(variable.dtype())) sum.add(next_of(variable));
          }
          const Tensor applies = compare(sum.value(), 0, Comparison::kEQ);
          for (Inlined::Update& update : step.updates)
            update.variable.assign(select(applies, update.next, update.variable.state()->read()));
          step.results.push_back({"not_finite", sum.value()});
          return step.results;
        });
    return out;
  };
  return {"check_numerics", run};
}

Rewrites Model::Training::update_rewrites(bool trains) {
  Rewrites out;
  const auto add = [&](Rewrite rewrite) {
    out.push_back(std::make_shared<const Rewrite>(std::move(rewrite)));
  };
  add(fold_observations());
  if (trains) add(apply_update());
  if (options.check_numerics) add(check_numerics(trains));
  add(keep_results({"skipped", "not_finite"}));
  return out;
}

Rewrites Model::Training::step_rewrites(bool trains, std::shared_ptr<const Rewrite> combine) {
  Rewrites out;
  const auto add = [&](Rewrite rewrite) {
    out.push_back(std::make_shared<const Rewrite>(std::move(rewrite)));
  };
  if (trains) {
    add(add_gradients("loss_sum", [] { return Running::model()->trainable_variables(); }));
    add(widen_gradients());
  }
  if (trains && scaling && sums()) add(ScaledRows::rewrite());
  if (combine) out.push_back(std::move(combine));
  for (auto& rewrite : update_rewrites(trains)) out.push_back(std::move(rewrite));
  return out;
}

}  // namespace espalier
