#include "cli/device_flags.h"

#include "pjrt/open.h"

namespace espalier::cli {

CLI::Option* add_plugins(CLI::App& verb, std::vector<std::string>& plugins) {
  return verb.add_option("--plugin", plugins, "A PJRT plugin's file, beside those that are found")
      ->option_text("FILE ...");
}

CLI::Option* DeviceFlags::add(CLI::App& verb) {
  add_plugins(verb, plugins);
  return verb
      .add_option("--device", name,
                  "Where it runs: cpu, a device that `espalier devices` lists, or a plugin's file")
      ->option_text("NAME [cpu]");
}

OnDevice::OnDevice(const DeviceFlags& flags)
    : device_(flags.name == "cpu" ? nullptr : pjrt::open_device(flags.name, flags.plugins)),
      context_({.device = device_ ? device_.get() : RunContext::current().device,
                .communicator = RunContext::current().communicator,
                .shares = &RunContext::current()}),
      scope_(context_) {}

}  // namespace espalier::cli
