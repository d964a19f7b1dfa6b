// A training step beside other programs. First a busy process on each core: a step may take 2.5 times what it
// takes alone. Then processes that work for 2 ms and sleep for 20: while all sleep, no step is late by 1 ms.
// Rounds alone and beside take turns; figures are medians of the rounds. Prints a JSON line a part; exit 1
// when one misses its bound. usage: bench_neighbours [ROUNDS]
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "espalier/espalier.h"

using namespace espalier;

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRound = std::chrono::milliseconds(300), kSettle = std::chrono::milliseconds(20);
constexpr double kMostSlowdown = 2.5, kMostDelay = 1e-3;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One process on each core that this one may use, stopped at first.
class Neighbours {
 public:
  Neighbours() {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::exit(2);
    shared_ = new (memory) Shared;
    cpu_set_t mine;
    sched_getaffinity(0, sizeof mine, &mine);
    for (int cpu = 0; cpu < CPU_SETSIZE && processes_.size() < kMost; ++cpu) {
      if (!CPU_ISSET(cpu, &mine)) continue;
      const pid_t process = fork();
      if (process < 0) std::exit(2);
      if (process == 0) live(cpu, shared_->asleep_since[processes_.size()]);
      processes_.push_back(process);
    }
    stop();
  }
  ~Neighbours() {
    for (const pid_t process : processes_) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  size_t count() const { return processes_.size(); }
  void start(bool with_sleep) {
    shared_->with_sleep = with_sleep;
    tell(SIGCONT);
  }
  void stop() { tell(SIGSTOP); }
  // Since when all sleep; the end of time when one does not.
  Clock::time_point asleep_since() const {
    auto since = Clock::time_point::min();
    for (size_t i = 0; i < processes_.size(); ++i) since = std::max(since, shared_->asleep_since[i].load());
    return since;
  }

 private:
  static constexpr size_t kMost = 64;
  struct Shared {
    std::atomic<bool> with_sleep{false};
    std::atomic<Clock::time_point> asleep_since[kMost] = {};
  };

  [[noreturn]] void live(int cpu, std::atomic<Clock::time_point>& asleep_since) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof own, &own);
    for (;;) {
      asleep_since = Clock::time_point::max();
      for (const auto begin = Clock::now(); seconds_since(begin) < 2e-3;) {
      }
      if (!shared_->with_sleep) continue;
      asleep_since = Clock::now();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  void tell(int signal) {
    for (const pid_t process : processes_) kill(process, signal);
    std::this_thread::sleep_for(kSettle);
  }

  Shared* shared_ = nullptr;
  std::vector<pid_t> processes_;
};

// 784-128-10, Adam, batch 64.
class Training {
 public:
  Training()
      : x_(Generator(7).uniform({64, 784})), y_(argmax(slice(x_, {0, 0}, {64, 10}), 1)), step_(make_step()) {
    for (int i = 0; i < 200; ++i) step_(x_, y_);
  }
  void step() { step_(x_, y_); }
  // The mean of a round.
  double seconds_per_step() {
    const auto begin = Clock::now();
    int64_t steps = 0;
    for (; Clock::now() - begin < kRound; ++steps) step_(x_, y_);
    return seconds_since(begin) / static_cast<double>(steps);
  }

 private:
  using Step = TypedFunction<Tensor, 2>;
  static Step make_step() {
    Sequential model{Dense({.units = 128, .activation = "relu"}), Dense({.units = 10})};
    return function([model, optimizer = Optimizer(Adam{})](const Tensor& x, const Tensor& y) mutable {
      const TrainingScope training(true);
      GradientTape tape;
      const Tensor loss = mean(softmax_cross_entropy(model(x), y));
      const std::vector<Variable> weights = model.trainable_variables();
      optimizer.apply(tape.gradient(loss, weights), weights);
      return loss;
    });
  }
  Tensor x_, y_;
  Step step_;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: bench_neighbours [ROUNDS]\n");
    return 2;
  }
  // First of all: a program is forked while it has one thread.
  Neighbours neighbours;
  Training training;

  std::vector<double> alone, beside;
  for (int i = 0; i < rounds; ++i) {
    alone.push_back(training.seconds_per_step());
    neighbours.start(false);
    beside.push_back(training.seconds_per_step());
    neighbours.stop();
  }
  const double usual = median(alone), slowdown = median(beside) / usual;
  std::printf(
      "{\"bench\": \"neighbours\", \"part\": \"busy\", \"cores\": %zu, \"threads\": %d, "
      "\"alone_us\": %.1f, \"beside_us\": %.1f, \"slowdown\": %.2f, \"most\": %.1f}\n",
      neighbours.count(), threads(), usual * 1e6, median(beside) * 1e6, slowdown, kMostSlowdown);

  // By how much the latest step of a round is late: alone, which is what the machine itself does, and beside.
  std::vector<double> late_alone, late_beside;
  int64_t steps = 0;
  for (int i = 0; i < rounds; ++i) {
    double late = 0;
    for (const auto round = Clock::now(); Clock::now() - round < kRound;) {
      const auto begin = Clock::now();
      training.step();
      late = std::max(late, seconds_since(begin) - usual);
    }
    late_alone.push_back(late);
    late = 0;
    neighbours.start(true);
    for (const auto round = Clock::now(); Clock::now() - round < kRound;) {
      const auto begin = Clock::now();
      training.step();
      const auto end = Clock::now(), since = neighbours.asleep_since();
      if (since > end) continue;
      late = std::max(late, std::chrono::duration<double>(end - std::max(begin, since)).count() - usual);
      ++steps;
    }
    neighbours.stop();
    late_beside.push_back(late);
  }
  const double delay = median(late_beside) - median(late_alone);
  std::printf(
      "{\"bench\": \"neighbours\", \"part\": \"sleeping\", \"steps\": %lld, \"late_alone_us\": %.1f, "
      "\"late_beside_us\": %.1f, \"more_us\": %.1f, \"most\": %.1f}\n",
      static_cast<long long>(steps), median(late_alone) * 1e6, median(late_beside) * 1e6, delay * 1e6,
      kMostDelay * 1e6);
  return slowdown <= kMostSlowdown && steps > 0 && delay < kMostDelay ? 0 : 1;
}
