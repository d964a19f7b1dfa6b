#include "cli/device_flags.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/format.h"
#include "cli/common.h"
#include "espalier/run_context.h"
#include "espalier/tpu.h"
#include "pjrt/open.h"

namespace espalier::cli {
namespace {

// Of several processes that `espalier launch` has started on this machine each takes a GPU of its own, unless
// it is told which.
std::optional<int> own_gpu(const pjrt::Found& plugin, const std::string& name) {
  const char *const rank = std::getenv("ESPALIER_LOCAL_RANK"), *const world =
                                                                   std::getenv("ESPALIER_LOCAL_WORLD");
  const bool gpu = plugin.kind == "cuda" || plugin.kind == "rocm";
  if (!gpu || name.find(':') != name.npos || !rank || !world || std::atoi(world) < 2) return std::nullopt;
  if (std::getenv("CUDA_VISIBLE_DEVICES") || std::getenv("ROCR_VISIBLE_DEVICES")) return std::nullopt;
  return std::atoi(rank);
}

// Of all devices of the client, before it is created.
const std::string& with_options(const DevicePlan& plan) {
  if (plan.is_cpu()) return plan.name;
  set_matmul_precision(plan.matmul_precision);
  const std::string first = pjrt::single_devices(plan.name)[0];
  const pjrt::Found plugin = pjrt::find_device(first, plan.plugins).plugin;
  pjrt::change_client_options(plugin.name, [&](pjrt::ClientOptions& options) {
    if (const std::optional<int> own = own_gpu(plugin, plan.name)) options.visible = {*own};
    options.memory_grows = options.memory_grows || plan.memory_growth;
    if (plan.memory_fraction > 0) options.memory_fraction = plan.memory_fraction;
  });
  return plan.name;
}

}  // namespace

CLI::Option* add_plugins(CLI::App& verb, std::vector<std::string>& plugins) {
  return verb
      .add_option("--plugin", plugins,
                  "PJRT plugin files to load, besides those found by default: several, or repeat --plugin")
      ->option_text("FILE ...");
}

CLI::Option* add_device(CLI::App& verb, DevicePlan& flags) {
  const char* const of_several = verb.get_option_no_throw("--strategy")
                                     ? "; gpu:0-3 names several devices, for --strategy mirrored"
                                     : "";
  CLI::Option* const name = verb.add_option("--device", flags.name,
                                            cat("Device to run on: cpu, gpu, tpu, another name listed by "
                                                "`espalier devices`, or a plugin file",
                                                of_several))
                                ->option_text("NAME [cpu]");
  add_plugins(verb, flags.plugins);
  verb.add_flag("--memory-growth", flags.memory_growth,
                "Allocate GPU memory as needed, instead of most of it at start");
  verb.add_option("--memory-fraction", flags.memory_fraction,
                  "Largest share of GPU memory to allocate, from 0.01 to 1")
      ->option_text("X [plugin default]")
      ->check(CLI::Range(0.01, 1.0));
  verb.add_option(
          "--matmul-precision", flags.matmul_precision,
          "Precision of f32 matrix products on a GPU or TPU: highest (f32), high (TF32 or three passes "
          "of bfloat16), or the word default: the fastest of the device (TF32, one pass of bfloat16)")
      ->check(one_of_words({"highest", "high", "default"}))
      ->option_text("highest|high|default [highest]");
  return name;
}

void take_device(const CLI::App& verb, const DevicePlan& flags, DevicePlan& plan) {
  if (flags.name != DevicePlan().name || verb.count("--device")) plan.name = flags.name;
  if (verb.count("--plugin")) plan.plugins = flags.plugins;
  if (verb.count("--memory-growth")) plan.memory_growth = flags.memory_growth;
  if (verb.count("--memory-fraction")) plan.memory_fraction = flags.memory_fraction;
  if (verb.count("--matmul-precision")) plan.matmul_precision = flags.matmul_precision;
}

void add_device_words(const DevicePlan& plan, std::vector<std::string>& words) {
  if (plan.is_cpu()) return;
  words.insert(words.end(), {"--device", plan.name});
  for (const std::string& plugin : plan.plugins) words.insert(words.end(), {"--plugin", plugin});
}

std::vector<std::string> given_device_words(const CLI::App& verb) {
  std::vector<std::string> out;
  for (const char* name : {"--device", "--plugin", "--memory-fraction", "--matmul-precision"}) {
    const CLI::Option* const option = verb.get_option(name);
    for (const std::string& value : option->results()) out.insert(out.end(), {name, value});
  }
  if (verb.count("--memory-growth")) out.emplace_back("--memory-growth");
  return out;
}

DevicePlan device_by_strategy(DevicePlan plan, const DistributePlan& distribute, bool named) {
  if (distribute.strategy != "tpu" || !plan.is_cpu()) return plan;
  if (named)
    throw ValueError("distribute.device",
                     cat("the strategy tpu trains on all chips of a TPU, and the device is ", plan.name),
                     "leave the device out, or name tpu; --strategy one for this CPU");
  plan.name = "tpu";
  return plan;
}

void settle_device(const CLI::App& verb, TrainPlan& plan) {
  const bool flagged = verb.count("--device") > 0;
  if (flagged) plan.places.erase("device.name");
  const auto place = plan.places.find("device.name");
  const bool in_file = place != plan.places.end(), overruled = verb.count("--strategy") > 0;
  const std::string before = plan.device.name;
  plan.device = said_at(plan, "device.name", [&] {
    return device_by_strategy(plan.device, plan.distribute, flagged || (in_file && !overruled));
  });
  if (in_file && plan.device.name != before)
    say_aside(cat("note: ", place->second, ": the device is ", before, ", and --strategy tpu trains on ",
                  plan.device.name, "\n"));
}

DevicePlan prepare_device(const DevicePlan& plan, const DistributePlan& distribute, bool named) {
  DevicePlan out = device_by_strategy(plan, distribute, named);
  if (distribute.strategy == "tpu") TPUClusterResolver({.device = out.name}).set_variables();
  return out;
}

OnDevice::OnDevice(const DevicePlan& plan) : scope_(with_options(plan), plan.plugins) {}

OnDevice::~OnDevice() {
  Device* const device = RunContext::current().device;
  if (!device) return;
  for (const std::string& note : device->take_notes()) say_aside(cat("note: ", note, "\n"));
}

}  // namespace espalier::cli
