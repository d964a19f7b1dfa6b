// Training steps under a strategy, the models and batches of `espalier bench`, by Model::fit. Prints a JSON
// line on the first worker: examples, or tokens, a second; exit 1 when the loss did not fall.
//
// usage: bench_strategies [WORKLOAD STRATEGY [SECONDS]]
//   WORKLOAD  mlp, cnn, char_gpt
//   STRATEGY  one          one device of two threads
//             mirrored     two devices of one thread
//             multiworker  one thread in each process that `espalier launch` starts
//             overlapped   so, what a step of them waits for the sums of gradients
//             blocking     the same where each collective is done as it begins
//             narrow       overlapped, by gradients in bf16
//             overhead     what a step of two workers spends on others besides its gradients
//             call         how much longer a call of Strategy::run() takes than a step of fit, by two workers
//             device_overlapped, device_blocking, device_alone
//                          a step of workers with a device of ESPALIER_BENCH_PLUGIN each: as it is, where
//                          each collective is done as it begins, and where none does anything
#include <dirent.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "called_steps.h"
#include "cli/workload_models.h"
#include "comm/forwarding.h"
#include "espalier/devices.h"
#include "espalier/espalier.h"
#include "runtime/profile.h"
#include "step_overhead.h"
#include "strategy/rows.h"
#include "strategy/worker.h"

using namespace espalier;

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Workload {
  std::string_view name, unit;
  int64_t rows;    // of a batch
  int64_t amount;  // of the unit, in a step
  cli::WorkloadBatches (*batches)();
  Sequential (*model)();
  Adam optimizer = {};
};

cli::WorkloadBatches flat_images() { return cli::image_batches({784}); }
cli::WorkloadBatches square_images() { return cli::image_batches({28, 28, 1}); }
Sequential mlp() { return cli::mlp_model(); }
Sequential cnn() { return cli::cnn_model(); }
Sequential char_gpt() { return Sequential{cli::CharGptModel()}; }

constexpr int64_t kImages = cli::WorkloadBatches::kImages, kTexts = cli::CharGptModel::kRows,
                  kCharacters = kTexts * cli::CharGptModel::kContext;
const Workload kWorkloads[] = {
    {"mlp", "ex/s", kImages, kImages, flat_images, mlp},
    {"cnn", "ex/s", kImages, kImages, square_images, cnn},
    {"char_gpt", "tok/s", kTexts, kCharacters, cli::text_batches, char_gpt, cli::CharGptModel::kAdam},
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Ends the run after two rounds that warm up and kRounds that count.
class Rounds : public Callback {
 public:
  explicit Rounds(double seconds) : seconds_(seconds / kRounds) {}
  double seconds_per_step() const { return median(times_); }
  void on_train_begin(const Run&) override { begin_ = Clock::now(); }
  void on_batch_end(int64_t, const Logs&) override {
    ++steps_;
    const double passed = since(begin_);
    if (passed < seconds_) return;
    if (warm_ == kWarm)
      times_.push_back(passed / static_cast<double>(steps_));
    else
      ++warm_;
    if (times_.size() == kRounds) model().stop_training();
    steps_ = 0;
    begin_ = Clock::now();
  }

 private:
  static constexpr int kWarm = 2, kRounds = 5;
  double seconds_;
  Clock::time_point begin_;
  int64_t steps_ = 0;
  int warm_ = 0;
  std::vector<double> times_;
};

struct Trained {
  double seconds_per_step = 0, first_loss = 0, last_loss = 0;
  bool fell() const { return std::isfinite(last_loss) && last_loss < first_loss; }
};

// A model in training: batches are ready in memory, so that a step costs what its plan costs.
class Training {
 public:
  // On the first `rows` of each batch; 0: on all.
  explicit Training(const Workload& workload, int64_t rows = 0)
      : model_(workload.model()), batches_(Dataset::from_generator([all = workload.batches(), rows] {
          return [all, rows, at = size_t{0}]() mutable -> std::optional<Tensors> {
            const size_t i = at++ % all.x.size();
            return Tensors(rows ? rows_between(std::vector{all.x[i], all.y[i]}, 0, rows)
                                : std::vector{all.x[i], all.y[i]});
          };
        })) {
    model_.compile({.optimizer = workload.optimizer, .metrics = {}});
  }
  double loss() { return model_.evaluate(batches_.take(kSteps)).at("loss"); }
  // Seconds of a step.
  double fit(double seconds) {
    const auto rounds = std::make_shared<Rounds>(seconds);
    model_.fit(batches_, {.epochs = 1 << 30, .steps_per_epoch = kSteps, .callbacks = {rounds}});
    return rounds->seconds_per_step();
  }
  Trained run(double seconds) {
    Trained out{.first_loss = loss()};
    out.seconds_per_step = fit(seconds);
    out.last_loss = loss();
    return out;
  }
  // The steps of its plan.
  std::vector<StepProfile> profile(double seconds) {
    const Profiler profiler;
    fit(seconds);
    return profiler.steps();
  }

 private:
  static constexpr int kSteps = cli::WorkloadBatches::kCount;
  Sequential model_;
  Dataset batches_;
};

// Where a collective begins, or is waited for.
bool is_collective_step(const StepProfile& step) {
  return step.what.starts_with("all_") || step.what.starts_with("begin of all_");
}

// Microseconds of the steps of `plan` that `alone` has not, without collectives.
double added_steps_us(const std::vector<StepProfile>& plan, const std::vector<StepProfile>& alone) {
  std::multiset<std::string> known;
  for (const StepProfile& step : alone) known.insert(step.what);
  double seconds = 0;
  for (const StepProfile& step : plan) {
    if (const auto found = known.find(step.what); found != known.end())
      known.erase(found);
    else if (!is_collective_step(step))
      seconds += step.seconds / static_cast<double>(step.runs);
  }
  return seconds * 1e6;
}

// Seconds of processors that threads of this process have had, by their ids.
std::map<std::string, double> thread_times() {
  std::map<std::string, double> out;
  DIR* const folder = ::opendir("/proc/self/task");
  if (!folder) return out;
  while (const dirent* entry = ::readdir(folder)) {
    double nanoseconds = 0;
    if (std::ifstream(std::string("/proc/self/task/") + entry->d_name + "/schedstat") >> nanoseconds)
      out[entry->d_name] = nanoseconds * 1e-9;
  }
  ::closedir(folder);
  return out;
}

bool report(const Workload& workload, std::string_view strategy, const Trained& trained,
            const std::string& more = "") {
  std::printf(
      "{\"peer\": \"espalier\", \"workload\": \"%s\", \"strategy\": \"%s\", \"dtype\": \"f32\", \"value\": "
      "%.1f, "
      "\"unit\": \"%s\", \"first_loss\": %.6g, \"last_loss\": %.6g%s}\n",
      workload.name.data(), strategy.data(), static_cast<double>(workload.amount) / trained.seconds_per_step,
      workload.unit.data(), trained.first_loss, trained.last_loss, more.c_str());
  std::fflush(stdout);
  return trained.fell();
}

bool run_one(const Workload& workload, double seconds) {
  set_threads(2);
  const strategy::OneDevice device;
  const auto scope = device.scope();
  return report(workload, "one", Training(workload).run(seconds));
}

bool run_mirrored(const Workload& workload, double seconds) {
  set_threads(2);
  const strategy::Mirrored devices({.devices = 2});
  const auto scope = devices.scope();
  return report(workload, "mirrored", Training(workload).run(seconds));
}

// With the share of the time that the thread which tells the launcher of this process has worked.
bool run_multiworker(const Workload& workload, double seconds) {
  set_threads(1);
  const std::map<std::string, double> before = thread_times();
  const auto begin = Clock::now();
  const strategy::MultiWorkerMirrored workers;
  const auto scope = workers.scope();
  const Trained trained = Training(workload).run(seconds);
  double control = 0;
  for (const auto& [id, time] : thread_times()) {
    if (!before.contains(id)) control += time;
  }
  if (workers.worker() != 0) return trained.fell();
  char more[96];
  std::snprintf(more, sizeof more, ", \"workers\": %d, \"control_share\": %.6f", workers.workers(),
                control / since(begin));
  return report(workload, "multiworker", trained, more);
}

// Collectives that are done as they begin: what there would be without overlap.
class Blocking final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  uint64_t start(const Collective& what, std::byte* data, std::byte* out) override {
    run_collective(of_, what, data, out, RunContext::current().pool);
    return 0;
  }
  void done(uint64_t, ThreadPool&) override {}
};

// What each worker has is taken for the sum: what there would be without others.
class Alone final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  uint32_t any(uint32_t bits) override { return bits; }
  uint64_t start(const Collective&, std::byte*, std::byte*) override { return 0; }
  void done(uint64_t, ThreadPool&) override {}
};

enum class Meeting : uint8_t { kOverlapped, kBlocking, kAlone };

// Seconds of a step, of which the device's are not profiled.
bool run_on_device(const Workload& workload, double seconds, std::string_view name, Meeting meeting) {
  set_threads(1);
  const char* const plugin = std::getenv("ESPALIER_BENCH_PLUGIN");
  const std::shared_ptr<Worker> worker = Worker::from_environment();
  if (!worker || !plugin) {
    std::fprintf(
        stderr,
        "bench_strategies: %s is for workers that espalier launch starts, and ESPALIER_BENCH_PLUGIN\n",
        name.data());
    return false;
  }
  Blocking blocking(worker->communicator());
  Alone alone(worker->communicator());
  const DeviceScope there(plugin);
  const RunContext context({.threads = 1,
                            .device = RunContext::current().device,
                            .communicator = meeting == Meeting::kOverlapped ? &worker->communicator()
                                            : meeting == Meeting::kBlocking
                                                ? static_cast<Communicator*>(&blocking)
                                                : &alone});
  const RunScope in(context);
  const strategy::MultiWorkerMirrored workers(
      {.audit_steps = 0, .first_bucket = size_t{128} << 10, .bucket = size_t{512} << 10});
  const auto scope = workers.scope();
  Training training(workload);
  const double step = training.fit(seconds);
  if (worker->communicator().rank() == 0)
    std::printf(
        "{\"peer\": \"espalier\", \"workload\": \"%s\", \"strategy\": \"%s\", \"dtype\": \"f32\", "
        "\"value\": %.1f, \"unit\": \"us a step\"}\n",
        workload.name.data(), name.data(), step * 1e6);
  return true;
}
bool run_device_overlapped(const Workload& workload, double seconds) {
  return run_on_device(workload, seconds, "device_overlapped", Meeting::kOverlapped);
}
bool run_device_blocking(const Workload& workload, double seconds) {
  return run_on_device(workload, seconds, "device_blocking", Meeting::kBlocking);
}
bool run_device_alone(const Workload& workload, double seconds) {
  return run_on_device(workload, seconds, "device_alone", Meeting::kAlone);
}

// What a step waits for others, and does for them.
bool run_exposed(const Workload& workload, double seconds, std::string_view name, bool overlap,
                 std::string_view compress = "none") {
  set_threads(1);
  const std::shared_ptr<Worker> worker = Worker::from_environment();
  if (!worker) {
    std::fprintf(stderr, "bench_strategies: %s is for workers that espalier launch starts\n", name.data());
    return false;
  }
  Blocking blocking(worker->communicator());
  const RunContext context(
      {.threads = 1,
       .communicator = overlap ? &worker->communicator() : static_cast<Communicator*>(&blocking)});
  const RunScope in(context);
  // Messages small enough that these models have several, the last of them a small one.
  const strategy::MultiWorkerMirrored workers(
      {.first_bucket = size_t{128} << 10, .bucket = size_t{512} << 10, .compress = std::string(compress)});
  const auto scope = workers.scope();
  Training training(workload);
  const double before = training.loss();
  double exposed = 0, all = 0;
  int collectives = 0;
  for (const StepProfile& step : training.profile(seconds)) {
    const double each = step.seconds / static_cast<double>(step.runs);
    all += each;
    if (!is_collective_step(step)) continue;
    exposed += each;
    ++collectives;
  }
  const bool fell = training.loss() < before;
  if (worker->communicator().rank() == 0)
    std::printf(
        "{\"peer\": \"espalier\", \"workload\": \"%s\", \"strategy\": \"%s\", \"dtype\": \"f32\", "
        "\"value\": %.1f, \"unit\": \"us exposed\", \"step_us\": %.1f, \"collectives\": %d}\n",
        workload.name.data(), name.data(), exposed * 1e6, all * 1e6, collectives / 2);
  return fell;
}
bool run_overlapped(const Workload& workload, double seconds) {
  return run_exposed(workload, seconds, "overlapped", true);
}
bool run_blocking(const Workload& workload, double seconds) {
  return run_exposed(workload, seconds, "blocking", false);
}
bool run_narrow(const Workload& workload, double seconds) {
  return run_exposed(workload, seconds, "narrow", true, "bf16");
}

bool run_overhead(const Workload& workload, double seconds) {
  constexpr int kWorld = 2;
  return on_forked_ranks(kWorld, [&](MeteredCommunicator& ranks) {
    set_threads(1);
    const std::vector<StepProfile> alone = Training(workload, workload.rows / kWorld).profile(seconds / 3);
    const RunContext context({.threads = 1, .communicator = &ranks});
    const RunScope in(context);
    const strategy::MultiWorkerMirrored workers;
    const auto scope = workers.scope();
    Training training(workload);
    const Trained trained = training.run(seconds);
    ranks.begin();
    training.fit(seconds);
    const Overhead found = ranks.end();
    const double added_us = added_steps_us(training.profile(seconds / 3), alone);
    if (ranks.rank() != 0) return trained.fell();
    const double step_us = trained.seconds_per_step * 1e6;
    std::printf(
        "{\"peer\": \"espalier\", \"workload\": \"%s\", \"strategy\": \"overhead\", \"dtype\": \"f32\", "
        "\"value\": "
        "%.6f, \"unit\": \"of a step\", \"step_us\": %.3f, \"header_us\": %.3f, \"header_steps_us\": %.3f, "
        "\"votes\": %.2f, \"votes_us\": %.3f, \"recorder_us\": %.3f, \"stages\": %.2f, \"stages_us\": "
        "%.3f}\n",
        workload.name.data(), (found.all_us() + added_us) / step_us, step_us, found.header_us, added_us,
        found.votes, found.votes_us, found.recorder_us, found.stages, found.stages_us);
    return trained.fell();
  });
}

// A round of the one, and a round of the other, by turns: the median of what they differ by.
bool run_call(const Workload& workload, double seconds) {
  constexpr int kWorld = 2, kRounds = 9;
  return on_forked_ranks(kWorld, [&](MeteredCommunicator& ranks) {
    set_threads(1);
    const RunContext context({.threads = 1, .communicator = &ranks});
    const RunScope in(context);
    const strategy::MultiWorkerMirrored workers;
    const auto scope = workers.scope();
    Training training(workload);
    Sequential model = workload.model();
    const cli::WorkloadBatches batches = workload.batches();
    CalledSteps calls(model, workload.optimizer, workers, batches.x, batches.y);
    calls.run(2);
    const double first_loss = calls.loss();
    // As many as the first worker finds.
    const double each = seconds / (2 * kRounds), step = training.fit(each);
    const int count = static_cast<int>(
        strategy::broadcast(full({}, std::max(1.0, each / step), DType::kF64)).item<double>());
    std::vector<double> of_fit, of_calls, more;
    for (int round = 0; round < kRounds; ++round) {
      of_fit.push_back(training.fit(each));
      of_calls.push_back(calls.run(count));
      more.push_back(of_calls.back() - of_fit.back());
    }
    if (ranks.rank() == 0)
      std::printf(
          "{\"peer\": \"espalier\", \"workload\": \"%s\", \"strategy\": \"call\", \"dtype\": \"f32\", "
          "\"value\": %.3f, \"unit\": \"us more than a step of fit\", \"call_us\": %.3f, \"step_us\": "
          "%.3f}\n",
          workload.name.data(), median(more) * 1e6, median(of_calls) * 1e6, median(of_fit) * 1e6);
    return calls.loss() < first_loss;
  });
}

constexpr struct {
  std::string_view name;
  bool (*run)(const Workload&, double seconds);
} kStrategies[] = {{"overhead", run_overhead},  // forks before this process has threads, as the next
                   {"call", run_call},
                   {"one", run_one},
                   {"mirrored", run_mirrored},
                   {"multiworker", run_multiworker},
                   {"overlapped", run_overlapped},
                   {"blocking", run_blocking},
                   {"narrow", run_narrow},
                   {"device_overlapped", run_device_overlapped},
                   {"device_blocking", run_device_blocking},
                   {"device_alone", run_device_alone}};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "", under = argc > 2 ? argv[2] : "";
  const double seconds = argc > 3 ? std::atof(argv[3]) : argc > 1 ? 3 : 0.5;
  bool known = false, sane = true;
  for (const auto& strategy : kStrategies) {
    if (!under.empty() && strategy.name != under) continue;
    for (const Workload& workload : kWorkloads) {
      if (!wanted.empty() && workload.name != wanted) continue;
      known = true;
      set_seed(1);
      sane = strategy.run(workload, seconds) && sane;
    }
  }
  if (!known || !(seconds > 0)) {
    std::fprintf(stderr,
                 "usage: bench_strategies [mlp|cnn|char_gpt "
                 "one|mirrored|multiworker|overlapped|blocking|narrow|overhead|call|"
                 "device_overlapped|device_blocking|device_alone [SECONDS]]\n");
    return 2;
  }
  return sane ? 0 : 1;
}
