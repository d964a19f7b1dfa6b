// How the process of a rank ended.
#pragma once

#include <string>

namespace espalier {

// The status of a rank that has saved its state and gone because it was told to.
inline constexpr int kPreemptedStatus = 42;
// Of a usage error or bad input, which another start would not take either.
inline constexpr int kRefusedStatus = 2;
// That of a launcher whose run was given up by a verdict.
inline constexpr int kVerdictStatus = 43;

struct ProcessEnd {
  bool by_signal = false;
  int number = 0;  // the signal, or the status

  bool operator==(const ProcessEnd&) const = default;
  bool is_failure() const { return by_signal || (number != 0 && number != kPreemptedStatus); }
  // What a shell calls it: the status, or 128 + the signal.
  int code() const { return by_signal ? 128 + number : number; }
};
// "ended by signal 9", "ended with status 3".
inline std::string to_string(const ProcessEnd& end) {
  return (end.by_signal ? "ended by signal " : "ended with status ") + std::to_string(end.number);
}

}  // namespace espalier
