#include "base/format.h"
#include "base/version.h"
#include "cli/call.h"
#include "cli/common.h"
#include "cli/help.h"

int main(int argc, char** argv) {
  CLI::App app("Trains machine-learning models and carries them from raw data to a release.", "espalier");
  app.formatter(espalier::cli::help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", espalier::cat("espalier ", espalier::kVersion));
  app.set_help_all_flag("--help-all", "Help of every verb");
  espalier::cli::set_program(argv[0], {argv + 1, argv + argc});
  return espalier::cli::call(app, argc, argv, [&] {
    for (const auto add : espalier::cli::kVerbs) add(app);
  });
}
