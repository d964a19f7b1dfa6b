#include <cstdio>

#include "cli/verbs.h"
#include "ops/registry.h"

namespace espalier::cli {

void add_info(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("info", "What this build can do");
  verb->callback([] { std::printf("%zu ops\nnext: espalier --help\n", all_ops().size()); });
}

}  // namespace espalier::cli
