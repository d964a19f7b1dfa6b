// `espalier predict` of one row from a cold start: a process each, of a model of 14 columns. Prints a JSON
// line with the median and the longest of 41 runs in milliseconds; exit 1 when a prediction is none of the
// classes or two runs differ. usage: bench_cold_start [ESPALIER], by default the command beside this program
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "base/env.h"
#include "base/format.h"
#include "base/philox.h"

using namespace espalier;

namespace {

constexpr int kRuns = 41, kNumbers = 6, kCategories = 8;

std::string table_of(int rows, uint64_t seed, bool label) {
  Philox random(seed);
  std::string text;
  for (int c = 0; c < kNumbers + kCategories; ++c) text += cat(c ? ",c" : "c", c);
  text += label ? ",kind\n" : "\n";
  for (int row = 0; row < rows; ++row) {
    const auto first = random.below(100);
    for (int c = 0; c < kNumbers; ++c) text += cat(c ? "," : "", c ? random.below(10000) : first);
    for (int c = 0; c < kCategories; ++c) text += cat(",word ", random.below(12));
    text += label ? (first < 40 ? ",rose\n" : ",iris\n") : "\n";
  }
  return text;
}

// Seconds until the command has ended, its standard output in `out`.
double run(std::vector<std::string> words, const std::string& out) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  int status = 1;
  if (posix_spawn(&child, words[0].c_str(), &files, nullptr, arguments.data(), environ) == 0)
    waitpid(child, &status, 0);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  posix_spawn_file_actions_destroy(&files);
  if (status != 0) throw std::runtime_error(cat(words[0], " ", words[1], " failed"));
  return taken.count();
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const std::string command =
      argc > 1 ? argv[1] : (fs::read_symlink("/proc/self/exe").parent_path() / "espalier").string();
  const std::string folder = (fs::temp_directory_path() / cat("bench-cold-", ::getpid())).string();
  fs::create_directories(folder);
  std::vector<double> milliseconds;
  std::string said;
  try {
    posix_env().write_file(folder + "/train.csv", table_of(2000, 1, true));
    posix_env().write_file(folder + "/row.csv", table_of(1, 2, false));
    run({command, "train", "--data", folder + "/train.csv", "--label", "kind", "--model", folder + "/model"},
        folder + "/out");
    for (int i = 0; i < kRuns; ++i) {
      milliseconds.push_back(
          1e3 * run({command, "predict", folder + "/model", folder + "/row.csv"}, folder + "/out"));
      const std::string now = posix_env().read_file(folder + "/out");
      if (now.find("rose") == now.npos && now.find("iris") == now.npos)
        throw std::runtime_error("a prediction is no class:\n" + now);
      if (!said.empty() && now != said) throw std::runtime_error("two runs say otherwise");
      said = now;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_cold_start: %s\n", error.what());
    fs::remove_all(folder);
    return 1;
  }
  fs::remove_all(folder);
  std::ranges::sort(milliseconds);
  std::printf("{\"bench\": \"cold_start\", \"runs\": %d, \"median_ms\": %.1f, \"worst_ms\": %.1f}\n", kRuns,
              milliseconds[kRuns / 2], milliseconds.back());
  return 0;
}
