#include <cstdio>

#include "base/format.h"
#include "base/shortest.h"
#include "plan/fields.h"
#include "plan/nudge.h"
#include "train/loss_watch.h"

namespace espalier {
namespace {

// "1000000", "of its schedule".
std::string rate_text(const TrainPlan& plan) {
  return std::visit(
      [](const auto& optimizer) {
        const auto* rate = std::get_if<double>(&optimizer.learning_rate);
        return rate ? shortest(*rate) : std::string("of its schedule");
      },
      plan.optimizer);
}

// The progress of a run, which it ends where a loss is no number: there it says what a flag can do about it.
class EndingProgress final : public Callback {
 public:
  explicit EndingProgress(std::string rate) : rate_(std::move(rate)) {}
  void on_train_begin(const Run& run) override {
    loss_ = {};
    progress_->on_train_begin(run);
  }
  void on_epoch_begin(int epoch) override {
    loss_.begin_epoch(epoch);
    progress_->on_epoch_begin(epoch);
  }
  void on_note(const std::string& note) override { progress_->on_note(note); }
  void on_batch_end(int64_t step, const Logs& logs) override {
    loss_.on_batch_end(step, logs);
    progress_->on_batch_end(step, loss_.found() ? Logs{} : logs);
  }
  void on_epoch_waits(int epoch, std::span<const double> seconds) override {
    progress_->on_epoch_waits(epoch, seconds);
  }
  void on_epoch_end(int epoch, const Logs& logs) override {
    loss_.on_epoch_end(logs);
    progress_->on_epoch_end(epoch, loss_.found() ? Logs{} : logs);
    if (!loss_.found()) return;
    std::fputs(cat(loss_.text(), ": the training diverged with the learning rate ", rate_,
                   " and ends; --learning-rate sets a smaller one\n")
                   .c_str(),
               stderr);
    model().stop_training();
  }
  void on_epoch_skipped(int epoch, const Logs& logs) override { progress_->on_epoch_skipped(epoch, logs); }
  void on_train_end(const Logs& logs) override { progress_->on_train_end(logs); }

 private:
  const std::shared_ptr<Callback> progress_ = ConsoleProgress();
  const std::string rate_;
  LossWatch loss_;
};

}  // namespace

template <>
struct Kind<AutoLoss> {
  static constexpr const char* kName = "auto";
  static Fields fields(AutoLoss&) { return {}; }
};
template <>
struct Kind<CrossentropyPlan> {
  static constexpr const char* kName = "SparseCategoricalCrossentropy";
  static Fields fields(CrossentropyPlan&) { return {}; }
};
template <>
struct Kind<MeanSquaredErrorPlan> {
  static constexpr const char* kName = "MeanSquaredError";
  static Fields fields(MeanSquaredErrorPlan&) { return {}; }
};
template <>
struct Kind<MeanAbsoluteErrorPlan> {
  static constexpr const char* kName = "MeanAbsoluteError";
  static Fields fields(MeanAbsoluteErrorPlan&) { return {}; }
};
template <>
struct Kind<HuberOptions> {
  static constexpr const char* kName = "Huber";
  static Fields fields(HuberOptions& plan) {
    return {{"delta", &plan.delta, "Absolute error up to which the loss is quadratic (beyond it, linear)",
             above(0)}};
  }
};

OneOf one_of(LossPlan& plan) {
  return one_of_variant("type", plan, [&plan] {
    if (const auto* huber = std::get_if<HuberOptions>(&plan)) Huber(*huber);
  });
}

Loss make_loss(const LossPlan& plan, bool classification) {
  struct Make {
    bool classification;
    Loss operator()(const AutoLoss&) const {
      return classification ? (*this)(CrossentropyPlan{}) : MeanSquaredError();
    }
    Loss operator()(const CrossentropyPlan&) const {
      return SparseCategoricalCrossentropy({.from_logits = true});
    }
    Loss operator()(const MeanSquaredErrorPlan&) const { return MeanSquaredError(); }
    Loss operator()(const MeanAbsoluteErrorPlan&) const { return MeanAbsoluteError(); }
    Loss operator()(const HuberOptions& x) const { return Huber(x); }
  };
  Loss out = std::visit(Make{classification}, plan);
  if (out.class_labels != classification) {
    throw ValueError("train.loss",
                     cat("the loss ", out.name, " is for ", out.class_labels ? "classes" : "numbers",
                         ", and the label is a ", classification ? "class" : "number"));
  }
  return out;
}

void compile(Model& model, const TrainPlan& plan, int64_t classes, int64_t positive) {
  model.compile({.optimizer = make_optimizer(plan.optimizer),
                 .loss = said_at(plan, "loss", [&] { return make_loss(plan.loss, classes > 0); }),
                 .metrics = said_at(plan, "fit.metrics",
                                    [&] { return make_metrics(plan.fit.metrics, classes, positive); }),
                 .logical_shards = plan.distribute.logical_shards,
                 .loss_scale = plan.fit.dtype == "f16" ? std::optional(LossScale{}) : std::nullopt});
}

FitOptions fit_options(const TrainPlan& plan, bool shown) {
  FitOptions out{.epochs = plan.fit.epochs,
                 .batch_size = plan.fit.batch_size,
                 .shuffle = plan.fit.shuffle,
                 .steps_per_epoch = plan.fit.steps_per_epoch};
  if (shown) out.callbacks.push_back(std::make_shared<EndingProgress>(rate_text(plan)));
  if (plan.fit.nudge) out.callbacks.push_back(Nudge(plan.fit.nudge));
  for (size_t i = 0; i < plan.callbacks.size(); ++i) {
    out.callbacks.push_back(placed_callback(plan, i));
  }
  return out;
}

std::map<int64_t, double> make_class_weights(const ClassWeights& weights,
                                             const std::vector<std::string>& classes, const Tensor& labels) {
  std::map<int64_t, double> out;
  if (const auto* given = std::get_if<std::map<std::string, double>>(&weights)) {
    for (const auto& [name, weight] : *given) {
      const auto found = std::find(classes.begin(), classes.end(), name);
      if (found == classes.end()) throw_unknown("train.class_weight", "class", name, classes);
      out[found - classes.begin()] = weight;
    }
  } else if (std::get<std::string>(weights) == "balanced") {
    std::vector<int64_t> rows(classes.size());
    for (const int32_t label : labels.data<int32_t>()) ++rows[static_cast<size_t>(label)];
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i])
        out[static_cast<int64_t>(i)] = static_cast<double>(labels.size(0)) /
                                       static_cast<double>(classes.size()) / static_cast<double>(rows[i]);
    }
  }
  return out;
}

}  // namespace espalier
