#include "espalier/callbacks.h"

#include <cmath>

namespace espalier {
namespace {

class Terminate final : public Callback {
 public:
  void on_batch_end(int64_t, const Logs& logs) override { check(logs); }
  void on_epoch_end(int, const Logs& logs) override { check(logs); }

 private:
  void check(const Logs& logs) {
    const auto loss = logs.find("loss");
    if (loss != logs.end() && !std::isfinite(loss->second)) model().stop_training();
  }
};

class Lambda final : public Callback {
 public:
  explicit Lambda(LambdaCallbackOptions options) : options_(std::move(options)) {}
  void on_train_begin(const Run& run) override { call(options_.on_train_begin, run); }
  void on_epoch_begin(int epoch) override { call(options_.on_epoch_begin, epoch); }
  void on_batch_end(int64_t step, const Logs& logs) override { call(options_.on_batch_end, step, logs); }
  void on_epoch_end(int epoch, const Logs& logs) override { call(options_.on_epoch_end, epoch, logs); }
  void on_train_end(const Logs& logs) override { call(options_.on_train_end, logs); }

 private:
  template <class F, class... A>
  static void call(const F& f, const A&... arguments) {
    if (f) f(arguments...);
  }
  LambdaCallbackOptions options_;
};

}  // namespace

std::shared_ptr<Callback> TerminateOnNaN() { return std::make_shared<Terminate>(); }

std::shared_ptr<Callback> LambdaCallback(LambdaCallbackOptions options) {
  return std::make_shared<Lambda>(std::move(options));
}

}  // namespace espalier
