// Times of tests of engines between hosts.
#pragma once

#include <chrono>
#include <thread>

namespace espalier {

using WireClock = std::chrono::steady_clock;

inline double seconds_since(WireClock::time_point begin) {
  return std::chrono::duration<double>(WireClock::now() - begin).count();
}
inline void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace espalier
