// A deterministic mutation engine for parsers, with a watch on memory. Include it in one source of a program.
#pragma once

#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <vector>

namespace espalier::fuzz {

// Bytes allocated now and at most, through operator new and allocate_buffer's aligned_alloc alike when the
// program replaces it.
inline std::atomic<int64_t> live{0}, peak{0};
inline void count(int64_t bytes) {
  const int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
}

inline std::string mutate(std::string text, std::mt19937_64& random, const std::vector<std::string>& seeds,
                          const std::vector<std::string>& words) {
  const auto below = [&](size_t n) { return n ? random() % n : 0; };
  const size_t edits = 1 + below(6);
  for (size_t edit = 0; edit < edits; ++edit) {
    const size_t at = below(text.size() + 1), length = below(std::min<size_t>(text.size() - at, 64) + 1);
    switch (below(8)) {
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
      default:
        text.resize(at);
    }
  }
  return text;
}

// --runs N, --seconds N, --seed N. Each input goes through `accept`, which throws for what it refuses by
// anything but its own error types; memory beyond 64 MiB + 16 times the input is a failure too.
inline int run(int argc, char** argv, const char* name, const std::vector<std::string>& seeds,
               const std::vector<std::string>& words, const std::function<bool(const std::string&)>& accept) {
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
  for (const std::string& text : seeds) {
    if (!accept(text)) {
      std::fprintf(stderr, "%s: a seed is refused:\n%.2000s\n", name, text.c_str());
      return 1;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  uint64_t done = 0, accepted = 0;
  for (; seconds ? std::chrono::steady_clock::now() - start < std::chrono::seconds(seconds) : done < runs;
       ++done) {
    // Each input has a seed of its own, so that a failure is reproduced by --seed S --runs 1.
    std::mt19937_64 random(seed + done);
    const std::string text = mutate(seeds[random() % seeds.size()], random, seeds, words);
    const int64_t before = live.load();
    peak.store(before);
    const char* problem = nullptr;
    std::string what;
    try {
      accepted += accept(text);
    } catch (const std::exception& error) {
      problem = "threw";
      what = error.what();
    }
    const int64_t used = peak.load() - before;
    if (used > (int64_t{64} << 20) + 16 * static_cast<int64_t>(text.size())) {
      problem = "allocated";
      what = std::to_string(used) + " bytes for " + std::to_string(text.size());
    }
    if (problem) {
      std::fprintf(stderr, "%s --seed %llu --runs 1 %s: %s\n", name,
                   static_cast<unsigned long long>(seed + done), problem, what.c_str());
      return 1;
    }
  }
  std::printf("%s: %llu inputs, %llu of them accepted\n", name, static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(accepted));
  return 0;
}

}  // namespace espalier::fuzz

void* operator new(size_t size) {
  void* p = std::malloc(size);
  if (!p) throw std::bad_alloc();
  espalier::fuzz::count(static_cast<int64_t>(malloc_usable_size(p)));
  return p;
}
void operator delete(void* p) noexcept {
  if (p) espalier::fuzz::count(-static_cast<int64_t>(malloc_usable_size(p)));
  std::free(p);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }
