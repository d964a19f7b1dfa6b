#include <atomic>
#include <optional>
#include <thread>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "base/thread_pool.h"
#include "data/dataset_pipelines_test.h"
#include "espalier/run_context.h"
#include "espalier/threads.h"

namespace espalier {
namespace {

Dataset dataset_prefetch_rows(int64_t count) { return Dataset::from_tensor_slices(counting({count})); }

TEST(DatasetPrefetch, AThousandIteratorsAreDroppedAnywhere) {
  const Dataset data =
      dataset_prefetch_rows(20).map([](const Tensor& x) { return x + 1; }).prefetch(3).batch(2).prefetch(2);
  for (size_t i = 0; i < 1000; ++i) {
    DatasetIterator iterator(data, 0);
    EXPECT_EQ(rest_of(iterator, i % 13).size(), std::min<size_t>(i % 13, 10));
  }
}

TEST(DatasetPrefetch, ErrorsComeWhereTheirElementWould) {
  for (int32_t bad = 0; bad < 6; ++bad) {
    const Dataset data = dataset_prefetch_rows(6)
                             .map([bad](const Tensor& x) {
                               if (x.item<int32_t>() == bad) throw ValueError("test.bad", "bad");
                               return x;
                             })
                             .prefetch(4);
    DatasetIterator iterator(data, 0);
    for (int32_t i = 0; i < bad; ++i) EXPECT_EQ(iterator.next()->at(0).item<int32_t>(), i);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(rule_of([&] { iterator.next(); }), "test.bad");
  }
}

TEST(DatasetPrefetch, MakesAtMostItsCountAhead) {
  std::atomic<int> made{0};
  const Dataset data = dataset_prefetch_rows(100)
                           .map([&](const Tensor& x) {
                             ++made;
                             return x;
                           })
                           .prefetch(3);
  DatasetIterator iterator(data, 0);
  EXPECT_EQ(made, 0) << "nothing before it is asked";
  iterator.next();
  // One was given, three wait, and one is held by the thread that found no place for it.
  EXPECT_TRUE(comes_true([&] { return made == 5; })) << made;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(made, 5);
}

// Elements that hold the id of the context they were made in.
Dataset contexts_of_elements() {
  return dataset_prefetch_rows(20)
      .map([](const Tensor&) { return Tensor::scalar(static_cast<int64_t>(RunContext::current().id)); })
      .prefetch(1);
}

TEST(DatasetPrefetch, AnIteratorOutlivesTheContextOfItsFirstCall) {
  for (const Dataset& data : {contexts_of_elements(), contexts_of_elements().prefetch(2)}) {
    SCOPED_TRACE(cat(data));
    DatasetIterator iterator(data, 0), dropped(data, 0);
    std::optional<RunContext> context(std::in_place);
    const auto first = static_cast<int64_t>(context->id);
    {
      const RunScope scope(*context);
      dropped.next();
      EXPECT_EQ(iterator.next()->at(0).item<int64_t>(), first);
    }
    context.reset();
    int64_t last = 0;
    for (int i = 1; i < 20; ++i) last = iterator.next()->at(0).item<int64_t>();
    EXPECT_EQ(last, static_cast<int64_t>(RunContext::current().id));
    EXPECT_FALSE(iterator.next());
  }
}

TEST(DatasetPrefetch, AContextEndsBetweenElements) {
  std::atomic<bool> begun{false}, ends{false}, ended{false};
  const Dataset data = dataset_prefetch_rows(20)
                           .map([&](const Tensor& x) {
                             if (x.item<int32_t>() != 1) return x;
                             begun = true;
                             EXPECT_TRUE(comes_true([&] { return ends.load(); }));
                             std::this_thread::sleep_for(std::chrono::milliseconds(20));
                             EXPECT_FALSE(ended);
                             return x;
                           })
                           .prefetch(1);
  DatasetIterator iterator(data, 0);
  {
    const RunContext context;
    const RunScope scope(context);
    iterator.next();
    EXPECT_TRUE(comes_true([&] { return begun.load(); }));
    ends = true;
  }
  ended = true;
  for (int32_t i = 1; i < 20; ++i) EXPECT_EQ(iterator.next()->at(0).item<int32_t>(), i);
}

// A map waits in the midst of its work until two threads meet in a job of the caller.
TEST(DatasetPrefetch, TheThreadsOfCallsServeTheCallerWhileAMapWorks) {
  const int threads_before = threads();
  set_threads(2);
  for (const int calls : {1, 3}) {
    std::atomic<bool> working{false}, met{false};
    const Dataset data = dataset_prefetch_rows(12)
                             .map(
                                 [&](const Tensor& x) {
                                   if (x.item<int32_t>() < 3) return x;
                                   thread_pool().parallel_for(2, [&](int64_t) {
                                     working = true;
                                     EXPECT_TRUE(comes_true([&] { return met.load(); }));
                                   });
                                   return x;
                                 },
                                 {.num_parallel_calls = calls})
                             .prefetch(12);
    DatasetIterator iterator(data, 0);
    iterator.next();
    EXPECT_TRUE(comes_true([&] { return working.load(); }));
    std::atomic<int> here{0}, together{0};
    thread_pool().parallel_for(2, [&](int64_t) {
      ++here;
      if (comes_true([&] { return here == 2; })) ++together;
    });
    met = true;
    EXPECT_EQ(together, 2) << calls;
    EXPECT_EQ(rest_of(iterator).size(), 11u);
  }
  set_threads(threads_before);
}

TEST(DatasetPrefetch, RunsBesideItsCaller) {
  std::atomic<std::thread::id> maker;
  const Dataset data = dataset_prefetch_rows(2)
                           .map([&](const Tensor& x) {
                             maker = std::this_thread::get_id();
                             return x;
                           })
                           .prefetch(1);
  DatasetIterator iterator(data, 0);
  iterator.next();
  EXPECT_NE(maker.load(), std::this_thread::get_id());
}

}  // namespace
}  // namespace espalier
