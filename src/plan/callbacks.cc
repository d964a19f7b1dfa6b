#include <cstdio>

#include "base/format.h"
#include "plan/fields.h"
#include "train/monitor.h"

namespace espalier {
namespace {

Field monitor_field(std::string& target) {
  return {"monitor", &target, "Metric to monitor, e.g. loss, val_loss or val_accuracy"};
}
Field mode_field(std::string& target) {
  return {"mode",
          &target,
          "Direction of improvement of the metric (auto = by its name)",
          {},
          {"auto", "min", "max"}};
}

bool scheduled(const OptimizerPlan& plan) {
  return std::visit([](const auto& each) { return !std::holds_alternative<double>(each.learning_rate); },
                    plan);
}

// In the place of one that a schedule leaves nothing to do: it still says what it cannot watch.
class LeftOut final : public Callback {
 public:
  explicit LeftOut(const ReduceLROnPlateauOptions& options)
      : monitor_("reduce_lr_on_plateau", options.monitor, options.mode, options.min_delta) {}
  void on_train_begin(const Run& run) override { monitor_.require(run); }

 private:
  Monitor monitor_;
};

class Placed final : public Callback {
 public:
  Placed(const TrainPlan& plan, size_t number)
      : callback_(make_callback(plan.callbacks[number])), path_(cat("callbacks[", number, "]")) {
    const auto* reduces = std::get_if<ReduceLROnPlateauOptions>(&plan.callbacks[number]);
    if (reduces && scheduled(plan.optimizer)) {
      callback_ = std::make_shared<LeftOut>(*reduces);
      if (plan.places.contains(path_))
        std::fputs(cat("note: ", plan.places.at(path_),
                       ": ReduceLROnPlateau has nothing to do, since a schedule sets "
                       "the learning rate of every step\n")
                       .c_str(),
                   stderr);
    }
    places_.places = plan.places;
    std::visit(
        [&](const auto& options) {
          if constexpr (requires { options.monitor; }) monitor_ = options.monitor;
        },
        plan.callbacks[number]);
  }
  bool chief_only() const override { return callback_->chief_only(); }
  bool wants_rows() const override { return callback_->wants_rows(); }
  void on_epoch_rows(int epoch, int64_t rows, uint64_t ids) override {
    callback_->on_epoch_rows(epoch, rows, ids);
  }
  void on_epoch_waits(int epoch, std::span<const double> seconds) override {
    callback_->on_epoch_waits(epoch, seconds);
  }
  void on_train_begin(const Run& run) override {
    try {
      callback_->on_train_begin(run);
    } catch (const ValueError& error) {
      // The rule early_stopping.monitor is about the key monitor.
      const std::string key = cat(path_, ".", error.rule().substr(error.rule().find('.') + 1));
      const bool said = places_.places.contains(key);
      const std::string fix = error.fix().empty() ? longer(run.logs) : error.fix();
      said_at(places_, said ? key : path_,
              [&] { throw ValueError(error.rule(), cat(said ? key : path_, ": ", error.message()), fix); });
    } catch (const IoError& error) {
      const std::string key = path_ + ".path";
      said_at(places_, key,
              [&] { throw IoError(error.rule(), cat(key, ": ", error.message()), error.fix()); });
    }
  }
  void on_epoch_begin(int epoch) override { callback_->on_epoch_begin(epoch); }
  void on_note(const std::string& note) override { callback_->on_note(note); }
  void on_batch_end(int64_t step, const Logs& logs) override { callback_->on_batch_end(step, logs); }
  void on_epoch_end(int epoch, const Logs& logs) override { callback_->on_epoch_end(epoch, logs); }
  void on_epoch_skipped(int epoch, const Logs& logs) override { callback_->on_epoch_skipped(epoch, logs); }
  void on_train_end(const Logs& logs) override { callback_->on_train_end(logs); }
  void save_state(CallbackState& state) const override { callback_->save_state(state); }
  void load_state(const CallbackState& state) override { callback_->load_state(state); }

 private:
  // As val_accuracy is what val_acc begins.
  std::string longer(const std::vector<std::string>& logs) const {
    for (const std::string& name : logs) {
      if (!monitor_.empty() && name != monitor_ && name.starts_with(monitor_))
        return cat("did you mean \"", name, "\"?");
    }
    return "";
  }

  std::shared_ptr<Callback> callback_;
  const std::string path_;
  std::string monitor_;
  TrainPlan places_;
};

}  // namespace

template <>
struct Kind<EarlyStoppingOptions> {
  static constexpr const char* kName = "EarlyStopping";
  static Fields fields(EarlyStoppingOptions& plan) {
    return {
        monitor_field(plan.monitor),
        {"min_delta", &plan.min_delta, "Change that the metric must exceed to count as an improvement",
         at_least(0)},
        {"patience", &plan.patience, "Epochs without improvement after which training stops", at_least(0)},
        mode_field(plan.mode),
        {"baseline", &plan.baseline,
         "Value that the metric must also beat to reset patience (none = no baseline)"},
        {"restore_best_weights", &plan.restore_best_weights,
         "Restore the weights of the best epoch when training ends"},
        {"start_from_epoch", &plan.start_from_epoch, "First epoch that is monitored, counted from 0",
         at_least(0)}};
  }
};
template <>
struct Kind<ReduceLROnPlateauOptions> {
  static constexpr const char* kName = "ReduceLROnPlateau";
  static Fields fields(ReduceLROnPlateauOptions& plan) {
    return {monitor_field(plan.monitor),
            {"factor",
             &plan.factor,
             "Factor that the learning rate is multiplied by",
             {.low = 0, .high = 1, .open_high = true}},
            {"patience", &plan.patience,
             "Epochs without improvement after which the learning rate is reduced", at_least(0)},
            mode_field(plan.mode),
            {"min_delta", &plan.min_delta, "Change that the metric must exceed to count as an improvement",
             at_least(0)},
            {"cooldown", &plan.cooldown,
             "Epochs to wait after a reduction before epochs without improvement count again", at_least(0)},
            {"min_lr", &plan.min_lr, "Lower bound of the learning rate", at_least(0)}};
  }
};
template <>
struct Kind<ModelCheckpointOptions> {
  static constexpr const char* kName = "ModelCheckpoint";
  static Fields fields(ModelCheckpointOptions& plan) {
    return {{.key = "path",
             .target = &plan.path,
             .meaning = "Folder to save the model in; names such as {epoch:02d} and {val_loss:.3f} are "
                        "replaced by their values",
             .required = true,
             .path = true},
            monitor_field(plan.monitor),
            {"save_best_only", &plan.save_best_only, "Save only when the metric is the best so far"},
            mode_field(plan.mode),
            {"save_freq", &plan.save_freq, "Steps between saves (0 = save at the end of each epoch)",
             at_least(0)}};
  }
};
template <>
struct Kind<CSVLoggerPlan> {
  static constexpr const char* kName = "CSVLogger";
  static Fields fields(CSVLoggerPlan& plan) {
    return {
        {.key = "path",
         .target = &plan.path,
         .meaning = "CSV file to write the logs to, one line per epoch",
         .required = true,
         .path = true},
        {"separator", &plan.options.separator, "Character between values"},
        {"append", &plan.options.append, "Append to the file if it exists, which needs the same columns"}};
  }
};
template <>
struct Kind<TerminateOnNaNPlan> {
  static constexpr const char* kName = "TerminateOnNaN";
  static Fields fields(TerminateOnNaNPlan&) { return {}; }
};

OneOf one_of(CallbackPlan& plan) {
  return one_of_variant("type", plan, [&plan] { make_callback(plan); });
}

std::shared_ptr<Callback> make_callback(const CallbackPlan& plan) {
  struct Make {
    std::shared_ptr<Callback> operator()(const EarlyStoppingOptions& x) const { return EarlyStopping(x); }
    std::shared_ptr<Callback> operator()(const ReduceLROnPlateauOptions& x) const {
      return ReduceLROnPlateau(x);
    }
    std::shared_ptr<Callback> operator()(const ModelCheckpointOptions& x) const { return ModelCheckpoint(x); }
    std::shared_ptr<Callback> operator()(const CSVLoggerPlan& x) const {
      return CSVLogger(x.path, x.options);
    }
    std::shared_ptr<Callback> operator()(const TerminateOnNaNPlan&) const { return TerminateOnNaN(); }
  };
  return std::visit(Make{}, plan);
}

TrainPlan with_checkpoint_files(TrainPlan plan,
                                const std::function<std::map<std::string, std::string>()>& files) {
  for (CallbackPlan& callback : plan.callbacks) {
    if (auto* checkpoint = std::get_if<ModelCheckpointOptions>(&callback)) checkpoint->files = files();
  }
  return plan;
}

std::shared_ptr<Callback> placed_callback(const TrainPlan& plan, size_t number) {
  return std::make_shared<Placed>(plan, number);
}

}  // namespace espalier
