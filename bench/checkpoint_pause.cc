// How long a checkpoint holds up a run, as a share of a copy of the state: what the step behind it takes
// longer, which finds its variables shared; and what all steps take longer, since a thread writes beside
// them. Prints a JSON line; exit 1 when the checkpoint is not whole.
//
// usage: bench_checkpoint_pause [UNITS]    a layer of UNITS x UNITS, 4096 unless told
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "espalier/espalier.h"

using namespace espalier;

namespace {

constexpr int kEvery = 40, kSaves = 6;  // steps from one to the next, and how many

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Seconds of each step, with what comes behind it until the next.
std::vector<double> steps_of(int64_t units, const std::string& checkpoint) {
  set_seed(1);
  const Tensor x = Generator(3).uniform({8 * kEvery * kSaves, units}),
               y = slice(x, {0, 0}, {x.size(0), units});
  Sequential model{Dense({.units = units, .use_bias = false})};
  model.compile({.optimizer = Adam{.learning_rate = 1e-4}, .loss = MeanSquaredError(), .metrics = {}});
  std::vector<double> out;
  auto last = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<Callback>> callbacks;
  callbacks.push_back(LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
    out.push_back(seconds_since(last));
    last = std::chrono::steady_clock::now();
  }}));
  if (!checkpoint.empty())
    callbacks.push_back(
        BackupAndRestore({.path = checkpoint, .save_freq = kEvery, .delete_checkpoint = false}));
  model.fit(x, y, {.epochs = 1, .batch_size = 8, .shuffle = false, .callbacks = callbacks});
  return out;
}

double copy_of(size_t bytes) {
  std::vector<double> seconds;
  const std::vector<char> from(bytes, 1);
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto to = std::make_unique_for_overwrite<char[]>(bytes);  // new pages, as a snapshot has them
    std::memcpy(to.get(), from.data(), bytes);
    seconds.push_back(seconds_since(begin));
    if (to[bytes - 1] != 1) return 0;
  }
  return median(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t units = argc > 1 ? std::atoll(argv[1]) : 4096;
  if (units < 1) return 2;
  const std::string path = (std::filesystem::temp_directory_path() / "espalier-checkpoint-pause").string();
  std::filesystem::remove(path);
  const std::vector<double> quiet = steps_of(units, ""), saving = steps_of(units, path);
  // The first steps make plans. What comes behind step k is in the time of step k + 1.
  double held = 0;
  std::vector<double> behind;
  const double plain = median(std::vector<double>(quiet.begin() + kEvery, quiet.end()));
  for (size_t i = kEvery; i < saving.size(); ++i) {
    held += (saving[i] - plain) / (kSaves - 1);
    if (i % kEvery == 0) behind.push_back(saving[i] - plain);
  }
  const double pause = median(behind);
  const size_t state = 3 * sizeof(float) * static_cast<size_t>(units * units);
  const double copy = copy_of(state);
  const bool whole = std::filesystem::file_size(path) >= state;
  std::filesystem::remove(path);
  std::printf(
      "{\"bench\": \"checkpoint_pause\", \"state_mb\": %.1f, \"step_ms\": %.2f, \"pause_ms\": %.2f, "
      "\"all_steps_ms\": %.2f, \"copy_ms\": %.2f, \"pause_of_copy\": %.2f, \"whole\": %s}\n",
      static_cast<double>(state) / 1e6, plain * 1e3, pause * 1e3, held * 1e3, copy * 1e3, pause / copy,
      whole ? "true" : "false");
  return whole ? 0 : 1;
}
