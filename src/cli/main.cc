#include <algorithm>
#include <iterator>

#include "base/format.h"
#include "base/version.h"
#include "cli/call.h"
#include "cli/common.h"
#include "cli/help.h"

namespace espalier::cli {
namespace {

// The verb that the first word names, alone: the flags of all are a tenth of the time of a small prediction.
// All of them for help, and for words that name none.
void add_verbs(CLI::App& app, std::string_view first) {
  const auto verb = std::ranges::find(kVerbs, first, &Verb::name);
  if (verb != std::end(kVerbs)) return verb->add(app);
  for (const Verb& each : kVerbs) each.add(app);
}

}  // namespace
}  // namespace espalier::cli

int main(int argc, char** argv) {
  CLI::App app("Trains machine-learning models and carries them from raw data to a release.", "espalier");
  app.formatter(espalier::cli::help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", espalier::cat("espalier ", espalier::kVersion));
  app.set_help_all_flag("--help-all", "Help of every verb");
  espalier::cli::set_program(argv[0], {argv + 1, argv + argc});
  return espalier::cli::call(app, argc, argv,
                             [&] { espalier::cli::add_verbs(app, argc > 1 ? argv[1] : ""); });
}
