#include "espalier/callbacks.h"

#include <cmath>
#include <limits>

#include "base/format.h"
#include "train/deciding_callback.h"

namespace espalier {
namespace {

class Terminate final : public DecidingCallback {
 public:
  std::string name() const override { return "TerminateOnNaN"; }
  void on_batch_end(int64_t, const Logs& logs) override { check(logs); }
  void on_epoch_end(int, const Logs& logs) override { check(logs); }
  void on_epoch_skipped(int, const Logs&) override {}

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
  void on_note(const std::string& note) override { call(options_.on_note, note); }
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

const Tensor& field(const CallbackState& state, const std::string& name, DType dtype, size_t rank) {
  const auto it = state.tensors.find(name);
  if (it != state.tensors.end() && it->second.dtype() == dtype && it->second.rank() == rank)
    return it->second;
  throw FormatError("checkpoint.callback",
                    cat("a callback misses \"", name, "\" as ", espalier::name(dtype), " of rank ", rank,
                        it == state.tensors.end() ? "" : cat(", it is ", it->second.type())));
}

}  // namespace

void CallbackState::put(const std::string& name, double value) { tensors[name] = Tensor::scalar(value); }

void CallbackState::put_text(const std::string& name, const std::string& text) {
  tensors[name] = Tensor::of(std::vector<uint8_t>(text.begin(), text.end()));
}

double CallbackState::number(const std::string& name) const {
  return field(*this, name, DType::kF64, 0).item<double>();
}

int64_t CallbackState::count(const std::string& name) const {
  constexpr double kMost = 1ll << 53;
  const double value = number(name);
  if (value >= 0 && value <= kMost && value == std::floor(value)) return static_cast<int64_t>(value);
  throw FormatError("checkpoint.callback", cat("\"", name, "\" must count something, got ", value));
}

std::string CallbackState::text(const std::string& name) const {
  const auto bytes = field(*this, name, DType::kU8, 1).to_vector<uint8_t>();
  return {bytes.begin(), bytes.end()};
}

std::shared_ptr<Callback> TerminateOnNaN() { return std::make_shared<Terminate>(); }

std::shared_ptr<Callback> LambdaCallback(LambdaCallbackOptions options) {
  return std::make_shared<Lambda>(std::move(options));
}

}  // namespace espalier
