#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/env.h"
#include "base/format.h"
#include "espalier/callbacks.h"
#include "train/folder_of.h"
#include "train/monitor.h"

namespace espalier {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& message) {
  throw ValueError("model_checkpoint.path", cat("\"", path, "\": ", message));
}

// A number as "", "02d" or ".3f" say; nothing for other formats.
std::optional<std::string> formatted(double value, std::string_view format) {
  char text[400];
  const auto ended = [&](std::to_chars_result result) { return std::string(text, result.ptr); };
  if (format.empty()) return ended(std::to_chars(text, std::end(text), value));
  const bool whole = format.front() == '0' && format.back() == 'd';
  const bool fraction = format.front() == '.' && format.back() == 'f';
  if (format.size() != 3 || (!whole && !fraction) || format[1] < '0' || format[1] > '9') return std::nullopt;
  const int digits = format[1] - '0';
  if (fraction) return ended(std::to_chars(text, std::end(text), value, std::chars_format::fixed, digits));
  if (value != std::floor(value)) return std::nullopt;
  const std::string out = ended(std::to_chars(text, std::end(text), value, std::chars_format::fixed, 0));
  return std::string(std::max<size_t>(static_cast<size_t>(digits), out.size()) - out.size(), '0') + out;
}

// The path with its fields filled in.
std::string filled(const std::string& path, const Logs& fields) {
  std::string out;
  for (size_t at = 0; at < path.size();) {
    const size_t open = path.find('{', at);
    out += path.substr(at, open - at);
    if (open == std::string::npos) break;
    const size_t close = path.find('}', open);
    if (close == std::string::npos) refuse(path, "a field has no end: }");
    const std::string field = path.substr(open + 1, close - open - 1);
    const size_t colon = field.find(':');
    const std::string name = field.substr(0, colon);
    const auto it = fields.find(name);
    if (it == fields.end()) {
      std::vector<std::string> known;
      for (const auto& [field_name, value] : fields) known.push_back(field_name);
      throw_unknown("model_checkpoint.path", "field", name, known);
    }
    const auto text = formatted(it->second, colon == std::string::npos ? "" : field.substr(colon + 1));
    if (!text) refuse(path, cat("{", field, "} is no field: formats are 02d, for whole numbers, and .3f"));
    out += *text;
    at = close + 1;
  }
  return out;
}

class Saver final : public Callback {
 public:
  bool chief_only() const override { return true; }
  explicit Saver(ModelCheckpointOptions options) : options_(std::move(options)) {
    if (options_.path.empty()) throw ValueError("model_checkpoint.path", "there is no path");
    if (options_.save_freq < 0 || (options_.save_freq > 0 && options_.save_best_only)) {
      throw ValueError(
          "model_checkpoint.save_freq",
          cat("save_freq must not be negative, nor stand with save_best_only, got ", options_.save_freq));
    }
    if (options_.save_best_only) monitor_.emplace("model_checkpoint", options_.monitor, options_.mode, 0);
  }

  void on_train_begin(const Run& run) override {
    if (monitor_) monitor_->require(run);
    Logs fields{{"epoch", 1}};
    if (options_.save_freq > 0) {
      fields.set("batch", 1);
    } else {
      for (const std::string& name : run.logs) fields.set(name, 0.5);
    }
    // Before the epochs, not after the first.
    const std::string first = filled(options_.path, fields);
    require_folder_of(first, "save.path");
    // Of a run that was killed; folders that are named by epoch are each begun once.
    if (first == options_.path) posix_env().remove_left_overs(first);
    steps_ = run.initial_epoch * run.steps_per_epoch;
  }
  void on_epoch_begin(int epoch) override { epoch_ = epoch; }

  void on_batch_end(int64_t step, const Logs&) override {
    ++steps_;
    if (options_.save_freq == 0 || steps_ % options_.save_freq != 0) return;
    save({{"epoch", epoch_ + 1}, {"batch", static_cast<double>(step)}});
  }

  void on_epoch_end(int epoch, const Logs& logs) override {
    if (options_.save_freq > 0) return;
    if (monitor_) {
      const double value = monitor_->value(logs);
      if (!monitor_->improves(value, best_)) return;
      best_ = value;
    }
    Logs fields = logs;
    fields.set("epoch", epoch + 1);
    save(fields);
  }

  void on_epoch_skipped(int epoch, const Logs& logs) override {
    if (!monitor_) on_epoch_end(epoch, logs);
  }

  void save_state(CallbackState& state) const override {
    if (best_) state.put("model_checkpoint/best", *best_);
    state.put("model_checkpoint/steps", static_cast<double>(steps_));
  }
  void load_state(const CallbackState& state) override {
    if (state.tensors.contains("model_checkpoint/best")) best_ = state.number("model_checkpoint/best");
    // Older checkpoints have no count: epochs of a known length have as many.
    if (state.tensors.contains("model_checkpoint/steps")) steps_ = state.count("model_checkpoint/steps");
  }

 private:
  void save(const Logs& fields) const {
    model().save(filled(options_.path, fields), {.files = options_.files});
  }

  ModelCheckpointOptions options_;
  std::optional<Monitor> monitor_;
  // Of all runs, unlike what EarlyStopping keeps: a second, worse run leaves the best model on disk.
  std::optional<double> best_;
  int64_t steps_ = 0;  // of the run
  int epoch_ = 0;
};

}  // namespace

std::shared_ptr<Callback> ModelCheckpoint(ModelCheckpointOptions options, Location at) {
  const CallScope scope(at);
  return std::make_shared<Saver>(std::move(options));
}

}  // namespace espalier
