#include <cmath>

#include "eager/trace.h"
#include "nn/build_transaction.h"
#include "train/backup.h"
#include "train/decisions.h"
#include "train/step.h"

namespace espalier {

bool Model::Training::loss_is_finite() const {
  return std::isfinite(*static_cast<const float*>(loss.total.state()->value.bytes()));
}

std::vector<Logs> Model::Training::fit(TrainingBatches& batches, const FitOptions& options,
                                       const std::function<Logs()>& validate, bool& stop,
                                       const std::vector<std::string>& notes) {
  const int64_t steps = batches.steps_per_epoch();
  Callback::Run run{options.epochs, steps, batches.examples_per_epoch(), options.initial_epoch};
  run.notes = notes;
  for (const auto& [name, value] : this->logs()) {
    run.logs.push_back(name);
    if (validate) run.logs.push_back("val_" + name);
  }
  if (scaling) run.logs.emplace_back("loss_scale");
  Backups backups(options, batches, run);
  FitPosition now{options.initial_epoch};
  const auto variables = [&] { return this->variables(*Running::model()); };
  const auto save = [&](FitPosition position) {
    position.cursor = batches.save();
    backups.save(variables(), position);
  };
  if (backups.found()) {
    const BuildTransaction transaction;
    const std::span<const Tensor> arguments = batches.next();
    // They make the variables that the checkpoint has values for.
    test_step->make_variables(arguments);
    backups.require(variables(), false);
    train_step->make_variables(arguments);
    backups.require(variables(), true);
    now = backups.position();
    batches.restore(now.epoch, now.step, now.cursor);
    run.initial_epoch = now.epoch;
  }
  stop = now.stopped;
  for (const auto& callback : options.callbacks) callback->on_train_begin(run);
  const auto begin_epoch = [&] {
    for (const auto& callback : options.callbacks) callback->on_epoch_begin(now.epoch);
  };
  if (backups.found()) {
    if (now.step > 0) begin_epoch();
    backups.restore(variables());
  }
  const RunContext& context = RunContext::current();
  bool interrupted = false;
  int64_t steps_of_run = now.epoch * steps + now.step;
  bool stopped = agreed({.stop = stop}, context).stop;
  for (; now.epoch < options.epochs && !stopped; ++now.epoch, now.step = 0) {
    if (now.step == 0) {
      begin_epoch();
      reset();
    }
    const Logs not_due;
    Logs logs = training_logs();
    bool finite = true;
    while ((steps == 0 || now.step < steps) && !stopped) {
      const std::span<const Tensor> arguments = batches.next();
      if (agreed({.end_of_data = arguments.empty()}, context).end_of_data) {
        // Rows that another rank has no more of wait for no further step of this epoch.
        if (!arguments.empty()) batches.restore(now.epoch + 1, 0, batches.save());
        break;
      }
      on_batch(batches.numbers().size(), batches.examples_per_epoch(),
               [&] { train_step->call(arguments, batches.numbers()); });
      if (narrow.untold() && !options.callbacks.empty()) {
        const std::string note = narrow.tell();
        for (const auto& callback : options.callbacks) callback->on_note(note);
      }
      const int64_t step = ++now.step;
      // NaN and infinity stay in the epoch's sum.
      const bool diverged = finite && agreed({.diverged = !loss_is_finite()}, context).diverged;
      finite = finite && !diverged;
      const bool due = (step % 8 == 1 || diverged) && !options.callbacks.empty();
      if (due) refresh_training(logs);
      for (const auto& callback : options.callbacks) callback->on_batch_end(step, due ? logs : not_due);
      const Decisions next = agreed({.stop = stop, .save = backups.due_after_step(++steps_of_run)}, context);
      stopped = next.stop;
      if (next.save) save(now);
    }
    interrupted = stopped;
    if (interrupted && backups.used()) save(now);
    refresh_training(logs);
    if (validate) {
      for (const auto& [name, value] : validate()) logs.set("val_" + name, value);
    }
    for (const auto& callback : options.callbacks) callback->on_epoch_end(now.epoch, logs);
    now.history.push_back(std::move(logs));
    stopped = agreed({.stop = stopped || stop}, context).stop;
    if (!interrupted && backups.due_after_epoch()) save({now.epoch + 1, 0, stopped, now.history});
  }
  this->options.optimizer.finalize_variables(Running::model()->trainable_variables());
  for (const auto& callback : options.callbacks)
    callback->on_train_end(now.history.empty() ? Logs{} : now.history.back());
  if (!interrupted) backups.end();
  return now.history;
}

}  // namespace espalier
