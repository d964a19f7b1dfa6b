#include "comm/board.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "comm/board_layout.h"
#include "comm/host.h"
#include "comm/local.h"
#include "comm/ranks_test.h"

namespace espalier {
namespace {

const Collective kNoted{Collective::Kind::kBarrier, "header", "", 1, 0, nullptr, 0};

TEST(Board, KeepsTheLastCollectives) {
  const auto ranks = local_communicators(2);
  const std::shared_ptr<Board> board = board_of(*ranks[0]);
  EXPECT_TRUE(board->records(1).empty());
  const int64_t begin = monotonic_ns();
  on_threads(ranks, [&](Communicator& rank, ThreadPool& pool) {
    for (int step = 0; step < 100; ++step) {
      rank.stage(Stage::kStep, step);
      run_collective(rank, kNoted, nullptr, nullptr, pool);
    }
    const std::string name(60, 'n');
    const Collective last{Collective::Kind::kAllReduce, name, "f32 sum of sums", 4, 0, fold_ranks<float>, 0};
    const uint64_t ticket = rank.start(last, nullptr, nullptr);
    if (rank.rank() == 0) rank.done(ticket, pool);
  });
  for (const int rank : {0, 1}) {
    const std::vector<CollectiveRecord> records = board->records(rank);
    ASSERT_EQ(records.size(), 64u);
    for (size_t i = 0; i < 63; ++i) {
      const CollectiveRecord& record = records[i];
      EXPECT_EQ(record.sequence, 37 + i);
      EXPECT_EQ(record.step, static_cast<int64_t>(37 + i));
      EXPECT_EQ(record.kind, "barrier");
      EXPECT_EQ(record.name, "header");
      EXPECT_GE(record.arrived_ns, begin);
      EXPECT_GE(record.done_ns, record.arrived_ns);
      EXPECT_LE(record.done_ns, monotonic_ns());
    }
    const CollectiveRecord& last = records.back();
    EXPECT_EQ(last.kind, "all_reduce");
    EXPECT_EQ(last.name, std::string(47, 'n'));
    EXPECT_EQ(last.type, "f32 sum of sums");
    EXPECT_EQ(last.done_ns != 0, rank == 0) << "rank 1 has begun it only";
    EXPECT_EQ(board->stage_of(rank).collectives, 101u);
  }
}

TEST(Board, ShowsStages) {
  const auto ranks = local_communicators(2);
  const auto board = board_of(*ranks[0]);
  EXPECT_EQ(board->stage_of(1).stage, Stage::kStart);
  const int64_t before = monotonic_ns();
  ranks[1]->stage(Stage::kSave, -3);
  const StageRecord record = board->stage_of(1);
  EXPECT_EQ(record.stage, Stage::kSave);
  EXPECT_EQ(record.number, -3);
  EXPECT_GE(record.since_ns, before);
  ranks[1]->stage(Stage::kStep, int64_t{1} << 50);
  EXPECT_EQ(board->stage_of(1).number, int64_t{1} << 50);
}

TEST(Board, ShowsWhoWaitsForOthers) {
  const auto ranks = local_communicators(2);
  const auto board = board_of(*ranks[0]);
  on_threads(ranks, [&](Communicator& rank, ThreadPool& pool) {
    rank.stage(Stage::kStep, 8);
    rank.any(0);
    if (rank.rank() == 1) {
      // The second collective; it may have slept in the first.
      while (board->stage_of(0).stage != Stage::kCollective || board->stage_of(0).number != 1)
        std::this_thread::yield();
      EXPECT_EQ(board->stage_of(1).stage, Stage::kStep);
    }
    run_collective(rank, kNoted, nullptr, nullptr, pool);
    EXPECT_EQ(board->stage_of(rank.rank()).stage, Stage::kStep);
    EXPECT_EQ(board->stage_of(rank.rank()).number, 8);
  });
}

TEST(Board, MeasuresWhoComesLate) {
  const auto ranks = local_communicators(3);
  const auto board = board_of(*ranks[0]);
  on_threads(ranks, [&](Communicator& rank, ThreadPool& pool) {
    for (int i = 0; i < 5; ++i) {
      run_collective(rank, kNoted, nullptr, nullptr, pool);
      if (rank.rank() == 1) {
        // The others are there by then, however late they are.
        const auto calls = static_cast<uint64_t>(2 * i + 2);
        EXPECT_TRUE(comes_true([&] {
          return board->stage_of(0).collectives == calls && board->stage_of(2).collectives == calls;
        }));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      run_collective(rank, kNoted, nullptr, nullptr, pool);
    }
  });
  const Lateness late = board->lateness_of(1);
  EXPECT_EQ(late.collectives, 10u);
  EXPECT_GE(late.last_ns, 15'000'000);
  EXPECT_GE(late.sum_ns, 75'000'000);
  for (const int rank : {0, 2}) EXPECT_LT(board->lateness_of(rank).last_ns, late.last_ns) << rank;
}

// Those who watch may read at any time.
TEST(Board, RecordsAreWholeWhileRanksGoOn) {
  const auto ranks = local_communicators(2);
  const auto board = board_of(*ranks[0]);
  std::atomic<bool> end{false};
  std::atomic<int> looks{0};
  std::thread watcher([&] {
    for (; !end; ++looks) {
      for (const CollectiveRecord& record : board->records(1)) {
        EXPECT_EQ(record.name, std::string(40, static_cast<char>('a' + record.sequence % 26)));
        EXPECT_EQ(record.count, record.sequence % 26);
      }
      board->stage_of(0);
      board->lateness_of(0);
    }
  });
  on_threads(ranks, [&](Communicator& rank, ThreadPool& pool) {
    for (uint64_t i = 0; i < 20'000; ++i) {
      const std::string name(40, static_cast<char>('a' + i % 26));
      const Collective what{Collective::Kind::kBarrier, name, "", 1, i % 26, nullptr, 0};
      run_collective(rank, what, nullptr, nullptr, pool);
    }
  });
  end = true;
  watcher.join();
  EXPECT_GT(looks, 0);
}

TEST(Board, TheFirstReasonCounts) {
  const auto ranks = local_communicators(1);
  const auto board = board_of(*ranks[0]);
  EXPECT_EQ(board->verdict(), "");
  board->abort(std::string(5000, 'x'));
  board->abort("second");
  EXPECT_EQ(board->verdict(), std::string(4095, 'x'));
}

// One that was ended in the middle of its abort().
TEST(Board, AReasonThatNeverComesIsNotWaitedFor) {
  const auto ranks = local_communicators(1);
  auto* host = dynamic_cast<HostCommunicator*>(ranks[0].get());
  ASSERT_NE(host, nullptr);
  host->layout().why_state = 1;
  host->board()->abort("second");
  EXPECT_EQ(error_of([&] { host->any(0); }), "comm.verdict: the run was given up");
}

}  // namespace
}  // namespace espalier
