// espalier agent: what espalier launch starts on each host.
#include "cli/common.h"
#include "dist/launch_agent.h"

namespace espalier::cli {

void add_agent(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("agent", "Start the ranks of a run that are of this host");
  verb->group("");  // people do not call it
  verb->footer(
      "espalier launch --hosts starts it on each host. It is told on its standard input\n"
      "what to start, one JSON document, and it kills what it has started when that\n"
      "input ends.\n");
  verb->callback([] {
    if (!run_agent(0)) throw Exit{1};
  });
}

}  // namespace espalier::cli
