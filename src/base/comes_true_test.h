// Waiting, in tests, for what is to happen.
#pragma once

#include <chrono>
#include <thread>

namespace espalier {

// Seconds that bound what hangs, and nothing else: no machine is so busy. ctest gives a test 300.
inline constexpr double kTooLong = 60;

// Whether it comes true before long. It is looked at again and again.
template <class F>
bool comes_true(const F& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTooLong);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace espalier
