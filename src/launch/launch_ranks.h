// One start of a run whose ranks are all of this host.
#pragma once

#include <memory>
#include <string>

#include "launch/control_server.h"
#include "launch/host_ranks.h"
#include "launch/launch.h"
#include "launch/launch_signals.h"
#include "launch/launch_start.h"
#include "launch/launch_tally.h"
#include "launch/starter_signals.h"
#include "launch/starter_watch.h"

namespace espalier {

class LaunchRanks final : public LaunchStart, private HostListener {
 public:
  // `restart`: how often this run has been started before. `file` is the program.
  LaunchRanks(const LaunchOptions& options, const std::string& file, const std::string& job, int restart);
  void run(LaunchSignals& signals) override;
  LaunchRecord record() const override;
  bool was_told_to_end() const override { return tally_.was_told_to_end(); }
  int joined() const override { return control_.joined(); }

 private:
  void started(int rank, int64_t pid) override;
  void stopped(int rank, bool is_stopped) override { control_.stopped(rank, is_stopped); }
  void ended(int rank, const ProcessEnd& seen, const std::optional<StageReport>& last) override;

  void wait(LaunchSignals& signals);
  void pass_on_the_rest(LaunchSignals& signals);
  void forward(int number);
  void forward_to_starter(int number);
  void ask_starter();
  void hear();
  void see_ranks();
  void watch_starter();

  const LaunchOptions& options_;
  const std::string run_, secret_;
  ControlServer control_;
  LaunchTally tally_;
  std::string last_collectives_;  // when the run was given up
  std::unique_ptr<HostRanks> host_;
  pid_t starter_ = -1;
  StarterSignals starter_signals_;
  bool asks_starter_ = false;  // by SIGUSR1, when it has ranks
  StarterWatch watch_;
  double look_at_ = 0;
  std::string stuck_;  // why the starter was ended
};

}  // namespace espalier
