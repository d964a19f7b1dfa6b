// The steps of fit as a loop of one's own makes them: what a call of Strategy::run() costs more.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "espalier/espalier.h"
#include "strategy/replicas.h"
#include "strategy/rows.h"

// One loss over the same batches, the same optimizer; each call takes this worker's rows of a batch, which
// are shared out before.
class CalledSteps {
 public:
  CalledSteps(espalier::Model& model, espalier::Optimizer optimizer,
              const espalier::strategy::MultiWorkerMirrored& workers, const std::vector<espalier::Tensor>& x,
              const std::vector<espalier::Tensor>& y)
      : model_(model), optimizer_(std::move(optimizer)), workers_(workers) {
    const espalier::Replicas& replicas = *workers.replicas();
    for (size_t i = 0; i < x.size(); ++i) {
      const auto [first, last] = replicas.shares().rows_of(x[i].size(0), replicas.mesh().first);
      const auto own = espalier::rows_between(std::vector{x[i], y[i]}, first, last);
      parts_.push_back({{{own[0]}}, {{own[1]}}});
    }
    // Variables are made outside of the step, which is traced twice.
    model_(parts_[0][0].values[0]);
  }

  // Seconds of a call, of so many.
  double run(int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) loss_ = workers_.run(step_, parts_[at_++ % parts_.size()])[0].values[0];
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  }
  // Of the last call's batch.
  double loss() const { return loss_.item<float>(); }

 private:
  espalier::Model& model_;
  espalier::Optimizer optimizer_;
  const espalier::strategy::MultiWorkerMirrored& workers_;
  std::vector<std::vector<espalier::PerReplica>> parts_;
  size_t at_ = 0;
  espalier::Tensor loss_;
  const espalier::Loss of_ = espalier::SparseCategoricalCrossentropy({.from_logits = true});
  const espalier::TracedFunction step_ = espalier::function(
      [this](const espalier::Tensor& x, const espalier::Tensor& y) {
        espalier::GradientTape tape;
        const espalier::LossSums own = of_.sums(y, model_(x));
        const auto sums = espalier::strategy::all_reduce({own.sum, own.weight});
        const auto weights = model_.trainable_variables();
        optimizer_.apply(espalier::strategy::all_reduce(tape.gradient(own.sum / sums[1], weights)), weights);
        return sums[0] / sums[1];
      },
      {.name = "step"});
};
