// Launched programs whose ranks name data of their own.
#include <functional>
#include <map>

#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/espalier.h"

namespace espalier::cli {
namespace {

// The fourth has none, and the fifth ends first of the others.
constexpr int64_t kOwnRows[] = {7, 12, 5, 0, 3, 9, 1, 4};

// Row `number` of worker `worker`: f32[4].
Tensor row_of(int64_t worker, int64_t number) {
  std::vector<float> x;
  for (int64_t i = 0; i < 4; ++i)
    x.push_back(static_cast<float>((worker * 31 + number * 7 + i * 3) % 17) / 8);
  return Tensor::of(x);
}

// What the ledger sums up, by docs/distributed.md, of a row and its label.
uint64_t id_of_row(int64_t worker, int64_t number, int32_t label) {
  const std::vector<float> x = row_of(worker, number).to_vector<float>();
  uint64_t words[3] = {0, 0, static_cast<uint32_t>(label)};
  std::memcpy(words, x.data(), 4 * sizeof(float));
  uint64_t id = 0;
  for (const uint64_t word : words) {
    id = (id ^ word) * 0xd6e8feb86659fd93;
    id ^= id >> 32;
  }
  uint64_t h = id + 0x9e3779b97f4a7c15;
  for (int i = 0; i < 2; ++i) h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
  return h ^ h >> 32;
}

struct PrintRows final : Callback {
  bool chief_only() const override { return true; }
  bool wants_rows() const override { return true; }
  void on_epoch_rows(int epoch, int64_t rows, uint64_t ids) override {
    std::cout << cat("epoch ", epoch, ": ", rows, " rows, ", ids, "\n") << std::flush;
  }
};

std::string own_folder() { return std::getenv("OWN_DATA_FOLDER"); }

// Each worker has a file that no other one has.
Dataset own_file(const Strategy& workers) {
  const int64_t worker = workers.worker();
  std::vector<float> rows;
  for (int64_t number = 0; number < kOwnRows[worker]; ++number) {
    const std::vector<float> row = row_of(worker, number).to_vector<float>();
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const std::string path = cat(own_folder(), "/own-", worker, ".npy");
  save_npy(path, Tensor::of(rows, {kOwnRows[worker], 4}));
  return Dataset::from_files({path})
      .map([worker](const Tensor& x) -> Tensors {
        return {x, Tensor::scalar(static_cast<int32_t>(worker % 2))};
      })
      .batch(2);
}

void fit_on(const Strategy& workers, const Dataset& data) {
  const auto scope = workers.scope();
  set_seed(3);
  Sequential model{Dense({.units = 2})};
  model.compile({.optimizer = SGD{.learning_rate = 0.1}});
  model.fit(data, {.epochs = 2,
                   .callbacks = {std::make_shared<PrintRows>(),
                                 BackupAndRestore({.path = own_folder() + "/backup", .save_freq = 1}),
                                 LambdaCallback({.on_batch_end = [](int64_t, const Logs&) {
                                   std::cerr << "a step was made\n";
                                 }})}});
  const Tensor kernel = model.variables()[0].read();
  if (workers.worker() == 0)
    std::cout << cat("weights ", sha256_of({static_cast<const char*>(kernel.bytes()), kernel.type().bytes()}),
                     "\n")
              << std::flush;
}

// A loop on what a generator of its own gives each worker: worker 0 says which rows came, and what they add
// up to.
void loop_on(const Strategy& workers) {
  const auto scope = workers.scope();
  const auto add_up = function([](const Tensor& x, const Tensor&) {
    return strategy::all_reduce({reduce_sum(x, {0, 1})})[0];
  });
  DistributedDataset batches = workers.distribute_from_function([](const InputContext& context) {
    return Dataset::from_generator([worker = context.worker] {
             return [worker, number = int64_t{0}]() mutable -> std::optional<Tensors> {
               if (number == kOwnRows[worker]) return std::nullopt;
               const int64_t row = number++;
               return Tensors{row_of(worker, row), Tensor::scalar(static_cast<int32_t>(100 * worker + row))};
             };
           })
        .batch(2);
  });
  std::vector<int32_t> rows;
  double sum = 0;
  while (const auto batch = batches.next()) {
    const std::vector<int32_t> more = workers.gather(batch->at(1)).to_vector<int32_t>();
    rows.insert(rows.end(), more.begin(), more.end());
    sum += workers.run(add_up, *batch)[0].values[0].item<float>();
  }
  if (workers.worker() != 0) return;
  std::ranges::sort(rows);
  std::string text;
  for (const int32_t row : rows) text += cat(" ", row);
  std::cout << cat("loop", text, "\nloop sums up to ", sum, "\n") << std::flush;
}

const std::map<std::string, std::function<void()>> kOwn = {
    {"says so in fit and in a loop",
     [] {
       const strategy::MultiWorkerMirrored workers;
       fit_on(workers, Dataset::per_worker(own_file(workers)));
       loop_on(workers);
     }},
    {"says so",
     [] {
       const strategy::MultiWorkerMirrored workers;
       fit_on(workers, Dataset::per_worker(own_file(workers)));
     }},
    {"says nothing of its files",
     [] {
       const strategy::MultiWorkerMirrored workers;
       fit_on(workers, own_file(workers));
     }},
    {"says nothing of its generator",
     [] {
       const strategy::MultiWorkerMirrored workers;
       fit_on(workers, Dataset::from_generator([worker = workers.worker()] {
                         return [worker, row = worker]() mutable -> std::optional<Tensors> {
                           if (row >= 24) return std::nullopt;
                           row += 3;
                           return Tensors{row_of(0, row), Tensor::scalar<int32_t>(row % 2)};
                         };
                       }).batch(2));
     }},
    {"says nothing of what it captures", [] {
       const strategy::MultiWorkerMirrored workers;
       std::vector<int32_t> labels;
       for (int32_t i = 0; i < 24; ++i) labels.push_back(i % 5);
       fit_on(workers, Dataset::from_tensor_slices({random_normal({24, 4}, 1, 0), Tensor::of(labels)})
                           .filter([worker = workers.worker()](const Tensor&, const Tensor& y) {
                             return y.item<int32_t>() == worker;
                           })
                           .batch(2));
     }}};

TEST(LaunchOwnData, DISABLED_Program) {
  run_named_program([](const std::string& name) { kOwn.at(name)(); });
}

Outcome run_of(const std::string& folder, const std::string& program, const std::string& flags = "",
               int workers = 3) {
  return call_shell(
      cat("OWN_DATA_FOLDER=", folder, " ", launch_words(workers, flags, program_words(program))));
}

// The sum of the ledger, by its formula.
uint64_t ids_of(int64_t workers) {
  uint64_t ids = 0;
  for (int64_t worker = 0; worker < workers; ++worker)
    for (int64_t row = 0; row < kOwnRows[worker]; ++row)
      ids += id_of_row(worker, row, static_cast<int32_t>(worker % 2));
  return ids;
}

// The lines that worker 0 prints; those of gtest are left out.
std::string said_by_the_first(const Outcome& run) {
  std::string lines, line;
  for (std::istringstream in(run.output); std::getline(in, line);)
    if (line.starts_with("epoch ") || line.starts_with("weights ") || line.starts_with("loop "))
      lines += line + "\n";
  return lines;
}

TEST(LaunchOwnData, SlowEveryRowOfEveryWorkerIsInTheLedgerOverAKillToo) {
  const uint64_t ids = ids_of(3);
  const Outcome whole = run_of(fresh_folder("launch-own-data"), "says so");
  EXPECT_EQ(whole.code, 0) << whole.error;
  const std::string lines = said_by_the_first(whole);
  EXPECT_TRUE(lines.starts_with(cat("epoch 0: 24 rows, ", ids, "\nepoch 1: 24 rows, ", ids, "\nweights ")))
      << lines;
  // Of six steps an epoch, in the second one.
  const Outcome killed =
      run_of(fresh_folder("launch-own-data-killed"), "says so", "--chaos kill:1@step9 --restarts 1");
  EXPECT_EQ(killed.code, 0) << killed.error;
  EXPECT_NE(killed.error.find("ended by signal 9 in step 9"), std::string::npos) << killed.error;
  EXPECT_EQ(said_by_the_first(killed), lines);
}

// Files in fit, a generator in a loop, ends that are uneven, and a worker without any row.
void expect_each_row_once(int64_t workers) {
  SCOPED_TRACE(cat(workers, " workers"));
  int64_t rows = 0;
  double sum = 0;
  std::string loop = "loop";
  for (int64_t worker = 0; worker < workers; ++worker) {
    rows += kOwnRows[worker];
    for (int64_t row = 0; row < kOwnRows[worker]; ++row) {
      loop += cat(" ", 100 * worker + row);
      for (const float value : row_of(worker, row).to_vector<float>()) sum += value;
    }
  }
  std::string wanted;
  for (const int epoch : {0, 1}) wanted += cat("epoch ", epoch, ": ", rows, " rows, ", ids_of(workers), "\n");
  const Outcome run = run_of(fresh_folder(cat("launch-own-data-", workers)), "says so in fit and in a loop",
                             "", static_cast<int>(workers));
  EXPECT_EQ(run.code, 0) << run.error;
  const std::string lines = said_by_the_first(run);
  EXPECT_TRUE(lines.starts_with(wanted + "weights ")) << lines;
  EXPECT_TRUE(lines.ends_with(cat(loop, "\nloop sums up to ", sum, "\n"))) << lines;
}

TEST(LaunchOwnData, SlowFiveWorkersEndTogetherAndEachRowCountsOnce) { expect_each_row_once(5); }

TEST(LaunchOwnData, NightlyAnyNumberOfWorkersEndsTogether) {
  for (const int64_t workers : {1, 2, 3, 4, 8}) expect_each_row_once(workers);
}

// That no step is made, and why.
void expect_no_step(int workers, const std::string& program, const std::string& why) {
  SCOPED_TRACE(cat(program, ", ", workers));
  const Outcome run = run_of(fresh_folder("launch-own-data-unsaid"), program, "", workers);
  EXPECT_NE(run.code, 0);
  EXPECT_NE(run.error.find(why), std::string::npos) << run.error;
  EXPECT_EQ(run.error.find("a step was made"), std::string::npos) << run.error;
}

const char* const kOtherElement = "element 0 of the dataset of worker 1 is another one than that of worker 0";

TEST(LaunchOwnData, SlowWithoutSayingSoNoStepIsMade) {
  for (const char* program :
       {"says nothing of its files", "says nothing of its generator", "says nothing of what it captures"})
    expect_no_step(3, program, kOtherElement);
}

// Rank 3 has a file without rows.
TEST(LaunchOwnData, NightlyFiveWorkersThatDoNotSaySoMakeNoStep) {
  for (const char* program : {"says nothing of its generator", "says nothing of what it captures"})
    expect_no_step(5, program, kOtherElement);
  expect_no_step(5, "says nothing of its files", "from_files(1 files).map().batch(2) is empty");
}

}  // namespace
}  // namespace espalier::cli
