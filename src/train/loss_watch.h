// From which step of a run on its loss was no number.
#pragma once

#include <cmath>
#include <string>

#include "base/format.h"
#include "espalier/model.h"

namespace espalier {

class LossWatch {
 public:
  void begin_epoch(int epoch) {
    epoch_ = epoch + 1;
    step_ = 0;
  }
  // The hooks of a callback; fit shows the loss of the step that makes it NaN or infinite.
  void on_batch_end(int64_t step, const Logs& logs) {
    step_ = step;
    see(logs);
  }
  void on_epoch_end(const Logs& logs) { see(logs); }
  bool found() const { return !text_.empty(); }
  // "the loss is NaN from step 17 of epoch 2 on"; empty while it is a number.
  const std::string& text() const { return text_; }

 private:
  void see(const Logs& logs) {
    const auto loss = logs.find("loss");
    if (found() || loss == logs.end() || std::isfinite(loss->second)) return;
    text_ = cat("the loss is ", std::isnan(loss->second) ? "NaN" : "infinite", " from ",
                step_ ? cat("step ", step_, " of ") : "", "epoch ", epoch_, " on");
  }
  int epoch_ = 0;
  int64_t step_ = 0;
  std::string text_;
};

}  // namespace espalier
