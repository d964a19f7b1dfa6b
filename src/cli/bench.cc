// espalier bench: workloads that peers run too, beside the machine's limits.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include "base/find_named.h"
#include "base/format.h"
#include "cli/common.h"
#include "cli/device_flags.h"
#include "cli/workloads.h"
#include "espalier/error.h"
#include "espalier/threads.h"
#include "kernels/probe.h"
#include "plan/plan.h"
#include "report/table.h"
#include "runtime/profile.h"

namespace espalier::cli {
namespace {

struct BenchOptions {
  std::string workload;
  std::string dtype = "f32";
  int rounds = 9;
  bool why = false;
  DevicePlan device;
  Results results;
};

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Seconds {
  double all = 0, counted = 0;
};
Seconds run_steps(const Prepared& prepared, int64_t steps) {
  const auto begin = Clock::now();
  double without = 0;
  for (int64_t i = 0; i < steps; ++i) {
    prepared.step();
    if (!prepared.without) continue;
    const auto other = Clock::now();
    prepared.without();
    without += since(other);
  }
  const double all = since(begin);
  return {all, all - 2 * without};
}

struct Measured {
  double value = 0, low = 0, high = 0;  // median, least and most of the rounds, in the workload's unit
  double seconds_per_step = 0;
};

// Rounds of about 0.2 s, after two that warm up and whose results are checked.
Measured measure_runs(const Workload& workload, const Prepared& prepared, int rounds) {
  constexpr double kRound = 0.2;
  const double once = run_steps(prepared, 1).all + run_steps(prepared, 1).all;
  int64_t steps = std::max<int64_t>(1, static_cast<int64_t>(kRound / std::max(once / 2, 1e-7)));
  steps = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(steps) * kRound /
                                                    std::max(run_steps(prepared, steps).all, 1e-3)));
  run_steps(prepared, steps);
  prepared.check();
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i)
    times.push_back(run_steps(prepared, steps).counted / static_cast<double>(steps));
  prepared.check();
  std::sort(times.begin(), times.end());
  const std::string_view unit = workload.unit;
  const double ticks = unit == "us" ? 1e6 : unit == "ms" ? 1e3 : 0;
  const auto value = [&](double seconds) {
    return ticks != 0 ? seconds * ticks / prepared.amount : prepared.amount / seconds;
  };
  Measured out{value(times[times.size() / 2]), value(times.back()), value(times.front()),
               times[times.size() / 2]};
  if (out.low > out.high) std::swap(out.low, out.high);
  return out;
}

// Peak resident memory of the process since the last reset; where the kernel grants no reset, since its
// start.
void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << 5; }
double peak_memory_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

struct Profiled {
  std::vector<StepProfile> steps;
  double flops = 0, bytes = 0;  // of one step of the workload
};

Profiled profile(const Prepared& prepared, double seconds) {
  const Profiler profiler;
  int64_t runs = 0;
  for (double spent = 0; runs == 0 || spent < seconds; ++runs) spent += run_steps(prepared, 1).all;
  Profiled out{profiler.steps()};
  for (const StepProfile& step : out.steps) {
    out.flops += step.flops * static_cast<double>(step.runs) / static_cast<double>(runs);
    out.bytes += step.bytes * static_cast<double>(step.runs) / static_cast<double>(runs);
  }
  return out;
}

// Every step of the plans that the workload runs: what it costs, and the share of the limit that it reaches:
// the least time in which its arithmetic and its bytes could be done, over the time it took.
std::string why_not_faster(const std::vector<StepProfile>& steps, const Limits& limits, double multiply_limit,
                           const Terminal& terminal) {
  // What fits into the second caches of the cores is held against them.
  const double cache_bytes = 2.0 * (1 << 20) * threads();
  // Steps that are alike, as those of equal layers, share a line.
  struct Alike {
    StepProfile step;
    int count = 0;
  };
  std::vector<Alike> groups;
  double total = 0;
  for (const StepProfile& step : steps) {
    total += step.seconds;
    auto group = std::ranges::find_if(groups, [&](const Alike& other) {
      const StepProfile& x = other.step;
      return x.what == step.what && x.flops == step.flops && x.bytes == step.bytes &&
             x.reference_ops == step.reference_ops;
    });
    if (group == groups.end()) {
      groups.push_back({step, 1});
    } else {
      group->step.seconds += step.seconds;
      group->step.runs += step.runs;
      ++group->count;
    }
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), [](const Alike& a) { return a.step.seconds; });
  Table table(
      {"us", "steps", "of run", "kFLOP", "KB", "GF/s", "GB/s", "of limit", "bound by", "ref", "each step"});
  for (const auto& [step, count] : groups) {
    const double seconds = step.seconds / static_cast<double>(step.runs);
    const double arithmetic = step.flops / multiply_limit * 1e-9;
    const double traffic =
        step.bytes / (step.bytes > cache_bytes ? limits.triad_gbs : limits.cache_gbs) * 1e-9;
    table.row({fixed(seconds * 1e6, 2), cat(count), percent(step.seconds / total, 1),
               fixed(step.flops * 1e-3, 1), fixed(step.bytes / 1024, 1),
               fixed(step.flops / seconds * 1e-9, 1), fixed(step.bytes / seconds * 1e-9, 1),
               percent(std::max(arithmetic, traffic) / seconds, 0), arithmetic > traffic ? "flops" : "bytes",
               step.reference_ops ? cat(step.reference_ops) : "-", step.what});
  }
  return table.text(terminal);
}

void bench(const BenchOptions& options) {
  const Workload* chosen = nullptr;
  if (!options.workload.empty())
    chosen = &find_named("bench.workload", "workload", options.workload, workloads());
  const bool low = options.dtype != "f32";
  if (low && chosen && !chosen->mixed)
    throw ValueError("bench.dtype", cat("workload \"", chosen->name, "\" runs in f32 only"));
  int64_t streamed = kProbedBytes;
  for (const Workload& w : workloads()) {
    if (!chosen || &w == chosen) streamed = std::max(streamed, w.streams);
  }
  const Limits limits = probe_limits(streamed);
  const double of_cycles = limits.fma_of_cycles(threads());
  const double multiply_limit = low && limits.bf16_gflops > 0 ? limits.bf16_gflops : limits.fma_gflops;
  if (of_cycles < Limits::kDisturbed) {
    std::fprintf(stderr, "the probe reached %s of the cycles: other programs may run, limits may be low\n",
                 percent(of_cycles, 0).c_str());
  }
  std::string lines;
  const auto line = [&](const nlohmann::ordered_json& json) { lines += json.dump() + "\n"; };
  const std::string isa(name(current_isa()));
  line({{"version", 1},
        {"peer", "machine"},
        {"workload", "fma"},
        {"dtype", "f32"},
        {"value", limits.fma_gflops},
        {"unit", "GF/s"},
        {"threads", threads()},
        {"instruction_set", isa},
        {"clock_ghz", limits.clock_ghz},
        {"flops_per_cycle", limits.flops_per_cycle},
        {"of_cycles", of_cycles}});
  if (limits.bf16_gflops > 0) {
    line({{"version", 1},
          {"peer", "machine"},
          {"workload", "tiles"},
          {"dtype", "bf16"},
          {"value", limits.bf16_gflops},
          {"unit", "GF/s"},
          {"threads", threads()}});
  }
  for (const auto& [name, value] : {std::pair("triad", limits.triad_gbs),
                                    {"stream_4r3w", limits.stream_4r3w_gbs},
                                    {"cache", limits.cache_gbs}}) {
    line({{"version", 1},
          {"peer", "machine"},
          {"workload", name},
          {"dtype", "f32"},
          {"value", value},
          {"unit", "GB/s"},
          {"threads", threads()}});
  }
  const Terminal terminal = Terminal::of(STDOUT_FILENO);
  std::string reasons;
  Table table({"workload", "value", "unit", "least", "most", "of limit", "peak MiB", "MFLOP", "MB", "what"});
  for (const Workload& workload : workloads()) {
    if ((chosen && &workload != chosen) || (low && !workload.mixed)) continue;
    std::fprintf(stderr, "%s\n", workload.name);
    const Prepared prepared = workload.prepare(policy_of(options.dtype));
    reset_peak_memory();
    const Measured m = measure_runs(workload, prepared, options.rounds);
    const double peak = peak_memory_mib();
    const Profiled profiled = profile(prepared, options.why ? 0.3 : 0);
    // Products against multiply-adds; an optimizer, which has none, against its stream.
    const double share = prepared.flops > 0 ? prepared.flops / m.seconds_per_step * 1e-9 / multiply_limit
                         : workload.streams ? m.value / limits.stream_4r3w_gbs
                                            : 0;
    nlohmann::ordered_json json = {
        {"version", 1},           {"peer", "espalier"}, {"workload", workload.name},
        {"dtype", options.dtype}, {"value", m.value},   {"unit", workload.unit},
        {"least", m.low},         {"most", m.high},     {"rounds", options.rounds},
        {"threads", threads()},   {"peak_mib", peak},   {"device", options.device.name}};
    if (share > 0) json["of_limit"] = share;
    // What no plan runs is not counted.
    if (profiled.bytes > 0) {
      json["flops"] = profiled.flops;
      json["bytes"] = profiled.bytes;
    }
    line(json);
    const int digits = m.value >= 1000 ? 0 : 2;
    const auto count = [&](double value) { return profiled.bytes > 0 ? fixed(value * 1e-6, 3) : "-"; };
    table.row({workload.name, fixed(m.value, digits), workload.unit, fixed(m.low, digits),
               fixed(m.high, digits), share > 0 ? percent(share, 0) : "-", fixed(peak, 0),
               count(profiled.flops), count(profiled.bytes), workload.what});
    if (options.why)
      reasons +=
          cat("\n", workload.name, ":\n", why_not_faster(profiled.steps, limits, multiply_limit, terminal));
  }
  if (options.results.json) return options.results.write(lines);
  options.results.write(
      cat(table.text(terminal), reasons, "\nlimits: ", fixed(limits.fma_gflops, 0), " GF/s of f32 (", isa,
          ", ", threads(), " threads; ", percent(of_cycles, 0), " of ", limits.flops_per_cycle,
          " FLOPs a cycle at ", fixed(limits.clock_ghz, 2), " GHz), ",
          limits.bf16_gflops > 0 ? cat(fixed(limits.bf16_gflops, 0), " of bf16 tiles, ") : "",
          fixed(limits.triad_gbs, 1), " GB/s of memory, ", fixed(limits.stream_4r3w_gbs, 1),
          " of four reads and three writes, ", fixed(limits.cache_gbs, 0), " of the second cache\n"));
  options.results.suggest({"bench", "--json"});
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* verb =
      app.add_subcommand("bench", "Time standard workloads and compare them with the limits of this machine");
  std::string names;
  for (const Workload& workload : workloads()) names += cat(names.empty() ? "" : ", ", workload.name);
  verb->add_option("workload", options->workload, cat("Workload to time (default: all): ", names))
      ->option_text("NAME");
  add_dtype(*verb, options->dtype, {"f32", "bf16"});
  verb->add_option("--rounds", options->rounds, "Number of timed rounds; the median is reported")
      ->option_text("N [9]")
      ->check(number_from(int64_t{1}, 1000));
  verb->add_flag(
      "--why", options->why,
      "Print time, FLOPs and bytes of every op (or group of fused ops) of the workload, and the share of the "
      "machine's limit that it reaches: the least time for its FLOPs and bytes, divided by its time");
  add_device(*verb, options->device);
  options->results.add_json(*verb);
  options->results.add_out(*verb);
  add_threads(*verb);
  verb->footer(
      "The limits of this machine are measured first: FLOPs of multiply-adds, and bytes\n"
      "of memory and of the cache, per second.\n"
      "\n"
      "Examples:\n"
      "  espalier bench\n"
      "  espalier bench mlp --why\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.");
  verb->callback([options] {
    const OnDevice device(options->device);
    bench(*options);
  });
}

}  // namespace espalier::cli
