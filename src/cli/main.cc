#include <cstdio>

#include "base/format.h"
#include "base/version.h"
#include "cli/call.h"
#include "cli/common.h"
#include "cli/help.h"
#include "espalier/error.h"
#include "espalier/threads.h"

int main(int argc, char** argv) {
  try {
    espalier::threads();
  } catch (const espalier::Error& error) {
    std::fprintf(stderr, "espalier: %s [%s]\n", error.message().c_str(), error.rule().c_str());
    return 2;
  }
  CLI::App app("Trains machine-learning models and carries them from raw data to a release.", "espalier");
  app.formatter(espalier::cli::help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", espalier::cat("espalier ", espalier::kVersion));
  app.set_help_all_flag("--help-all", "Help of every verb");
  espalier::cli::set_program(argv[0], {argv + 1, argv + argc});
  for (const auto add : espalier::cli::kVerbs) add(app);
  return espalier::cli::call(app, argc, argv);
}
