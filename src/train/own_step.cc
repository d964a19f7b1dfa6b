#include "train/own_step.h"

#include <utility>

namespace espalier {
namespace {

class OwnStep final : public StepProgram {
 public:
  OwnStep(TracedFunction function, std::shared_ptr<const Replicas> replicas)
      : function_(std::move(function)), replicas_(std::move(replicas)) {}
  std::vector<Tensor> run(const BatchRows& batch) const override {
    if (!shared())
      function_.call(batch.rows);
    else
      replicas_->run_rows_of(function_, batch);
    return {};
  }
  void make_variables(const BatchRows& batch) const override { function_.graph(batch.rows); }
  std::shared_ptr<const Graph> graph(const BatchRows& batch, const std::string& after) const override {
    return function_.graph(batch.rows, after);
  }
  std::pair<int64_t, int64_t> own_rows(int64_t count) const override {
    return shared() ? replicas_->shares_of_parts().own_rows(count) : std::pair<int64_t, int64_t>{0, count};
  }
  bool pads() const override { return on_replicas(); }
  std::vector<Tensor> padded(const BatchRows& batch) const override {
    return on_replicas() ? replicas_->padded(batch) : std::vector<Tensor>();
  }
  bool adds_rows(const BatchRows& batch) const override {
    return on_replicas() && replicas_->adds_rows(batch);
  }
  int replicas() const override { return on_replicas() ? replicas_->mesh().world : 1; }

 private:
  bool on_replicas() const {
    return replicas_ && replicas_->logical_shards() == 0 && replicas_->mesh().many();
  }
  bool shared() const { return on_replicas() || (replicas_ && replicas_->logical_shards() > 0); }

  const TracedFunction function_;
  const std::shared_ptr<const Replicas> replicas_;
};

}  // namespace

std::unique_ptr<StepProgram> own_step(std::string name, std::function<void(std::span<const Tensor>)> body,
                                      std::shared_ptr<const Replicas> replicas) {
  const auto step = [body = std::move(body)](std::span<const Tensor> rows) {
    body(rows);
    return std::vector<Tensor>();
  };
  return std::make_unique<OwnStep>(TracedFunction(step, {.name = std::move(name)}), std::move(replicas));
}

}  // namespace espalier
