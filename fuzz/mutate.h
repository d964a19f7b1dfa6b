// A deterministic mutation engine for parsers, with a watch on memory and time. Include it in one source of a
// program.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "ir/buffer_watch.h"
#include "ir/literal.h"

// Present under the sanitizers alone.
extern "C" {
void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));
int __sanitizer_install_malloc_and_free_hooks(void (*taken)(const volatile void*, size_t),
                                              void (*given)(const volatile void*)) __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void*) __attribute__((weak));
}

namespace espalier::fuzz {

// Bytes allocated now and at most: through operator new and allocate_buffer, and under a sanitizer that tells
// of it through malloc, by libraries in C too.
inline std::atomic<int64_t> live{0}, peak{0};
inline bool hooked = false;
inline void count(int64_t bytes) {
  const int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
}

inline void count_ours(int64_t bytes) {
  if (!hooked) count(bytes);
}
inline void watch_memory() {
  hooked =
      __sanitizer_install_malloc_and_free_hooks &&
      __sanitizer_install_malloc_and_free_hooks(
          [](const volatile void*, size_t size) { count(static_cast<int64_t>(size)); },
          [](const volatile void* p) { count(-static_cast<int64_t>(__sanitizer_get_allocated_size(p))); });
  buffer_watch = count_ours;
}

// The input that is being read.
struct Current {
  const char* program = nullptr;
  uint64_t seed = 0;
  const std::string* text = nullptr;
};
inline Current current;

// Prints how to run the current input again, and keeps it in a file.
inline void report(const char* problem, const char* what) {
  if (!current.text) return;
  const auto file = std::filesystem::temp_directory_path() /
                    (std::string(current.program) + "-" + std::to_string(current.seed) + ".input");
  std::ofstream(file, std::ios::binary) << *current.text;
  dprintf(STDERR_FILENO, "%s --seed %llu --runs 1 %s %s\ninput of %zu bytes: %s\n", current.program,
          static_cast<unsigned long long>(current.seed), problem, what, current.text->size(), file.c_str());
  current = {};
}

// Whatever ends the program while it reads an input reports it first.
inline void report_death() {
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback([] { report("died", "under the sanitizer"); });
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    if (__sanitizer_set_death_callback && signal != SIGABRT) continue;  // the sanitizer takes them
    std::signal(signal, [](int number) {
      std::signal(number, SIG_DFL);
      report("died by signal", std::to_string(number).c_str());
      std::raise(number);
    });
  }
}

// Seconds of the processor that an input may take, and of the clock until it hangs.
constexpr double kMostSeconds = 1;
constexpr unsigned kHang = 60;
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
inline void report_hang() {
  std::signal(SIGALRM, [](int) {
    report("hangs for", (std::to_string(kHang) + " seconds").c_str());
    _exit(1);
  });
}

inline std::string mutate(std::string text, std::mt19937_64& random, const std::vector<std::string>& seeds,
                          const std::vector<std::string>& words) {
  const auto below = [&](size_t n) { return n ? random() % n : 0; };
  const size_t edits = below(2) ? 1 : 1 + below(6);
  for (size_t edit = 0; edit < edits; ++edit) {
    const size_t at = below(text.size() + 1), length = below(std::min<size_t>(text.size() - at, 64) + 1);
    switch (below(9)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(64)));
        break;
      case 4: {
        const std::string& other = seeds[below(seeds.size())];
        text.insert(at, other.substr(below(other.size() + 1), below(256)));
        break;
      }
      case 5:
        text.replace(at, length, words[below(words.size())]);
        break;
      case 6:
        text.insert(at, words[below(words.size())]);
        break;
      case 7: {  // another number
        constexpr const char* kNumbers = "0123456789";
        const size_t first = text.find_first_of(kNumbers, at);
        if (first == std::string::npos) break;
        const size_t last = std::min(text.find_first_not_of(kNumbers, first), text.size());
        text.replace(first, last - first, std::to_string(below(below(4) ? 9 : size_t{1} << below(64))));
        break;
      }
      default:
        text.resize(at);
    }
  }
  return text;
}

// The one temporary file, with these bytes. It is not synced, which would take most of a small input's time.
inline std::string file_with(const std::string& bytes) {
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("fuzz-" + std::to_string(::getpid()))).string();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// How much memory an input may take.
struct Memory {
  int64_t base = int64_t{64} << 20;
  int64_t times_input = 16;
};
// Of parsers that keep little beside the input.
constexpr Memory kTenfold = {.base = int64_t{2} << 20, .times_input = 10};

// --runs N, --seconds N, --seed N. Each input goes through `accept`, which throws for what it refuses by
// anything but its own error types; memory beyond what it may take is a failure too, and a second.
inline int run(int argc, char** argv, const char* name, const std::vector<std::string>& seeds,
               const std::vector<std::string>& words, const std::function<bool(const std::string&)>& accept,
               const Memory& may = {}) {
  uint64_t runs = 20000, seconds = 0, seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (!std::strcmp(argv[i], "--runs")) {
      runs = value;
    } else if (!std::strcmp(argv[i], "--seconds")) {
      seconds = value;
    } else if (!std::strcmp(argv[i], "--seed")) {
      seed = value;
    } else {
      std::fprintf(stderr, "%s: unknown option %s\n", name, argv[i]);
      return 2;
    }
  }
  watch_memory();
  constexpr int64_t kProbe = 1 << 20;
  const int64_t before_probe = live.load();
  if (const Buffer probe = allocate_buffer(kProbe); live.load() - before_probe < kProbe) {
    std::fprintf(stderr, "%s: buffers are not counted\n", name);
    return 2;
  }
  report_death();
  report_hang();
  for (const std::string& text : seeds) {
    current = {name, seed, &text};
    if (!accept(text)) {
      std::fprintf(stderr, "%s: a seed is refused:\n%.2000s\n", name, text.c_str());
      return 1;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  uint64_t done = 0, accepted = 0;
  int64_t most = 0;
  for (; seconds ? std::chrono::steady_clock::now() - start < std::chrono::seconds(seconds) : done < runs;
       ++done) {
    // Each input has a seed of its own, so that a failure is reproduced by --seed S --runs 1.
    std::mt19937_64 random(seed + done);
    const std::string text = mutate(seeds[random() % seeds.size()], random, seeds, words);
    current = {name, seed + done, &text};
    const int64_t before = live.load();
    peak.store(before);
    const char* problem = nullptr;
    std::string what;
    const double from = processor_seconds();
    alarm(kHang);
    try {
      accepted += accept(text);
    } catch (const std::exception& error) {
      problem = "threw";
      what = error.what();
    }
    alarm(0);
    if (const double taken = processor_seconds() - from; taken > kMostSeconds) {
      problem = "took";
      what = std::to_string(taken) + " seconds";
    }
    const int64_t used = peak.load() - before, beyond = used - may.times_input * std::ssize(text);
    most = std::max(most, beyond);
    if (beyond > may.base) {
      problem = "allocated";
      what = std::to_string(used) + " bytes for " + std::to_string(text.size());
    }
    if (problem) {
      report(problem, what.c_str());
      return 1;
    }
    current = {};
  }
  std::printf("%s: %llu inputs, %llu of them accepted, at most %lld KiB + %lld times the input\n", name,
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(accepted),
              static_cast<long long>(most >> 10), static_cast<long long>(may.times_input));
  return 0;
}

}  // namespace espalier::fuzz

// UBSan ends a program without the callback; it calls this before.
extern "C" void __ubsan_on_report() { espalier::fuzz::report("died", "under the sanitizer"); }

void* operator new(size_t size) {
  void* p = std::malloc(size);
  if (!p) throw std::bad_alloc();
  espalier::fuzz::count_ours(static_cast<int64_t>(malloc_usable_size(p)));
  return p;
}
// Sorting asks for its buffer this way.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  void* p = std::malloc(size);
  if (p) espalier::fuzz::count_ours(static_cast<int64_t>(malloc_usable_size(p)));
  return p;
}
void operator delete(void* p) noexcept {
  if (p) espalier::fuzz::count_ours(-static_cast<int64_t>(malloc_usable_size(p)));
  std::free(p);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { operator delete(p); }
