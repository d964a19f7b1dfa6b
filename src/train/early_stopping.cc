#include "base/format.h"
#include "base/shortest.h"
#include "espalier/callbacks.h"
#include "train/deciding_callback.h"
#include "train/monitor.h"

namespace espalier {
namespace {

class Stopping final : public DecidingCallback {
 public:
  explicit Stopping(EarlyStoppingOptions options)
      : options_(std::move(options)),
        monitor_("early_stopping", options_.monitor, options_.mode, options_.min_delta) {
    if (options_.patience < 0)
      throw ValueError("early_stopping.patience",
                       cat("patience must not be negative, got ", options_.patience));
  }

  std::string name() const override { return "EarlyStopping"; }
  std::map<std::string, std::string> options() const override {
    return {{"monitor", options_.monitor},
            {"min_delta", shortest(options_.min_delta)},
            {"patience", cat(options_.patience)},
            {"mode", options_.mode},
            {"baseline", options_.baseline ? shortest(*options_.baseline) : "none"},
            {"restore_best_weights", cat(options_.restore_best_weights)},
            {"start_from_epoch", cat(options_.start_from_epoch)}};
  }

  void on_train_begin(const Run& run) override {
    monitor_.require(run);
    wait_ = 0;
    best_.reset();
    weights_.clear();
  }

  void on_epoch_end(int epoch, const Logs& logs) override {
    if (epoch < options_.start_from_epoch) return;
    const double value = monitor_.value(logs);
    const bool improves = monitor_.improves(value, best_);
    if (options_.restore_best_weights && (weights_.empty() || improves)) keep_weights();
    ++wait_;
    if (improves) {
      best_ = value;
      if (monitor_.improves(value, options_.baseline)) wait_ = 0;
    } else if (wait_ >= options_.patience && epoch > 0) {  // one epoch, as a first NaN, says nothing
      model().stop_training();
    }
  }

  void on_epoch_skipped(int, const Logs&) override {}

  void save_state(CallbackState& state) const override {
    state.put("early_stopping/wait", static_cast<double>(wait_));
    if (best_) state.put("early_stopping/best", *best_);
    for (const auto& [variable, value] : weights_) state.tensors[kWeights + variable.path()] = value;
  }

  void load_state(const CallbackState& state) override {
    wait_ = state.count("early_stopping/wait");
    if (state.tensors.contains("early_stopping/best")) best_ = state.number("early_stopping/best");
    for (const Variable& variable : model().variables()) {
      const auto it = state.tensors.find(kWeights + variable.path());
      if (it == state.tensors.end()) continue;
      if (it->second.type() != variable.type()) {
        throw FormatError("checkpoint.callback",
                          cat("the best \"", variable.path(), "\" is ", it->second.type(),
                              ", the model's is ", variable.type()));
      }
      weights_.emplace_back(variable, it->second);
    }
  }

  void on_train_end(const Logs&) override {
    for (auto& [variable, value] : weights_) variable.assign(value);
    weights_.clear();
  }

 private:
  void keep_weights() {
    weights_.clear();
    for (const Variable& variable : model().variables()) weights_.emplace_back(variable, variable.read());
  }

  static constexpr const char* kWeights = "early_stopping/weights/";

  EarlyStoppingOptions options_;
  Monitor monitor_;
  int64_t wait_ = 0;
  std::optional<double> best_;
  std::vector<std::pair<Variable, Tensor>> weights_;  // of the best epoch
};

}  // namespace

std::shared_ptr<Callback> EarlyStopping(EarlyStoppingOptions options, Location at) {
  const CallScope scope(at);
  return std::make_shared<Stopping>(std::move(options));
}

}  // namespace espalier
