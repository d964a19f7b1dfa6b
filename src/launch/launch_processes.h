// Processes that are started beside each other, and what they write on its way to two streams.
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/control_fd.h"
#include "launch/launch_guard.h"
#include "launch/launch_output.h"
#include "launch/launch_process.h"

namespace espalier {

struct LaunchPipe {
  ControlFd read, write;
};
// No started program gets it. Raises IoError[launch.start].
LaunchPipe make_launch_pipe();

// None of them is left when it is gone, nor when the process that has it is killed.
class LaunchProcesses {
 public:
  LaunchProcesses(int output, int errors) : output_(output), errors_(errors) {}  // stay the caller's

  struct Start {
    std::string file;
    std::vector<std::string> words, environment;
    int in = -1;  // its standard input; -1: nothing to read
    // What it writes is passed on in whole lines, each behind `prefix`; otherwise byte by byte.
    bool by_lines = true;
    std::string prefix = {};
  };
  // The next one, counted from 0. Raises as Process, and IoError[launch.start].
  Process& start(const Start& start);

  size_t size() const { return all_.size(); }
  Process& of(size_t number) const { return *all_[number].process; }
  Process::Event poll(size_t number);
  void signal_all(int number);
  bool all_ended() const;

  // For what they write, one of `also`, or 100 ms; passes on what there is.
  void wait(std::vector<pollfd> also);
  // What this one has written so far.
  void catch_up(size_t number);
  // They have ended: takes what they have written so far, and no more.
  void finish();
  // Somebody reads slowly.
  bool has_output_left() const { return !output_.empty() || !errors_.empty(); }
  // Of its standard error, as "\nthe last 2 lines of WHOSE:\n  | ..."; "" where there is none.
  std::string last_lines(size_t number, const std::string& whose) const;

 private:
  struct One {
    LaunchOutput output, errors;
    std::unique_ptr<Process> process;
  };
  LaunchStream output_, errors_;
  LaunchGuard guard_;
  std::vector<One> all_;
};

}  // namespace espalier
