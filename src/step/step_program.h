// What runs the program of a step on a batch: in one piece, on replicas, or by logical shards.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "espalier/function.h"
#include "strategy/replicas.h"

namespace espalier {

class StepProgram {
 public:
  virtual ~StepProgram() = default;
  // The flags that the program gives.
  virtual std::vector<Tensor> run(const BatchRows& batch) const = 0;
  // Makes the variables that a run on these rows makes, and changes none.
  virtual void make_variables(const BatchRows& batch) const = 0;
  // The program for rows like these, after a rewrite or pass, as TracedFunction::graph() has it.
  virtual std::shared_ptr<const Graph> graph(const BatchRows& batch, const std::string& after) const = 0;
  // Which of so many rows of a batch that all workers have this process works on: from the first to behind
  // the last.
  virtual std::pair<int64_t, int64_t> own_rows(int64_t count) const { return {0, count}; }
  // Whether a run gives replicas as many rows each as it needs; else what is to be added stands in the batch.
  virtual bool pads() const { return false; }
  // Where there are fewer rows than replicas: those, with rows of weight 0 behind them.
  virtual std::vector<Tensor> padded(const BatchRows&) const { return {}; }
  // Whether replicas get rows of weight 0 behind theirs even then.
  virtual bool adds_rows(const BatchRows&) const { return false; }
  // How many replicas share a batch.
  virtual int replicas() const { return 1; }
};

// `replicas`: null for one.
std::unique_ptr<StepProgram> whole_program(TracedFunction program, std::shared_ptr<const Replicas> replicas);

}  // namespace espalier
