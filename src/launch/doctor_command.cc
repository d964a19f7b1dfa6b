// The command that starts the run.
#include <algorithm>

#include "base/format.h"
#include "base/shell_words.h"
#include "launch/doctor_findings.h"
#include "launch/host_port.h"

namespace espalier {
namespace {

const DoctorFinding* wrong_about(const DoctorCase& of, std::string_view topic) {
  const auto found = std::ranges::find_if(of.findings, [&](const DoctorFinding& one) {
    return one.topic == topic && one.grade == DoctorGrade::kWrong;
  });
  return found == of.findings.end() ? nullptr : &*found;
}

std::string words_behind(const std::string& text, std::string_view sign) {
  const size_t at = text.rfind(sign);
  return at == text.npos ? "" : text.substr(at + sign.size());
}

// By which ranks of several hosts reach each other; "" where none was asked for and none is needed.
std::string interface_word(const DoctorCase& of) {
  if (const DoctorFinding* wrong = wrong_about(of, "interface"))
    return words_behind(wrong->cure, "--interface ");
  return of.plan.interface;
}

std::string engine_word(const DoctorCase& of) {
  if (!wrong_about(of, "engine")) return of.plan.engine;
  const auto is_there = [&](const char* engine) { return of.finds(engine) || !of.handed_on(engine).empty(); };
  return of.spans_hosts && !is_there("gloo") && is_there("mpi") ? "mpi" : "auto";
}

std::vector<std::string> launch_words(const DoctorCase& of) {
  std::vector<std::string> out = {"espalier", "launch"};
  const auto add = [&](const std::string& flag, const std::string& value) {
    out.push_back(flag);
    out.push_back(value);
  };
  const int fits = std::max(of.machine.allowed, 1);
  if (of.plan.hosts.empty()) {
    add("-n", cat(of.by_flags ? std::min(of.world, fits) : fits));
  } else {
    std::vector<RunHost> hosts;
    int left = of.world;
    for (RunHost host : of.plan.hosts) {
      host.ranks = std::min(host.ranks, left);
      left -= host.ranks;
      if (is_this_host(host.name, of.machine)) host.ranks = std::min(host.ranks, fits);
      if (host.ranks > 0) hosts.push_back(host);
    }
    add("--hosts", to_string(hosts));
  }
  if (const std::string engine = engine_word(of); engine != "auto") add("--engine", engine);
  if (const std::string interface = interface_word(of); !interface.empty()) add("--interface", interface);
  return out;
}

}  // namespace

std::string corrected_command(const DoctorCase& of) {
  const std::string& source = of.place.source;
  std::vector<std::string> words;
  if (of.number("ESPALIER_THREADS") > threads_that_fit(of))
    words = {"env", cat("ESPALIER_THREADS=", threads_that_fit(of))};
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  const bool in_slurm = !of.variable("SLURM_JOB_ID").empty();
  const bool by_hand = source == "espalier" && of.joins_by_address() && !of.place.coordinator.empty();
  if (by_hand) {
    if (const DoctorFinding* wrong = wrong_about(of, "port")) {
      if (words.empty()) add({"env"});
      const std::string host = of.place.coordinator.substr(0, of.place.coordinator.rfind(':'));
      add({cat("ESPALIER_COORDINATOR=", host, ":", words_behind(wrong->cure, "another one, as "))});
    }
  } else if (of.by_flags || (source.empty() && !in_slurm) || source == "espalier") {
    const std::vector<std::string> launch = launch_words(of);
    words.insert(words.end(), launch.begin(), launch.end());
    words.push_back("--");
  } else if (in_slurm && (source.empty() || source == "Slurm" || source == "PMI")) {
    const int tasks = source.empty() ? of.number("SLURM_NTASKS") : of.world;
    add({"srun", "-n", cat(std::max(tasks, 1))});
    if (!of.variable("SLURM_OVERCOMMIT").empty()) add({"-O"});
    if (of.engine == "mpi") add({"--mpi=pmix"});
  } else if (source == "Open MPI" || source == "PMI") {
    add({"mpirun", "-n", cat(of.world)});
    if (source == "Open MPI" && of.ranks_here > of.cores_for_ranks()) add({"--oversubscribe"});
    if (source == "Open MPI" && of.machine.root) add({"--allow-run-as-root"});
  } else if (source == "torchrun" && of.place.local_world > 0) {
    if (!of.spans_hosts) {
      add({"torchrun", "--no-python", cat("--nproc-per-node=", of.place.local_world)});
      if (const DoctorFinding* wrong = wrong_about(of, "port"))
        add({cat("--master-port=", words_behind(wrong->cure, "another one, as "))});
    }
  }
  if (of.plan.program.empty())
    words.push_back("PROGRAM");
  else
    words.insert(words.end(), of.plan.program.begin(), of.plan.program.end());
  return shell_words(words);
}

}  // namespace espalier
