// Which rows each epoch of a run trained on.
#pragma once

#include <nlohmann/json.hpp>

#include "espalier/model.h"

namespace espalier {

// Of the epochs of fit(), those before a run was gone on with, too.
class Ledger final : public Callback {
 public:
  // What training.json keeps as "ledger": for each epoch {"rows": 640, "ids": "9f0c..."}, the sum of hashes
  // (docs/distributed.md) as 16 hexadecimal digits, since numbers of JSON have fewer bits.
  const nlohmann::ordered_json& json() const { return epochs_; }
  // And as "waits": for how many seconds each worker was waited for, in each epoch since the run went on;
  // null of a run on one. Not of a checkpoint, which knows nothing of workers.
  const nlohmann::ordered_json& waits() const { return waits_; }

  bool chief_only() const override { return true; }
  bool wants_rows() const override { return true; }
  void on_train_begin(const Run&) override { epochs_ = nlohmann::ordered_json::array(); }
  void on_epoch_rows(int epoch, int64_t rows, uint64_t ids) override;
  void on_epoch_waits(int, std::span<const double> seconds) override {
    waits_.push_back(std::vector<double>(seconds.begin(), seconds.end()));
  }
  void save_state(CallbackState& state) const override;
  // Raises FormatError[checkpoint.callback].
  void load_state(const CallbackState& state) override;

 private:
  nlohmann::ordered_json epochs_ = nlohmann::ordered_json::array(), waits_;
};

}  // namespace espalier
