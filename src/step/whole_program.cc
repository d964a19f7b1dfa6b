#include "step/step_program.h"

namespace espalier {
namespace {

class OnOneReplica final : public StepProgram {
 public:
  explicit OnOneReplica(TracedFunction program) : program_(std::move(program)) {}
  std::vector<Tensor> run(const BatchRows& batch) const override { return program_.call(batch.rows); }
  void make_variables(const BatchRows& batch) const override { program_.graph(batch.rows); }
  std::shared_ptr<const Graph> graph(const BatchRows& batch, const std::string& after) const override {
    return program_.graph(batch.rows, after);
  }

 private:
  const TracedFunction program_;
};

class OnReplicas final : public StepProgram {
 public:
  OnReplicas(TracedFunction program, std::shared_ptr<const Replicas> replicas)
      : program_(std::move(program)), replicas_(std::move(replicas)) {}
  std::vector<Tensor> run(const BatchRows& batch) const override { return replicas_->run(program_, batch); }
  void make_variables(const BatchRows& batch) const override { program_.graph(replicas_->arguments(batch)); }
  std::shared_ptr<const Graph> graph(const BatchRows& batch, const std::string& after) const override {
    return program_.graph(replicas_->arguments(batch), after);
  }
  std::pair<int64_t, int64_t> own_rows(int64_t count) const override {
    return replicas_->shares().own_rows(count);
  }
  bool pads() const override { return true; }
  std::vector<Tensor> padded(const BatchRows& batch) const override { return replicas_->padded(batch); }
  bool adds_rows(const BatchRows& batch) const override { return replicas_->adds_rows(batch); }
  int replicas() const override { return replicas_->mesh().world; }

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
