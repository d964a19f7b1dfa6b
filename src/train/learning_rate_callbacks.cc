#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/callbacks.h"
#include "espalier/ops.h"
#include "optim/rule.h"
#include "train/deciding_callback.h"
#include "train/monitor.h"

namespace espalier {
namespace {

double rate_of(const Model& model) { return model.optimizer().learning_rate().read().item<float>(); }
void set_rate(const Model& model, double rate) { model.optimizer().learning_rate().assign(full({}, rate)); }

// Each update would assign the schedule's rate anew.
void require_number(const Model& model, const char* callback) {
  if (model.optimizer().rule()->shared().common.learning_rate.constant()) return;
  throw ValueError(cat(callback, ".optimizer"),
                   "the optimizer's learning rate follows a schedule, which sets it in every update",
                   "give the optimizer a number, or leave the callback out");
}

// A train_step of the model's own may have another optimizer, whose rate nobody sets. Behind an epoch.
void require_used(const Model& model, const char* callback) {
  if (!dynamic_cast<const CustomModel*>(&model)) return;
  const Optimizer::Rule::Shared& optimizer = model.optimizer().rule()->shared();
  const auto counts = [](const Variable& variable) { return variable.read().item<int64_t>() > 0; };
  if (counts(optimizer.step) || (!optimizer.accumulated.empty() && counts(optimizer.accumulated[0]))) return;
  throw ValueError(cat(callback, ".optimizer"),
                   "it sets the learning rate of compile()'s optimizer, which the model's train_step has not "
                   "used in an epoch",
                   "compile({.optimizer = the one of the train_step whose rate is to change})");
}

class Plateau final : public DecidingCallback {
 public:
  explicit Plateau(ReduceLROnPlateauOptions options)
      : options_(std::move(options)),
        monitor_("reduce_lr_on_plateau", options_.monitor, options_.mode, options_.min_delta) {
    require(options_.factor >= 0 && options_.factor < 1, "factor", "lies in [0, 1)", options_.factor);
    require(options_.patience >= 0, "patience", "is not negative", options_.patience);
    require(options_.cooldown >= 0, "cooldown", "is not negative", options_.cooldown);
    require(options_.min_lr >= 0, "min_lr", "is not negative", options_.min_lr);
  }

  std::string name() const override { return "ReduceLROnPlateau"; }
  std::map<std::string, std::string> options() const override {
    return {{"monitor", options_.monitor},
            {"factor", shortest(options_.factor)},
            {"patience", cat(options_.patience)},
            {"mode", options_.mode},
            {"min_delta", shortest(options_.min_delta)},
            {"cooldown", cat(options_.cooldown)},
            {"min_lr", shortest(options_.min_lr)}};
  }

  void on_train_begin(const Run& run) override {
    monitor_.require(run);
    require_number(model(), "reduce_lr_on_plateau");
    best_.reset();
    wait_ = cooldown_ = 0;
  }

  void on_epoch_end(int, const Logs& logs) override {
    const double value = monitor_.value(logs);
    if (cooldown_ > 0) {
      --cooldown_;
      wait_ = 0;
    }
    if (monitor_.improves(value, best_)) {
      best_ = value;
      wait_ = 0;
    } else if (cooldown_ == 0 && ++wait_ >= options_.patience) {
      require_used(model(), "reduce_lr_on_plateau");
      const double rate = rate_of(model());
      if (rate <= static_cast<float>(options_.min_lr)) return;
      set_rate(model(), std::max(rate * options_.factor, options_.min_lr));
      cooldown_ = options_.cooldown;
      wait_ = 0;
    }
  }

  void on_epoch_skipped(int, const Logs&) override {}

  void save_state(CallbackState& state) const override {
    state.put("reduce_lr_on_plateau/wait", static_cast<double>(wait_));
    state.put("reduce_lr_on_plateau/cooldown", static_cast<double>(cooldown_));
    if (best_) state.put("reduce_lr_on_plateau/best", *best_);
  }

  void load_state(const CallbackState& state) override {
    wait_ = state.count("reduce_lr_on_plateau/wait");
    cooldown_ = state.count("reduce_lr_on_plateau/cooldown");
    if (state.tensors.contains("reduce_lr_on_plateau/best"))
      best_ = state.number("reduce_lr_on_plateau/best");
  }

 private:
  static void require(bool holds, const char* option, const char* rule, double value) {
    if (!holds)
      throw ValueError(cat("reduce_lr_on_plateau.", option), cat(option, " ", rule, ", got ", value));
  }

  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  std::optional<double> best_;
  int64_t wait_ = 0, cooldown_ = 0;
};

class Scheduler final : public DecidingCallback {
 public:
  explicit Scheduler(std::function<double(int, double)> schedule) : schedule_(std::move(schedule)) {
    if (!schedule_) throw ValueError("learning_rate_scheduler.schedule", "there is no function");
  }

  std::string name() const override { return "LearningRateScheduler"; }
  void on_train_begin(const Run&) override { require_number(model(), "learning_rate_scheduler"); }
  void on_epoch_begin(int epoch) override {
    const double rate = schedule_(epoch, rate_of(model()));
    if (!std::isfinite(rate) || rate < 0) {
      throw ValueError("learning_rate_scheduler.rate",
                       cat("the rate of epoch ", epoch, " must be finite and not negative, got ", rate));
    }
    set_rate(model(), rate);
  }
  void on_epoch_end(int, const Logs&) override { require_used(model(), "learning_rate_scheduler"); }

 private:
  std::function<double(int, double)> schedule_;
};

}  // namespace

std::shared_ptr<Callback> ReduceLROnPlateau(ReduceLROnPlateauOptions options, Location at) {
  const CallScope scope(at);
  return std::make_shared<Plateau>(std::move(options));
}

std::shared_ptr<Callback> LearningRateScheduler(std::function<double(int, double)> schedule, Location at) {
  const CallScope scope(at);
  return std::make_shared<Scheduler>(std::move(schedule));
}

}  // namespace espalier
