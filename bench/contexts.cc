// Two models that train at once, each in a context with one thread of its own, beside each alone. Prints a
// JSON line a model; exit 1 when one has less than 0.9 of its own speed alone. Needs two cores that nobody
// else uses. usage: bench_contexts [SECONDS]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "espalier/model.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "espalier/run_context.h"

using namespace espalier;

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLeast = 0.9;
constexpr int kRounds = 3;

// Steps a second of a model in a context of its own, from when all `models` of the round are ready until one
// has had its seconds.
double rate(uint64_t seed, double seconds, std::atomic<int>& ready, int models, std::atomic<bool>& done) {
  const RunContext context({.threads = 1, .seed = seed});
  const RunScope scope(context);
  const Tensor x = Generator(seed).normal({128, 256}), y = Generator(seed).integers({128}, 0, 10);
  Sequential model{Dense({.units = 256, .activation = "relu"}), Dropout(0.5), Dense({.units = 10})};
  model.compile({.optimizer = Adam{}});
  for (int i = 0; i < 5; ++i) model.train_on_batch(x, y);
  ++ready;
  while (ready < models) std::this_thread::yield();
  const auto begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  int64_t steps = 0;
  for (; !done && passed() < seconds; ++steps) model.train_on_batch(x, y);
  done = true;
  return static_cast<double>(steps) / passed();
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  double alone[2] = {}, together[2] = {};
  // In turns, and the best of them: a neighbour would have to last.
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < 2; ++i) {
      std::atomic<int> ready{0};
      std::atomic<bool> done{false};
      alone[i] = std::max(alone[i], rate(i + 1, seconds, ready, 1, done));
    }
    std::atomic<int> ready{0};
    std::atomic<bool> done{false};
    double now[2];
    std::thread other([&] { now[1] = rate(2, seconds, ready, 2, done); });
    now[0] = rate(1, seconds, ready, 2, done);
    other.join();
    for (size_t i = 0; i < 2; ++i) together[i] = std::max(together[i], now[i]);
  }
  bool good = true;
  for (size_t i = 0; i < 2; ++i) {
    const double ratio = together[i] / alone[i];
    std::printf(
        "{\"bench\": \"contexts\", \"model\": %zu, \"steps_alone\": %.0f, \"steps_together\": %.0f, "
        "\"ratio\": %.3f}\n",
        i, alone[i], together[i], ratio);
    good = good && ratio >= kLeast;
  }
  return good ? 0 : 1;
}
