#include <algorithm>
#include <iterator>

#include "base/called_command.h"
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
  CLI::App app("Train, evaluate and check machine-learning models, from raw data to a release", "espalier");
  app.formatter(espalier::cli::help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", espalier::cat("espalier ", espalier::kVersion));
  app.set_help_all_flag("--help-all", "Print the help of every verb");
  espalier::set_program(argv[0], {argv + 1, argv + argc});
  return espalier::cli::call(app, argc, argv, [&] {
    espalier::cli::add_verbs(app, argc > 1 ? argv[1] : "");
    // After the verbs, which would inherit it.
    app.footer(
        "`espalier VERB --help` explains a verb. In this help, [X] after an option is its\n"
        "default, and \"...\" says that several values may follow. In usage lines, [...]\n"
        "marks what may be left out.\n"
        "\n"
        "Exit codes: 0 done or pass, 1 a check said no, 2 usage error or bad input,\n"
        "3 undecided, 4 internal error. Some verbs use more codes: see their help.");
  });
}
