#include "counted_calls.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace espalier {
namespace {

thread_local CountedCalls* watched = nullptr;

void count(int64_t CountedCalls::*what) {
  // Null meanwhile: to walk the stack may allocate.
  CountedCalls* const total = std::exchange(watched, nullptr);
  if (!total) return;
  ++(total->*what);
  if (!total->depth) total->depth = backtrace(total->first, std::size(total->first));
  watched = total;
}

template <class F>
F next_of(F, const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

CallCounter::CallCounter(CountedCalls& total) { watched = &total; }
CallCounter::~CallCounter() { watched = nullptr; }

std::string CountedCalls::first_call() const {
  std::string out;
  char** names = backtrace_symbols(first, depth);
  for (int i = 0; i < depth; ++i) out += std::string(names[i]) + "\n";
  std::free(names);
  return out;
}

}  // namespace espalier

using espalier::count;
using espalier::CountedCalls;

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) noexcept {
  count(&CountedCalls::allocations);
  return __libc_malloc(size);
}
void* calloc(size_t number, size_t size) noexcept {
  count(&CountedCalls::allocations);
  return __libc_calloc(number, size);
}
void* realloc(void* block, size_t size) noexcept {
  count(&CountedCalls::allocations);
  return __libc_realloc(block, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  count(&CountedCalls::allocations);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  void* block = memalign(alignment, size);
  if (!block) return ENOMEM;
  *out = block;
  return 0;
}

#define ESPALIER_COUNTED_LOCK(name, type)                    \
  int name(type* lock) noexcept {                            \
    static const auto next = espalier::next_of(name, #name); \
    count(&CountedCalls::locks);                             \
    return next(lock);                                       \
  }
ESPALIER_COUNTED_LOCK(pthread_mutex_lock, pthread_mutex_t)
ESPALIER_COUNTED_LOCK(pthread_mutex_trylock, pthread_mutex_t)
ESPALIER_COUNTED_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
ESPALIER_COUNTED_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)

}  // extern "C"
