// espalier agent: what espalier launch starts on each host.
#include "cli/common.h"
#include "dist/launch_agent.h"

namespace espalier::cli {

void add_agent(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("agent", "Start the ranks of a run on this host");
  verb->group("");  // people do not call it
  verb->footer(
      "`espalier launch --hosts` starts an agent on each host. The agent reads one JSON\n"
      "document, the ranks to start, from standard input, and kills its ranks when\n"
      "standard input ends.\n");
  verb->callback([] {
    if (!run_agent(0)) throw Exit{1};
  });
}

}  // namespace espalier::cli
