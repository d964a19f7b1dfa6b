// What a device did for a run of fit.
#pragma once

#include <nlohmann/json.hpp>

#include "espalier/devices.h"
#include "espalier/model.h"

namespace espalier::cli {

// Of the device that fit runs on; of none on this CPU.
class DeviceLog final : public Callback {
 public:
  // {"name": "gpu:0", "compiles": 3, "loads": 0, "executes": 420, "uploads": 840, "downloads": 53,
  //  "uploaded_bytes": ..., "downloaded_bytes": ..., "peak_bytes": ..., "program_bytes": ..., "steady_step":
  //  {"executes": 1, ...}}:
  // since the run began, until now; steady_step: from the end of a step to that of the next one, where
  // neither asked for the loss, null where no epoch had six steps. null on this CPU.
  nlohmann::ordered_json json() const;

  // "gpu:0"; "tpu:0-3, on each of 4 hosts"; "" on this CPU, or before a run.
  const std::string& place_text() const { return place_text_; }

  void on_train_begin(const Run&) override;
  void on_batch_end(int64_t step, const Logs& logs) override;

 private:
  std::string name_, place_text_;  // "" : this CPU
  int64_t steps_ = 0;              // of an epoch; 0: not known
  DeviceCounters begin_, before_;
  nlohmann::ordered_json steady_;
};

}  // namespace espalier::cli
