// espalier launch: a program as several ranks on this host.
#include "dist/launch.h"

#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "cli/common.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

struct LaunchFlags {
  LaunchOptions launch;
  std::string engine = "shm";
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

void launch_program(LaunchFlags& flags) {
  flags.launch.program = program_words();
  const LaunchOutcome outcome = launch(flags.launch);
  if (!outcome.failure.empty()) say_aside(cat("espalier launch: ", outcome.failure, "\n"));
  if (outcome.code != 0) throw Exit{outcome.code};
}

constexpr const char* kLaunchExamples =
    "Each of the N processes finds its place in its environment: ESPALIER_RANK,\n"
    "ESPALIER_WORLD, ESPALIER_LOCAL_RANK, ESPALIER_LOCAL_WORLD and ESPALIER_JOB.\n"
    "Rank 0 has standard input. SIGINT, SIGTERM, SIGUSR1, SIGHUP and SIGTSTP go to\n"
    "all. When one fails the others are ended, and the one that failed first is\n"
    "named with its last lines. No rank outlives the launcher.\n"
    "\n"
    "Examples:\n"
    "  espalier launch -n 4 -- espalier train plan.toml --strategy multiworker\n"
    "  espalier launch -n 2 --prefix -- ./my_program --epochs 3\n"
    "\n"
    "Exit codes: 0 all ranks ended with 0; 42 all have saved and gone because they\n"
    "were told to (SIGTERM, SIGUSR1); 2 wrong use; otherwise that of the rank which\n"
    "failed first, 128 + N where signal N ended it.\n";

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
  verb->add_option("program", flags->program, "The program and its arguments, behind \"--\"")
      ->type_name("-- PROGRAM ARGS...");
  verb->footer(kLaunchExamples);
  verb->callback([flags] { launch_program(*flags); });
}

}  // namespace espalier::cli
