#include "report/progress.h"

#include <optional>

#include "base/format.h"
#include "espalier/model.h"
#include "report/table.h"

namespace espalier {
namespace {

std::string metrics_text(const Logs& logs) {
  std::string out;
  for (const auto& [name, value] : logs) out += cat(out.empty() ? "" : "  ", name, " ", fixed(value, 4));
  return out;
}

class Progress final : public Callback {
 public:
  void on_train_begin(const Run& run) override {
    run_ = run;
    last_.clear();
  }
  void on_epoch_begin(int epoch) override {
    const std::string last = cat(run_.epochs), number = cat(epoch + 1);
    bar_.emplace(cat("epoch ", std::string(last.size() - std::min(last.size(), number.size()), ' '), number,
                     "/", last),
                 total());
  }
  void on_batch_end(int64_t step, const Logs& logs) override {
    for (const auto& [name, value] : logs) last_[name] = value;
    bar_->update(std::min(total(), total() * step / std::max<int64_t>(1, run_.steps_per_epoch)),
                 [this] { return metrics_text(last_); });
  }
  void on_epoch_end(int, const Logs& logs) override { bar_->finish(metrics_text(logs)); }

 private:
  // Steps when nobody knows the examples.
  int64_t total() const { return run_.examples ? run_.examples : run_.steps_per_epoch; }
  Run run_;
  Logs last_;
  std::optional<ProgressBar> bar_;
};

}  // namespace

std::shared_ptr<Callback> ConsoleProgress() { return std::make_shared<Progress>(); }

}  // namespace espalier
