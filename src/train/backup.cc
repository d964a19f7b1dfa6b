#include "train/backup.h"

#include <algorithm>

#include "base/env.h"
#include "base/format.h"
#include "espalier/ops.h"
#include "ir/sink.h"
#include "launch/control_text.h"
#include "nn/seed.h"
#include "train/earlier_paths.h"

namespace espalier {
namespace {

// Of rows in memory "ids" are of their numbers. Those of a dataset are of contents, and have another name:
// versions before had a sum of places under "ids", which says nothing of this epoch and is left out.
constexpr const char *kLedgerRows = "ledger/rows", *kLedgerIds = "ledger/ids",
                     *kLedgerContents = "ledger/contents";

// fit looks for it; it does nothing by itself.
struct Backup final : Callback {
  explicit Backup(BackupAndRestoreOptions given) : options(std::move(given)) {
    if (options.path.empty()) throw ValueError("backup.path", "there is no path");
    if (options.save_freq < 0)
      throw ValueError("backup.save_freq", cat("save_freq must not be negative, got ", options.save_freq));
  }
  const BackupAndRestoreOptions options;
};

std::map<std::string, std::string> run_of(const FitOptions& options, const TrainingBatches& batches,
                                          const Callback::Run& run) {
  std::string logs;
  for (const std::string& name : run.logs) logs += cat(logs.empty() ? "" : " ", name);
  std::map<std::string, std::string> out = batches.run();
  out["steps_per_epoch"] = cat(run.steps_per_epoch);
  out["logs"] = logs;
  out["callbacks"] = cat(options.callbacks.size());
  return out;
}

// Sums of metrics were f32 in versions before.
bool is_earlier_sum(const TensorType& there, const Variable& variable) {
  return there == TensorType{DType::kF32, variable.shape()} && variable.dtype() == DType::kF64 &&
         variable.path().starts_with("metrics/");
}

}  // namespace

Backups::Backups(const FitOptions& options, const TrainingBatches& batches, const Callback::Run& run,
                 ThreadPool& pool)
    : callbacks_(options.callbacks),
      numbered_(batches.ends_alike()),
      run_(run_of(options, batches, run)),
      writer_(pool) {
  for (const auto& callback : callbacks_) {
    const auto* const backup = dynamic_cast<const Backup*>(callback.get());
    if (backup && backup_) throw ValueError("backup.twice", "a run has at most one BackupAndRestore");
    if (backup) backup_ = &backup->options;
  }
  if (!backup_) return;
  freq_ = backup_->save_freq;
  posix_env().remove_left_overs(backup_->path);
  if (!posix_env().exists(backup_->path)) return;
  found_ = read_checkpoint(backup_->path);
  has_earlier_paths_ = !tells_earlier_paths(found_->run);
  for (const auto& [name, now] : run_) {
    const std::string& before = found_->run[name];
    if (before == now) continue;
    throw ValueError("backup.run",
                     cat(backup_->path, " is of another run: its ", name, " was ",
                         before.empty() ? "not said" : before, ", now it is ", now),
                     "go on with the same run, or remove the file");
  }
  if (found_->callbacks.size() != callbacks_.size() ||
      (run.steps_per_epoch > 0 && found_->step > run.steps_per_epoch))
    throw FormatError("checkpoint.run",
                      cat(backup_->path, ": step ", found_->step, " of ", run.steps_per_epoch, " with ",
                          found_->callbacks.size(), " callbacks"));
}

void Backups::require_seen_by_all(const HostCollectives& hosts) const {
  enum Sight : uint64_t { kNoBackup, kUnseen, kSeen };
  const Sight mine = found() ? kSeen : used() ? kUnseen : kNoBackup;
  const std::vector<Sight> all = hosts.of_each("backup", mine);
  const auto ranks_with = [&](Sight sight) {
    std::vector<int> out;
    for (size_t rank = 0; rank < all.size(); ++rank)
      if (all[rank] == sight) out.push_back(static_cast<int>(rank));
    return out;
  };
  const std::vector<int> seen = ranks_with(kSeen), unseen = ranks_with(kUnseen);
  if (seen.empty() || unseen.empty() || !backup_) return;
  throw ValueError("backup.unseen",
                   cat(ranks_text(unseen), unseen.size() > 1 ? " do" : " does", " not see ", backup_->path,
                       ", from which ", ranks_text(seen), seen.size() > 1 ? " go on" : " goes on"),
                   "a path on a disk that all workers see, or a copy of the file for each of them");
}

FitPosition Backups::position() const {
  FitPosition out{static_cast<int>(found_->epoch), found_->step, found_->stopped, {}, found_->cursor};
  // Beside the place in the data; a run of an earlier version does not say it.
  const auto take = [&](const char* name) {
    const auto found = out.cursor.numbers.extract(name);
    return found ? found.mapped() : 0;
  };
  out.rows.rows = static_cast<int64_t>(take(kLedgerRows));
  const uint64_t ids = take(kLedgerIds), contents = take(kLedgerContents);
  out.rows.ids = numbered_ ? ids : contents;
  for (const auto& [name, values] : found_->history) {
    out.history.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) out.history[i].set(name, values[i]);
  }
  return out;
}

// Names of variables, slots and what callbacks keep of variables end in the path of one.
void Backups::take_earlier_paths(const NamedVariables& variables) {
  if (!std::exchange(has_earlier_paths_, false)) return;
  std::vector<std::pair<std::string, std::string>> paths;  // earlier and now
  bool differ = false;
  for (const auto& [name, variable] : variables) {
    if (!name.starts_with("model/")) continue;
    paths.emplace_back("/" + earlier_path(variable), "/" + variable.path());
    differ |= paths.back().first != paths.back().second;
  }
  if (!differ) return;
  const auto now = [&](const std::string& name) {
    const std::pair<std::string, std::string>* longest = nullptr;
    for (const auto& one : paths) {
      if (name.ends_with(one.first) && (!longest || one.first.size() > longest->first.size())) longest = &one;
    }
    return longest ? name.substr(0, name.size() - longest->first.size()) + longest->second : name;
  };
  for (NamedArray& array : found_->variables) array.name = now(array.name);
  for (auto& kept : found_->callbacks) {
    std::map<std::string, Literal> renamed;
    for (auto& [name, value] : kept) renamed.emplace(now(name), std::move(value));
    kept = std::move(renamed);
  }
}

void Backups::require(const NamedVariables& variables, bool all) {
  take_earlier_paths(variables);
  std::map<std::string, const Literal*> saved;
  for (const NamedArray& array : found_->variables) saved[array.name] = &array.value;
  const auto refuse = [&](const std::string& message) {
    throw ValueError("backup.variable", cat(backup_->path, " is of another model or optimizer: ", message),
                     "go on with the same run, or remove the file");
  };
  for (const auto& [name, variable] : variables) {
    const auto it = saved.find(name);
    if (it == saved.end()) refuse(cat("it has no variable \"", name, "\""));
    if (it->second->type() != variable.type() && !is_earlier_sum(it->second->type(), variable))
      refuse(cat("\"", name, "\" is ", it->second->type(), " there and ", variable.type(), " here"));
    saved.erase(it);
  }
  if (all && !saved.empty()) refuse(cat("its variable \"", saved.begin()->first, "\" is none of this run"));
}

void Backups::restore(const NamedVariables& variables) {
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    CallbackState state;
    for (auto& [name, value] : found_->callbacks[i]) state.tensors[name] = make_concrete(std::move(value));
    callbacks_[i]->load_state(state);
  }
  std::map<std::string, const Literal*> saved;
  for (const NamedArray& array : found_->variables) saved[array.name] = &array.value;
  for (auto [name, variable] : variables)
    variable.assign(convert(make_concrete(*saved.at(name)), variable.dtype()));
  continue_seed(found_->seed);
  found_.reset();
}

void Backups::save(const NamedVariables& variables, const FitPosition& position) {
  std::map<std::string, std::string> run = earlier_paths(variables);
  run.insert(run_.begin(), run_.end());
  Checkpoint out{.seed = seed(),
                 .epoch = position.epoch,
                 .step = position.step,
                 .stopped = position.stopped,
                 .run = std::move(run),
                 .cursor = position.cursor};
  if (position.rows.rows > 0) {
    out.cursor.numbers[kLedgerRows] = static_cast<uint64_t>(position.rows.rows);
    out.cursor.numbers[numbered_ ? kLedgerIds : kLedgerContents] = position.rows.ids;
  }
  for (const Logs& logs : position.history) {
    for (const auto& [name, value] : logs) out.history[name].push_back(value);
  }
  for (const auto& callback : callbacks_) {
    CallbackState state;
    callback->save_state(state);
    auto& kept = out.callbacks.emplace_back();
    for (const auto& [name, tensor] : state.tensors) kept.emplace(name, tensor.node()->dense());
  }
  writer_.write(backup_->path, std::move(out), variables);
}

void Backups::end() const {
  if (backup_ && backup_->delete_checkpoint && posix_env().exists(backup_->path))
    posix_env().remove_file(backup_->path);
}

std::shared_ptr<Callback> BackupAndRestore(BackupAndRestoreOptions options, Location at) {
  const CallScope scope(at);
  return std::make_shared<Backup>(std::move(options));
}

}  // namespace espalier
