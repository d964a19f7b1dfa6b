// espalier compile: what a plan's step of training takes on devices that are not there.
#include <algorithm>
#include <cctype>
#include <charconv>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "cli/common.h"
#include "cli/device_flags.h"
#include "cli/show_step.h"
#include "cli/verbs.h"
#include "pjrt/compiler.h"
#include "pjrt/find.h"
#include "pjrt/plugin.h"
#include "report/table.h"
#include "text/text.h"

namespace espalier::cli {
namespace {

struct CompileFlags {
  std::string plan, topology, target;
  std::vector<std::string> plugins;
  int devices = 0;        // 0: all of the topology
  double memory_gib = 0;  // of each; 0: what the topology's kind has
  Results results;
};

// Chips of "v5e:2x2", GPUs of "1x1x4".
int devices_of(const std::string& topology) {
  const size_t colon = topology.find(':');
  int64_t out = 1, number = 0;
  bool digits = false;
  const std::string shape = topology.substr(colon == topology.npos ? 0 : colon + 1) + "x";
  for (const char c : shape) {
    if (c == 'x' && digits) {
      out *= number;
      number = 0;
      digits = false;
    } else if (c >= '0' && c <= '9' && number < 10000) {
      number = 10 * number + (c - '0');
      digits = true;
    } else {
      out = 0;
      break;
    }
  }
  // Two cores a chip, which are devices of their own.
  if (topology.starts_with("v2:") || topology.starts_with("v3:")) out *= 2;
  if (out < 1 || out > 256)
    throw ValueError("compile.topology",
                     cat("\"", shortened(topology), "\" is no topology of 1 to 256 devices"),
                     "v5e:2x2, v4:2x2x1, v6e:2x2, or 1x1x4 with --target for GPUs");
  return static_cast<int>(out);
}

// Of a chip, by Google's pages on each version; 0: not known.
double gib_of(const std::string& topology) {
  static constexpr std::pair<std::string_view, double> kKinds[] = {
      {"v4:", 32}, {"v5e:", 16}, {"v5p:", 95}, {"v6e:", 32}};
  for (const auto& [kind, gib] : kKinds)
    if (topology.starts_with(kind)) return gib;
  return 0;
}

const pjrt::Plugin& compiler_of(const CompileFlags& flags) {
  pjrt::no_tpu_here();
  if (!flags.plugins.empty()) return pjrt::Plugin::load(pjrt::find_plugins(flags.plugins)[0].path);
  return pjrt::Plugin::load(pjrt::find_device(flags.target.empty() ? "tpu" : "gpu", {}).plugin.path);
}

// What a text of XLA's GpuTargetConfigProto says of a GPU's memory; 0: nothing.
int64_t bytes_of_target(const std::string& text) {
  static constexpr std::string_view kKey = "device_memory_size:";
  const size_t at = text.find(kKey);
  const size_t begin = at == text.npos ? at : text.find_first_not_of(" \t", at + kKey.size());
  int64_t out = 0;
  if (begin != text.npos) std::from_chars(text.data() + begin, text.data() + text.size(), out);
  return std::max<int64_t>(out, 0);
}

// Each replica's, as they run on the devices.
std::shared_ptr<const Graph> step_of(const CompileFlags& flags, int devices, int64_t& batch) {
  const std::string text = step_of_plan(flags.plan, "", [&](TrainPlan& plan) {
    plan.device = DevicePlan();
    plan.distribute.strategy = devices > 1 ? "mirrored" : "one";
    plan.distribute.devices = devices > 1 ? devices : 0;
    // Those that do not go round are padded.
    plan.fit.batch_size = (plan.fit.batch_size + devices - 1) / devices * devices;
    batch = plan.fit.batch_size;
  });
  return parse_program(text, flags.plan);
}

void compile_plan(CompileFlags flags) {
  // Names of TPUs are written in small letters.
  std::ranges::transform(flags.topology, flags.topology.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  const int all = devices_of(flags.topology), devices = flags.devices ? flags.devices : all;
  if (devices > all)
    throw ValueError("compile.topology",
                     cat(flags.topology, " has ", counted(static_cast<size_t>(all), "device"),
                         ", and --devices is ", devices));
  const bool named = flags.topology.find(':') != flags.topology.npos;
  if (named != flags.target.empty())
    throw ValueError("compile.topology",
                     named ? cat(flags.topology, " is a TPU, and --target says what a GPU is")
                           : cat(flags.topology, " is of GPUs, and which ones is not said"),
                     named ? "leave --target out" : "--target FILE, as XLA publishes for an H100");
  const std::string target = named ? "" : posix_env().read_file(flags.target);
  const pjrt::Plugin& plugin = compiler_of(flags);
  pjrt::Compiler::Options options;
  if (!named) options = {{"topology", flags.topology}, {"target_config", target}};
  const pjrt::Compiler compiler(plugin, named ? flags.topology : "", options);
  int64_t batch = 0;
  const std::shared_ptr<const Graph> step = step_of(flags, devices, batch);
  const std::vector<Alias> updates = updates_in_place(*step);
  const auto memory = flags.memory_gib > 0 ? static_cast<int64_t>(flags.memory_gib * (int64_t{1} << 30))
                      : named              ? static_cast<int64_t>(gib_of(flags.topology) * (int64_t{1} << 30))
                                           : bytes_of_target(target);
  const double gib = static_cast<double>(memory) / (int64_t{1} << 30);
  int64_t arguments = 0;
  for (const auto& input : step->inputs()) arguments += static_cast<int64_t>(step->type(input.value).bytes());
  // A compiler may take minutes, and more memory than there is, to say so.
  if (memory && arguments > memory) {
    if (flags.results.json)
      flags.results.write_json("compile", {{"plan", flags.plan},
                                           {"topology", flags.topology},
                                           {"devices", devices},
                                           {"rows_a_step", batch},
                                           {"argument_bytes", arguments},
                                           {"memory_bytes", memory},
                                           {"fits", false}});
    else
      flags.results.write(cat("variables, optimizer state and rows alone take ",
                              fixed(static_cast<double>(arguments) / (1 << 30), 2), " GiB on each of ",
                              counted(static_cast<size_t>(devices), "device"),
                              ", so it was not compiled\ndoes not fit in ", fixed(gib, 2), " GiB\n"));
    throw Exit{1};
  }
  const pjrt::Compiled compiled = compiler.compile(*step, {.aliases = updates}, devices);
  size_t donated = 0;
  for (const Alias& alias : updates) donated += step->type(step->inputs()[alias.input].value).bytes();
  const bool fits = memory == 0 || compiled.in_all() <= memory;
  if (flags.results.json) {
    nlohmann::ordered_json known;
    if (memory) known = memory;
    flags.results.write_json("compile", {{"plan", flags.plan},
                                         {"topology", flags.topology},
                                         {"plugin", plugin.path()},
                                         {"devices", devices},
                                         {"rows_a_step", batch},
                                         {"argument_bytes", compiled.arguments},
                                         {"output_bytes", compiled.outputs},
                                         {"donated_bytes", donated},
                                         {"aliased_bytes", compiled.aliases},
                                         {"temporary_bytes", compiled.temporary},
                                         {"bytes", compiled.in_all()},
                                         {"code_bytes", compiled.serialized},
                                         {"memory_bytes", known},
                                         {"fits", fits}});
  } else {
    const auto mib = [](int64_t bytes) { return fixed(static_cast<double>(bytes) / (1 << 20), 3); };
    Table table({"of each device", "MiB", "what it is"});
    table.row({"arguments", mib(compiled.arguments), "variables, optimizer state and the rows of a step"});
    table.row({"results", mib(compiled.outputs), "their new values, and flags"});
    table.row({"in place", cat("-", mib(compiled.aliases)),
               cat("new values that take the memory of old ones: ", mib(static_cast<int64_t>(donated)),
                   " were donated")});
    table.row({"temporary", mib(compiled.temporary), "activations and buffers of messages"});
    table.row({"in all", mib(compiled.in_all()),
               cat("the code is ", mib(static_cast<int64_t>(compiled.serialized)), " more")});
    flags.results.write(cat(step->name(), " for ", counted(static_cast<size_t>(devices), "device"), " of ",
                            flags.topology, ", ", counted(static_cast<size_t>(batch / devices), "row"),
                            " of ", batch, " on each\n", table.text(flags.results.terminal()),
                            memory == 0 ? "how much memory a device has is not known: --memory GIB"
                                        : cat(fits ? "fits" : "does not fit", " in ", fixed(gib, 2), " GiB"),
                            "\n"));
    if (fits) {
      std::vector<std::string> next{"train", flags.plan, "--device", named ? "tpu" : "gpu"};
      if (devices > 1) next.insert(next.end(), {"--strategy", "mirrored"});
      flags.results.suggest(next);
    }
  }
  if (!fits) throw Exit{1};
}

}  // namespace

void add_compile(CLI::App& app) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App* verb = app.add_subcommand(
      "compile",
      "Compile the training step of a plan for devices that this machine lacks, and check that it fits their "
      "memory");
  verb->add_option("plan", flags->plan, "Plan (.toml) whose training step is compiled, not run")
      ->required()
      ->option_text("PLAN");
  verb->add_option("--topology", flags->topology,
                   "Topology of the devices. TPUs: kind and shape, as v5e:2x2, v4:2x2x1 or v6e:2x2. GPUs: a "
                   "shape alone, with --target; 1x1x4 is 4 GPUs")
      ->required()
      ->option_text("NAME");
  add_plugins(*verb, flags->plugins);
  verb->add_option("--target", flags->target,
                   "Kind of GPU: a text file of GpuTargetConfigProto, which XLA publishes, e.g. for the "
                   "H100; required "
                   "for GPUs")
      ->option_text("FILE");
  verb->add_option("--devices", flags->devices, "Number of devices (0 = all of the topology)")
      ->check(number_from(int64_t{0}, 256))
      ->option_text("N [0]");
  verb->add_option(
          "--memory", flags->memory_gib,
          "Memory of each device, in GiB (default: for TPUs that of the kind, for GPUs that of --target; "
          "if neither is known, the check is left out)")
      ->check(number_from(0.001, 1e6))
      ->option_text("GIB");
  flags->results.add_json(*verb);
  flags->results.add_out(*verb);
  verb->footer(
      "Examples:\n"
      "  espalier compile plan.toml --topology v5e:2x2\n"
      "  espalier compile plan.toml --topology 1x1x4 --target h100.txtpb --memory 80\n"
      "\n"
      "Exit codes: 0 the step fits, 1 it does not fit, 2 usage error or bad input.");
  verb->callback([flags] { compile_plan(*flags); });
}

}  // namespace espalier::cli
