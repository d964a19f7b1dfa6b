// Counts what a thread asks of the heap and of mutexes. Linked into a program, counted_calls.cc stands before
// the C library for everything in it, shared libraries included.
#pragma once

#include <cstdint>
#include <string>

namespace espalier {

struct CountedCalls {
  int64_t allocations = 0;  // malloc and its kin, which `operator new` calls
  int64_t locks = 0;        // of mutexes and reader-writer locks, attempts included
  void* first[12] = {};     // the frames of the first of them
  int depth = 0;

  // Where the first came from, one frame a line.
  std::string first_call() const;
};

// Adds this thread's calls to `total` while it lives, on this thread.
class CallCounter {
 public:
  explicit CallCounter(CountedCalls& total);
  ~CallCounter();
  CallCounter(const CallCounter&) = delete;
  CallCounter& operator=(const CallCounter&) = delete;
};

}  // namespace espalier
