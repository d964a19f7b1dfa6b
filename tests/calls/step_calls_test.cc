// A training step, once it is planned, asks nothing of the heap and takes no lock.
#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>

#include <gtest/gtest.h>

#include "counted_calls.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

// Volatile, or the compiler would see through it.
void allocate() {
  void* volatile block = std::malloc(100);
  std::free(block);
}

// Counts from the end of the second step to that of the last, in each epoch; `planted` runs in every step.
class CountSteps final : public Callback {
 public:
  explicit CountSteps(std::function<void()> planted = [] {}) : planted_(std::move(planted)) {}
  void on_train_begin(const Run& run) override { run_ = run; }
  void on_batch_end(int64_t step, const Logs& logs) override {
    seen_ += logs.size();
    planted_();
    if (step == 2) counter_.emplace(total);
    if (step == run_.steps_per_epoch) counter_.reset();
  }
  CountedCalls total;
  size_t seen() const { return seen_; }

 private:
  std::function<void()> planted_;
  Run run_;
  size_t seen_ = 0;
  std::optional<CallCounter> counter_;
};

constexpr int kEpochs = 2, kSteps = 18, kCounted = kEpochs * (kSteps - 2);

// `kSteps` batches an epoch, the metrics, ConsoleProgress and BackupAndRestore on, which saves after those
// that are counted.
CountedCalls fit_counted(
    Sequential model, const Shape& example, int64_t batch, const std::function<void()>& planted = [] {}) {
  Generator random(3);
  Shape shape = example;
  shape.insert(0, kSteps * batch);
  const Tensor x = random.uniform(shape);
  const Tensor y = argmax(slice(reshape(x, {kSteps * batch, -1}), {0, 0}, {kSteps * batch, 10}), 1);
  model.compile({.optimizer = Adam{}, .metrics = {"accuracy"}});
  const auto counter = std::make_shared<CountSteps>(planted);
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const auto backup =
      BackupAndRestore({.path = testing::TempDir() + "/" + test + ".checkpoint", .save_freq = kSteps});
  model.fit(x, y,
            {.epochs = kEpochs, .batch_size = batch, .callbacks = {ConsoleProgress(), counter, backup}});
  EXPECT_EQ(counter->seen(), 2u * kEpochs * (1 + (kSteps - 1) / 8)) << "loss and accuracy reach callbacks";
  return counter->total;
}

Sequential mlp() { return Sequential{Dense({.units = 128, .activation = "relu"}), Dense({.units = 10})}; }
Sequential cnn() {
  return Sequential{Conv2D({.filters = 32, .activation = "relu"}),
                    MaxPooling2D(),
                    Conv2D({.filters = 64, .activation = "relu"}),
                    MaxPooling2D(),
                    Flatten(),
                    Dense({.units = 10})};
}

TEST(StepCalls, MlpThroughFitNeitherAllocatesNorLocks) {
  const CountedCalls calls = fit_counted(mlp(), {784}, 64);
  EXPECT_EQ(calls.allocations, 0) << calls.first_call();
  EXPECT_EQ(calls.locks, 0) << calls.first_call();
}

TEST(StepCalls, CnnThroughFitNeitherAllocatesNorLocks) {
  const CountedCalls calls = fit_counted(cnn(), {28, 28, 1}, 64);
  EXPECT_EQ(calls.allocations, 0) << calls.first_call();
  EXPECT_EQ(calls.locks, 0) << calls.first_call();
}

TEST(StepCalls, WhatIsPlantedInAStepIsCounted) {
  std::mutex mutex;
  const CountedCalls calls = fit_counted(mlp(), {20}, 8, [&] {
    const std::lock_guard hold(mutex);
    allocate();
  });
  EXPECT_EQ(calls.allocations, kCounted);
  EXPECT_EQ(calls.locks, kCounted);
}

TEST(StepCalls, EveryWayToTheHeapAndToALockIsCounted) {
  std::mutex mutex;
  std::shared_mutex shared;
  void* blocks[6] = {};
  CountedCalls calls;
  {
    const CallCounter counter(calls);
    blocks[0] = std::malloc(100);
    blocks[1] = std::calloc(10, 10);
    blocks[2] = std::realloc(nullptr, 100);
    blocks[3] = std::aligned_alloc(64, 128);
    if (posix_memalign(&blocks[4], 64, 100) != 0) blocks[4] = nullptr;
    blocks[5] = ::operator new(100);
    for (const bool attempt : {false, true}) {
      attempt ? static_cast<void>(mutex.try_lock()) : mutex.lock();
      mutex.unlock();
    }
    shared.lock();
    shared.unlock();
    shared.lock_shared();
    shared.unlock_shared();
  }
  EXPECT_EQ(calls.allocations, 6);
  EXPECT_EQ(calls.locks, 4);
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(blocks[i], nullptr);
    std::free(blocks[i]);
  }
  ::operator delete(blocks[5]);
}

TEST(StepCalls, OtherThreadsAreNotCounted) {
  CountedCalls calls;
  std::atomic<int> stage{0};
  std::thread other([&] {
    while (stage != 1) std::this_thread::yield();
    allocate();
    stage = 2;
  });
  {
    const CallCounter counter(calls);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  }
  other.join();
  EXPECT_EQ(calls.allocations, 0);
  {
    const CallCounter counter(calls);
    allocate();
  }
  EXPECT_EQ(calls.allocations, 1);
}

}  // namespace
}  // namespace espalier
