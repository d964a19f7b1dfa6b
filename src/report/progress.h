// Progress of a loop, on a terminal or in a log.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "base/env.h"
#include "report/terminal.h"

namespace espalier {

// One loop after the other. On an interactive terminal, from a tenth of a second on, a line that is
// overwritten at most ten times a second:
//     epoch 3/10 [=========>          ]  24000/50000  812/s  eta 0:32  loss 0.1234
// and by finish() becomes:
//     epoch 3/10  50000 in 61.6s     812/s  loss 0.1201
// Elsewhere both are lines of their own, without the bar, and at most one in half a minute: what is done
// sooner says nothing. Not thread-safe.
class ProgressBar {
 public:
  ProgressBar();  // writes to std::cerr
  ProgressBar(std::ostream& out, const Terminal& terminal, Env& env = posix_env());

  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Of `total` steps; 0 when it is not known. `unit` stands behind the numbers of steps: " MB".
  void start(std::string label, int64_t total, std::string unit = {});
  // `done` steps are done; `metrics` is text for the end of the line, asked for when the line is drawn.
  void update(int64_t done, const std::function<std::string()>& metrics);
  void update(int64_t done, const std::string& metrics = {}) {
    update(done, [&] { return metrics; });
  }
  void finish(const std::string& metrics = {});
  // The end of a loop that leaves no line; so ends one whose bar ends.
  void clear();

 private:
  std::string rate(double seconds) const;
  std::string line(double seconds, const std::string& metrics) const;
  // The first that the terminal has room for; what matters least is left out of later ones.
  std::string fitting(const std::vector<std::string>& lines) const;
  std::ostream& out_;
  Terminal terminal_;
  Env& env_;
  std::string label_, unit_;
  int64_t total_ = 0, done_ = 0;
  double started_, drawn_;
  bool shown_ = false;  // whether the line of an unfinished loop stands there
};

// "9.5s", "2:05", "1:02:05".
std::string duration(double seconds);

}  // namespace espalier
