// Faults of --chaos that a seed draws, for tests of what is said of them.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>

#include "base/format.h"

namespace espalier::cli {

// How many runs a test makes: the number in a variable of the environment, if it is there.
inline int runs_asked(const char* variable = "ESPALIER_CHAOS_RUNS", int otherwise = 12) {
  const char* const asked = std::getenv(variable);
  return asked ? std::stoi(asked) : otherwise;
}

struct SeededFault {
  // Kinds come in turn: "kill", "throw", "exit", "stop", which is for good, "short", a stop for a moment, and
  // what a test makes itself.
  explicit SeededFault(int seed, std::initializer_list<const char*> kinds = {"kill", "throw", "exit", "kill",
                                                                             "stop", "short"})
      : random(static_cast<unsigned>(seed)), kind(kinds.begin()[static_cast<size_t>(seed) % kinds.size()]) {}

  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  // Draws the rank of so many, and the step.
  void draw(int ranks) {
    rank = below(ranks);
    step = 1 + below(12);
  }
  // Of `espalier launch`.
  std::string flags() const {
    const char* const seconds = kind == "stop" ? ":30s" : kind == "short" ? ":2s" : "";
    return cat("--chaos ", kind == "short" ? "stop" : kind, ":", rank, "@step", step, seconds);
  }
  // What a launcher that sees the end of its ranks says behind the name of this one.
  std::string said() const {
    return kind == "kill"    ? cat(" ended by signal 9 in step ", step, " ")
           : kind == "throw" ? cat(" failed in step ", step, " ")
           : kind == "exit"  ? cat(" ended with status 0 in step ", step, " while ")
                             : " has not been heard of for ";
  }

  // Which the verdict takes at most, on a busy machine. An end takes 2 where nothing else runs, and would be
  // silence behind 5; a stop takes 6, and would be warned of behind 10.
  double most_seconds() const { return kind == "stop" ? 10 : 5; }

  std::mt19937 random;
  std::string kind;
  int rank = 0, step = 0;
};

}  // namespace espalier::cli
