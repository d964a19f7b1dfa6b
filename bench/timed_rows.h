// Rows that are timed: each is made ready, checked, called in rounds, and printed as a JSON line or as a line
// of a table. For programs of bench/ that scripts/bench-before compiles in an older commit as well: it
// includes public headers alone.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "espalier/tensor.h"
#include "espalier/threads.h"

namespace timed_rows {

using espalier::Shape;
using espalier::Tensor;
using Clock = std::chrono::steady_clock;
inline double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// One row, made ready and checked.
struct TimedRow {
  std::function<void()> call;
  double calls = 1;            // what is timed happens so often in one of them
  std::string check;           // as JSON
  std::function<bool()> sane;  // whether results make sense after all the calls
  double bytes = 0;            // that a call reads and writes at least, where it is held against a copy
  bool donates = false;        // an argument is donated
};

inline void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

// Over words of the elements, as FNV-1a.
inline std::string hash_of(const Tensor& x) {
  const auto values = x.data<float>();
  uint64_t hash = 14695981039346656037ull;
  for (const float value : values) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    hash = (hash ^ word) * 1099511628211ull;
    hash ^= hash >> 32;  // whole numbers have no low bits
  }
  char text[24];
  std::snprintf(text, sizeof text, "\"%016llx\"", static_cast<unsigned long long>(hash));
  return text;
}
inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}
// Of sizes, so that nothing cancels out; what changes places changes the sum.
inline double weighted_sum(const Tensor& x) {
  double sum = 0;
  size_t i = 0;
  for (const float value : x.data<float>())
    sum += std::fabs(double{value}) * static_cast<double>(i++ % 7 + 1);
  return sum;
}
inline bool near(double got, double wanted) {
  return std::fabs(got - wanted) <= 1e-4 * (1 + std::fabs(wanted));
}

// Whole numbers below `limit`: sums of them are exact in any order.
inline Tensor whole_numbers(const Shape& shape, int limit, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(
      static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())));
  for (float& value : values) value = static_cast<float>(random() % static_cast<uint64_t>(limit));
  return Tensor::of(values, shape);
}

// What is timed.

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Bytes a second that all threads together read and write when each copies its share of 8 MiB.
inline double copy_speed() {
  constexpr size_t kFloats = size_t{2} << 20;
  constexpr int kTimes = 20;
  static const std::vector<float> from(kFloats, 1.0f);
  static std::vector<float> to(kFloats);
  const auto workers = static_cast<size_t>(espalier::threads());
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> copying;
    for (size_t worker = 0; worker < workers; ++worker) {
      copying.emplace_back([=] {
        const size_t at = kFloats * worker / workers, end = kFloats * (worker + 1) / workers;
        for (int i = 0; i < kTimes; ++i) {
          std::memcpy(&to[at], &from[at], (end - at) * sizeof(float));
          asm volatile("" ::: "memory");
        }
      });
    }
  }
  return 2.0 * sizeof(float) * kFloats * kTimes / since(begin);
}

struct Timed {
  double microseconds = 0, least = 0, most = 0;
  double of_copy = 0;  // share of the speed of a copy in the same round; 0: not held against one
};

inline double seconds_of(const TimedRow& row, int64_t times) {
  const auto begin = Clock::now();
  for (int64_t i = 0; i < times; ++i) row.call();
  return since(begin) / static_cast<double>(times);
}

// Rounds of about a twentieth of a second, after one that warms up.
inline Timed time_row(const TimedRow& row, int rounds) {
  constexpr double kRound = 0.05;
  const double once = std::max(1e-7, std::min(seconds_of(row, 1), seconds_of(row, 1)));
  const double warm = seconds_of(row, std::max<int64_t>(1, static_cast<int64_t>(kRound / once)));
  const int64_t times = std::max<int64_t>(1, static_cast<int64_t>(kRound / std::max(1e-7, warm)));
  std::vector<double> all, shares;
  for (int round = 0; round < rounds; ++round) {
    const double copied = row.bytes > 0 ? copy_speed() : 0;
    const double seconds = seconds_of(row, times);
    all.push_back(seconds * 1e6 / row.calls);
    if (row.bytes > 0) shares.push_back(row.bytes / seconds / copied);
  }
  return {median(all), std::ranges::min(all), std::ranges::max(all), shares.empty() ? 0 : median(shares)};
}

struct NamedRow {
  std::string_view name;
  TimedRow (*prepare)();
};

inline bool run_row(const NamedRow& named, const char* program, int rounds, bool as_table) {
  const char* const name = named.name.data();
  try {
    const TimedRow row = named.prepare();
    const Timed timed = time_row(row, rounds);
    require(row.sane(), "results are wrong after the calls that were timed");
    char share[48] = "";
    if (timed.of_copy > 0)
      std::snprintf(share, sizeof share, as_table ? "%.0f %% of a copy" : ", \"of_copy\": %.4f",
                    as_table ? 100 * timed.of_copy : timed.of_copy);
    if (as_table) {
      std::printf("%-20s  %12.2f  %12.2f  %12.2f  %-18s  %s%s\n", name, timed.microseconds, timed.least,
                  timed.most, row.check.c_str(), share, row.donates ? "donated" : "");
    } else {
      std::printf(
          "{\"row\": \"%s\", \"microseconds\": %.3f, \"least\": %.3f, \"most\": %.3f, \"check\": %s%s, "
          "\"donated\": %s, \"threads\": %d}\n",
          name, timed.microseconds, timed.least, timed.most, row.check.c_str(), share,
          row.donates ? "true" : "false", espalier::threads());
    }
    std::fflush(stdout);
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s: %s\n", program, name, error.what());
    return false;
  }
}

// The main function of a program of rows.
inline int time_rows(const char* program, std::span<const NamedRow> rows, int argc, char** argv) {
  const auto usage = [program] {
    std::fprintf(stderr, "usage: %s [ROW ...] [--rounds N] [--table|--json] [--list]\n", program);
    return 2;
  };
  std::vector<std::string_view> wanted;
  int rounds = 9;
  bool as_table = ::isatty(STDOUT_FILENO) == 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--list") {
      for (const NamedRow& row : rows) std::printf("%s\n", row.name.data());
      return 0;
    }
    if (word == "--table" || word == "--json") {
      as_table = word == "--table";
    } else if (word == "--rounds" && i + 1 < argc) {
      rounds = std::atoi(argv[++i]);
    } else if (std::ranges::any_of(rows, [&](const NamedRow& row) { return row.name == word; })) {
      wanted.push_back(word);
    } else {
      std::fprintf(stderr, "%s: no row \"%s\"; --list names them\n", program, argv[i]);
      return usage();
    }
  }
  if (rounds < 1) return usage();
  if (as_table) std::printf("%-20s  %12s  %12s  %12s  %-18s\n", "row", "us a call", "least", "most", "check");
  bool sane = true;
  for (const NamedRow& row : rows) {
    if (!wanted.empty() && std::ranges::find(wanted, row.name) == wanted.end()) continue;
    sane = run_row(row, program, rounds, as_table) && sane;
  }
  return sane ? 0 : 1;
}

}  // namespace timed_rows
