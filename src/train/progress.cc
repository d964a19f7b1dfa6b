#include "report/progress.h"

#include <chrono>
#include <iostream>
#include <optional>

#include "base/format.h"
#include "espalier/model.h"
#include "report/table.h"
#include "train/latest_worker.h"
#include "train/loss_watch.h"

namespace espalier {
namespace {

std::string metrics_text(const Logs& logs) {
  std::string out;
  for (const auto& [name, value] : logs) out += cat(out.empty() ? "" : "  ", name, " ", fixed(value, 4));
  return out;
}

class Progress final : public Callback {
 public:
  bool chief_only() const override { return true; }
  void on_train_begin(const Run& run) override {
    run_ = run;
    bar_.emplace();
    last_.clear();
    loss_ = {};
    epochs_ = diverged_ = 0;
    step_ = 0;
    for (const std::string& note : run.notes) on_note(note);
  }
  void on_note(const std::string& note) override {
    bar_->clear();
    std::cerr << "note: " << note << "\n";
  }
  void on_epoch_begin(int epoch) override {
    // Steps when nobody knows the examples; those of the epoch before when nobody knows the steps.
    const int64_t total = run_.examples ? run_.examples : run_.steps_per_epoch ? run_.steps_per_epoch : step_;
    const std::string last = cat(run_.epochs), number = cat(epoch + 1);
    const std::string blanks(last.size() - std::min(last.size(), number.size()), ' ');
    bar_->start(cat("epoch ", blanks, number, "/", last), total);
    loss_.begin_epoch(epoch);
    began_ = std::chrono::steady_clock::now();
    late_.clear();
  }
  void on_batch_end(int64_t step, const Logs& logs) override {
    step_ = step;
    loss_.on_batch_end(step, logs);
    for (const auto& [name, value] : logs) last_.set(name, value);
    const int64_t done =
        run_.examples ? std::min(run_.examples, run_.examples * step / run_.steps_per_epoch) : step;
    bar_->update(done, [this] { return metrics_text(last_); });
  }
  void on_epoch_waits(int, std::span<const double> late) override {
    late_ =
        latest_worker(late, std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count());
  }
  void on_epoch_end(int, const Logs& logs) override {
    bar_->finish(cat(metrics_text(logs), late_.empty() ? "" : "  ", late_));
    loss_.on_epoch_end(logs);
    ++epochs_;
    if (!loss_.found() || diverged_) return;
    diverged_ = epochs_;
    std::cerr << loss_.text()
              << ": the training diverged, or its rows hold NaN; TerminateOnNaN ends such a run, and compile "
                 "with check_numerics says where it begins\n";
  }
  // That it has no loss does not say that the training diverged; a note says what happened.
  void on_epoch_skipped(int, const Logs& logs) override {
    bar_->finish(metrics_text(logs));
    ++epochs_;
  }
  // The last line of a run says it, too.
  void on_train_end(const Logs&) override {
    if (loss_.found() && diverged_ < epochs_) std::cerr << loss_.text() << "\n";
  }

 private:
  Run run_;
  Logs last_;
  int64_t step_ = 0;                             // the last one
  std::chrono::steady_clock::time_point began_;  // the epoch
  std::string late_;
  LossWatch loss_;
  int epochs_ = 0, diverged_ = 0;  // those that ended, and that of them in which it did
  std::optional<ProgressBar> bar_;
};

}  // namespace

std::shared_ptr<Callback> ConsoleProgress() { return std::make_shared<Progress>(); }

}  // namespace espalier
