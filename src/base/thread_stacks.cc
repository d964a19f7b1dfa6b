#include "base/thread_stacks.h"

#include <pthread.h>

#include <mutex>

namespace espalier {
namespace {

size_t default_stack() {
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return ThreadStacks::kBytes;
  size_t bytes = ThreadStacks::kBytes;
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_destroy(&attributes);
  return bytes;
}

void set_default_stack(size_t bytes) {
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return;
  ::pthread_attr_setstacksize(&attributes, bytes);
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

// Of those that raise it: how many live, and what it was before the first of them.
struct RaisedDefault {
  std::mutex mutex;
  int living = 0;
  size_t before = 0;
} raised_default;

// That of the first call: the limit is the process's.
bool default_is_small() {
  static const bool small = default_stack() < ThreadStacks::kBytes;
  return small;
}

}  // namespace

ThreadStacks::ThreadStacks() : raises_(default_is_small()) {
  if (!raises_) return;
  const std::lock_guard<std::mutex> lock(raised_default.mutex);
  if (raised_default.living++ > 0) return;
  raised_default.before = default_stack();
  set_default_stack(kBytes);
}

ThreadStacks::~ThreadStacks() {
  if (!raises_) return;
  const std::lock_guard<std::mutex> lock(raised_default.mutex);
  if (--raised_default.living == 0) set_default_stack(raised_default.before);
}

}  // namespace espalier
