// Which process an object belongs to: a child that is forked has a copy of it, and none of its threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace espalier {

class OwnProcess {
 public:
  // This process.
  OwnProcess();
  // Whether this process is a child of it, or a child's child. As cheap as a load.
  bool forked() const {
    return forks_.load(std::memory_order_relaxed) != depth.load(std::memory_order_relaxed);
  }
  // It is this process from here on.
  void take() { forks_ = depth.load(); }

 private:
  // Forks between this process and the one that counted first.
  static inline std::atomic<uint32_t> depth{0};
  std::atomic<uint32_t> forks_;
};

// Keeps `object` for the rest of this process, and never destroys it: of what a child has a copy of, and
// whose end would wait for threads that are the parent's.
template <class T>
void leave_behind(T&& object) {
  struct Kept {
    std::decay_t<T> object;
    Kept* before;
  };
  // Reachable: nothing is lost.
  static std::atomic<Kept*> last{nullptr};
  auto* const kept = new Kept{std::forward<T>(object), nullptr};
  kept->before = last.exchange(kept);
}

}  // namespace espalier
