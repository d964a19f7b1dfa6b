#include "cli/device_log.h"

#include "base/format.h"
#include "espalier/run_context.h"
#include "ir/device.h"

namespace espalier::cli {
namespace {

nlohmann::ordered_json json_of_work(const DeviceCounters& from, const DeviceCounters& to) {
  return {{"compiles", to.compiles - from.compiles},
          {"loads", to.loads - from.loads},
          {"executes", to.executes - from.executes},
          {"uploads", to.uploads - from.uploads},
          {"downloads", to.downloads - from.downloads},
          {"uploaded_bytes", to.uploaded_bytes - from.uploaded_bytes},
          {"downloaded_bytes", to.downloaded_bytes - from.downloaded_bytes}};
}

}  // namespace

void DeviceLog::on_train_begin(const Run& run) {
  steps_ = run.steps_per_epoch;
  Device* const device = RunContext::current().device;
  name_ = place_text_ = device ? device->name() : "";
  if (device && device->world() > device->replicas())
    place_text_ += cat(", on each of ", device->world() / device->replicas(), " hosts");
  steady_ = nullptr;
  if (device) begin_ = before_ = device_counters(name_);
}

void DeviceLog::on_batch_end(int64_t step, const Logs&) {
  // The loss is packed behind step 1, 9, ... and downloaded behind 3, 11, ...: between 4 and 5 neither is.
  // The last step of an epoch may have fewer rows, and others' weights.
  if (name_.empty() || !steady_.is_null() || step == steps_) return;
  if (step % 8 == 4) before_ = device_counters(name_);
  if (step % 8 == 5) steady_ = json_of_work(before_, device_counters(name_));
}

nlohmann::ordered_json DeviceLog::json() const {
  if (name_.empty()) return nullptr;
  nlohmann::ordered_json out = {{"name", name_}};
  out.update(json_of_work(begin_, device_counters(name_)));
  const MemoryInfo memory = memory_info(name_);
  out["peak_bytes"] = memory.peak;
  out["program_bytes"] = memory.program;
  out["steady_step"] = steady_;
  return out;
}

}  // namespace espalier::cli
