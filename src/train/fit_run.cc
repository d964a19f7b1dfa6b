#include "train/fit_run.h"

#include <limits>
#include <utility>

#include "base/shortest.h"
#include "eager/trace.h"
#include "espalier/random.h"
#include "nn/build_transaction.h"
#include "nn/seed.h"
#include "step/counted_rows.h"
#include "step/share_note.h"
#include "train/deciding_callback.h"

namespace espalier {
namespace {

// The order of rows follows the seed: all workers take the first one's.
void agree_on_seed(const HostCollectives& hosts) {
  const EagerScope eager;
  const Variable agreed(Tensor::scalar(seed()), {.name = "seed", .trainable = false});
  hosts.broadcast({&agreed, 1});
  continue_seed(agreed.read().item<uint64_t>());
}

std::vector<std::shared_ptr<Callback>> called_here(const FitOptions& options, bool chief) {
  std::vector<std::shared_ptr<Callback>> out = options.callbacks;
  if (!chief) std::erase_if(out, [](const auto& callback) { return callback->chief_only(); });
  return out;
}

bool somebody_wants_rows(const FitOptions& options) {
  return std::ranges::any_of(options.callbacks, [](const auto& callback) { return callback->wants_rows(); });
}

}  // namespace

Model::Training::FitRun::FitRun(Training& training, TrainingBatches& batches, const FitOptions& options,
                                const Validation& validation, bool& stop,
                                const std::vector<std::string>& notes)
    : training_(training),
      batches_(batches),
      options_(options),
      validation_(validation),
      stop_(stop),
      context_(RunContext::current()),
      place_(context_),
      reads_(place_->reads()),
      hosts_(training.replicas ? training.replicas->hosts() : HostCollectives()),
      chief_(context_.rank == 0),
      workers_(hosts_.world() > 1),
      launched_(training.replicas && training.replicas->mesh().launched),
      rank_stage_(launched_ ? training.replicas->host()->communicator : nullptr),
      callbacks_(called_here(options, chief_)),
      own_seed_(espalier::seed()),
      run_(described(notes)),
      steps_(run_.steps_per_epoch),
      backups_(options, batches, run_, context_.pool),
      now_{options.initial_epoch},
      ledger_(somebody_wants_rows(options)) {
  if (workers_) {
    backups_.require_seen_by_all(hosts_);
    alike_.emplace(hosts_, training.options.optimizer,
                   [] { return Running::model()->trainable_variables(); });
  }
  if (launched_) training.replicas->membership().count_calls("");
  shares_untold_ = training.replicas && training.replicas->mesh().many();
}

Callback::Run Model::Training::FitRun::described(const std::vector<std::string>& notes) const {
  if (workers_) agree_on_seed(hosts_);
  Callback::Run out{options_.epochs, batches_.steps_per_epoch(), batches_.examples_per_epoch(),
                    options_.initial_epoch};
  out.notes = notes;
  const Logs of_training = training_.training_logs(), of_rows = training_.logs();
  for (const auto& [name, value] : of_training) {
    if (name != "loss_scale") out.logs.push_back(name);
    if (validation_.logs && of_rows.contains(name)) out.logs.push_back("val_" + name);
  }
  for (const auto& [name, value] : of_rows)
    if (validation_.logs && !of_training.contains(name)) out.logs.push_back("val_" + name);
  if (training_.scaling) out.logs.emplace_back("loss_scale");
  return out;
}

std::vector<Variable> Model::Training::FitRun::all_variables() const {
  std::vector<Variable> all;
  for (const bool of_optimizer : {true, false}) {
    for (const auto& [name, variable] : variables())
      if (name.starts_with("optimizer/") == of_optimizer) all.push_back(variable);
  }
  return all;
}

EpochRows Model::Training::FitRun::rows_of_all() const {
  EpochRows out = rows_.of_all(hosts_);
  out.rows += rows_before_.rows;
  out.ids += rows_before_.ids;
  return out;
}

void Model::Training::FitRun::audit() {
  const Replicas* const replicas = training_.replicas.get();
  if (!replicas || !replicas->audits().any() || std::exchange(audited_, steps_of_run_) == steps_of_run_)
    return;
  replicas->audits().require_equal_behind(steps_of_run_, all_variables());
}

void Model::Training::FitRun::save(FitPosition position) {
  position.cursor = batches_.save();
  if (ledger_ && position.step) position.rows = rows_of_all();
  rank_stage_.now(Stage::kSave, steps_of_run_);
  if (chief_) backups_.save(variables(), position);
}

void Model::Training::FitRun::meet() {
  std::map<std::string, std::string> common;
  if (backups_.found() || workers_) {
    const int64_t first =
        backups_.found() ? backups_.position().epoch * steps_ + backups_.position().step : 0;
    const BuildTransaction transaction;
    rank_stage_.now(Stage::kInput, first + 1);
    now_.cursor = batches_.save();
    compares_ = workers_ && !batches_.ends_alike();
    if (compares_) SameElements(hosts_).require_named(batches_.run().at("data"));
    const std::span<const Tensor> rows_of_first = batches_.next();
    const BatchRows arguments(rows_of_first, batches_.rows_of_shards());
    if (compares_ && arguments.of_shards.empty()) SameElements(hosts_).require(rows_of_first);
    rank_stage_.now(Stage::kTrace, first + 1);
    // They make the variables that the checkpoint, or the first worker, has values for.
    if (!training_.custom || validation_.logs) {
      training_.test_step->make_variables(arguments);
      if (backups_.found()) backups_.require(variables(), false);
    }
    training_.train_step->make_variables(arguments);
    if (workers_ && training_.replicas->membership().to_describe()) {
      const PartNotes of_run = training_.part_notes;
      common = training_.facts(batches_, options_, validation_, own_seed_, rows_of_first);
      training_.part_notes = of_run;  // facts are of a row for each replica
    }
    if (backups_.found()) {
      backups_.require(variables(), true);
      now_ = backups_.position();
      rows_before_ = now_.rows;
    }
    batches_.restore(now_.epoch, now_.step, now_.cursor);
    run_.initial_epoch = now_.epoch;
    if (!common.empty()) common["begin"] = cat("epoch ", now_.epoch, ", step ", now_.step);
  }
  if (workers_) training_.replicas->membership().describe(std::move(common));
  stop_ = now_.stopped;
  steps_of_run_ = now_.epoch * steps_ + now_.step;
}

void Model::Training::FitRun::begin_epoch() {
  rank_stage_.now(Stage::kCallback, steps_of_run_);
  if (alike_) alike_->look();
  call_callbacks([&](Callback& callback) { callback.on_epoch_begin(now_.epoch); });
  if (alike_ && agreed({.changed = alike_->changed()}, context_).changed) alike_->require(steps_of_run_);
}

void Model::Training::FitRun::add_to_ledger(const BatchRows& batch, std::span<const Tensor> arguments) {
  const auto own = batch.of_shards.empty() ? training_.train_step->own_rows(batch.count())
                                           : std::pair<int64_t, int64_t>(0, batches_.places().size());
  const auto numbers = batches_.numbers();
  for (int64_t i = own.first; i < own.second; ++i)
    rows_.add(numbers.empty() ? content_of_row(arguments.first(arguments.size() - 1), i)
                              : static_cast<uint64_t>(numbers[static_cast<size_t>(i)]));
}

void Model::Training::FitRun::tell_notes(const BatchRows& batch) {
  const auto tell = [&](const std::string& note) {
    rank_stage_.now(Stage::kCallback, steps_of_run_ + 1);
    call_callbacks([&](Callback& callback) { callback.on_note(note); });
  };
  if (std::exchange(shares_untold_, false)) {
    const int64_t examples = batches_.examples_per_epoch();
    tell(share_note(training_.replicas->mesh(), training_.shares(),
                    examples ? std::min(examples, options_.batch_size) : batch.count(),
                    batch.of_shards.empty()  ? ""
                    : batches_.of_own_data() ? "those of its own data"
                                             : "those of its shards of the data"));
  }
  if (training_.narrow.untold() && !callbacks_.empty()) tell(training_.narrow.tell());
  if (training_.part_notes.untold() && !callbacks_.empty())
    std::ranges::for_each(training_.part_notes.tell(), tell);
  std::ranges::for_each(place_->take_notes(), tell);
}

bool Model::Training::FitRun::show_logs(Epoch& epoch) {
  const int64_t step = now_.step;
  if (reads_.puts_aside(step)) training_.deferred_reads.take(training_.logged());
  std::optional<DeferredReads::View> view;
  if (reads_.shows(step)) view.emplace(training_.deferred_reads);
  // NaN and infinity stay in the epoch's sum. Workers of a strategy have one loss.
  const bool diverges = reads_.looks(step) && epoch.finite && !training_.loss_is_finite();
  const bool diverged =
      workers_ ? diverges : epoch.finite && agreed({.diverged = diverges}, context_).diverged;
  epoch.finite = epoch.finite && !diverged;
  bool due = (reads_.shows(step) || diverged) && !callbacks_.empty();
  if (due && training_.loss.empty()) due = false;  // of no row so far
  if (due) training_.refresh_training(epoch.logs);
  return due;
}

void Model::Training::FitRun::decide_behind_step() {
  const Replicas* const replicas = training_.replicas.get();
  const Decisions next = agreed({.stop = stop_,
                                 .save = backups_.due_after_step(++steps_of_run_),
                                 .go = launched_ && replicas->membership().asked_to_go(),
                                 .changed = alike_ && alike_->changed()},
                                context_);
  if (next.changed) alike_->require(steps_of_run_);
  if (next.go) replicas->membership().agree_to_go();
  if (next.save || (replicas && replicas->audits().due(steps_of_run_))) audit();
  stopped_ = next.stop || next.go;
  if (next.save) save(now_);
}

bool Model::Training::FitRun::make_step(Epoch& epoch) {
  rank_stage_.now(Stage::kInput, steps_of_run_ + 1);
  const std::span<const Tensor> arguments = batches_.next();
  if (same_ && batches_.rows_of_shards().empty()) same_->require(arguments);
  const Decisions here{.end_of_data = arguments.empty(),
                       .counts = !arguments.empty() && some_row_counts(arguments.back())};
  const Decisions all = workers_ && batches_.ends_alike() ? here : agreed(here, context_);
  if (all.end_of_data) {
    // Rows that another rank has no more of wait for no further step of this epoch.
    if (!arguments.empty()) batches_.restore(now_.epoch + 1, 0, batches_.save());
    return false;
  }
  const BatchRows batch(arguments, batches_.rows_of_shards());
  rank_stage_.now(Stage::kStep, steps_of_run_ + 1);
  if (launched_) training_.replicas->membership().begin_step(steps_of_run_ + 1);
  // Of a batch whose rows each worker has a part of, all of them say it together.
  const bool counts = batch.of_shards.empty() ? here.counts : all.counts;
  on_batch(batches_.numbers().size(), batches_.examples_per_epoch(), [&] {
    if (counts)
      training_.train_step->call(batch, batches_.numbers());
    else if (made_none_)
      training_.train_step->make_variables(batch);
  });
  if (alike_) alike_->look();
  made_none_ = false;
  epoch.steps_made += counts;
  if (ledger_) add_to_ledger(batch, arguments);
  tell_notes(batch);
  const int64_t step = ++now_.step;
  const bool due = show_logs(epoch);
  static const Logs not_due;
  rank_stage_.now(Stage::kCallback, steps_of_run_ + 1);
  call_callbacks([&](Callback& callback) { callback.on_batch_end(step, due ? epoch.logs : not_due); });
  decide_behind_step();
  return true;
}

void Model::Training::FitRun::train_epoch() {
  if (now_.step == 0) {
    begin_epoch();
    training_.reset();
    rows_ = rows_before_ = {};
  }
  Epoch epoch{training_.training_logs()};
  // Data that begin alike may differ later. Whoever names others in a later epoch alone is not looked for.
  if (std::exchange(compares_, false)) same_.emplace(hosts_, now_.step);
  if (workers_) late_ = training_.replicas->membership().lateness();
  while ((steps_ == 0 || now_.step < steps_) && !stopped_ && make_step(epoch)) {
  }
  same_.reset();
  interrupted_ = stopped_;
  if (interrupted_ && agreed({.save = backups_.used()}, context_).save) audit();
  if (interrupted_ && backups_.used()) save(now_);
  end_epoch(std::move(epoch));
}

bool Model::Training::FitRun::take_for_skipped(Epoch& epoch) {
  training_.deferred_reads.take(training_.logged());
  std::optional<DeferredReads::View> view(std::in_place, training_.deferred_reads);
  training_.refresh_training(epoch.logs);
  const bool skipped =
      now_.step > 0 && training_.loss.empty() && (training_.scaling || epoch.steps_made == 0);
  view.reset();
  if (!skipped) return false;
  // A mean of no row, which a callback must not take for the best one.
  for (auto& [name, value] : epoch.logs)
    if (name != "loss_scale") value = std::numeric_limits<double>::quiet_NaN();
  const std::string why =
      epoch.steps_made == 0
          ? cat("epoch ", now_.epoch + 1, " made no step: all its rows weigh 0")
          : cat("each step of epoch ", now_.epoch + 1,
                " was skipped: loss and gradients were no finite numbers, and the loss scale is now ",
                shortest(training_.scaling->value()));
  call_callbacks([&](Callback& callback) { callback.on_note(why); });
  return true;
}

void Model::Training::FitRun::end_epoch(Epoch epoch) {
  const bool skipped = take_for_skipped(epoch);
  if (validation_.logs) {
    rank_stage_.now(Stage::kEvaluate, steps_of_run_);
    for (const auto& [name, value] : validation_.logs()) epoch.logs.set("val_" + name, value);
  }
  rank_stage_.now(Stage::kCallback, steps_of_run_);
  if (ledger_) {
    const EpochRows trained = rows_of_all();
    call_callbacks([&](Callback& callback) {
      if (callback.wants_rows()) callback.on_epoch_rows(now_.epoch, trained.rows, trained.ids);
    });
  }
  if (!late_.empty()) {
    const std::vector<double> until_now = training_.replicas->membership().lateness();
    for (size_t i = 0; i < late_.size(); ++i) late_[i] = until_now[i] - late_[i];
    call_callbacks([&](Callback& callback) { callback.on_epoch_waits(now_.epoch, late_); });
  }
  call_callbacks([&](Callback& callback) {
    skipped ? callback.on_epoch_skipped(now_.epoch, epoch.logs)
            : callback.on_epoch_end(now_.epoch, epoch.logs);
  });
  now_.history.push_back(std::move(epoch.logs));
  const bool saves = !interrupted_ && backups_.due_after_epoch();
  const Decisions end =
      agreed({.stop = stopped_ || stop_, .save = saves, .changed = alike_ && alike_->changed()}, context_);
  if (end.changed) alike_->require(steps_of_run_);
  stopped_ = end.stop;
  if (end.save) audit();
  if (saves) save({now_.epoch + 1, 0, stopped_, now_.history});
}

std::vector<Logs> Model::Training::FitRun::train() {
  meet();
  rank_stage_.now(Stage::kCallback, steps_of_run_);
  call_callbacks([&](Callback& callback) { callback.on_train_begin(run_); });
  if (backups_.found()) {
    if (now_.step > 0) begin_epoch();
    backups_.restore(variables());
  }
  if (workers_) hosts_.broadcast(all_variables());
  stopped_ = agreed({.stop = stop_}, context_).stop;
  for (; now_.epoch < options_.epochs && !stopped_; ++now_.epoch, now_.step = 0, now_.rows = {})
    train_epoch();
  // Short runs, too, end in equal bits or in an error.
  audit();
  rank_stage_.now(Stage::kSave, steps_of_run_);
  backups_.finish();
  rank_stage_.now(Stage::kCallback, steps_of_run_);
  training_.options.optimizer.finalize_variables(Running::model()->trainable_variables());
  for (size_t i = 0; training_.custom && i < training_.custom->optimizers.size(); ++i)
    training_.custom->optimizers[i].finalize_variables(training_.custom->touched);
  call_callbacks([&](Callback& callback) {
    callback.on_train_end(now_.history.empty() ? Logs{} : now_.history.back());
  });
  if (!interrupted_ && chief_) backups_.end();
  rank_stage_.now(Stage::kEnd, steps_of_run_);
  return now_.history;
}

}  // namespace espalier
