// One start of a run.
#pragma once

#include <chrono>
#include <string>

#include "launch/control_coordinator.h"
#include "launch/launch.h"
#include "launch/launch_signals.h"

namespace espalier {

class LaunchStart {
 public:
  virtual ~LaunchStart() = default;
  // Until all ranks have ended.
  virtual void run(LaunchSignals& signals) = 0;
  virtual LaunchRecord record() const = 0;
  // By a signal to the launcher.
  virtual bool was_told_to_end() const = 0;
  // How many have.
  virtual int joined() const = 0;
};

// From the verdict to SIGTERM: a rank that has heard it says so and ends by itself.
inline constexpr std::chrono::seconds kHearing{1};
// What a launcher that was told to end gives the readers of its output.
inline constexpr std::chrono::seconds kReading{2};

// 16 hexadecimal digits that nobody can guess.
std::string random_name();
// The name of a start: the job's, behind a restart with its number.
std::string start_name(const std::string& job, int restart);
ControlCoordinator::Options coordination(const LaunchOptions& options, const std::string& run,
                                         const std::string& secret);

}  // namespace espalier
