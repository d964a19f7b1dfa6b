// Statistics of a table of numbers, ids and categories, in megabytes a second of the wall, on 1 thread and on
// all. Prints a JSON line for each; exit 1 when counts are wrong. usage: bench_statistics [FILE | MEGABYTES],
// or bench_statistics --write FILE MEGABYTES, which writes such a table and prints how many rows it has.
#include "validate/statistics.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/format.h"
#include "espalier/threads.h"

using namespace espalier;

namespace {

// Nine columns of doubles that hardly repeat, four of ids, five of categories with a long tail.
int64_t write_table(const std::string& path, size_t bytes) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 1);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) {
    std::fprintf(stderr, "bench_statistics: cannot write %s\n", path.c_str());
    std::exit(2);
  }
  // As cp and downloads write: a system keeps what comes in small parts in small pages, which reads slowly.
  // glibc takes the size with a buffer alone.
  std::vector<char> part(size_t{1} << 20);
  std::setvbuf(file, part.data(), _IOFBF, part.size());
  std::string row = "d0";
  for (int i = 1; i < 18; ++i) row += cat(",", i < 9 ? "d" : i < 13 ? "id" : "k", i);
  row += '\n';
  int64_t rows = 0;
  for (size_t written = 0; written < bytes; ++rows) {
    written += std::fwrite(row.data(), 1, row.size(), file);
    row.clear();
    for (int i = 0; i < 9; ++i) {
      char cell[40];
      std::snprintf(cell, sizeof cell, "%.12g,", normal(random) * 1000);
      row += cell;
    }
    for (int i = 0; i < 4; ++i) {
      char cell[40];
      std::snprintf(cell, sizeof cell, "%016llx,", static_cast<unsigned long long>(random()));
      row += cell;
    }
    for (int i = 0; i < 5; ++i) {
      const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
      row += cat("kind", static_cast<int64_t>(std::exp(uniform * 11)), i < 4 ? "," : "\n");
    }
  }
  std::fclose(file);
  return rows - 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--write") {
    const int64_t rows = write_table(argv[2], std::strtoull(argv[3], nullptr, 10) * 1'000'000);
    std::printf("{\"rows\": %lld}\n", static_cast<long long>(rows));
    return 0;
  }
  const std::string argument = argc > 1 ? argv[1] : "64";
  const bool given = std::filesystem::exists(argument);
  const uint64_t megabytes = std::strtoull(argument.c_str(), nullptr, 10);
  if (argc > 2 || (!given && megabytes == 0)) {
    std::fprintf(stderr, "usage: bench_statistics [FILE | MEGABYTES] or --write FILE MEGABYTES\n");
    return 2;
  }
  const std::string path =
      given ? argument
            : (std::filesystem::temp_directory_path() / cat("espalier-bench-", ::rand(), ".csv")).string();
  const int64_t rows = given ? -1 : write_table(path, megabytes << 20);
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  const int all = threads();
  bool right = true;
  for (const int count : {1, all}) {
    set_threads(count);
    const double begin = posix_env().steady_seconds();
    const TableStatistics statistics = statistics_of_tables({{path, path}}, {});
    const double seconds = posix_env().steady_seconds() - begin;
    right = right && (given || static_cast<int64_t>(statistics.rows()) == rows);
    std::printf("{\"threads\": %d, \"rows\": %llu, \"megabytes_per_second\": %.1f}\n", count,
                static_cast<unsigned long long>(statistics.rows()), bytes / 1e6 / seconds);
  }
  if (!given) std::filesystem::remove(path);
  return right ? 0 : 1;
}
