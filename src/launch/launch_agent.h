// The agent of a host in a run over hosts.
#pragma once

#include <functional>
#include <string>

namespace espalier {

// Reads its orders (launch/agent_orders.h) from `input`, starts the ranks of this host, passes on what they
// write to the standard output and error, and tells the launcher of them. Returns when they have ended, and
// true; when `input` has ended they are killed, and it is false. Where the launcher is lost, those that wait
// are told so, and the others end as by a verdict. Raises FormatError[agent.orders],
// StateError[agent.version], IoError[agent.folder], RunError[agent.refused], and what launch() raises for a
// program, memory and processes.
bool run_agent(int input);

}  // namespace espalier
