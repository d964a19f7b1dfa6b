#include "comm/wire_communicator.h"

#include <deque>
#include <future>
#include <numeric>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "comm/ranks_test.h"
#include "comm/wired_ranks_test.h"

namespace espalier {
namespace {

const std::vector<std::vector<int>> kHosts = {{1},    {3},       {1, 1}, {1, 1, 1},
                                              {2, 2}, {3, 1, 2}, {1, 4}, {2, 2, 2, 2}};
constexpr size_t kWiredCounts[] = {0, 1, 3, 17, 256, 511, 512, 513, 5000, 16385};

TEST(WiredRanks, OfOneRankAHostGiveWhatOneLoopGives) {
  for (const int world : {2, 3, 5}) {
    WiredRanks wired(std::vector<int>(static_cast<size_t>(world), 1));
    on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
      uint64_t round = 0;
      for (const size_t count : kWiredCounts) run_cases(ranks, pool, count, round += 2, count % 2 == 0);
    });
  }
}

void add_integers(std::byte* to, const std::byte* const* from, int ranks, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += reinterpret_cast<const uint64_t*>(from[rank])[i];
    reinterpret_cast<uint64_t*>(to)[i] = sum;
  }
}

// Element i of rank r, and what all add up to.
uint64_t value_of(int rank, size_t i, uint64_t round) {
  return (static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15 * (i + 3) + round;
}

void run_integers(Communicator& ranks, ThreadPool& pool, size_t part, uint64_t round) {
  const auto world = static_cast<size_t>(ranks.world());
  const size_t count = part * world;
  const auto bytes = [](std::vector<uint64_t>& of) { return reinterpret_cast<std::byte*>(of.data()); };
  std::vector<uint64_t> sums(count);
  for (size_t i = 0; i < count; ++i) {
    for (int rank = 0; rank < ranks.world(); ++rank) sums[i] += value_of(rank, i, round);
  }
  const auto mine = [&](size_t many) {
    const std::shared_ptr<std::byte[]> out = ranks.allocate(std::max<size_t>(many, 1) * 8);
    for (size_t i = 0; i < many; ++i)
      reinterpret_cast<uint64_t*>(out.get())[i] = value_of(ranks.rank(), i, round);
    return out;
  };
  using Kind = Collective::Kind;
  {
    const auto data = mine(count);
    run_collective(ranks, {Kind::kAllReduce, "sums", "u64", 8, count, add_integers}, data.get(), nullptr,
                   pool);
    EXPECT_TRUE(std::equal(sums.begin(), sums.end(), reinterpret_cast<const uint64_t*>(data.get())))
        << "all_reduce of " << count;
  }
  {
    const auto data = mine(count);
    std::vector<uint64_t> out(part);
    run_collective(ranks, {Kind::kReduceScatter, "parts", "u64", 8, count, add_integers}, data.get(),
                   bytes(out), pool);
    EXPECT_TRUE(
        std::equal(out.begin(), out.end(), sums.begin() + static_cast<ptrdiff_t>(part) * ranks.rank()))
        << "reduce_scatter of " << count;
  }
  {
    const auto data = mine(part);
    std::vector<uint64_t> out(count), wanted;
    for (int rank = 0; rank < ranks.world(); ++rank) {
      for (size_t i = 0; i < part; ++i) wanted.push_back(value_of(rank, i, round));
    }
    run_collective(ranks, {Kind::kAllGather, "all", "u64", 8, part}, data.get(), bytes(out), pool);
    EXPECT_EQ(out, wanted) << "all_gather of " << part;
  }
  const auto root = static_cast<int>(round % world);
  std::vector<uint64_t> out(count), wanted(count);
  for (size_t i = 0; i < count; ++i) wanted[i] = value_of(root, i, round);
  const auto data = mine(count);
  run_collective(ranks, {Kind::kBroadcast, "root's", "u64", 8, count, nullptr, root},
                 ranks.rank() == root ? data.get() : nullptr, ranks.rank() == root ? nullptr : bytes(out),
                 pool);
  if (ranks.rank() != root) {
    EXPECT_EQ(out, wanted) << "broadcast of " << count;
  }
  run_collective(ranks, {Kind::kBarrier, "here", ""}, nullptr, nullptr, pool);
  EXPECT_EQ(ranks.any(1u << ranks.rank()), (1u << world) - 1);
}

// Parts of hosts of two and three pieces, the last of which are short.
TEST(WiredRanks, LongSumsTravelInPieces) {
  for (const auto& hosts : std::vector<std::vector<int>>{{1, 1}, {2, 1}}) {
    WiredRanks wired(hosts);
    on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
      uint64_t round = 0;
      for (const size_t part : {size_t{131'073}, size_t{270'001}}) run_integers(ranks, pool, part, ++round);
    });
  }
}

TEST(WiredRanks, OfSeveralRanksAHostGiveWhatOneLoopGives) {
  for (const auto& hosts : kHosts) {
    SCOPED_TRACE(testing::PrintToString(hosts));
    WiredRanks wired(hosts);
    on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
      uint64_t round = 0;
      for (const size_t part : {0, 1, 7, 40, 129, 5000}) run_integers(ranks, pool, part, ++round);
    });
  }
}

TEST(WiredRanks, ManyBeginBeforeTheFirstIsDone) {
  for (const auto& hosts : {std::vector<int>{1, 1, 1}, std::vector<int>{2, 3}}) {
    WiredRanks wired(hosts);
    on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
      for (const size_t many : {size_t{3}, size_t{70}, size_t{200}}) {
        std::vector<std::shared_ptr<std::byte[]>> data;
        std::vector<uint64_t> tickets;
        for (size_t i = 0; i < many; ++i) {
          const size_t count = i % 3 ? 10 : 1500;
          data.push_back(ranks.allocate(8 * count));
          for (size_t k = 0; k < count; ++k)
            reinterpret_cast<uint64_t*>(data[i].get())[k] = value_of(ranks.rank(), k, i);
          tickets.push_back(ranks.start({Collective::Kind::kAllReduce, "one", "u64", 8, count, add_integers},
                                        data[i].get(), nullptr));
        }
        for (size_t i = 0; i < many; ++i) {
          ranks.done(tickets[i], pool);
          uint64_t sum = 0;
          for (int rank = 0; rank < ranks.world(); ++rank) sum += value_of(rank, 9, i);
          EXPECT_EQ(reinterpret_cast<const uint64_t*>(data[i].get())[9], sum) << i << " of " << many;
        }
      }
    });
  }
}

// Of n hosts with S bytes each of them sends and receives 2 (n - 1) / n S, and no more for more ranks.
TEST(WiredRanks, WhatGoesOverTheWireIsTheLeastThatCan) {
  constexpr size_t kCount = 48'000;
  for (const auto& [hosts, ranks] : {std::pair(2, 1), std::pair(2, 3), std::pair(3, 2), std::pair(4, 1)}) {
    WiredRanks wired(std::vector<int>(static_cast<size_t>(hosts), ranks));
    on_threads(wired.ranks, [&](Communicator& all, ThreadPool& pool) {
      const auto data = all.allocate(8 * kCount);
      run_collective(all, {Collective::Kind::kAllReduce, "sum", "u64", 8, kCount, add_integers}, data.get(),
                     nullptr, pool);
    });
    const auto n = static_cast<size_t>(hosts);
    const size_t announcements = n * (n - 1) * sizeof(WireAnnouncement);
    EXPECT_EQ(wired.loop.bytes(), 2 * (n - 1) * 8 * kCount + announcements) << hosts << " of " << ranks;
  }
}

TEST(WiredRanks, MismatchIsASentenceOnAll) {
  for (const auto& hosts : {std::vector<int>{1, 1, 1}, std::vector<int>{2, 1}}) {
    WiredRanks wired(hosts);
    std::vector<std::string> errors(3);
    on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
      std::vector<uint64_t> data(1000);
      const Collective what{Collective::Kind::kAllReduce,
                            "sums",
                            "u64",
                            8,
                            ranks.rank() == 2 ? size_t{999} : size_t{1000},
                            add_integers};
      errors[static_cast<size_t>(ranks.rank())] = error_of(
          [&] { run_collective(ranks, what, reinterpret_cast<std::byte*>(data.data()), nullptr, pool); });
    });
    const std::string wanted =
        "rank 2 calls all_reduce \"sums\" of 999 u64 where ranks 0, 1 call all_reduce \"sums\" of 1000 u64";
    for (size_t rank = 0; rank < 3; ++rank)
      EXPECT_NE(errors[rank].find(wanted), std::string::npos) << rank << errors[rank];
    EXPECT_TRUE(errors[0].starts_with("comm.mismatch: ")) << errors[0];
  }
}

// Nobody goes on by a call that others do not make, though it moves nothing.
TEST(WiredRanks, ACallOfNoElementsIsComparedToo) {
  for (const auto kind :
       {Collective::Kind::kAllReduce, Collective::Kind::kAllGather, Collective::Kind::kBroadcast}) {
    WiredRanks wired({2, 1});
    std::vector<std::string> errors(3);
    on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
      const Collective what{kind, ranks.rank() == 1 ? "other" : "some", "u64", 8, 0, add_integers};
      std::string& error = errors[static_cast<size_t>(ranks.rank())];
      error = error_of([&] { run_collective(ranks, what, nullptr, nullptr, pool); });
      ranks.abort(error);
    });
    for (const std::string& error : errors)
      EXPECT_NE(error.find("rank 1 calls "), std::string::npos) << kind_name(CallKind(kind)) << ": " << error;
  }
}

// Nobody blames who misses it.
TEST(WiredRanks, WhyARankHasEndedIsTheLaunchersToSay) {
  constexpr double kEnough = 60;
  WiredRanks wired({1, 1}, kEnough);
  std::thread ends([&] { wired.ranks[1].reset(); });
  std::string error;
  std::thread misses([&] {
    std::vector<uint64_t> data(4), out(8);
    const Collective what{Collective::Kind::kAllGather, "rows", "u64", 8, 4};
    ThreadPool pool(1);
    error = error_of([&] {
      run_collective(*wired.ranks[0], what, reinterpret_cast<std::byte*>(data.data()),
                     reinterpret_cast<std::byte*>(out.data()), pool);
    });
  });
  // The launcher takes a moment.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  wired.ranks[0]->abort("rank 1 left the run with status 5");
  misses.join();
  ends.join();
  EXPECT_EQ(error, "comm.verdict: rank 1 left the run with status 5");
}

// By their numbers in the run, on each host.
TEST(WiredRanks, AMismatchWithinAHostNamesRanksOfTheRun) {
  WiredRanks wired({1, 2});
  std::vector<std::string> errors(3);
  on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
    std::vector<uint64_t> data(4), out(12);
    const Collective what{Collective::Kind::kAllGather, ranks.rank() == 2 ? "other" : "some", "u64", 8, 4};
    std::string& error = errors[static_cast<size_t>(ranks.rank())];
    error = error_of([&] {
      run_collective(ranks, what, reinterpret_cast<std::byte*>(data.data()),
                     reinterpret_cast<std::byte*>(out.data()), pool);
    });
    ranks.abort(error);
  });
  for (const std::string& error : errors)
    EXPECT_NE(error.find("rank 2 calls all_gather \"other\" of 4 u64 where rank 1 calls "), std::string::npos)
        << error;
}

TEST(WiredRanks, AbortEndsEveryWait) {
  for (const auto& hosts : {std::vector<int>{1, 1, 1}, std::vector<int>{2, 1}, std::vector<int>{3}}) {
    WiredRanks wired(hosts);
    on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
      std::vector<uint64_t> data(1000);
      const Collective what{Collective::Kind::kAllReduce, "sums", "u64", 8, 1000, add_integers};
      const auto call = [&] {
        run_collective(ranks, what, reinterpret_cast<std::byte*>(data.data()), nullptr, pool);
      };
      if (ranks.rank() == 2) {
        EXPECT_TRUE(comes_true([&] { return all_wait(Board(wired.board), 2); }));
        return ranks.abort("rank 2 has had enough");
      }
      EXPECT_EQ(error_of(call), "comm.verdict: rank 2 has had enough");
      EXPECT_EQ(error_of(call), "comm.verdict: rank 2 has had enough");
    });
  }
}

TEST(WiredRanks, AWireThatBreaksIsASentence) {
  for (const int number : {1, 2, 5, 9, 12, 17}) {
    WiredRanks wired({1, 1});
    wired.loop.break_at(number);
    on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
      std::vector<uint64_t> data(1000);
      const Collective what{Collective::Kind::kAllReduce, "sums", "u64", 8, 1000, add_integers};
      const std::string error = error_of([&] {
        for (int i = 0; i < 10; ++i)
          run_collective(ranks, what, reinterpret_cast<std::byte*>(data.data()), nullptr, pool);
      });
      EXPECT_EQ(error,
                "comm.verdict: the connection to another host broke in all_reduce \"sums\" of 1000 u64: the "
                "loop is cut");
    });
  }
}

TEST(WiredRanks, AWireThatCannotBeMadeIsToldAtOnce) {
  const std::string error = error_of([] {
    WireCommunicator(board_of_process(2),
                     {.rank = 0, .hosts = {{1, 1}}, .connect = []() -> std::unique_ptr<Wire> {
                        throw RunError("comm.join", "nobody is there");
                      }});
  });
  EXPECT_EQ(error, "comm.join: nobody is there");
}

TEST(WiredRanks, AnEngineThatDoesNotComeBackIsLeftBehind) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  const auto error = [&](double within, bool is_given_up) {
    const auto board = board_of_process(2);
    WirePlace place{.rank = 0, .hosts = {{1, 1}}};
    place.connect = [ended]() -> std::unique_ptr<Wire> { return ended.wait(), nullptr; };
    place.join_within = within;
    if (is_given_up) Board(board).abort("rank 1 is gone");
    return error_of([&] { WireCommunicator(board, place); });
  };
  EXPECT_EQ(error(0.3, false),
            "comm.join: rank 0 of 2 cannot join: its engine has not found the others in 0.3 s");
  EXPECT_EQ(error(1000, true), "comm.verdict: rank 1 is gone");
  end.set_value();
}

TEST(WiredRanks, WhatTheyDoStandsOnTheBoard) {
  WiredRanks wired({1, 1});
  on_threads(wired.ranks, [&](Communicator& ranks, ThreadPool& pool) {
    ranks.stage(Stage::kStep, 7);
    std::vector<uint64_t> data(10);
    run_collective(ranks, {Collective::Kind::kAllReduce, "sums", "u64", 8, 10, add_integers},
                   reinterpret_cast<std::byte*>(data.data()), nullptr, pool);
  });
  const Board board(wired.board);
  for (const int rank : {0, 1}) {
    ASSERT_EQ(board.records(rank).size(), 1u);
    EXPECT_EQ(board.records(rank)[0].name, "sums");
    EXPECT_EQ(board.records(rank)[0].step, 7);
    EXPECT_GT(board.records(rank)[0].done_ns, 0);
    EXPECT_EQ(board.stage_of(rank).stage, Stage::kStep);
  }
}

}  // namespace
}  // namespace espalier
