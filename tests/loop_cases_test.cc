// Programs that a new user writes, in which each replica once had its own truth: what one device gives, or a
// sentence, is right on pools, devices of a plugin, workers, and workers that are launched.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/scratch_test.h"
#include "base/shortest.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/control.h"
#include "strategy/loops_test.h"

namespace espalier::cli {
namespace {

const char* const kSaysNothing = "";

// What a program gives, or raises, in a place.
struct CaseRun {
  std::string where;
  std::vector<float> numbers = {};
  std::string error = kSaysNothing;
};

CaseRun case_run(const std::string& where, const Loop& program, const Strategy& strategy) {
  CaseRun out{.where = where};
  try {
    out.numbers = program(strategy);
  } catch (const std::exception& error) {
    out.error = error.what();
  }
  return out;
}

// One process has one truth: pools and devices.
std::vector<CaseRun> in_one_process(const Loop& program) {
  std::vector<CaseRun> out;
  for (const int count : {2, 3})
    out.push_back(case_run(cat(count, " pools"), program, strategy::Mirrored({.devices = count})));
  if (pjrt::test_plugin().empty() || !pjrt::tests_have_cpu_devices(8)) return out;
  const DeviceScope device(pjrt::test_plugin());
  for (const int count : {2, 3})
    out.push_back(case_run(cat(count, " devices"), program, strategy::Mirrored({.devices = count})));
  return out;
}

std::vector<CaseRun> on_workers(const Loop& program, const strategy::MultiWorkerOptions& options = {}) {
  std::vector<CaseRun> out;
  for (const int world : {2, 3}) {
    std::vector<CaseRun> of_workers(static_cast<size_t>(world));
    const auto errors = errors_of_workers(
        world,
        [&](const Strategy& strategy) {
          of_workers[static_cast<size_t>(strategy.worker())].numbers = program(strategy);
        },
        "", {}, options);
    for (int i = 0; i < world; ++i) {
      CaseRun& run = out.emplace_back(std::move(of_workers[static_cast<size_t>(i)]));
      run.where = cat("worker ", i, " of ", world);
      run.error = errors[static_cast<size_t>(i)];
    }
  }
  return out;
}

// Within `bound` of the largest number.
void expect_numbers(const std::vector<CaseRun>& runs, const std::vector<float>& wanted, double bound) {
  ASSERT_FALSE(wanted.empty());
  float largest = 0;
  for (const float value : wanted) largest = std::max(largest, std::fabs(value));
  for (const CaseRun& run : runs) {
    SCOPED_TRACE(run.where);
    EXPECT_EQ(run.error, kSaysNothing);
    ASSERT_EQ(run.numbers.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_LE(std::fabs(run.numbers[i] - wanted[i]), bound * largest)
          << "number " << i << ": " << run.numbers[i] << ", not " << wanted[i];
  }
}

void expect_sentence(const std::vector<CaseRun>& runs, const std::vector<std::string>& parts) {
  for (const CaseRun& run : runs)
    for (const std::string& part : parts)
      EXPECT_NE(run.error.find(part), std::string::npos) << run.where << ": " << run.error;
}

void expect_as_alone(const Loop& program, double bound = 0) {
  const std::vector<float> wanted = program(strategy::OneDevice());
  expect_numbers(in_one_process(program), wanted, bound);
  expect_numbers(on_workers(program), wanted, bound);
}

PerReplica of_replicas(const Strategy& strategy, const std::function<Tensor(int)>& value) {
  PerReplica out;
  for (int i = 0; i < strategy.replicas_here(); ++i)
    out.values.push_back(value(strategy.first_replica() + i));
  return out;
}

std::vector<float> values_of(const std::vector<Variable>& variables) {
  std::vector<float> out;
  for (const Variable& variable : variables)
    for (const float value : numbers(variable.read())) out.push_back(value);
  return out;
}

Tensor rows_of_case(int64_t rows, int64_t columns) { return random_normal({rows, columns}, 1, 0); }
Tensor labels_of_case(const Tensor& x) { return convert(sum(x, 1) > 0, DType::kI32); }

// 1
std::vector<float> drops_in_run(const Strategy& strategy) {
  const auto scope = strategy.scope();
  set_seed(5);
  Dropout drop(0.5);
  const auto step = function(
      [&](const Tensor& rows) {
        const TrainingScope training(true);
        return drop(rows);
      },
      {.name = "step"});
  DistributedDataset batches = strategy.distribute(Dataset::from_tensor_slices({ones({24, 6})}).batch(12));
  std::vector<float> out;
  while (const auto batch = batches.next())
    for (const float value : numbers(strategy.gather(strategy.run(step, *batch)[0]))) out.push_back(value);
  return out;
}

// Two layers, whose weights are drawn, and an optimizer.
struct CaseModel {
  explicit CaseModel(double dropout = 0)
      : model{Dense({.units = 16, .activation = "relu"}), Dropout(dropout), Dense({.units = 2})} {}
  // Gives the sums of the losses.
  LossSums train(const Tensor& rows, const Tensor& labels, Tensor* outputs = nullptr) {
    const TrainingScope training(true);
    GradientTape tape;
    const Tensor out = model(rows);
    const LossSums sums = loss.sums(labels, out);
    const Tensor weight = strategy::all_reduce({sums.weight})[0];
    const auto weights = model.trainable_variables();
    optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / weight, weights)), weights);
    if (outputs) *outputs = out;
    return sums;
  }
  Sequential model;
  Optimizer optimizer = SGD{.learning_rate = 0.1, .momentum = 0.9};
  Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
};

// 2
std::vector<float> updates_a_metric_in_run(const Strategy& strategy) {
  const auto scope = strategy.scope();
  set_seed(5);
  const Tensor x = rows_of_case(250, 8);
  CaseModel trained(0.2);
  trained.model.predict(x);
  Metric accuracy("accuracy");
  const auto step = function(
      [&](const Tensor& rows, const Tensor& labels) -> std::vector<Tensor> {
        Tensor outputs;
        const LossSums sums = trained.train(rows, labels, &outputs);
        accuracy.update(labels, outputs);
        return {sums.sum, sums.weight};
      },
      {.name = "step"});
  std::vector<float> out;
  for (int epoch = 0; epoch < 2; ++epoch) {
    accuracy.reset();
    float loss = 0, rows = 0;
    DistributedDataset batches =
        strategy.distribute(Dataset::from_tensor_slices({x, labels_of_case(x)}).batch(64));
    while (const auto batch = batches.next()) {
      const std::vector<PerReplica> sums = strategy.run(step, *batch);
      loss += strategy.reduce(ReduceOp::kSum, sums[0]).item<float>();
      rows += strategy.reduce(ReduceOp::kSum, sums[1]).item<float>();
    }
    EXPECT_EQ(rows, 250);
    out.push_back(loss / rows);
    out.push_back(static_cast<float>(accuracy.result()));
  }
  return out;
}

// 3, the layer of the comment in layers.h.
struct CaseNoise : Layer {
  CaseNoise() : Layer("noise") {}
  void build(const TensorType& x) override {
    add_generator("noise");
    add_weight("w", {x.shape.back()}, initializer("ones"));
  }
  Tensor call(const Tensor& x) override { return (x + generator("noise").normal(x.shape())) * weight("w"); }
};
// Losses, of a row with the noise and another one without it: 0 where both have the same noise.
std::vector<float> draws_noise_in_fit(const Strategy& strategy, int logical_shards) {
  const auto scope = strategy.scope();
  set_seed(5);
  const Tensor x = zeros({2, 1}), y = Tensor::of<float>({1, -1}, {2, 1});
  Sequential model{CaseNoise()};
  model.compile({.optimizer = SGD{.learning_rate = 0},
                 .loss = Loss{.name = "signed",
                              .per_example = [](const Tensor& labels,
                                                const Tensor& outputs) { return sum(labels * outputs, 1); }},
                 .metrics = {},
                 .logical_shards = logical_shards});
  std::vector<float> out;
  for (const Logs& logs : model.fit(x, y, {.epochs = 4, .batch_size = 2, .shuffle = false}))
    out.push_back(static_cast<float>(logs.at("loss")));
  return out;
}

// 6
std::vector<float> sums_in_a_branch(const Strategy& strategy) {
  const auto scope = strategy.scope();
  const auto branch = function(
      [](const Tensor& x) {
        return cond(
            sum(x) > 0, [](const Tensor& a) { return strategy::all_reduce({a})[0]; },
            [](const Tensor& a) { return a; }, {x});
      },
      {.name = "branch"});
  const auto next = function([](const Tensor& x) { return strategy::all_reduce({x * 10})[0]; });
  const PerReplica x = of_replicas(strategy, [](int i) { return full({2}, i); });
  std::vector<float> out = numbers(strategy.run(branch, {x})[0].values[0]);
  for (const float value : numbers(strategy.run(next, {x})[0].values[0])) out.push_back(value);
  return out;
}

enum class Drift { kNone, kCapturedRate, kCapturedRank, kRateOfAVariable, kRateInTheMiddle };

// 7
std::vector<float> trains_by_its_own_rate(const Strategy& strategy, Drift drift) {
  const auto scope = strategy.scope();
  set_seed(1);
  const Tensor x = rows_of_case(64, 4);
  CaseModel trained;
  trained.model.predict(x);
  const double own = strategy.worker();
  if (drift == Drift::kCapturedRate)
    trained.optimizer = SGD{.learning_rate = 0.1 * (1 + own), .momentum = 0.9};
  Variable rate(Tensor::scalar(static_cast<float>(drift == Drift::kRateOfAVariable ? 1 + own : 1)),
                {.name = "rate"});
  const auto step = function(
      [&](const Tensor& rows, const Tensor& labels) {
        trained.train(rows * rate * (drift == Drift::kCapturedRank ? 1 + own : 1), labels);
      },
      {.name = "step"});
  DistributedDataset batches =
      strategy.distribute(Dataset::from_tensor_slices({x, labels_of_case(x)}).batch(64).repeat(20));
  for (int call = 1; const auto batch = batches.next(); ++call) {
    strategy.run(step, *batch);
    if (drift == Drift::kRateInTheMiddle && call == 6)
      trained.optimizer.learning_rate().assign(Tensor::scalar(static_cast<float>(0.1 * (1 + own))));
  }
  return values_of(trained.model.variables());
}

// 9
std::vector<float> shuffles_by_its_own_seed(const Strategy& strategy) {
  const auto scope = strategy.scope();
  set_seed(7 + static_cast<uint64_t>(strategy.worker()));
  DistributedDataset batches =
      strategy.distribute(Dataset::from_tensor_slices({arange(1000)}).shuffle(1000).batch(50));
  std::vector<float> out;
  while (const auto batch = batches.next())
    for (const float row : numbers(strategy.gather((*batch)[0]))) out.push_back(row);
  return out;
}

// 10
std::vector<float> begins_with_its_own_weights(const Strategy& strategy, double dropout) {
  const auto scope = strategy.scope();
  set_seed(7 + static_cast<uint64_t>(strategy.worker()));
  const Tensor x = rows_of_case(60, 4);
  CaseModel trained(dropout);
  trained.model.predict(x);
  const auto step = function([&](const Tensor& rows, const Tensor& labels) { trained.train(rows, labels); },
                             {.name = "step"});
  DistributedDataset batches =
      strategy.distribute(Dataset::from_tensor_slices({x, labels_of_case(x)}).batch(60).repeat(20));
  while (const auto batch = batches.next()) strategy.run(step, *batch);
  return values_of(trained.model.trainable_variables());
}

enum class Names { kGenerator, kFiles, kCaptured };

// Of 64 rows those of a worker.
Dataset data_of_its_own(const Strategy& strategy, Names how) {
  const int64_t worker = strategy.worker(), workers = strategy.workers();
  const Tensor x = rows_of_case(64, 4), y = convert(arange(64) >= 32, DType::kI32);
  if (how == Names::kGenerator)
    return Dataset::from_generator([=] {
      return [=, row = worker]() mutable -> std::optional<Tensors> {
        if (row >= 64) return std::nullopt;
        const int64_t now = std::exchange(row, row + workers);
        return Tensors{index(x, {now}), index(y, {now})};
      };
    });
  if (how == Names::kCaptured)
    return Dataset::from_tensor_slices({x, y, arange(64)})
        .filter([=](const Tensor&, const Tensor&, const Tensor& row) {
          return equal(remainder(row, static_cast<int32_t>(workers)), static_cast<int32_t>(worker));
        })
        .map([](const Tensor& a, const Tensor& b, const Tensor&) -> Tensors {
          return {a, b};
        });
  const std::string path = cat(fresh_folder(cat("loop-cases-", worker, "-of-", workers)), "/own.npy");
  save_npy(path, index(concatenate({x, reshape(convert(y, DType::kF32), {64, 1})}, 1),
                       {Slice{worker * 64 / workers, (worker + 1) * 64 / workers}}));
  return Dataset::from_files({path}).map([](const Tensor& row) -> Tensors {
    return {index(row, {Slice{0, 4}}), convert(index(row, {4}), DType::kI32)};
  });
}

struct CountSteps final : Callback {
  bool chief_only() const override { return false; }
  void on_batch_end(int64_t, const Logs&) override { ++steps; }
  static inline std::atomic<int> steps;
};
struct CountRows final : Callback {
  bool chief_only() const override { return false; }
  bool wants_rows() const override { return true; }
  void on_epoch_rows(int, int64_t rows, uint64_t ids) override {
    for (const uint64_t part :
         {static_cast<uint64_t>(rows), ids >> 48, ids >> 32 & 0xffff, ids >> 16 & 0xffff, ids & 0xffff})
      said.push_back(static_cast<float>(part));
  }
  std::vector<float> said;
};

// 11; the ledger of two epochs.
std::vector<float> fits_its_own_data(const Strategy& strategy, Names how, bool says_so) {
  const auto scope = strategy.scope();
  set_seed(1);
  const Dataset own = data_of_its_own(strategy, how).batch(8);
  Sequential model{Dense({.units = 4}), Dense({.units = 2})};
  model.compile({.optimizer = SGD{.learning_rate = 0.01}});
  const auto ledger = std::make_shared<CountRows>();
  model.fit(says_so ? Dataset::per_worker(own) : own,
            {.epochs = 2, .callbacks = {std::make_shared<CountSteps>(), ledger}});
  return ledger->said;
}

TEST(LoopCases, DropoutInRunIsOneDevices) { expect_as_alone(drops_in_run); }

TEST(LoopCases, AMetricInRunIsThatOfAllRows) { expect_as_alone(updates_a_metric_in_run, 2e-6); }

TEST(LoopCases, NoiseOfALayerInFitIsOneDevices) {
  for (const int logical_shards : {0, 2})
    expect_as_alone([&](const Strategy& strategy) { return draws_noise_in_fit(strategy, logical_shards); },
                    2e-6);
}

TEST(LoopCases, ACollectiveInABranchOfSomeIsRefused) {
  const std::vector<std::string> says{"strategy.control", "loop_cases_test.cc:", "all_reduce"};
  expect_sentence(in_one_process(sums_in_a_branch), says);
  expect_sentence(on_workers(sums_in_a_branch), says);
}

Loop by_drift(Drift drift) {
  return [drift](const Strategy& strategy) { return trains_by_its_own_rate(strategy, drift); };
}

// A process has one rate. Those of workers differ, and are named in the first call, or, where one was
// assigned behind call 6, by the next audit with what it has spoilt.
TEST(LoopCases, AVariableThatDriftsApartIsNamed) {
  const std::vector<float> wanted = by_drift(Drift::kNone)(strategy::OneDevice());
  const std::pair<Drift, std::vector<std::string>> cases[] = {
      {Drift::kCapturedRate,
       {"strategy.audit", "variable \"sgd/learning_rate\" of rank", "in run \"step\"", "it is 0.1 on rank 0",
        "0.2 on rank 1"}},
      {Drift::kCapturedRank,
       {"comm.mismatch", "in call 1 of Strategy::run() \"step\" is another program on rank 1 than on rank 0",
        "1.000000", "2.000000"}},
      {Drift::kRateOfAVariable,
       {"strategy.audit", "variable \"rate\" of rank", "in run \"step\"", "it is 1 on rank 0",
        "2 on rank 1"}},
      {Drift::kRateInTheMiddle,
       {"strategy.audit", "variable \"sequential/dense_1/bias\" of rank", "behind step 10"}}};
  for (const auto& [drift, says] : cases) {
    SCOPED_TRACE(static_cast<int>(drift));
    if (drift == Drift::kRateInTheMiddle) expect_numbers(in_one_process(by_drift(drift)), wanted, 4e-6);
    expect_sentence(on_workers(by_drift(drift), {.audit_steps = 5}), says);
  }
}

TEST(LoopCases, AShuffleGivesEachRowOnce) {
  expect_as_alone(shuffles_by_its_own_seed);
  std::vector<float> rows = shuffles_by_its_own_seed(strategy::OneDevice()), all(1000);
  std::ranges::sort(rows);
  std::iota(all.begin(), all.end(), 0.0f);
  EXPECT_EQ(rows, all);
}

Loop by_own_weights(double dropout) {
  return [dropout](const Strategy& strategy) { return begins_with_its_own_weights(strategy, dropout); };
}

// What the function assigns is worker 0's; a seed that it reads alone is named.
TEST(LoopCases, WeightsBeginAsThoseOfWorkerZero) {
  expect_as_alone(by_own_weights(0), 4e-6);
  expect_sentence(on_workers(by_own_weights(0.25)),
                  {"strategy.audit", "variable \"random/key\" of rank", "it is 7 on rank 0", "8 on rank 1"});
}

TEST(LoopCases, DataThatWorkersNameAreRefusedOrTheirOwn) {
  for (const Names how : {Names::kGenerator, Names::kFiles, Names::kCaptured}) {
    SCOPED_TRACE(static_cast<int>(how));
    const auto fits = [&](bool says_so) {
      return [=](const Strategy& strategy) { return fits_its_own_data(strategy, how, says_so); };
    };
    const std::vector<float> wanted = fits(false)(strategy::OneDevice());
    EXPECT_EQ(wanted.front(), 64);
    if (how == Names::kGenerator) expect_numbers(in_one_process(fits(true)), wanted, 0);
    expect_numbers(on_workers(fits(true)), wanted, 0);
    CountSteps::steps = 0;
    expect_sentence(on_workers(fits(false)),
                    {"strategy.data", "worker 1", "Dataset::per_worker(data)", "shard()", ".shards"});
    EXPECT_EQ(CountSteps::steps, 0);
  }
}

// What a program of its own runs, on the workers that launched it.
const std::map<std::string, Loop> kLaunched = {
    {"dropout", drops_in_run},
    {"metric", updates_a_metric_in_run},
    {"noise", [](const Strategy& strategy) { return draws_noise_in_fit(strategy, 0); }},
    {"branch", sums_in_a_branch},
    {"drift", by_drift(Drift::kCapturedRank)},
    {"shuffle", shuffles_by_its_own_seed},
    {"weights", by_own_weights(0)},
    {"own data", [](const Strategy& strategy) { return fits_its_own_data(strategy, Names::kFiles, true); }},
    {"own data unsaid",
     [](const Strategy& strategy) { return fits_its_own_data(strategy, Names::kFiles, false); }}};

TEST(LoopCases, DISABLED_Program) {
  run_named_program([](const std::string& name) {
    const strategy::MultiWorkerMirrored workers;
    const std::vector<float> found = kLaunched.at(name)(workers);
    std::string line = "found";
    for (const float number : found) line += cat(" ", shortest(number));
    if (workers.worker() == 0) std::cout << line + "\n" << std::flush;
  });
}

Outcome launched(int ranks, const std::string& name) {
  return call_shell(launch_words(ranks, "", program_words(name)));
}

void expect_as_alone_launched(const std::string& name, double bound) {
  const std::vector<float> wanted = kLaunched.at(name)(strategy::OneDevice());
  for (const int ranks : {2, 3}) {
    const Outcome run = launched(ranks, name);
    EXPECT_EQ(run.code, 0) << run.error;
    CaseRun found{cat(ranks, " launched workers"), {}, kSaysNothing};
    const size_t at = run.output.find("found");
    ASSERT_NE(at, std::string::npos) << run.output;
    std::istringstream in(run.output.substr(at + 5));
    for (std::string number; in >> number && number.find_first_not_of("0123456789.e+-") == number.npos;)
      found.numbers.push_back(std::stof(number));
    expect_numbers({found}, wanted, bound);
  }
}

void expect_sentence_launched(const std::string& name, const std::vector<std::string>& parts) {
  for (const int ranks : {2, 3}) {
    const Outcome run = launched(ranks, name);
    EXPECT_NE(run.code, 0);
    EXPECT_EQ(run.output.find("found"), std::string::npos) << run.output;
    for (const std::string& part : parts) EXPECT_NE(run.error.find(part), std::string::npos) << run.error;
  }
}

TEST(LoopCases, SlowDropoutInRunIsOneDevicesLaunched) { expect_as_alone_launched("dropout", 0); }
TEST(LoopCases, SlowAMetricInRunIsThatOfAllRowsLaunched) { expect_as_alone_launched("metric", 2e-6); }
TEST(LoopCases, SlowNoiseOfALayerInFitIsOneDevicesLaunched) { expect_as_alone_launched("noise", 2e-6); }
TEST(LoopCases, SlowACollectiveInABranchOfSomeIsRefusedLaunched) {
  expect_sentence_launched("branch", {"strategy.control", "all_reduce"});
}
TEST(LoopCases, SlowAVariableThatDriftsApartIsNamedLaunched) {
  expect_sentence_launched("drift", {"in call 1 of Strategy::run() \"step\" is another program on rank 1"});
}
TEST(LoopCases, SlowAShuffleGivesEachRowOnceLaunched) { expect_as_alone_launched("shuffle", 0); }
TEST(LoopCases, SlowWeightsBeginAsThoseOfWorkerZeroLaunched) { expect_as_alone_launched("weights", 4e-6); }
TEST(LoopCases, SlowDataThatWorkersNameAreRefusedOrTheirOwnLaunched) {
  expect_as_alone_launched("own data", 0);
  expect_sentence_launched("own data unsaid", {"strategy.data", "the dataset of worker 1 is another one"});
}

}  // namespace
}  // namespace espalier::cli
