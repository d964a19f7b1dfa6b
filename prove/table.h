// The table of a proof: what was planted and found, what was clean and raised alarms, which intervals held
// the truth.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "base/format.h"
#include "report/table.h"

namespace espalier::prove {

// Rows of a table; the program's exit code says whether all limits were kept.
class Proofs {
 public:
  Proofs() : table_({"detector", "what", "counted", "of", "limit", ""}) {}

  void at_least(const std::string& detector, const std::string& what, int64_t counted, int64_t of,
                int64_t least) {
    add("found", detector, what, counted, of, cat("at least ", least), counted >= least);
  }
  void at_most(const std::string& detector, const std::string& what, int64_t counted, int64_t of,
               int64_t most) {
    add("alarms", detector, what, counted, of, cat("at most ", most), counted <= most);
  }
  void between(const std::string& detector, const std::string& what, int64_t counted, int64_t of,
               int64_t least, int64_t most) {
    add("coverage", detector, what, counted, of, cat(least, " to ", most),
        counted >= least && counted <= most);
  }

  // `rows`: lines of cells between tabs instead, for scripts/prove.
  int finish(bool rows) const {
    if (rows) {
      std::fputs(rows_.c_str(), stdout);
      return failed_ ? 1 : 0;
    }
    std::fputs(table_.text(Terminal::of(STDOUT_FILENO)).c_str(), stdout);
    std::fputs(failed_ ? "a limit was missed\n" : "all limits were kept\n", stdout);
    return failed_ ? 1 : 0;
  }

 private:
  void add(const char* kind, const std::string& detector, const std::string& what, int64_t counted,
           int64_t of, const std::string& limit, bool kept) {
    const char* const said = kept ? "kept" : "MISSED";
    table_.row({detector, what, counted, of, limit, said});
    rows_ += cat(kind, "\t", detector, "\t", counted, "\t", of, "\t", said, "\n");
    failed_ = failed_ || !kept;
    std::fputs(cat(detector, ": ", what, ": ", counted, " of ", of, "\n").c_str(), stderr);
  }
  Table table_;
  std::string rows_;
  bool failed_ = false;
};

// The exit code of a program that proves these: its table, or with --rows what scripts/prove reads.
inline int prove(int argc, char** argv, void (*run)(Proofs&)) {
  Proofs proofs;
  run(proofs);
  return proofs.finish(argc > 1 && std::string(argv[1]) == "--rows");
}

// In how many of so many seeds it holds.
inline int64_t seeds(int64_t count, const std::function<bool(uint64_t seed)>& holds) {
  int64_t out = 0;
  for (int64_t seed = 0; seed < count; ++seed) out += holds(static_cast<uint64_t>(seed));
  return out;
}

}  // namespace espalier::prove
