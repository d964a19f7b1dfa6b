// Callbacks that come with Espalier, by Keras' names and semantics: FitOptions{.callbacks =
// {EarlyStopping({.patience = 3})}}. They print nothing. A callback that monitors a value raises
// ValueError[<callback>.monitor] before the first step when the run does not log it. An epoch without a loss
// (Callback::on_epoch_skipped) is none to those that monitor a value, and to TerminateOnNaN.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "espalier/model.h"

namespace espalier {

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;  // a smaller change is no improvement
  int patience = 0;      // epochs without improvement until the run ends
  // "min" or "max" is better; "auto" knows losses, errors, accuracies, precision, recall, AUC and R2.
  std::string mode = "auto";
  std::optional<double> baseline = {};  // only what is better than this, too, resets patience
  bool restore_best_weights = false;    // at the end of the run: the variables of the best epoch
  int start_from_epoch = 0;             // earlier ones do not count
};
// Ends the run when a value has stopped improving. NaN is no improvement, and not the best of anything.
std::shared_ptr<Callback> EarlyStopping(EarlyStoppingOptions options = {}, Location at = Location::here());

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;  // in [0, 1)
  int patience = 10;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int cooldown = 0;  // epochs after a reduction in which none is counted
  double min_lr = 0;
};
// Multiplies the learning rate with `factor` when a value has stopped improving; NaN is no improvement.
std::shared_ptr<Callback> ReduceLROnPlateau(ReduceLROnPlateauOptions options = {},
                                            Location at = Location::here());

// Sets the learning rate before each epoch: schedule(epoch from 0, rate so far). Raises
// ValueError[learning_rate_scheduler.rate] for one that is negative or not finite; as fit begins
// [learning_rate_scheduler.optimizer] where the optimizer follows a schedule.
std::shared_ptr<Callback> LearningRateScheduler(
    std::function<double(int epoch, double learning_rate)> schedule, Location at = Location::here());

// Ends the run behind the step that makes the loss of the epoch NaN or infinite.
std::shared_ptr<Callback> TerminateOnNaN();

// Calls these functions, those that are given.
struct LambdaCallbackOptions {
  std::function<void(const Callback::Run&)> on_train_begin = {};
  std::function<void(int epoch)> on_epoch_begin = {};
  std::function<void(const std::string&)> on_note = {};
  std::function<void(int64_t step, const Logs&)> on_batch_end = {};
  std::function<void(int epoch, const Logs&)> on_epoch_end = {};
  std::function<void(const Logs&)> on_train_end = {};
};
std::shared_ptr<Callback> LambdaCallback(LambdaCallbackOptions options);

struct CSVLoggerOptions {
  char separator = ',';
  bool append = false;  // to a file with the same columns, if there is one
};
// A line an epoch: its number from 0 and what it logs, by name, with as many digits as make the number. The
// file is whole after the first step, which replaces it, and after each epoch. Raises
// ValueError[csv_logger.separator] for a quote or a line's end, ValueError[csv_logger.columns] when the file
// to append to has others, IoError[file.write].
std::shared_ptr<Callback> CSVLogger(std::string path, CSVLoggerOptions options = {},
                                    Location at = Location::here());

struct BackupAndRestoreOptions {
  std::string path = {};          // of a file; its folder exists
  int64_t save_freq = 0;          // steps; 0: at the end of each epoch
  bool delete_checkpoint = true;  // when the run has ended
};
// Saves what the run needs to go on: variables of model, optimizer and metrics, the default generator,
// seed(), the logs so far, what the callbacks keep, the epoch and the step in it, the place in a dataset.
// When a process was killed, the same program goes on where the file was written last and ends in the same
// bits, with the logs of all epochs as fit's result. Data, batch size, steps of an epoch, shuffle, model,
// optimizer and the list of callbacks must be the same as before; the seed comes from the file. Hooks see the
// run begin again, and, in the middle of an epoch, that epoch; then callbacks get their state
// (Callback::load_state). Generators of one's own are saved when a layer made them (Layer::add_generator).
// The file is replaced in one step: it is whole at every moment. A run that stop_training() ended from
// on_batch_end saves there and keeps the file, so that it can go on. fit raises ValueError[backup.twice] for
// two of them, IoError[file.*], FormatError[checkpoint.*] and [safetensors.*] naming the file when it is no
// whole checkpoint, ValueError[backup.run] and [backup.variable] when it is one of another run, and on all
// workers [backup.unseen] when one of them does not see the file that another goes on from, as where each has
// a disk of its own: worker 0 writes it, and all read it; then nothing has changed. Raises
// ValueError[backup.path] for an empty path, [backup.save_freq] for less than 0.
std::shared_ptr<Callback> BackupAndRestore(BackupAndRestoreOptions options, Location at = Location::here());

struct ModelCheckpointOptions {
  // Of a folder, whose parent exists. "{epoch}" (from 1), "{batch}" (from 1, with save_freq) and, at the end
  // of an epoch, names of logs stand for their numbers; "{epoch:02d}" fills up with zeros, "{val_loss:.3f}"
  // rounds.
  std::string path = {};
  std::string monitor = "val_loss";
  bool save_best_only = false;  // only when `monitor` is better than in all runs before; NaN never is
  std::string mode = "auto";
  int64_t save_freq = 0;                          // steps; 0: at the end of each epoch
  std::map<std::string, std::string> files = {};  // saved beside the model: SaveOptions::files
};
// Saves the model (Model::save) as the run goes. Raises ValueError[model_checkpoint.path] for no path and for
// fields that are no such thing or unknown to the run, [model_checkpoint.save_freq] for less than 0 and
// together with save_best_only, [model_checkpoint.monitor], [model_checkpoint.mode].
std::shared_ptr<Callback> ModelCheckpoint(ModelCheckpointOptions options, Location at = Location::here());

}  // namespace espalier
