#include "dist/launch_environment.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "format/utf8.h"

extern char** environ;  // NOLINT: of the C library

namespace espalier {

namespace {

constexpr std::string_view kOurs[] = {
    "ESPALIER_RANK",    "ESPALIER_WORLD",    "ESPALIER_LOCAL_RANK",     "ESPALIER_LOCAL_WORLD",
    "ESPALIER_JOB",     "ESPALIER_SEGMENTS", "ESPALIER_CONTROL",        "ESPALIER_SECRET",
    "ESPALIER_RESTART", "ESPALIER_CHAOS",    "ESPALIER_HOST",           "ESPALIER_HOST_SIZES",
    "ESPALIER_HOSTS",   "ESPALIER_ENGINE",   "ESPALIER_ENGINE_ADDRESS", "ESPALIER_STALL_AFTER",
    "ESPALIER_BOARD",   "ESPALIER_CORES",    "ESPALIER_TERMINAL"};
// Those of who is logged in here, and how.
constexpr std::string_view kOfThisHost[] = {"HOME",
                                            "USER",
                                            "LOGNAME",
                                            "SHELL",
                                            "MAIL",
                                            "PWD",
                                            "OLDPWD",
                                            "SHLVL",
                                            "_",
                                            "HOST",
                                            "HOSTNAME",
                                            "TMPDIR",
                                            "TMP",
                                            "TEMP",
                                            "TERM",
                                            "TTY",
                                            "WINDOW",
                                            "DISPLAY",
                                            "WAYLAND_DISPLAY",
                                            "XAUTHORITY",
                                            "DBUS_SESSION_BUS_ADDRESS"};
// The place of this process in the job of another launcher, and of its host in a TPU.
constexpr std::string_view kOfThisProcess[] = {
    "SSH_",         "XDG_",         "SLURM_",           "PMI_", "PMIX_", "OMPI_COMM_WORLD_", "TPU_WORKER_",
    "TPU_PROCESS_", "TPU_VISIBLE_", "CLOUD_TPU_TASK_ID"};

std::string_view variable_name(std::string_view variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

std::vector<std::string> outer_environment() {
  std::vector<std::string> out;
  for (char** at = environ; *at; ++at) {
    if (std::ranges::find(kOurs, variable_name(*at)) == std::end(kOurs)) out.emplace_back(*at);
  }
  return out;
}

std::vector<std::string> forwarded_environment() {
  std::vector<std::string> out = outer_environment();
  std::erase_if(out, [](const std::string& variable) {
    const std::string_view name = variable_name(variable);
    return std::ranges::find(kOfThisHost, name) != std::end(kOfThisHost) || !is_utf8(variable) ||
           std::ranges::any_of(kOfThisProcess, [&](std::string_view with) { return name.starts_with(with); });
  });
  return out;
}

}  // namespace espalier
