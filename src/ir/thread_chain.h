// Objects that act on the thread that made them, for as long as they live.
#pragma once

namespace espalier {

// A base of T. One may be destroyed by another thread, while its own makes none, destroys none and walks
// along none of its chain; and after its own has ended.
template <class T>
class ThreadChain {
 public:
  ThreadChain(const ThreadChain&) = delete;
  ThreadChain& operator=(const ThreadChain&) = delete;

  // Calls f with each T of this thread, the newest first.
  template <class F>
  static void each(F f) {
    for (ThreadChain* link = head.first; link; link = link->next_) f(static_cast<T&>(*link));
  }

 protected:
  ThreadChain() : link_(&head.first), next_(head.first) {
    if (next_) next_->link_ = &next_;
    head.first = this;
  }
  ~ThreadChain() {
    if (link_) *link_ = next_;
    if (next_) next_->link_ = link_;
  }

 private:
  struct Head {
    ThreadChain* first = nullptr;
    // The thread ends: those that outlive it have nowhere to leave.
    ~Head() {
      for (ThreadChain* link = first; link;) {
        ThreadChain* next = link->next_;
        link->link_ = nullptr;
        link->next_ = nullptr;
        link = next;
      }
      first = nullptr;
    }
  };
  static inline thread_local Head head;
  ThreadChain** link_;  // what points here; null when the thread has ended
  ThreadChain* next_;
};

}  // namespace espalier
