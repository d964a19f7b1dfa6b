#include "cli/resumable_fit.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/env.h"
#include "base/format.h"
#include "base/sha256.h"
#include "base/shortened.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/verbs.h"
#include "espalier/callbacks.h"
#include "format/checkpoint.h"
#include "format/utf8.h"
#include "ir/sink.h"
#include "launch/control_end.h"
#include "plan/text.h"
#include "report/terminal.h"
#include "strategy/replicas.h"
#include "tables/replaced_model.h"

namespace espalier::cli {
namespace {

// What the line of an identity begins with that says what the run trains on.
constexpr const char* kDataLine = "data: ";

// A bar that was left, and what the terminal shows of the key behind it, are taken off.
std::string beyond_bar() { return Terminal::of(STDERR_FILENO).interactive ? "\r\x1b[2K" : "\n"; }

// "model" of "model/".
std::string without_end(const std::string& folder) {
  const size_t end = folder.find_last_not_of('/');
  return folder.substr(0, end == std::string::npos ? end : end + 1);
}

// Of two identities that differ.
std::string first_difference(const std::string& before, const std::string& now) {
  std::istringstream a(before), b(now);
  std::string x, y;
  do {
    if (!std::getline(a, x)) x = "nothing more";
    if (!std::getline(b, y)) y = "nothing more";
  } while (x == y);
  if (!x.starts_with(kDataLine) || !y.starts_with(kDataLine))
    return cat("the run was begun with ", x, ", now it is ", y);
  const auto rows = [](const std::string& line) {
    return line.substr(std::strlen(kDataLine), line.find(',') - std::strlen(kDataLine));
  };
  return cat("the data is not that of the run, which trains on ", rows(x), ": now there are ",
             rows(x) == rows(y) ? "as many of other values" : rows(y));
}

// "432 rows of 12x16x3 numbers".
std::string tensor_rows_text(const Tensor& x) {
  std::string row;
  for (size_t i = 1; i < x.shape().size(); ++i) row += cat(i > 1 ? "x" : "", x.shape()[i]);
  return cat(x.size(0), " rows of ", row, " numbers");
}

// Raises ValueError[train.resume], which names the first difference, where the checkpoint is of another run.
// What is no whole checkpoint fit refuses.
void check_same_run(const std::string& path, const std::string& now) {
  if (!posix_env().exists(path)) return;
  std::vector<std::map<std::string, Literal>> states;
  try {
    states = parse_checkpoint(posix_env().read_file(path)).callbacks;
  } catch (const Error&) {
    return;
  }
  for (auto& state : states) {
    const auto found = state.find(kPlanState);
    if (found == state.end()) continue;
    const CallbackState kept{{{kPlanState, make_concrete(std::move(found->second))}}};
    // Those of an earlier version hold the plan with its comments.
    if (const std::string before = without_comments(kept.text(kPlanState)); before != now)
      throw ValueError("train.resume", first_difference(before, now),
                       cat("repeat the command that began it on the data of then, with --resume, or remove ",
                           path, " to begin anew"));
  }
}

// Of a run that is being ended the process may need a moment.
constexpr double kUntilLeft = 2;

std::unique_ptr<HeldFile> hold(const std::string& model) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string who = cat("process ", static_cast<int64_t>(::getpid()), " of host ", host);
  const double until = posix_env().steady_seconds() + kUntilLeft;
  for (;;) {
    auto out = std::make_unique<HeldFile>(model + ".lock", who);
    if (out->is_held()) return out;
    if (posix_env().steady_seconds() >= until)
      throw ValueError(
          "train.in_use",
          cat(model, " is the place of a run that goes on now: ",
              out->holder().empty() ? "another process" : printable(out->holder()), " writes there"),
          "wait until it has ended, or --model with another folder");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// Where all workers agreed to go, each ends so.
void leave_if_told() {
  const auto& replicas = current_replicas();
  if (!replicas || !replicas->membership().goes()) return;
  say_aside(cat(beyond_bar(), "told to go; ", called_again("--resume"), " goes on\n"));
  replicas->membership().left();
  throw Exit{kPreemptedStatus};
}

}  // namespace

std::string checkpoint_of(const TrainPlan& plan) { return without_end(plan.model.path) + ".checkpoint"; }

std::string run_of(TrainPlan plan, const Tensor& x, const Tensor& y, const std::vector<Tensor>& test,
                   const FitOptions& fit) {
  plan.fit.checkpoint_every = 0;
  // A run goes on with any number of devices or workers, and on another device.
  plan.distribute = {.logical_shards = plan.distribute.logical_shards, .compress = plan.distribute.compress};
  plan.device = {};
  plan.model.path = without_end(plan.model.path);
  for_paths(plan, [](std::string& path) {
    if (!is_utf8(path)) path = utf8_of_windows1252(path);
  });
  uint32_t sum = 0;
  std::vector<Tensor> all{x, y};
  all.insert(all.end(), test.begin(), test.end());
  for (const TensorList* validation : {&fit.validation_x, &fit.validation_y})
    all.insert(all.end(), validation->tensors().begin(), validation->tensors().end());
  for (const Tensor& rows : all) {
    const Literal numbers = rows.node()->dense();
    sum = crc32_of(numbers.raw(), numbers.raw_bytes(), sum);
  }
  return cat(without_comments(write_plan(plan)), kDataLine, tensor_rows_text(x), ", checksum ", sum, "\n");
}

std::string name_of_run(const std::string& run) { return sha256_of(run); }

std::unique_ptr<HeldFile> claim_run(const TrainPlan& plan, bool resume, bool writes) {
  std::unique_ptr<HeldFile> out;
  if (writes && is_chief()) out = hold(without_end(plan.model.path));
  const std::string path = checkpoint_of(plan);
  const bool exists = posix_env().exists(path);
  if (exists && !resume) {
    throw ValueError("train.resume", cat(path, " holds a run that has not ended"),
                     "add --resume to go on with it, or remove the file to begin anew");
  }
  if (!exists && resume && !posix_env().exists(plan.model.path))
    say_aside(cat("note: there is no ", path, ": the run begins anew\n"));
  return out;
}

bool ended_before(const TrainPlan& plan, bool resume, const std::string& run, const Results& results) {
  const std::string& model = plan.model.path;
  if (!resume || posix_env().exists(checkpoint_of(plan)) || !posix_env().exists(model)) return false;
  nlohmann::ordered_json history = history_at(model);
  if (!history.is_object() || history.value("run", nlohmann::ordered_json()) != name_of_run(run)) {
    say_aside(cat("note: there is no ", checkpoint_of(plan), ", and ", model,
                  " is of another run: this one begins anew, and takes its place\n"));
    return false;
  }
  if (results.json) {
    history["ended_before"] = true;
    history["warnings"] = *results.warned;
    results.write_json("train", history);
    return true;
  }
  results.write(cat(model, " is the model of this run, which had ended: nothing is left to do\n"));
  results.suggest({"info", model});
  return true;
}

void remove_checkpoint(const TrainPlan& plan) {
  if (is_chief() && posix_env().exists(checkpoint_of(plan))) posix_env().remove_file(checkpoint_of(plan));
}

std::vector<Logs> fit_or_leave(Model& model, const TrainPlan& plan, bool resume, const std::string& run,
                               const Tensor& x, const Tensor& y, FitOptions options) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  check_same_run(checkpoint_of(plan), run);
  options.callbacks.push_back(StopOnInterrupt(run));
  options.callbacks.push_back(
      BackupAndRestore({.path = checkpoint_of(plan),
                        .save_freq = plan.fit.checkpoint_every ? plan.fit.checkpoint_every : kNever,
                        .delete_checkpoint = false}));
  const InterruptScope interrupts;
  auto history = model.fit(x, y, options);
  leave_if_told();
  if (InterruptScope::obeyed() && posix_env().exists(checkpoint_of(plan))) {
    say_aside(cat(beyond_bar(), "interrupted; ", checkpoint_of(plan),
                  " holds the run: ", called_again(resume ? "" : "--resume"), " goes on\n"));
    throw Exit{InterruptScope::status()};
  }
  return history;
}

std::vector<Logs> fit_or_stop(Model& model, const TrainPlan& plan, const Tensor& x, const Tensor& y,
                              FitOptions options) {
  options.callbacks.push_back(StopOnInterrupt(""));
  const InterruptScope interrupts;
  auto history = model.fit(x, y, options);
  leave_if_told();
  if (InterruptScope::obeyed()) {
    say_aside(cat(beyond_bar(), "interrupted; nothing is saved: `",
                  command({"train", "--data", plan.data.file}), "` keeps a run for --resume\n"));
    throw Exit{130};
  }
  return history;
}

}  // namespace espalier::cli
