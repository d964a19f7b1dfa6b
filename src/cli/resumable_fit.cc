#include "cli/resumable_fit.h"

#include <unistd.h>

#include <cstdio>
#include <limits>

#include "base/checksum.h"
#include "base/env.h"
#include "base/format.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/verbs.h"
#include "espalier/callbacks.h"
#include "format/utf8.h"
#include "ir/sink.h"
#include "report/terminal.h"

namespace espalier::cli {
namespace {

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

// A bar that was left, and what the terminal shows of the key behind it, are taken off.
std::string beyond_bar() { return Terminal::of(STDERR_FILENO).interactive ? "\r\x1b[2K" : "\n"; }

std::string checkpoint_of(const TrainPlan& plan) {
  const std::string& model = plan.model.path;
  const size_t end = model.find_last_not_of('/');
  return model.substr(0, end == std::string::npos ? end : end + 1) + ".checkpoint";
}

// All that a run depends on: the plan, and the numbers that it trains on.
std::string identity(TrainPlan plan, const Tensor& x, const Tensor& y, const FitOptions& fit) {
  plan.fit.checkpoint_every = 0;
  for_paths(plan, [](std::string& path) {
    if (!is_utf8(path)) path = utf8_of_windows1252(path);
  });
  uint32_t sum = 0;
  std::vector<Tensor> all{x, y};
  for (const TensorList* validation : {&fit.validation_x, &fit.validation_y})
    all.insert(all.end(), validation->tensors().begin(), validation->tensors().end());
  for (const Tensor& rows : all) {
    const Literal numbers = rows.node()->dense();
    sum = crc32_of(numbers.raw(), numbers.raw_bytes(), sum);
  }
  return cat(write_plan(plan), "rows with checksum ", sum, "\n");
}

}  // namespace

void check_resume(const TrainPlan& plan, bool resume) {
  const std::string path = checkpoint_of(plan);
  const bool exists = posix_env().exists(path);
  if (exists && !resume) {
    throw ValueError("train.resume", cat(path, " holds a run that has not ended"),
                     "add --resume to go on with it, or remove the file to begin anew");
  }
  if (!exists && resume) say(cat("there is no ", path, ": the run begins anew\n"));
}

void remove_checkpoint(const TrainPlan& plan) {
  if (posix_env().exists(checkpoint_of(plan))) posix_env().remove_file(checkpoint_of(plan));
}

std::vector<Logs> fit_or_leave(Model& model, const TrainPlan& plan, bool resume, const Tensor& x,
                               const Tensor& y, FitOptions options) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  options.callbacks.push_back(StopOnInterrupt(identity(plan, x, y, options)));
  options.callbacks.push_back(
      BackupAndRestore({.path = checkpoint_of(plan),
                        .save_freq = plan.fit.checkpoint_every ? plan.fit.checkpoint_every : kNever,
                        .delete_checkpoint = false}));
  const InterruptScope interrupts;
  auto history = model.fit(x, y, options);
  if (InterruptScope::obeyed() && posix_env().exists(checkpoint_of(plan))) {
    say(cat(beyond_bar(), "interrupted; ", checkpoint_of(plan),
            " holds the run: ", called_again(resume ? "" : "--resume"), " goes on\n"));
    throw Exit{130};
  }
  return history;
}

std::vector<Logs> fit_or_stop(Model& model, const TrainPlan& plan, const Tensor& x, const Tensor& y,
                              FitOptions options) {
  options.callbacks.push_back(StopOnInterrupt(""));
  const InterruptScope interrupts;
  auto history = model.fit(x, y, options);
  if (InterruptScope::obeyed()) {
    say(cat(beyond_bar(), "interrupted; nothing is saved: `", command({"train", "--data", plan.data.file}),
            "` keeps a run for --resume\n"));
    throw Exit{130};
  }
  return history;
}

}  // namespace espalier::cli
