// What ranks write, on its way to one stream.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "comm/control_fd.h"

namespace espalier {

// A stream of the launcher, whose reader may not read: then bytes wait here, and the launcher does not.
class LaunchStream {
 public:
  explicit LaunchStream(int to) : to_(to) {}  // stays the caller's

  void add(std::string_view bytes) { waiting_ += bytes; }
  bool empty() const { return waiting_.empty(); }
  bool full() const { return waiting_.size() >= kMost; }
  int descriptor() const { return to_; }
  // What there is room for. Raises IoError[launch.output].
  void write();

 private:
  static constexpr size_t kMost = size_t{1} << 20;
  const int to_;
  std::string waiting_;
};

// Of one rank's standard output or error.
class LaunchOutput {
 public:
  static constexpr size_t kKeptLines = 20;

  // Reads `from` and adds to `to`, which outlives it. With `by_lines` lines are passed on whole,
  // each behind `prefix` (one of more than 64 KiB in pieces); otherwise bytes as they come.
  LaunchOutput(ControlFd from, LaunchStream& to, bool by_lines, std::string prefix);

  // -1 at the end.
  int descriptor() const { return from_.get(); }
  bool may_read() const { return !to_->full(); }
  // Passes on what is there; at the end the rest.
  void pass_on();
  // The same for what has been written so far.
  void catch_up();
  // The same, and no more comes.
  void finish();
  // Oldest first, without ends of lines; of one that was overwritten by \r the last text.
  const std::deque<std::string>& last_lines() const { return last_; }

 private:
  void take(std::string_view bytes);
  void keep(std::string_view line);

  ControlFd from_;
  LaunchStream* to_;
  bool by_lines_;
  std::string prefix_;
  std::string line_;    // has begun and not ended
  bool begun_ = false;  // a piece of it has been written
  std::deque<std::string> last_;
};

}  // namespace espalier
