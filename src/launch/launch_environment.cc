#include "launch/launch_environment.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "base/digits.h"
#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
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
// The place of a process in the job of another launcher, and of its host in a TPU.
constexpr std::string_view kPlaces[] = {"PMI_",         "PMIX_",        "OMPI_COMM_WORLD_", "TPU_WORKER_",
                                        "TPU_PROCESS_", "TPU_VISIBLE_", "CLOUD_TPU_TASK_ID"};
// What programs of ours and what they load read, and what says how they find files and speak. No more: keys
// of clouds and of services stand in environments, too.
constexpr std::string_view kForwarded[] = {"PATH",
                                           "LD_LIBRARY_PATH",
                                           "LANG",
                                           "LANGUAGE",
                                           "TZ",
                                           "NO_COLOR",
                                           "VIRTUAL_ENV",
                                           "CONDA_PREFIX",
                                           "XLA_FLAGS",
                                           "LIBTPU_INIT_ARGS",
                                           "CUDA_VISIBLE_DEVICES",
                                           "CUDA_DEVICE_ORDER",
                                           "HIP_VISIBLE_DEVICES",
                                           "ROCR_VISIBLE_DEVICES",
                                           "TF_FORCE_GPU_ALLOW_GROWTH",
                                           "ASAN_OPTIONS",
                                           "LSAN_OPTIONS",
                                           "TSAN_OPTIONS",
                                           "UBSAN_OPTIONS"};
constexpr std::string_view kForwardedWith[] = {"ESPALIER_", "LC_",       "OMP_", "GOMP_", "KMP_",
                                               "MKL_",      "OPENBLAS_", "TPU_", "PJRT_"};

std::string_view variable_name(std::string_view variable) { return variable.substr(0, variable.find('=')); }

bool is_one_of(std::string_view name, const auto& names) {
  return std::ranges::find(names, name) != std::end(names);
}
bool begins_with_one_of(std::string_view name, const auto& starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return name.starts_with(start); });
}

bool is_variable_name(std::string_view name) {
  const auto fits = [](char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && !is_digit(name[0]) && std::ranges::all_of(name, fits);
}

}  // namespace

std::vector<std::string> outer_environment() {
  std::vector<std::string> out;
  for (char** at = environ; *at; ++at) {
    if (!is_one_of(variable_name(*at), kOurs)) out.emplace_back(*at);
  }
  return out;
}

std::vector<std::string> forwarded_environment() {
  std::vector<std::string> out = outer_environment();
  std::erase_if(out, [](const std::string& variable) {
    const std::string_view name = variable_name(variable);
    return (!is_one_of(name, kForwarded) && !begins_with_one_of(name, kForwardedWith)) ||
           begins_with_one_of(name, kPlaces) || !is_utf8(variable);
  });
  return out;
}

std::string given_variable(const std::string& word) {
  const std::string name(variable_name(word));
  if (!is_variable_name(name))
    throw ValueError("launch.env",
                     cat("--env ", shortened(word),
                         ": the name of a variable is letters, digits and _, and begins "
                         "with no digit"),
                     "--env NAME, or --env NAME=VALUE");
  if (is_one_of(name, kOurs) || begins_with_one_of(name, kPlaces))
    throw ValueError("launch.env", cat("--env ", name, ": each rank gets its own from its launcher"));
  if (name.size() < word.size()) return word;
  const char* const value = std::getenv(name.c_str());
  if (!value)
    throw ValueError("launch.env", cat("--env ", name, ": there is no such variable here"),
                     cat("--env ", name, "=VALUE"));
  return cat(name, "=", value);
}

std::vector<std::string> with_variables(std::vector<std::string> environment,
                                        const std::vector<std::string>& variables) {
  for (const std::string& variable : variables) {
    const std::string_view name = variable_name(variable);
    std::erase_if(environment, [&](const std::string& one) { return variable_name(one) == name; });
    environment.push_back(variable);
  }
  return environment;
}

}  // namespace espalier
