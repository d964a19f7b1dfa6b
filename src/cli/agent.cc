// espalier agent: what espalier launch starts on each host.
#include "cli/common.h"
#include "launch/launch_agent.h"

namespace espalier::cli {

void add_agent(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("agent", "Start the ranks of a run on this host");
  verb->group("");  // people do not call it
  verb->footer(
      "`espalier launch --hosts` starts an agent on each host: users need not run it.\n"
      "The agent reads one JSON document, the ranks to start, from standard input, and\n"
      "kills its ranks when standard input ends.\n");
  verb->callback([] {
    if (!run_agent(0)) throw Exit{1};
  });
}

}  // namespace espalier::cli
