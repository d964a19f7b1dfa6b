#include "base/blocks.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

namespace espalier {
namespace {

constexpr size_t kGrain = 64, kLargest = 4096;
// From here on a block begins on a huge page and asks for them: long streams then miss no translations.
constexpr size_t kHuge = size_t{1} << 23, kHugePage = size_t{1} << 21;
// More than any machine has: sanitizers end the program where others give null.
constexpr size_t kMost = size_t{1} << 39;
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kKeptBytes = 0;  // so that the sanitizer sees every block end
#else
constexpr size_t kKeptBytes = size_t{1} << 20;  // on each thread
#endif

size_t rounded(size_t bytes) { return (bytes + kGrain - 1) / kGrain * kGrain; }

// Set when the thread's lists are gone, while later destructors may still free blocks.
thread_local bool closed = false;

struct Lists {
  struct Free {
    Free* next;
  };
  Free* first[kLargest / kGrain + 1] = {};
  size_t kept = 0;

  ~Lists() {
    closed = true;
    for (Free* block : first) {
      while (block) std::free(std::exchange(block, block->next));
    }
  }
  // Null for sizes that are not kept.
  static Lists* of(size_t size) {
    if (kKeptBytes == 0 || size > kLargest || closed) return nullptr;
    static thread_local Lists lists;
    return &lists;
  }
};

}  // namespace

void* take_block(size_t bytes) {
  const size_t size = rounded(bytes);
  if (size < bytes || size > kMost) return nullptr;
  if (Lists* lists = Lists::of(size)) {
    const size_t i = size / kGrain;
    if (Lists::Free* block = lists->first[i]) {
      lists->first[i] = block->next;
      lists->kept -= size;
      return block;
    }
  }
  if (size < kHuge) return std::aligned_alloc(kGrain, size ? size : kGrain);
  void* block = std::aligned_alloc(kHugePage, (size + kHugePage - 1) / kHugePage * kHugePage);
#if defined(MADV_HUGEPAGE)
  // A wish: where the kernel has none, pages stay small.
  if (block) madvise(block, size / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return block;
}

void give_block(void* block, size_t bytes) noexcept {
  const size_t size = rounded(bytes), i = size / kGrain;
  Lists* lists = size ? Lists::of(size) : nullptr;
  if (!lists || lists->kept + size > kKeptBytes) return std::free(block);
  lists->first[i] = new (block) Lists::Free{lists->first[i]};
  lists->kept += size;
}

}  // namespace espalier
