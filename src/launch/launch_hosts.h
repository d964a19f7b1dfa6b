// One start of a run over hosts: an agent on each starts its ranks and tells of them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "comm/control_fd.h"
#include "launch/agent_orders.h"
#include "launch/control_server.h"
#include "launch/launch.h"
#include "launch/launch_processes.h"
#include "launch/launch_signals.h"
#include "launch/launch_start.h"
#include "launch/launch_tally.h"

namespace espalier {

class LaunchHosts final : public LaunchStart {
 public:
  // `restart`: how often this run has been started before.
  LaunchHosts(const LaunchOptions& options, const std::string& job, int restart);
  void run(LaunchSignals& signals) override;
  LaunchRecord record() const override;
  bool was_told_to_end() const override { return tally_.was_told_to_end(); }
  int joined() const override { return control_.joined(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Input {
    ControlFd to;         // an agent's standard input
    std::string waiting;  // until there is room
  };

  void start_agent(size_t number, AgentOrders orders);
  bool is_over() const;
  void wait(LaunchSignals& signals);
  void pass_on_the_rest(LaunchSignals& signals);
  void forward(int number);
  void tell(const AgentWord& word);
  static void flush(Input& input);
  void look_after_agents();
  void hear();
  void end_agents_soon();
  std::string last_lines(int rank) const;
  size_t host_of(int rank) const;

  const LaunchOptions& options_;
  const std::string run_, secret_;
  ControlServer control_;
  LaunchTally tally_;
  std::vector<std::string> lines_, collectives_;  // the last of each rank
  int gone_host_ = -1;                            // for which the run was given up
  LaunchProcesses agents_;
  std::vector<Input> inputs_;  // gone before the agents
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace espalier
