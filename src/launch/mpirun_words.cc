#include "launch/mpirun_words.h"

#include <unistd.h>

#include <cstdlib>

#include "base/format.h"
#include "base/thread_pool.h"
#include "launch/host_address.h"
#include "launch/host_list.h"
#include "launch/launch_process.h"

namespace espalier {

std::vector<std::string> mpirun_words(const LaunchOptions& options, const MpiFolders& folders) {
  // Ranks take their place from mpirun; that of mpirun itself is none.
  std::vector<std::string> out = {"env"};
  for (const char* name :
       {"ESPALIER_RANK", "ESPALIER_WORLD", "ESPALIER_LOCAL_RANK", "ESPALIER_LOCAL_WORLD", "ESPALIER_SEGMENTS",
        "ESPALIER_CONTROL", "ESPALIER_CHAOS", "ESPALIER_CORES", "ESPALIER_TERMINAL"}) {
    out.emplace_back("-u");
    out.emplace_back(name);
  }
  const auto add = [&](std::initializer_list<std::string> words) { out.insert(out.end(), words); };
  add({program_file("mpirun"), "-n", cat(options.ranks), "--bind-to", "none"});
  if (::geteuid() == 0) add({"--allow-run-as-root"});
  if (!options.hosts.empty()) {
    add({"--host", to_string(options.hosts)});
    if (options.agent != LaunchOptions().agent && !std::getenv("OMPI_MCA_plm_rsh_agent"))
      add({"--mca", "plm_rsh_agent", rsh_agent(options.agent)});
    // A host that is cut off is gone after 4 s, and not after minutes: before the ranks give up, since then
    // mpirun has something to say to that host, and waits for ever to be rid of it.
    add({"--mca", "oob_tcp_keepalive_time", "1", "--mca", "oob_tcp_keepalive_intvl", "1", "--mca",
         "oob_tcp_keepalive_probes", "3"});
  }
  // What the user says to Open MPI counts; on one host nobody else has to reach it.
  const auto choose = [&](const char* name, const std::string& value) {
    if (!std::getenv(cat("OMPI_MCA_", name).c_str())) add({"--mca", name, value});
  };
  if (options.hosts.empty()) {
    choose("oob_tcp_if_include", "lo");
    choose("btl", "self,vader");
    // Killed, mpirun and ranks leave files under names that do not say whose they were.
    if (!folders.session.path().empty()) choose("orte_tmpdir_base", folders.session.path());
    if (!folders.memory.path().empty()) choose("btl_vader_backing_directory", folders.memory.path());
  } else if (!options.interface.empty()) {
    const std::string network = network_of_interface(options.interface);
    choose("oob_tcp_if_include", network);
    choose("btl_tcp_if_include", network);
  }
  if (options.hosts.empty() && options.ranks > default_threads())
    add({"--oversubscribe", "--mca", "mpi_yield_when_idle", "1"});
  if (options.prefix) add({"--tag-output"});
  if (!options.chaos.empty()) add({"-x", cat("ESPALIER_CHAOS=", options.chaos)});
  // The launcher's is random. mpirun has it, and what the user gives, in its environment: values on a command
  // line could be read by all.
  add({"-x", "ESPALIER_SECRET"});
  for (const std::string& variable : options.environment) add({"-x", variable.substr(0, variable.find('='))});
  add({"-x", "ESPALIER_ENGINE=mpi", "-x", cat("ESPALIER_STALL_AFTER=", options.stall_after)});
  out.insert(out.end(), options.program.begin(), options.program.end());
  return out;
}

}  // namespace espalier
