#include "cli/strategy_flags.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/format.h"
#include "base/input_file.h"
#include "base/shortened.h"
#include "cli/common.h"
#include "espalier/run_context.h"
#include "espalier/strategy.h"
#include "espalier/tpu.h"
#include "ir/device.h"
#include "strategy/replicas.h"
#include "strategy/worker.h"

namespace espalier::cli {
namespace {

std::optional<Strategy> strategy_of(const DistributePlan& plan) {
  const auto first = static_cast<size_t>(plan.first_bucket), next = static_cast<size_t>(plan.bucket);
  if (plan.compress != "none" && plan.strategy != "multiworker")
    throw ValueError("distribute.compress",
                     cat("compress is of the strategy multiworker, and it is ", plan.strategy),
                     "--strategy multiworker");
  if (plan.strategy == "mirrored")
    return strategy::Mirrored(
        {.devices = plan.devices, .first_bucket = first, .bucket = next, .audit_steps = plan.audit_steps});
  const Device* const device = RunContext::current().device;
  const bool workers = plan.strategy == "multiworker" || plan.strategy == "tpu";
  if (workers)
    Worker::on_warning([](const std::string& text) { say_aside(cat("espalier: warning: ", text, "\n")); });
  if (plan.strategy == "tpu") {
    if (plan.devices != 0)
      throw ValueError("distribute.devices", "a TPU trains on all of its chips", "leave --devices out");
    return strategy::TPU(TPUClusterResolver({.device = device ? device->name() : "tpu"}),
                         {.first_bucket = first, .bucket = next, .audit_steps = plan.audit_steps});
  }
  if (device && device->replicas() > 1)
    throw ValueError(
        "distribute.devices",
        cat(device->name(), " are ", device->replicas(), " devices, and the strategy is ", plan.strategy,
            plan.strategy == "multiworker" ? ", whose workers have one device each" : ""),
        plan.strategy == "multiworker" ? "--device with the name of one" : "--strategy mirrored");
  if (plan.devices != 0)
    throw ValueError("distribute.devices",
                     cat("devices are of the strategy mirrored, and it is ", plan.strategy),
                     plan.strategy == "multiworker" ? "leave --devices out: a worker has one device"
                                                    : "--strategy mirrored");
  if (plan.strategy == "multiworker")
    return strategy::MultiWorkerMirrored(
        {.audit_steps = plan.audit_steps, .first_bucket = first, .bucket = next, .compress = plan.compress});
  return std::nullopt;
}

// Each of several processes would do all of it, into the same files.
void check_not_launched(const DistributePlan& plan) {
  const char* const world = std::getenv("ESPALIER_WORLD");
  if (plan.strategy == "multiworker" || plan.strategy == "tpu" || !world || std::atoi(world) < 2) return;
  throw ValueError(
      "distribute.launched",
      cat("this is one of ", std::atoi(world), " processes of espalier launch, and the strategy is ",
          plan.strategy, ": each would do the same"),
      "--strategy multiworker");
}

// Standard error of this process, and its standard output for good, go nowhere while one lives: an error is
// told by each worker, and its JSON by the first.
class MutedOutput {
 public:
  MutedOutput() {
    std::fflush(stdout);
    std::fflush(stderr);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    errors_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
    ::close(nowhere);
  }
  ~MutedOutput() {
    std::fflush(stderr);
    ::dup2(errors_, STDERR_FILENO);
    ::close(errors_);
  }
  MutedOutput(const MutedOutput&) = delete;
  MutedOutput& operator=(const MutedOutput&) = delete;

 private:
  int errors_ = -1;
};

void check_inputs(const Strategy& strategy, const std::vector<std::string>& inputs) {
  const auto stream = std::ranges::find_if(inputs, is_stream);
  if (strategy.workers() > 1 && stream != inputs.end())
    throw ValueError("distribute.input",
                     cat(source_name(*stream), " can be read once, and each of ", strategy.workers(),
                         " workers would read it"),
                     "name a file");
}

}  // namespace

void add_strategy(CLI::App& verb, DistributePlan& flags, DevicePlan* device) {
  verb.add_option(
          "--strategy", flags.strategy,
          "Distribution strategy: one (one device), mirrored (several devices of this machine), multiworker "
          "(the ranks that `espalier launch` starts) or tpu (all chips of a TPU, one process per host)")
      ->check(one_of_words({"one", "mirrored", "multiworker", "tpu"}))
      ->option_text("one|mirrored|multiworker|tpu [one]");
  if (!device) {
    verb.add_option("--devices", flags.devices,
                    "With --strategy mirrored: number of CPU replicas (0 = one per core)")
        ->check(number_from(int64_t{0}, 256))
        ->option_text("N [0]");
    return;
  }
  const auto take = [&flags, device, &verb](const std::string& text) {
    const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
    if (std::ranges::any_of(text, is_letter)) {
      if (verb.count("--device"))
        throw ValueError("distribute.devices",
                         cat("--device ", shortened(verb["--device"]->results()[0]), " and --devices ",
                             shortened(text), " both say where it runs"),
                         "leave --device out");
      if (const std::string strategy =
              verb.count("--strategy") ? verb["--strategy"]->results()[0] : "mirrored";
          strategy != "mirrored")
        throw ValueError(
            "distribute.devices",
            cat("--devices ", shortened(text), " are mirrored in one process, and --strategy is ", strategy,
                strategy == "multiworker" ? ", whose workers have one device each" : ""),
            strategy == "multiworker" ? "--device gpu, of which each worker takes its own"
                                      : "--device for one device, or leave --strategy out");
      device->name = text;
      flags.strategy = "mirrored";
      return;
    }
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), flags.devices);
    if (error != std::errc() || flags.devices > 256)
      throw CLI::ValidationError("--devices", cat("a number from 0 to 256, or names of devices, got ", text));
  };
  verb.add_option_function<std::string>(
          "--devices", take,
          "With --strategy mirrored: on the CPU, number of replicas (0 = one per core); on GPUs, number of "
          "devices, the first being --device (0 = all). Or names of devices, which imply mirrored: "
          "gpu:0,gpu:1")
      ->option_text("N|NAMES [0]");
}

void add_deterministic(CLI::App& verb) {
  verb.add_flag_callback(
      "--deterministic", [] {},
      "Accepted as in `train`, without effect: results do not depend on the number of devices or workers, "
      "except by rounding on GPUs and TPUs");
}

void take_strategy(const CLI::App& verb, const DistributePlan& flags, DistributePlan& plan) {
  if (verb.count("--strategy") || flags.strategy != DistributePlan().strategy) {
    plan.strategy = flags.strategy;
    // Those of the plan's own strategy.
    if (plan.strategy != "mirrored") plan.devices = 0;
    const CLI::Option* const compress = verb.get_option_no_throw("--compress");
    if (plan.strategy != "multiworker" && (!compress || compress->empty())) plan.compress = "none";
  }
  if (verb.count("--devices")) plan.devices = flags.devices;
}

void by_strategy(const DistributePlan& plan, const std::vector<std::string>& inputs,
                 const std::function<void()>& body) {
  check_not_launched(plan);
  const std::optional<Strategy> strategy = strategy_of(plan);
  if (!strategy) return body();
  const Strategy::Scope scope = strategy->scope();
  std::optional<MutedOutput> muted;
  if (strategy->worker() > 0)
    muted.emplace();
  else if (const std::string place = strategy->replicas()->mesh().place_text; !place.empty())
    say_aside(cat(place, "\n"));
  try {
    check_inputs(*strategy, inputs);
    body();
  } catch (const Exit&) {
    // It has done what it had to, as all others do.
    strategy->replicas()->membership().left();
    throw;
  } catch (const std::exception& error) {
    strategy->replicas()->membership().failed(error);
    throw;
  }
}

}  // namespace espalier::cli
