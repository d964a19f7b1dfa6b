// What runs the program of a step on a batch: in one piece, on replicas, or by logical shards.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dist/replicas.h"
#include "espalier/function.h"

namespace espalier {

// Rows are x, y and the weight of each.
class StepProgram {
 public:
  virtual ~StepProgram() = default;
  // The flags that the program gives.
  virtual std::vector<Tensor> run(std::span<const Tensor> rows) const = 0;
  // Makes the variables that a run on these rows makes, and changes none.
  virtual void make_variables(std::span<const Tensor> rows) const = 0;
  // The program for rows like these, after a rewrite or pass, as TracedFunction::graph() has it.
  virtual std::shared_ptr<const Graph> graph(std::span<const Tensor> rows,
                                             const std::string& after) const = 0;
  // Whether a run may need more rows than there are: then those that padded() gives, with rows of weight 0
  // behind them, or none where these do.
  virtual bool pads() const { return false; }
  virtual std::vector<Tensor> padded(std::span<const Tensor>) const { return {}; }
};

// `replicas`: null for one.
std::unique_ptr<StepProgram> whole_program(TracedFunction program, std::shared_ptr<const Replicas> replicas);

}  // namespace espalier
