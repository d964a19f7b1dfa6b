// Progress of a loop, on a terminal or in a log.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "base/env.h"
#include "report/terminal.h"

namespace espalier {

// On an interactive terminal one line that is overwritten, at most ten times a second:
//     epoch 3/10 [=========>          ]  24000/50000  812/s  eta 0:32  loss 0.1234
// Elsewhere nothing until finish(), which in both cases leaves one line:
//     epoch 3/10  50000 in 61.6s     812/s  loss 0.1201
// Not thread-safe.
class ProgressBar {
 public:
  // `total` steps; 0 when it is not known. Writes to std::cerr.
  ProgressBar(std::string label, int64_t total);
  ProgressBar(std::string label, int64_t total, std::ostream& out, const Terminal& terminal,
              Env& env = posix_env());

  // `done` steps are done; `metrics` is text for the end of the line, asked for when the line is drawn.
  void update(int64_t done, const std::function<std::string()>& metrics);
  void update(int64_t done, const std::string& metrics = {}) {
    update(done, [&] { return metrics; });
  }
  void finish(const std::string& metrics = {});

 private:
  std::string rate(double seconds) const;
  std::string label_;
  int64_t total_, done_ = 0;
  std::ostream& out_;
  Terminal terminal_;
  Env& env_;
  double started_, drawn_;
};

// "9.5s", "2:05", "1:02:05".
std::string duration(double seconds);

}  // namespace espalier
