#include "base/own_process.h"

#include <pthread.h>

namespace espalier {

OwnProcess::OwnProcess() {
  [[maybe_unused]] static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { depth.fetch_add(1, std::memory_order_relaxed); });
  forks_ = depth.load();
}

}  // namespace espalier
