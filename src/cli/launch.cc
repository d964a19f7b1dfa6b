// espalier launch: a program as several ranks, on this host or several.
#include "launch/launch.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>

#include "base/env.h"
#include "base/format.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "base/state_folder.h"
#include "cli/common.h"
#include "comm/wire_module.h"
#include "espalier/error.h"
#include "format/utf8.h"
#include "launch/launch_environment.h"
#include "launch/mpi_folders.h"
#include "launch/mpirun_words.h"
#include "launch/worker_engine.h"

namespace espalier::cli {
namespace {

struct LaunchFlags {
  LaunchOptions launch;
  std::string hosts, hostfile, engine = "auto", stall_after = "300s", record;
  bool names_engine = false;
  std::vector<std::string> variables, program;
};

// Those behind "--", as they came: the parser drops "--", and cuts a word like "[1,2]". Where it was left
// out, call() has put it before the program.
std::vector<std::string> program_words() {
  const std::vector<std::string>& words = called_words();
  const auto mark = std::ranges::find(words, "--");
  if (mark == words.end() || mark + 1 == words.end())
    throw ValueError("launch.words", "the program and its arguments stand behind \"--\"",
                     "espalier launch -n 2 -- PROGRAM ARGS...");
  return {mark + 1, words.end()};
}

// The launch as it was called, for ranks that say how the run goes on: without faults to try, and without
// values of variables, which may be keys. "" where ranks cannot get it as text.
std::string called_launch() {
  const std::vector<std::string>& words = called_words();
  std::vector<std::string> out;
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string before = i > 0 ? words[i - 1] : "", &word = words[i];
    if (before == "--chaos" || word == "--chaos" || word.starts_with("--chaos=")) continue;
    constexpr std::string_view kEnv = "--env=";
    const size_t name = before == "--env" ? 0 : word.starts_with(kEnv) ? kEnv.size() : word.size();
    out.push_back(word.substr(0, word.find('=', name)));
  }
  const std::string text = command(out);
  return is_utf8(text) ? text : "";
}

// "300s", "2.5s", "300".
double seconds_of(const std::string& text) {
  double out = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  const bool is_time =
      error == std::errc() && (at == end || (at + 1 == end && *at == 's')) && out > 0 && out <= 1e6;
  if (!is_time)
    throw ValueError("launch.stall", cat("--stall-after ", shortened(text), " is no time above 0s"),
                     "--stall-after 300s");
  return out;
}

// How each start of the run ended, and what its ranks did last.
nlohmann::ordered_json record_of(const LaunchOutcome& outcome) {
  using Json = nlohmann::ordered_json;
  Json starts = Json::array();
  for (const LaunchRecord& start : outcome.starts) {
    const auto seconds_ago = [&](int64_t then) { return static_cast<double>(start.seen_ns - then) / 1e9; };
    Json ranks = Json::array();
    for (size_t rank = 0; rank < start.ranks.size(); ++rank) {
      const LaunchRecord::Rank& seen = start.ranks[rank];
      Json collectives = Json::array();
      for (const CollectiveRecord& one : seen.collectives) {
        collectives.push_back({{"number", one.sequence},
                               {"kind", one.kind},
                               {"name", one.name},
                               {"type", one.type},
                               {"count", one.count},
                               {"step", one.step},
                               {"began_seconds_ago", seconds_ago(one.arrived_ns)},
                               {"done_seconds_ago", one.done_ns ? Json(seconds_ago(one.done_ns)) : Json()}});
      }
      Json& one = ranks.emplace_back(Json{{"rank", rank}});
      if (!seen.host.empty()) one["host"] = seen.host;
      one.update({{"pid", seen.pid},
                  {"end", seen.end ? to_string(*seen.end) : "its host was lost"},
                  {"doing", seen.doing},
                  {"collectives", collectives}});
    }
    Json verdict;
    if (start.verdict)
      verdict = {{"id", start.verdict->id}, {"rank", start.verdict->rank}, {"text", start.verdict->text}};
    starts.push_back(
        {{"code", start.code}, {"failure", start.failure}, {"verdict", verdict}, {"ranks", ranks}});
  }
  const Json code = outcome.starts.empty() ? Json() : Json(outcome.code);
  return {{"version", 1}, {"verb", "launch"}, {"code", code}, {"starts", starts}};
}

// Fills in where ranks run, from -n, --hosts and --hostfile.
void choose_hosts(LaunchFlags& flags) {
  LaunchOptions& launch = flags.launch;
  if (flags.hosts.empty() && flags.hostfile.empty()) {
    if (launch.ranks < 1) throw CLI::RequiredError("-n,--ranks");
    return;
  }
  launch.hosts = flags.hosts.empty() ? read_hostfile(flags.hostfile) : parse_hosts(flags.hosts);
  if (launch.ranks > 0) launch.hosts = take_ranks(launch.hosts, launch.ranks);
  launch.ranks = 0;
  for (const RunHost& host : launch.hosts) launch.ranks += host.ranks;
}

// What ranks talk through; the words say why. `folders` are made where Open MPI needs them.
std::string choose_engine(LaunchFlags& flags, std::optional<MpiFolders>& folders) {
  const size_t hosts = flags.launch.hosts.size();
  std::string& engine = flags.engine;
  if (engine == "shm" && hosts > 1)
    throw ValueError("launch.engine", cat("--engine shm is the memory of one host, and there are ", hosts),
                     "--engine gloo");
  if (engine == "gloo" && hosts == 0)
    throw ValueError("launch.engine", "--engine gloo is for ranks of several hosts",
                     "--hosts a:2,b:2, or leave --engine out");
  if (engine == "auto") engine = launched_engine(hosts);
  if (engine == "shm") return "engine: shm (one host)";
  if (std::string why; !has_wire(engine, &why)) throw RunError("comm.engine", why);
  // A program that lies elsewhere has it from here, unless it has one of its own.
  if (const std::string folder = wire_folder(engine); is_utf8(folder))
    flags.launch.environment.push_back(cat(kLauncherModules, "=", folder));
  if (engine == "mpi") {
    // One process, which starts them; over hosts it has children that start ranks there.
    folders.emplace();
    flags.launch.program = mpirun_words(flags.launch, *folders);
    flags.launch.starter = "mpirun";
    flags.launch.starts_children = hosts == 0;
    flags.launch.ranks = 1;
    flags.launch.hosts.clear();
    flags.launch.prefix = false;
    flags.launch.chaos.clear();
    const auto mpirun = std::ranges::find_if(
        flags.launch.program, [](const std::string& word) { return word.ends_with("mpirun"); });
    return cat("engine: mpi, by ", shell_words({mpirun, flags.launch.program.end()}));
  }
  flags.launch.engine = engine;
  return hosts > 1 ? cat("engine: ", engine, " between ", hosts, " hosts, shm inside")
                   : cat("engine: ", engine, " (one host)");
}

// A run that was given up is kept where nobody said where: what is behind a verdict is asked for when it has
// come. For this user alone: it has the last lines of ranks.
std::string keep_unasked(const LaunchOutcome& outcome) {
  constexpr size_t kNewest = 20;
  const StateFolder runs("runs");
  if (!runs.folder)
    return cat("what each rank did last was not kept (", runs.why_not, "): --record FILE keeps it");
  const auto now = static_cast<std::time_t>(posix_env().wall_seconds());
  std::tm utc{};
  char stamp[32] = "";
  std::strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", ::gmtime_r(&now, &utc));
  const std::string name = cat("launch-", stamp, "-", posix_env().entropy(), ".json");
  const std::string text = json_text(record_of(outcome));
  const std::string_view parts[] = {text};
  if (!runs.folder.write(name, parts))
    return cat("what each rank did last was not kept: cannot write into ", runs.path);
  keep_newest(runs.folder, "launch-", kNewest);
  return cat("what each rank did last is in ", runs.path, "/", name);
}

void launch_program(LaunchFlags& flags) {
  choose_hosts(flags);
  flags.launch.program = program_words();
  flags.launch.stall_after = seconds_of(flags.stall_after);
  for (const std::string& word : flags.variables) flags.launch.environment.push_back(given_variable(word));
  if (const std::string called = called_launch(); !called.empty())
    flags.launch.environment.push_back(cat(kLaunchVariable, "=", called));
  const auto say = [](const std::string& text) { say_aside(cat("espalier launch: ", text, "\n")); };
  flags.launch.say = say;
  const bool is_auto = flags.engine == "auto";
  std::optional<MpiFolders> folders;
  const std::string engine = choose_engine(flags, folders);
  if (engine.starts_with("engine: mpi") || (is_auto && (flags.names_engine || !flags.launch.hosts.empty())))
    say(engine);
  const auto keep = [&](const LaunchOutcome& outcome) {
    if (!flags.record.empty())
      posix_env().write_file(flags.record, json_text(record_of(outcome)), Env::Readers::kOwner);
  };
  // A file that cannot be written is better known before.
  if (!flags.record.empty()) posix_env().check_writable(flags.record);
  const LaunchOutcome outcome = launch(flags.launch);
  if (!outcome.failure.empty()) say(outcome.failure);
  try {
    keep(outcome);
  } catch (const IoError& error) {
    if (outcome.code == 0) throw;
    say(error.message());  // how the run ended matters more
  }
  if (flags.record.empty() && !outcome.starts.empty() && outcome.starts.back().verdict)
    say(keep_unasked(outcome));
  if (outcome.code != 0) throw Exit{outcome.code};
}

constexpr const char* kLaunchExamples =
    "Each rank is a process that finds its place in environment variables:\n"
    "ESPALIER_RANK, ESPALIER_WORLD, ESPALIER_LOCAL_RANK, ESPALIER_LOCAL_WORLD,\n"
    "ESPALIER_JOB, ESPALIER_RESTART, and others that the library needs to join. Rank\n"
    "0 reads standard input, unless it is a terminal (with --hosts: no rank does).\n"
    "SIGINT, SIGTERM, SIGUSR1, SIGHUP and SIGTSTP are forwarded to all ranks.\n"
    "\n"
    "If a rank dies, fails, exits while others need it, sends no heartbeat for 5 s or\n"
    "makes no progress for --stall-after, the launcher prints one sentence that names\n"
    "the rank and its last action, ends the other ranks, and prints the last lines of\n"
    "the failed rank's standard error. No rank outlives the launcher. With --engine\n"
    "mpi, the first SIGINT or SIGTERM is sent to ranks as SIGUSR1, and the second\n"
    "ends them.\n"
    "\n"
    "Ranks join where a program makes a strategy::MultiWorkerMirrored, `espalier\n"
    "train` by --strategy multiworker. If all ranks end and none has joined, each\n"
    "that trained did so alone, and the launcher warns of it.\n"
    "\n"
    "With --hosts, the launcher starts an agent on each host by the --agent command.\n"
    "The `espalier` command, the working folder and PROGRAM must exist under the same\n"
    "paths on each host. Ranks there get the environment of their host, and from\n"
    "here: ESPALIER_*, PATH, LD_LIBRARY_PATH, LANG, LC_*, TZ, thread settings (OMP_*\n"
    "and similar), settings of devices and sanitizers, and the variables of --env. If\n"
    "the launcher or the --agent command ends, the ranks are ended, too.\n"
    "\n"
    "Faults for --chaos, injected at the beginning of a training step (the first step\n"
    "of the run is 1), in the first start only:\n"
    "  kill:2@step40     kill rank 2 with signal 9\n"
    "  stop:1@step60:5s  stop rank 1 for 5 s\n"
    "  throw:0@step9     raise an error in rank 0\n"
    "  exit:3@step2      exit rank 3 with status 0\n"
    "\n"
    "Examples:\n"
    "  espalier launch -n 4 -- espalier train plan.toml --strategy multiworker\n"
    "  espalier launch -n 2 --prefix ./my_program --epochs 3\n"
    "  espalier launch --hosts a:2,b:2 --env DATA_TOKEN -- ./my_program\n"
    "  espalier launch -n 4 --restarts 3 --chaos kill:2@step40 -- ./my_program\n"
    "\n"
    "Exit codes: 0 all ranks exited with 0; 2 usage error, or bad input that all\n"
    "ranks refuse; 42 all ranks saved and exited after SIGTERM or SIGUSR1; 43 the run\n"
    "was given up, for the printed reason; otherwise the code of the first rank to\n"
    "fail (128 + N if signal N ended it). With --engine mpi, a run that is given up\n"
    "has that code, too, if mpirun notices the failure first.\n";

}  // namespace

void add_launch(CLI::App& app) {
  auto flags = std::make_shared<LaunchFlags>();
  CLI::App* verb =
      app.add_subcommand("launch", "Run a program as several ranks, on this host or on several hosts");
  flags->launch.ranks = 0;
  verb->add_option("-n,--ranks", flags->launch.ranks,
                   "Number of ranks; required without --hosts and --hostfile (default: the sum of their "
                   "slots, which is also the most)")
      ->option_text("N")
      ->check(number_from(int64_t{1}, LaunchOptions::kMostRanks));
  CLI::Option* hosts =
      verb->add_option("--hosts", flags->hosts, "Hosts, each with its slots (largest number of ranks)")
          ->option_text("a:2,b:2");
  verb->add_option("--hostfile", flags->hostfile,
                   "File of hosts, instead of --hosts, one per line: \"a slots=2\" or \"a:2\"")
      ->option_text("FILE")
      ->excludes(hosts);
  verb->add_option("--agent", flags->launch.agent, "Remote-shell command that starts a program on {host}")
      ->option_text(cat("COMMAND [", flags->launch.agent, "]"));
  verb->add_option("--interface", flags->launch.interface,
                   "Network interface (eth0) or address of this host to listen on (default: the one that "
                   "routes to the hosts)")
      ->option_text("NAME");
  verb->add_option("--env", flags->variables,
                   "Environment variable to pass to all ranks: NAME with its value in the environment of the "
                   "launcher, or NAME=VALUE; repeat for more variables. Without --hosts and --hostfile, "
                   "ranks inherit the whole environment anyway")
      ->option_text("NAME[=VALUE]")
      ->allow_extra_args(false);
  verb->add_flag("--prefix", flags->launch.prefix,
                 "Prefix each line of output with its rank, e.g. \"[rank 3] \"");
  CLI::Option* engine = verb->add_option("--engine", flags->engine,
                                         "Communication engine: shm (shared memory of one host), gloo or mpi "
                                         "(between hosts); auto = shm on one host, else gloo")
                            ->option_text("auto|shm|gloo|mpi [auto]")
                            ->check(one_of_words({"auto", "shm", "gloo", "mpi"}));
  verb->add_option("--restarts", flags->launch.restarts,
                   "Largest number of restarts of all ranks after failures")
      ->option_text("N [0]")
      ->check(number_from(int64_t{0}, 1000));
  verb->add_option(
          "--stall-after", flags->stall_after,
          "Give up when a rank makes no progress (no new step, stage of a step or collective), or all "
          "ranks wait, for this time, in seconds: 300 or 300s")
      ->option_text("SECONDS [300s]");
  verb->add_option("--chaos", flags->launch.chaos, "Faults to inject, comma-separated (see below)")
      ->option_text("FAULT,...");
  verb->add_option(
          "--record", flags->record,
          "Write a JSON record of the run: the exit code of each start, why it failed, and the last 64 "
          "collectives of each rank. Without --record, records of runs that were given up are kept "
          "in ~/.local/state/espalier/runs, the newest 20")
      ->option_text("FILE");
  verb->add_option("program", flags->program,
                   "Program and its arguments; \"--\" may be left out before a program that exists")
      ->option_text("[--] PROGRAM ARGS ...");
  verb->footer(kLaunchExamples);
  verb->callback([flags, engine] {
    flags->names_engine = engine->count() > 0;
    launch_program(*flags);
  });
}

}  // namespace espalier::cli
