// espalier launch: a program as several ranks on this host.
#include "dist/launch.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "cli/common.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

struct LaunchFlags {
  LaunchOptions launch;
  std::string engine = "shm", stall_after = "300s", record;
  std::vector<std::string> program;
};

// Those behind "--", as they came: the parser drops "--", and cuts a word like "[1,2]".
std::vector<std::string> program_words() {
  const std::vector<std::string>& words = called_words();
  const auto mark = std::ranges::find(words, "--");
  if (mark == words.end() || mark + 1 == words.end())
    throw ValueError("launch.words", "the program and its arguments stand behind \"--\"",
                     "espalier launch -n 2 -- PROGRAM ARGS...");
  return {mark + 1, words.end()};
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
      ranks.push_back({{"rank", rank},
                       {"pid", seen.pid},
                       {"end", to_string(seen.end)},
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

// Where a run that was given up is kept when nobody said where: what is behind a verdict is asked for when it
// has come.
std::string place_of_record(const LaunchOutcome& outcome) {
  std::error_code missing;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
  return ((missing ? std::filesystem::path("/tmp") : folder) /
          cat("espalier-launch-", outcome.starts.back().verdict->id, ".json"))
      .string();
}

void launch_program(LaunchFlags& flags) {
  flags.launch.program = program_words();
  flags.launch.stall_after = seconds_of(flags.stall_after);
  const auto say = [](const std::string& text) { say_aside(cat("espalier launch: ", text, "\n")); };
  flags.launch.say = say;
  const auto keep = [&](const LaunchOutcome& outcome) {
    if (!flags.record.empty()) posix_env().write_file(flags.record, json_text(record_of(outcome)));
  };
  keep({});  // a file that cannot be written is better known before
  const LaunchOutcome outcome = launch(flags.launch);
  if (!outcome.failure.empty()) say(outcome.failure);
  try {
    keep(outcome);
  } catch (const IoError& error) {
    if (outcome.code == 0) throw;
    say(error.message());  // how the run ended matters more
  }
  if (flags.record.empty() && !outcome.starts.empty() && outcome.starts.back().verdict) {
    flags.record = place_of_record(outcome);
    try {
      keep(outcome);
      say(cat("what each rank did last is in ", flags.record));
    } catch (const IoError& error) {
      say(error.message());
    }
  }
  if (outcome.code != 0) throw Exit{outcome.code};
}

constexpr const char* kLaunchExamples =
    "Each of the N processes finds its place in its environment: ESPALIER_RANK,\n"
    "ESPALIER_WORLD, ESPALIER_LOCAL_RANK, ESPALIER_LOCAL_WORLD, ESPALIER_JOB,\n"
    "ESPALIER_RESTART, and what else the library needs to join the others.\n"
    "Rank 0 has standard input. SIGINT, SIGTERM, SIGUSR1, SIGHUP and SIGTSTP go to\n"
    "all. When a rank dies, fails, leaves early, is silent for 5 s or does not go on,\n"
    "one sentence says which and what it was doing, the others are ended, and its\n"
    "last lines are shown. No rank outlives the launcher.\n"
    "\n"
    "Faults to try with --chaos, at the begin of a step, on the first start alone:\n"
    "  kill:2@step40     rank 2 ends by signal 9\n"
    "  stop:1@step60:5s  rank 1 stops for 5 s\n"
    "  throw:0@step9     rank 0 raises an error\n"
    "  exit:3@step2      rank 3 ends as if it were done\n"
    "\n"
    "Examples:\n"
    "  espalier launch -n 4 -- espalier train plan.toml --strategy multiworker\n"
    "  espalier launch -n 2 --prefix -- ./my_program --epochs 3\n"
    "  espalier launch -n 4 --restarts 3 --chaos kill:2@step40 -- ./my_program\n"
    "\n"
    "Exit codes: 0 all ranks ended with 0; 42 all have saved and gone because they\n"
    "were told to (SIGTERM, SIGUSR1); 43 the run was given up, for the reason said;\n"
    "2 wrong use; otherwise that of the rank which failed first, 128 + N where\n"
    "signal N ended it.\n";

}  // namespace

void add_launch(CLI::App& app) {
  auto flags = std::make_shared<LaunchFlags>();
  CLI::App* verb = app.add_subcommand("launch", "Run a program as several ranks on this host");
  verb->add_option("-n,--ranks", flags->launch.ranks, "How many")
      ->required()
      ->check(number_from(int64_t{1}, LaunchOptions::kMostRanks));
  verb->add_flag("--prefix", flags->launch.prefix, "\"[rank 3] \" before each line of output");
  verb->add_option("--engine", flags->engine, "What ranks talk through: shm, shared memory")
      ->capture_default_str()
      ->check(one_of_words({"shm"}));
  verb->add_option("--restarts", flags->launch.restarts, "Start all again after a failure, so often")
      ->capture_default_str()
      ->check(number_from(int64_t{0}, 1000));
  verb->add_option("--stall-after", flags->stall_after, "Give up when a rank does not go on for so long")
      ->type_name("TIME")
      ->capture_default_str();
  verb->add_option("--chaos", flags->launch.chaos, "Faults to try, between commas (below)")
      ->type_name("SPEC");
  verb->add_option("--record", flags->record,
                   "Write how it ended as JSON: the verdict, and the last 64 collectives of each rank; a run "
                   "that is given up is kept in the folder for temporary files, too")
      ->type_name("FILE");
  verb->add_option("program", flags->program, "The program and its arguments, behind \"--\"")
      ->type_name("-- PROGRAM ARGS");
  verb->footer(kLaunchExamples);
  verb->callback([flags] { launch_program(*flags); });
}

}  // namespace espalier::cli
