// espalier devices: where a program could run, and why not.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/isa.h"
#include "cli/common.h"
#include "cli/device_flags.h"
#include "espalier/threads.h"
#include "pjrt/find.h"
#include "pjrt/plugin.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

struct DevicesFlags {
  std::vector<std::string> plugins;
  Results results;
};

struct ListedDevice {
  std::string name, kind;
  std::string api = {}, path = {}, from = {};  // of a plugin
  std::string problem = {};
  int64_t memory_bytes = 0;  // 0: not known before it is used
};

ListedDevice own_cpu() {
  const int64_t bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  return {.name = "cpu",
          .kind = cat(counted(static_cast<size_t>(threads()), "thread"), ", ", name(current_isa())),
          .memory_bytes = bytes};
}

// A plugin is loaded, which says its version, and not begun: no memory of a device is taken.
ListedDevice listed_device(const pjrt::Found& found) {
  ListedDevice device{found.name, "PJRT plugin", "", found.path, found.from, pjrt::missing_driver(found)};
  try {
    device.api = pjrt::Plugin::load(found.path).version();
  } catch (const DeviceError& error) {
    device.problem = error.message();
  }
  return device;
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

std::string memory_text(int64_t bytes) {
  return bytes ? cat(fixed(static_cast<double>(bytes) / (1 << 30), 1), " GiB") : "-";
}

void list_devices(const DevicesFlags& flags) {
  std::vector<ListedDevice> devices = {own_cpu()};
  for (const pjrt::Found& found : pjrt::find_plugins(flags.plugins)) devices.push_back(listed_device(found));
  if (flags.results.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const ListedDevice& device : devices) {
      nlohmann::ordered_json memory;  // null where it is not known before use
      if (device.memory_bytes) memory = device.memory_bytes;
      nlohmann::ordered_json line = {{"name", device.name},
                                     {"kind", device.kind},
                                     {"memory_bytes", memory},
                                     {"pjrt", text_or_null(device.api)},
                                     {"plugin", text_or_null(device.path)},
                                     {"from", text_or_null(device.from)},
                                     {"usable", device.problem.empty()},
                                     {"problem", device.problem}};
      out.push_back(std::move(line));
    }
    return flags.results.write_json("devices", {{"devices", std::move(out)}});
  }
  Table table({"name", "kind", "memory", "PJRT", "state"});
  for (const ListedDevice& device : devices)
    table.row({device.name, device.kind, memory_text(device.memory_bytes),
               device.api.empty() ? "-" : device.api, device.problem.empty() ? "usable" : device.problem});
  std::string text = table.text(flags.results.terminal());
  for (const ListedDevice& device : devices) {
    if (!device.path.empty()) text += cat("\n", device.name, ": ", device.path);
  }
  if (devices.size() == 1)
    text += "\nno PJRT plugin was found: name one by --plugin FILE or ESPALIER_PJRT_PLUGINS";
  flags.results.write(cat(text, "\n"));
  flags.results.suggest({"run", "--help"});
}

}  // namespace

void add_devices(CLI::App& app) {
  auto flags = std::make_shared<DevicesFlags>();
  CLI::App* verb = app.add_subcommand("devices", "Where a program could run: this CPU, and PJRT plugins");
  add_plugins(*verb, flags->plugins);
  flags->results.add_json(*verb);
  flags->results.add_out(*verb);
  verb->callback([flags] { list_devices(*flags); });
}

}  // namespace espalier::cli
