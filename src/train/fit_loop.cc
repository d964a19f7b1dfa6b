#include <cmath>
#include <utility>

#include "base/rank_stage.h"
#include "base/sha256.h"
#include "base/shortest.h"
#include "base/version.h"
#include "eager/trace.h"
#include "eager/traced_graph.h"
#include "espalier/random.h"
#include "ir/device.h"
#include "nn/build_transaction.h"
#include "nn/seed.h"
#include "optim/rule.h"
#include "place/place_of.h"
#include "step/counted_rows.h"
#include "step/decisions.h"
#include "step/epoch_rows.h"
#include "step/share_note.h"
#include "step/trained_alike.h"
#include "strategy/rows.h"
#include "train/backup.h"
#include "train/deciding_callback.h"
#include "train/step.h"

namespace espalier {

namespace {

// The order of rows follows the seed: all workers take the first one's.
void agree_on_seed(const HostCollectives& hosts) {
  const EagerScope eager;
  const Variable agreed(Tensor::scalar(seed()), {.name = "seed", .trainable = false});
  hosts.broadcast({&agreed, 1});
  continue_seed(agreed.read().item<uint64_t>());
}

}  // namespace

bool Model::Training::loss_is_finite() const {
  return std::isfinite(*static_cast<const double*>(loss.total.state()->read().bytes()));
}

std::vector<Logs> Model::Training::fit(TrainingBatches& batches, const FitOptions& options,
                                       const Validation& validation, bool& stop,
                                       const std::vector<std::string>& notes) {
  if (!replicas || !replicas->mesh().launched) return fit_here(batches, options, validation, stop, notes);
  const std::unique_ptr<GoSignals> signals = replicas->membership().listen();
  try {
    return fit_here(batches, options, validation, stop, notes);
  } catch (const std::exception& error) {
    replicas->membership().failed(error);
    throw;
  }
}

std::map<std::string, std::string> Model::Training::facts(const TrainingBatches& batches,
                                                          const FitOptions& options,
                                                          const Validation& validation, uint64_t own_seed,
                                                          std::span<const Tensor> rows) const {
  std::map<std::string, std::string> out = batches.run();
  if (std::string content = batches.content(); !content.empty()) out["hash of the rows"] = std::move(content);
  out["validation"] = validation.logs ? "there" : "missing";
  if (validation.content) out["hash of the validation rows"] = validation.content();
  out.merge(facts_of(options.callbacks));
  std::string metrics;
  for (const auto& [name, value] : logs()) metrics += cat(metrics.empty() ? "" : ", ", name);
  out["logs"] = metrics;
  std::string weights;
  for (const auto& [number, weight] : options.class_weight)
    weights += cat(weights.empty() ? "" : ", ", number, ": ", shortest(weight));
  out["class weights"] = weights.empty() ? "none" : weights;
  const auto wants_rows = [](const auto& callback) { return callback->wants_rows(); };
  out["ledger"] = std::ranges::any_of(options.callbacks, wants_rows) ? "kept" : "not kept";
  out["version"] = kVersion;
  // Each worker has a device of its own, of one kind.
  const Device* const device = RunContext::current().device;
  out["device"] = device ? device->name().substr(0, device->name().rfind(':')) : "cpu";
  if (device) out["matmul precision"] = cat(static_cast<int>(matmul_precision()));
  out["model"] = Running::model()->path();
  out["seed"] = cat(own_seed);
  std::string types;
  for (const auto& [name, variable] : variables(*Running::model())) types += cat(name, variable.type(), ";");
  out["variables"] = sha256_of(types).substr(0, 16);
  std::string frozen;
  const std::vector<Variable> trained = Running::model()->trainable_variables();
  for (const Variable& made : Running::model()->made_trainable()) {
    const auto same = [&](const Variable& other) { return other.state() == made.state(); };
    if (std::ranges::none_of(trained, same)) frozen += cat(frozen.empty() ? "" : ", ", made.path());
  }
  out["frozen variables"] = frozen.empty() ? "none" : frozen;
  out["epochs"] = cat(options.epochs);
  out["steps an epoch"] = cat(batches.steps_per_epoch());
  out["optimizer"] = this->options.optimizer.rule()->name;
  out["learning rate"] = shortest(this->options.optimizer.learning_rate().read().item<float>());
  out["logical shards"] = cat(this->options.logical_shards);
  for (size_t i = 0; i < outputs.size(); ++i) {
    out[cat("loss of ", outputs[i].name.empty() ? "the output" : outputs[i].name)] = outputs[i].loss.name;
  }
  // On a row for each replica, so that they have as many.
  const int64_t count = rows.back().size(0), wanted = replicas->mesh().world;
  std::vector<Tensor> one_each = rows_between(rows, 0, std::min(count, wanted));
  if (count < wanted) one_each = with_rows_of_no_weight(one_each, wanted);
  const auto program = [&](const char* after) {
    return sha256_of(cat(train_step->graph(one_each, after)->content_hash())).substr(0, 8);
  };
  out["program of the model"] = program(kTraced);
  out["program of the step"] = program("");
  return out;
}

std::vector<Logs> Model::Training::fit_here(TrainingBatches& batches, const FitOptions& options,
                                            const Validation& validation, bool& stop,
                                            const std::vector<std::string>& notes) {
  const RunContext& context = RunContext::current();
  const PlaceOf place(context);
  const ReadsPolicy reads = place->reads();
  bring_variables(*Running::model());
  const HostCollectives hosts = replicas ? replicas->hosts() : HostCollectives();
  const bool chief = context.rank == 0, workers = hosts.world() > 1;
  const bool launched = replicas && replicas->mesh().launched;
  RankStage rank_stage(launched ? replicas->host()->communicator : nullptr);
  // Those whose hooks are called here.
  std::vector<std::shared_ptr<Callback>> callbacks = options.callbacks;
  if (!chief) std::erase_if(callbacks, [](const auto& callback) { return callback->chief_only(); });
  const uint64_t own_seed = espalier::seed();
  if (workers) agree_on_seed(hosts);
  const int64_t steps = batches.steps_per_epoch();
  Callback::Run run{options.epochs, steps, batches.examples_per_epoch(), options.initial_epoch};
  run.notes = notes;
  for (const auto& [name, value] : this->logs()) {
    run.logs.push_back(name);
    if (validation.logs) run.logs.push_back("val_" + name);
  }
  if (scaling) run.logs.emplace_back("loss_scale");
  Backups backups(options, batches, run, context.pool);
  if (workers) backups.require_seen_by_all(hosts);
  FitPosition now{options.initial_epoch};
  const auto variables = [&] { return this->variables(*Running::model()); };
  // The optimizer's first: what one worker has another of there makes all weights differ.
  const auto all_variables = [&] {
    std::vector<Variable> all;
    for (const bool of_optimizer : {true, false}) {
      for (const auto& [name, variable] : variables())
        if (name.starts_with("optimizer/") == of_optimizer) all.push_back(variable);
    }
    return all;
  };
  std::optional<TrainedAlike> alike;
  if (workers)
    alike.emplace(hosts, this->options.optimizer, [] { return Running::model()->trainable_variables(); });
  const bool ledger =
      std::ranges::any_of(options.callbacks, [](const auto& callback) { return callback->wants_rows(); });
  std::vector<double> late;     // of each worker, before the epoch
  EpochRows rows, rows_before;  // of the epoch: since the run went on, and before
  const auto rows_of_all = [&] {
    EpochRows out = rows.of_all(hosts);
    out.rows += rows_before.rows;
    out.ids += rows_before.ids;
    return out;
  };
  int64_t steps_of_run = 0, audited = -1;
  // Also before what replicas have is saved. All workers call it alike.
  const auto audit = [&] {
    if (!replicas || !replicas->audits().any() || std::exchange(audited, steps_of_run) == steps_of_run)
      return;
    replicas->audits().require_equal_behind(steps_of_run, all_variables());
  };
  const auto save = [&](FitPosition position) {
    position.cursor = batches.save();
    if (ledger && position.step) position.rows = rows_of_all();
    rank_stage.now(Stage::kSave, steps_of_run);
    if (chief) backups.save(variables(), position);
  };
  std::map<std::string, std::string> common;
  if (backups.found() || workers) {
    const int64_t first = backups.found() ? backups.position().epoch * steps + backups.position().step : 0;
    const BuildTransaction transaction;
    rank_stage.now(Stage::kInput, first + 1);
    now.cursor = batches.save();
    const std::span<const Tensor> rows_of_first = batches.next();
    const BatchRows arguments(rows_of_first, batches.rows_of_shards());
    rank_stage.now(Stage::kTrace, first + 1);
    // They make the variables that the checkpoint, or the first worker, has values for.
    test_step->make_variables(arguments);
    if (backups.found()) backups.require(variables(), false);
    train_step->make_variables(arguments);
    if (workers && replicas->membership().to_describe()) {
      const PartNotes of_run = part_notes;
      common = facts(batches, options, validation, own_seed, rows_of_first);
      part_notes = of_run;  // facts are of a row for each replica
    }
    if (backups.found()) {
      backups.require(variables(), true);
      now = backups.position();
      rows_before = now.rows;
    }
    batches.restore(now.epoch, now.step, now.cursor);
    run.initial_epoch = now.epoch;
    if (!common.empty()) common["begin"] = cat("epoch ", now.epoch, ", step ", now.step);
  }
  if (workers) replicas->membership().describe(std::move(common));
  stop = now.stopped;
  steps_of_run = now.epoch * steps + now.step;
  rank_stage.now(Stage::kCallback, steps_of_run);
  for (const auto& callback : callbacks) callback->on_train_begin(run);
  const auto begin_epoch = [&] {
    rank_stage.now(Stage::kCallback, steps_of_run);
    if (alike) alike->look();
    for (const auto& callback : callbacks) callback->on_epoch_begin(now.epoch);
    if (alike && agreed({.changed = alike->changed()}, context).changed) alike->require(steps_of_run);
  };
  if (backups.found()) {
    if (now.step > 0) begin_epoch();
    backups.restore(variables());
  }
  if (workers) hosts.broadcast(all_variables());
  bool interrupted = false, shares_untold = replicas && replicas->mesh().many(), made_none = true;
  bool stopped = agreed({.stop = stop}, context).stop;
  for (; now.epoch < options.epochs && !stopped; ++now.epoch, now.step = 0, now.rows = {}) {
    if (now.step == 0) {
      begin_epoch();
      reset();
      rows = rows_before = {};
    }
    const Logs not_due;
    Logs logs = training_logs();
    int64_t steps_made = 0;  // of the epoch, here
    bool finite = true;
    if (workers) late = replicas->membership().lateness();
    while ((steps == 0 || now.step < steps) && !stopped) {
      rank_stage.now(Stage::kInput, steps_of_run + 1);
      const std::span<const Tensor> arguments = batches.next();
      const Decisions here{.end_of_data = arguments.empty(),
                           .counts = !arguments.empty() && some_row_counts(arguments.back())};
      const Decisions all = workers && batches.ends_alike() ? here : agreed(here, context);
      if (all.end_of_data) {
        // Rows that another rank has no more of wait for no further step of this epoch.
        if (!arguments.empty()) batches.restore(now.epoch + 1, 0, batches.save());
        break;
      }
      const BatchRows batch(arguments, batches.rows_of_shards());
      rank_stage.now(Stage::kStep, steps_of_run + 1);
      if (launched) replicas->membership().begin_step(steps_of_run + 1);
      // Of a batch whose rows each worker has a part of, all of them say it together.
      const bool counts = batch.of_shards.empty() ? here.counts : all.counts;
      on_batch(batches.numbers().size(), batches.examples_per_epoch(), [&] {
        if (counts)
          train_step->call(batch, batches.numbers());
        else if (made_none)
          train_step->make_variables(batch);
      });
      if (alike) alike->look();
      made_none = false;
      steps_made += counts;
      if (ledger) {
        const auto own = batch.of_shards.empty() ? train_step->own_rows(batch.count())
                                                 : std::pair<int64_t, int64_t>(0, batches.places().size());
        const auto numbers = batches.numbers();
        for (int64_t i = own.first; i < own.second; ++i)
          rows.add(numbers.empty() ? content_of_row(arguments.first(arguments.size() - 1), i)
                                   : static_cast<uint64_t>(numbers[static_cast<size_t>(i)]));
      }
      const auto tell = [&](const std::string& note) {
        rank_stage.now(Stage::kCallback, steps_of_run + 1);
        for (const auto& callback : callbacks) callback->on_note(note);
      };
      if (std::exchange(shares_untold, false)) {
        const int64_t examples = batches.examples_per_epoch();
        tell(share_note(replicas->mesh(), shares(),
                        examples ? std::min(examples, options.batch_size) : batch.count(),
                        !batch.of_shards.empty()));
      }
      if (narrow.untold() && !callbacks.empty()) tell(narrow.tell());
      if (part_notes.untold() && !callbacks.empty()) std::ranges::for_each(part_notes.tell(), tell);
      std::ranges::for_each(place->take_notes(), tell);
      const int64_t step = ++now.step;
      if (reads.puts_aside(step)) deferred_reads.take(logged());
      std::optional<DeferredReads::View> view;
      if (reads.shows(step)) view.emplace(deferred_reads);
      // NaN and infinity stay in the epoch's sum. Workers of a strategy have one loss.
      const bool diverges = reads.looks(step) && finite && !loss_is_finite();
      const bool diverged = workers ? diverges : finite && agreed({.diverged = diverges}, context).diverged;
      finite = finite && !diverged;
      bool due = (reads.shows(step) || diverged) && !callbacks.empty();
      if (due && loss.empty()) due = false;  // of no row so far
      if (due) refresh_training(logs);
      view.reset();
      rank_stage.now(Stage::kCallback, steps_of_run + 1);
      for (const auto& callback : callbacks) callback->on_batch_end(step, due ? logs : not_due);
      const Decisions next = agreed({.stop = stop,
                                     .save = backups.due_after_step(++steps_of_run),
                                     .go = launched && replicas->membership().asked_to_go(),
                                     .changed = alike && alike->changed()},
                                    context);
      if (next.changed) alike->require(steps_of_run);
      if (next.go) replicas->membership().agree_to_go();
      if (next.save || (replicas && replicas->audits().due(steps_of_run))) audit();
      stopped = next.stop || next.go;
      if (next.save) save(now);
    }
    interrupted = stopped;
    if (interrupted && agreed({.save = backups.used()}, context).save) audit();
    if (interrupted && backups.used()) save(now);
    deferred_reads.take(logged());
    std::optional<DeferredReads::View> view(std::in_place, deferred_reads);
    refresh_training(logs);
    const bool skipped = now.step > 0 && loss.empty() && (scaling || steps_made == 0);
    view.reset();
    if (skipped) {
      // A mean of no row, which a callback must not take for the best one.
      for (auto& [name, value] : logs)
        if (name != "loss_scale") value = std::numeric_limits<double>::quiet_NaN();
      const std::string why =
          steps_made == 0
              ? cat("epoch ", now.epoch + 1, " made no step: all its rows weigh 0")
              : cat("each step of epoch ", now.epoch + 1,
                    " was skipped: loss and gradients were no finite numbers, and the loss scale is "
                    "now ",
                    shortest(scaling->value()));
      for (const auto& callback : callbacks) callback->on_note(why);
    }
    if (validation.logs) {
      rank_stage.now(Stage::kEvaluate, steps_of_run);
      for (const auto& [name, value] : validation.logs()) logs.set("val_" + name, value);
    }
    rank_stage.now(Stage::kCallback, steps_of_run);
    if (ledger) {
      const EpochRows trained = rows_of_all();
      for (const auto& callback : callbacks) {
        if (callback->wants_rows()) callback->on_epoch_rows(now.epoch, trained.rows, trained.ids);
      }
    }
    if (!late.empty()) {
      const std::vector<double> until_now = replicas->membership().lateness();
      for (size_t i = 0; i < late.size(); ++i) late[i] = until_now[i] - late[i];
      for (const auto& callback : callbacks) callback->on_epoch_waits(now.epoch, late);
    }
    for (const auto& callback : callbacks)
      skipped ? callback->on_epoch_skipped(now.epoch, logs) : callback->on_epoch_end(now.epoch, logs);
    now.history.push_back(std::move(logs));
    const bool saves = !interrupted && backups.due_after_epoch();
    const Decisions end =
        agreed({.stop = stopped || stop, .save = saves, .changed = alike && alike->changed()}, context);
    if (end.changed) alike->require(steps_of_run);
    stopped = end.stop;
    if (end.save) audit();
    if (saves) save({now.epoch + 1, 0, stopped, now.history});
  }
  // Short runs, too, end in equal bits or in an error.
  audit();
  rank_stage.now(Stage::kSave, steps_of_run);
  backups.finish();
  rank_stage.now(Stage::kCallback, steps_of_run);
  this->options.optimizer.finalize_variables(Running::model()->trainable_variables());
  for (const auto& callback : callbacks)
    callback->on_train_end(now.history.empty() ? Logs{} : now.history.back());
  if (!interrupted && chief) backups.end();
  rank_stage.now(Stage::kEnd, steps_of_run);
  return now.history;
}

}  // namespace espalier
