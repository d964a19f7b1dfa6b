// espalier devices: where a program could run, and why not.
#include "espalier/devices.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/common.h"
#include "cli/device_check.h"
#include "cli/device_flags.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

struct DevicesFlags {
  std::vector<std::string> plugins;
  DevicePlan checked;  // of --check
  int steps = 50;
  Results results;
};

constexpr char kNoPlugin[] =
    "no PJRT plugin was found: pip install jax-cuda13-pjrt brings one for NVIDIA's GPUs, libtpu for TPUs;\n"
    "another is named by --plugin FILE or ESPALIER_PJRT_PLUGINS";

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

std::string memory_text(int64_t bytes) {
  return bytes ? cat(fixed(static_cast<double>(bytes) / (1 << 30), 1), " GiB") : "-";
}

void list_devices(const DevicesFlags& flags) {
  const std::vector<PhysicalDevice> devices = all_physical_devices(flags.plugins);
  if (flags.results.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const PhysicalDevice& device : devices) {
      nlohmann::ordered_json memory;  // null where it is not known before use
      if (device.memory_bytes) memory = device.memory_bytes;
      nlohmann::ordered_json line = {{"name", device.name},
                                     {"kind", device.kind},
                                     {"description", text_or_null(device.description)},
                                     {"memory_bytes", memory},
                                     {"pjrt", text_or_null(device.api)},
                                     {"plugin", text_or_null(device.plugin)},
                                     {"from", text_or_null(device.from)},
                                     {"usable", device.problem.empty()},
                                     {"problem", device.problem}};
      out.push_back(std::move(line));
    }
    return flags.results.write_json("devices", {{"devices", std::move(out)}});
  }
  Table table({"name", "kind", "memory", "PJRT", "what it is"});
  for (const PhysicalDevice& device : devices)
    table.row({device.name, device.kind, memory_text(device.memory_bytes),
               device.api.empty() ? "-" : device.api, device.description.empty() ? "-" : device.description});
  std::string text = table.text(flags.results.terminal());
  std::string last;
  for (const PhysicalDevice& device : devices) {
    if (!device.problem.empty()) text += cat("\n", device.name, " cannot be used: ", device.problem);
    if (!device.plugin.empty() && device.plugin != last) text += cat("\n", device.name, ": ", device.plugin);
    last = device.plugin;
  }
  if (devices.size() == 1) text += cat("\n", kNoPlugin);
  flags.results.write(cat(text, "\n"));
  flags.results.suggest({"run", "--help"});
}

std::string distance_text(const CheckedSteps& one) {
  if (!one.problem.empty()) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", one.distance);
  return text;
}

void check_device(const DevicesFlags& flags) {
  const auto tell = [](const CheckedSteps& one) {
    std::fputs(cat(one.workload, " in ", one.dtype, ": ",
                   one.problem.empty() ? cat(one.passed() ? "ok" : "too far", ", ", distance_text(one))
                                       : one.problem,
                   "\n")
                   .c_str(),
               stderr);
  };
  const std::vector<CheckedSteps> all = check_steps(flags.checked, flags.steps, tell);
  const bool passed = std::ranges::all_of(all, &CheckedSteps::passed);
  if (flags.results.json) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const CheckedSteps& one : all)
      lines.push_back({{"workload", one.workload},
                       {"dtype", one.dtype},
                       {"steps", one.steps},
                       {"passed", one.passed()},
                       {"distance", one.distance},
                       {"allowed", one.allowed},
                       {"variable", one.variable},
                       {"cpu_ms", one.here_ms},
                       {"device_ms", one.there_ms},
                       {"first_step_seconds", one.compile_seconds},
                       {"problem", one.problem}});
    flags.results.write_json(
        "devices", {{"device", flags.checked.name}, {"passed", passed}, {"checks", std::move(lines)}});
  } else {
    Table table({"workload", "dtype", "steps", "distance", "allowed", "of", "first step s", "CPU ms",
                 "device ms", "verdict"});
    for (const CheckedSteps& one : all) {
      const bool ran = one.problem.empty();
      table.row({one.workload, one.dtype, cat(one.steps), distance_text(one), shortest(one.allowed),
                 ran ? one.variable : "-", ran ? fixed(one.compile_seconds, 1) : "-",
                 ran ? fixed(one.here_ms, 2) : "-", ran ? fixed(one.there_ms, 2) : "-",
                 one.passed() ? "ok"
                 : ran        ? "too far"
                              : "refused"});
    }
    flags.results.write(table.text(flags.results.terminal()));
    std::vector<std::string> next = {"bench", "mlp"};
    add_device_words(flags.checked, next);
    flags.results.suggest(next);
  }
  if (!passed) throw Exit{1};
}

}  // namespace

void add_devices(CLI::App& app) {
  auto flags = std::make_shared<DevicesFlags>();
  CLI::App* verb = app.add_subcommand(
      "devices",
      "List the devices that programs can run on (the CPU and those of PJRT plugins), or check a device");
  add_plugins(*verb, flags->plugins);
  verb->add_option(
          "--check", flags->checked.name,
          "Check this device: train the bench workloads mlp, cnn (both also in bf16) and char_gpt on it "
          "and on the CPU, starting each step from the state of the CPU, and compare the variables")
      ->option_text("NAME");
  verb->add_option("--steps", flags->steps, "With --check: number of training steps of each workload")
      ->option_text("N [50]")
      ->check(number_from(int64_t{1}, 100000));
  flags->results.add_json(*verb);
  flags->results.add_out(*verb);
  verb->footer(
      "Examples:\n"
      "  espalier devices\n"
      "  espalier devices --check gpu --steps 50\n"
      "\n"
      "Exit codes: 0 done or pass, 1 --check found a difference, 2 usage error or bad\n"
      "input.");
  verb->callback([flags, verb] {
    flags->checked.plugins = flags->plugins;
    if (!verb->count("--check")) return list_devices(*flags);
    if (flags->checked.is_cpu())
      throw ValueError("device.check", "cpu is what devices are checked against",
                       "--check gpu, or another device");
    check_device(*flags);
  });
}

}  // namespace espalier::cli
