// Ctrl-C in tests.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace espalier::cli {

// Sends one signal to this process as soon as it is waited for.
class InterruptOnce {
 public:
  explicit InterruptOnce(int signal) : signal_(signal), before_(std::signal(signal, SIG_IGN)) {}
  ~InterruptOnce() {
    over_ = true;
    sender_.join();
    std::signal(signal_, before_);
  }

 private:
  int signal_;
  void (*before_)(int);
  std::atomic<bool> over_ = false;
  std::thread sender_{[this] {
    for (struct sigaction now = {}; !over_; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      ::sigaction(signal_, nullptr, &now);
      if (now.sa_handler == SIG_IGN) continue;
      ::kill(::getpid(), signal_);
      return;
    }
  }};
};

}  // namespace espalier::cli
