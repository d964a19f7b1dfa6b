#include "tables/linear_model.h"

#include <algorithm>
#include <memory>

#include "espalier/random.h"

namespace espalier {
namespace {

// Counts the steps of all epochs.
class LinearSteps final : public Callback {
 public:
  explicit LinearSteps(const Messages& messages) : messages_(messages) {}
  void on_train_begin(const Run& run) override {
    steps_ = run.steps_per_epoch;
    progress_ = messages_.progress("a linear model", run.epochs * steps_, " steps");
  }
  void on_epoch_begin(int epoch) override { before_ = epoch * steps_; }
  void on_batch_end(int64_t step, const Logs&) override { progress_(before_ + step); }
  void on_train_end(const Logs&) override { progress_ = {}; }

 private:
  Messages messages_;
  Messages::Progress progress_;
  int64_t steps_ = 0, before_ = 0;
};

}  // namespace

LinearModel fit_linear(size_t classes, int64_t positive, TrainPlan plan, const Tensor& x, const Tensor& y,
                       FitOptions options, const std::shared_ptr<Callback>& stop, const Messages& messages) {
  plan.optimizer = OptimizerOf<Adam>{.learning_rate = 0.01};
  set_seed(plan.fit.seed);
  Sequential model{Dense({.units = std::max<int64_t>(1, static_cast<int64_t>(classes)),
                          .kernel_initializer = "zeros",
                          .dtype = kLastDType})};
  compile(model, plan, static_cast<int64_t>(classes), positive);
  options.callbacks.clear();
  for (const CallbackPlan& callback : plan.callbacks) {
    if (!std::holds_alternative<CSVLoggerPlan>(callback) &&
        !std::holds_alternative<ModelCheckpointOptions>(callback))
      options.callbacks.push_back(make_callback(callback));
  }
  const auto ledger = std::make_shared<Ledger>();
  options.callbacks.push_back(ledger);
  options.callbacks.push_back(std::make_shared<LinearSteps>(messages));
  if (stop) options.callbacks.push_back(stop);
  const size_t epochs = model.fit(x, y, options).size();
  return {model, epochs, ledger};
}

}  // namespace espalier
