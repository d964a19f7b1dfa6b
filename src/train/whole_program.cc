#include "train/step_program.h"

namespace espalier {
namespace {

class OnOneReplica final : public StepProgram {
 public:
  explicit OnOneReplica(TracedFunction program) : program_(std::move(program)) {}
  std::vector<Tensor> run(std::span<const Tensor> rows) const override { return program_.call(rows); }
  void make_variables(std::span<const Tensor> rows) const override { program_.graph(rows); }
  std::shared_ptr<const Graph> graph(std::span<const Tensor> rows, const std::string& after) const override {
    return program_.graph(rows, after);
  }

 private:
  const TracedFunction program_;
};

class OnReplicas final : public StepProgram {
 public:
  OnReplicas(TracedFunction program, std::shared_ptr<const Replicas> replicas)
      : program_(std::move(program)), replicas_(std::move(replicas)) {}
  std::vector<Tensor> run(std::span<const Tensor> rows) const override {
    return replicas_->run(program_, rows);
  }
  void make_variables(std::span<const Tensor> rows) const override {
    program_.graph(replicas_->arguments(rows));
  }
  std::shared_ptr<const Graph> graph(std::span<const Tensor> rows, const std::string& after) const override {
    return program_.graph(replicas_->arguments(rows), after);
  }
  bool pads() const override { return true; }
  std::vector<Tensor> padded(std::span<const Tensor> rows) const override { return replicas_->padded(rows); }

 private:
  const TracedFunction program_;
  const std::shared_ptr<const Replicas> replicas_;
};

}  // namespace

std::unique_ptr<StepProgram> whole_program(TracedFunction program, std::shared_ptr<const Replicas> replicas) {
  if (replicas) return std::make_unique<OnReplicas>(std::move(program), std::move(replicas));
  return std::make_unique<OnOneReplica>(std::move(program));
}

}  // namespace espalier
