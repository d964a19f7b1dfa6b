#include "comm/shm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "comm/board_layout.h"
#include "comm/control_fd.h"
#include "comm/ranks_test.h"
#include "comm/shared_memory.h"

namespace espalier {
namespace {

// Processes that are ranks; a child ends with 0 unless a check of it has failed.
class Processes {
 public:
  using Body = std::function<void(Communicator&, ThreadPool&)>;
  Processes(int world, const Body& body) : segments(make_shared_segments(world)), board(shm_board(segments)) {
    std::fflush(nullptr);
    for (int rank = 0; rank < world; ++rank) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(run(rank, world, body));
      children.push_back(child);
    }
  }
  ~Processes() {
    for (const pid_t child : children)
      if (child > 0) ::kill(child, SIGKILL);
    wait();
    close_segments(segments);
  }
  // What each rank ended with: its exit code, or minus a signal.
  std::vector<int> wait() {
    std::vector<int> ends;
    for (pid_t& child : children) {
      int status = 0;
      if (child > 0) ::waitpid(child, &status, 0);
      child = 0;
      ends.push_back(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    }
    return ends;
  }

  SharedSegments segments;
  std::shared_ptr<Board> board;
  std::vector<pid_t> children;

 private:
  int run(int rank, int world, const Body& body) {
    try {
      const std::shared_ptr<Communicator> communicator = shm_communicator(segments, rank, world);
      close_segments(segments);
      ThreadPool pool(1);
      body(*communicator, pool);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      return 3;
    }
    std::fflush(nullptr);
    return testing::Test::HasFailure() ? 1 : 0;
  }
};

std::vector<int> all_well(int world) { return std::vector<int>(static_cast<size_t>(world), 0); }

TEST(SharedRanks, GiveWhatOneLoopGives) {
  for (const int world : {1, 2, 5}) {
    Processes ranks(world, [](Communicator& rank, ThreadPool& pool) {
      uint64_t round = 0;
      for (const bool in_place : {true, false})
        for (const size_t count : {0, 1, 7, 255, 256, 257, 511, 512, 513, 16383, 16385})
          run_cases(rank, pool, count, round += 2, in_place);
    });
    EXPECT_EQ(ranks.wait(), all_well(world)) << world;
  }
}

TEST(SharedRanks, SlowMegabytesInPlaceAndStaged) {
  Processes ranks(3, [](Communicator& rank, ThreadPool&) {
    ThreadPool pool(2);
    for (const bool in_place : {true, false}) run_cases(rank, pool, (size_t{1} << 19) + 5, 7, in_place);
  });
  EXPECT_EQ(ranks.wait(), all_well(3));
}

TEST(SharedRanks, RoundsWithDelaysOfMoreRanksThanProcessors) {
  Processes ranks(6, [](Communicator& rank, ThreadPool& pool) {
    Philox random(static_cast<uint64_t>(rank.rank()));
    for (uint64_t round = 0; round < 60; ++round) {
      if (random.below(3) == 0) std::this_thread::sleep_for(std::chrono::microseconds(random.below(2000)));
      run_cases(rank, pool, round % 2 ? 5 : 2000, 10 * round, round % 3 == 0);
    }
  });
  EXPECT_EQ(ranks.wait(), all_well(6));
}

TEST(SharedRanks, ManyBeginBeforeTheFirstIsDone) {
  Processes ranks(3, [](Communicator& rank, ThreadPool& pool) {
    std::deque<StartedCase<float>> started;
    for (size_t i = 0; i < 150; ++i)
      started.emplace_back(rank, CollectiveCase<float>{Collective::Kind::kAllReduce,
                                                       i % 5 ? 10 : size_t{1500}, i, i % 2 == 0});
    for (StartedCase<float>& one : started) EXPECT_TRUE(one.done(pool));
  });
  EXPECT_EQ(ranks.wait(), all_well(3));
}

// One is killed in the middle, and others wait until those who watch say so.
TEST(SharedRanks, SlowOneIsKilledAndOthersEnd) {
  for (int round = 0; round < 6; ++round) {
    Processes ranks(4, [](Communicator& rank, ThreadPool& pool) {
      constexpr size_t kCount = 300'000;
      const auto data = rank.allocate(kCount * 4);
      const Collective what{
          Collective::Kind::kAllReduce, "gradients/1", "f32 sum", 4, kCount, fold_ranks<float>, 0};
      EXPECT_EQ(error_of([&] {
                  while (true) run_collective(rank, what, data.get(), nullptr, pool);
                }),
                "comm.verdict: rank 2 ended by signal 9");
    });
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_TRUE(comes_true([&] { return ranks.board->records(rank).size() >= 2; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(7 * round));
    ::kill(ranks.children[2], SIGKILL);
    ASSERT_EQ(::waitpid(ranks.children[2], nullptr, 0), ranks.children[2]);
    ranks.children[2] = 0;
    EXPECT_TRUE(comes_true([&] { return ranks.board->stage_of(0).stage == Stage::kCollective; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    EXPECT_EQ(::waitpid(ranks.children[0], nullptr, WNOHANG), 0) << "it has not waited";
    ranks.board->abort("rank 2 ended by signal 9");
    ASSERT_EQ(ranks.wait(), (std::vector<int>{0, 0, 0, 0}));
  }
}

// The median of ten: a busy machine holds up some of them. Whom nobody tells waits for ever.
TEST(SharedRanks, AbortWakesWithinATenthOfASecond) {
  constexpr int kRounds = 5;
  auto* const woken_ns =
      static_cast<int64_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(woken_ns, MAP_FAILED);
  std::vector<int64_t> took;
  for (int round = 0; round < kRounds; ++round) {
    Processes ranks(3, [&](Communicator& rank, ThreadPool& pool) {
      const Collective what{Collective::Kind::kBarrier, "b", "", 1, 0, nullptr, 0};
      if (rank.rank() == 2) ::pause();
      EXPECT_EQ(error_of([&] { run_collective(rank, what, nullptr, nullptr, pool); }),
                "comm.verdict: given up");
      woken_ns[rank.rank()] = monotonic_ns();
    });
    ASSERT_TRUE(comes_true([&] { return all_wait(*ranks.board, 2); }));
    const int64_t begin = monotonic_ns();
    ranks.board->abort("given up");
    ::kill(ranks.children[2], SIGKILL);
    EXPECT_EQ(ranks.wait(), (std::vector<int>{0, 0, -SIGKILL}));
    for (const int rank : {0, 1}) took.push_back(woken_ns[rank] - begin);
  }
  std::ranges::sort(took);
  EXPECT_LT(took[kRounds], 100'000'000);
  ::munmap(woken_ns, 4096);
}

TEST(SharedRanks, MismatchIsTheSameSentenceOnAll) {
  Processes ranks(3, [](Communicator& rank, ThreadPool& pool) {
    std::vector<float> values(5000);
    const size_t count = rank.rank() == 0 ? 4999 : 5000;
    const Collective what{
        Collective::Kind::kAllReduce, "gradients/1", "f32 sum", 4, count, fold_ranks<float>, 0};
    EXPECT_EQ(error_of([&] {
                run_collective(rank, what, reinterpret_cast<std::byte*>(values.data()), nullptr, pool);
              }),
              "comm.mismatch: rank 0 calls all_reduce \"gradients/1\" of 4999 f32 sum where ranks 1, 2 call "
              "all_reduce "
              "\"gradients/1\" of 5000 f32 sum");
  });
  EXPECT_EQ(ranks.wait(), all_well(3));
}

// Ranks of one process, as far as tests need no processes.
std::vector<std::shared_ptr<Communicator>> ranks_here(int world) {
  SharedSegments segments = make_shared_segments(world);
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (int rank = 0; rank < world; ++rank) ranks.push_back(shm_communicator(segments, rank, world));
  close_segments(segments);
  return ranks;
}

TEST(SharedRanks, LeaveNothingBehind) {
  const auto names = [] {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) out.insert(entry.path());
    return out;
  };
  const auto descriptors = [] {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += entry.exists();
    return count;
  };
  const std::set<std::string> names_before = names();
  const size_t descriptors_before = descriptors();
  {
    Processes ranks(3, [](Communicator& rank, ThreadPool& pool) {
      const auto data = rank.allocate(1 << 20);
      run_cases(rank, pool, 3000, 1, true);
      if (rank.rank() == 1) ::raise(SIGKILL);
    });
    EXPECT_EQ(ranks.wait(), (std::vector<int>{0, -SIGKILL, 0}));
    // Those of other tests, which run beside this one, go with their ranks.
    std::set<std::string> left = names();
    std::erase_if(left, [&](const std::string& name) { return names_before.contains(name); });
    EXPECT_TRUE(comes_true([&] {
      const std::set<std::string> now = names();
      return std::erase_if(left, [&](const std::string& name) { return !now.contains(name); }), left.empty();
    })) << *left.begin();
  }
  ranks_here(3)[1]->allocate(5000);
  EXPECT_EQ(descriptors(), descriptors_before);
}

TEST(SharedRanks, FreedMemoryIsUsedAgainAndIsOfZeros) {
  const auto rank = ranks_here(1)[0];
  std::shared_ptr<std::byte[]> first = rank->allocate(5000), second = rank->allocate(70'000);
  const std::byte* const at = first.get();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % 64, 0u);
  std::memset(first.get(), 0xff, 5000);
  std::memset(second.get(), 0xff, 70'000);
  first.reset();
  const auto third = rank->allocate(8192);
  EXPECT_EQ(third.get(), at) << "the two pages of the first";
  for (size_t i = 0; i < 8192; ++i) ASSERT_EQ(third[i], std::byte{0}) << i;
  second.reset();
  const auto fourth = rank->allocate(100'000);
  EXPECT_EQ(fourth.get(), at + 8192) << "what is free at the end grows";
  for (size_t i = 0; i < 100'000; ++i) ASSERT_EQ(fourth[i], std::byte{0}) << i;
}

TEST(SharedRanks, MemoryOutlivesTheCommunicator) {
  auto ranks = ranks_here(1);
  const auto data = ranks[0]->allocate(10'000);
  ranks.clear();
  std::memset(data.get(), 1, 10'000);
  EXPECT_EQ(data[9'999], std::byte{1});
}

TEST(SharedRanks, FullMemoryIsASentence) {
  const auto rank = ranks_here(2)[1];
  const auto before = rank->allocate(4096);
  const std::string absurd = error_of([&] { rank->allocate(size_t{1} << 60); });
  EXPECT_EQ(
      absurd,
      "comm.memory: rank 1 asks for 1152921504606846976 bytes of shared memory: no machine has as many");
  const std::string large = error_of([&] { rank->allocate(size_t{1} << 45); });
  EXPECT_EQ(large.find("comm.memory: rank 1 asks for 35184372088832 bytes of shared memory: "), 0u) << large;
  // A file of more would end the process by SIGXFSZ.
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{1 << 20, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string limited = error_of([&] { rank->allocate(2 << 20); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(
      limited,
      "comm.memory: rank 1 asks for 2097152 bytes of shared memory: its file may have 1048576 bytes (ulimit "
      "-f), and has 4096");
  EXPECT_NE(rank->allocate(2 << 20), nullptr) << "it goes on";
}

// With `ulimit -v` each rank has a share of the addresses.
TEST(SharedRanks, FewAddressesAreASentence) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &limit), 0);
  const rlimit small{pages * 4096 + (size_t{512} << 20), limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  std::string large;
  bool works = false;
  try {
    const auto ranks = ranks_here(2);
    works = ranks[0]->allocate(1 << 20) != nullptr;
    large = error_of([&] { ranks[0]->allocate(size_t{200} << 20); });
  } catch (const Error& error) {
    large = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  EXPECT_TRUE(works);
  EXPECT_EQ(
      large.find("comm.memory: rank 0 asks for 209715200 bytes of shared memory: it has 1048576 bytes, and "
                 "addresses for "),
      0u)
      << large;
}

TEST(SharedSegments, ABoardWithoutAddressesIsASentence) {
  // So many that there is room for all but it.
  SharedSegments segments = make_shared_segments(200);
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &limit), 0);
  const rlimit small{pages * 4096 + (size_t{8} << 20), limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  const std::string error = error_of([&] { shm_board(segments); });
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  close_segments(segments);
  EXPECT_EQ(error.find("comm.memory: no addresses for the "), 0u) << error;
}

// Otherwise a full machine would show at the first touch, by SIGBUS.
TEST(SharedRanks, MemoryIsReservedBeforeItIsTouched) {
  const int descriptor = ::memfd_create("test", MFD_CLOEXEC);
  reserve_file(descriptor, 0, 1 << 20, "rank 0");
  reserve_file(descriptor, 1 << 20, 2 << 20, "rank 0");
  struct stat status;
  ASSERT_EQ(::fstat(descriptor, &status), 0);
  EXPECT_EQ(status.st_size, 3 << 20);
  EXPECT_GE(status.st_blocks * 512, 3 << 20);
  ::close(descriptor);
  EXPECT_EQ(error_of([&] {
              reserve_file(descriptor, 0, 4096, "rank 0");
            }).find("comm.memory: rank 0: Bad file descriptor, "),
            0u);
}

TEST(SharedSegments, TextGoesThereAndBack) {
  SharedSegments segments = make_shared_segments(3);
  const SharedSegments found = parse_shared_segments(to_string(segments));
  EXPECT_EQ(found.control, segments.control);
  EXPECT_EQ(found.memory, segments.memory);
  for (const int descriptor : segments.memory)
    EXPECT_EQ(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << "started programs get it";
  close_segments(segments);
  EXPECT_EQ(segments.control, -1);
}

// As ranks do that another launcher has started: they are no children of rank 0.
TEST(SharedSegments, AnotherProcessOpensThemWhereItSeesThem) {
  SharedSegments segments = make_shared_segments(2);
  const std::string passed = passed_segments(segments);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    close_segments(segments);
    SharedSegments opened;
    if (!open_segments(passed, opened).empty()) ::_exit(1);
    const std::shared_ptr<Communicator> communicator = shm_communicator(opened, 1, 2);
    shm_board(opened)->abort("said by the child");
    ::_exit(communicator->world() == 2 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shm_board(segments)->verdict(), "said by the child");

  SharedSegments none;
  const auto with = [&](size_t word, const std::string& other) {
    std::istringstream words(passed);
    std::string out, one;
    for (size_t i = 0; words >> one; ++i) out += cat(i ? " " : "", i == word ? other : one);
    return open_segments(out, none);
  };
  EXPECT_EQ(with(1, "net:[1]"), "is in another network namespace");
  EXPECT_EQ(with(2, "1:1"), "sees other processes than rank 0");
  EXPECT_TRUE(with(0, "999999999").starts_with("cannot open descriptor "));
  EXPECT_TRUE(with(3, cat(segments.control, ",9999")).starts_with("cannot open descriptor 9999 of process "));
  EXPECT_EQ(none.control, -1);
  EXPECT_TRUE(none.memory.empty());
  EXPECT_EQ(with(9, ""), "");
  close_segments(none);
  close_segments(segments);
}

TEST(SharedSegments, ABoardByItselfHasABlockOfEachRank) {
  const ControlFd file(make_board_segment(5));
  const std::shared_ptr<Board> one = board_at(file.get()), other = board_at(file.get());
  EXPECT_EQ(one->world(), 5);
  EXPECT_EQ(one->stage_of(4).since_ns, 0);
  one->abort("over");
  EXPECT_EQ(other->verdict(), "over");
  EXPECT_EQ(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0) << "started programs get it";
  EXPECT_EQ(rule_of([] { make_board_segment(257); }), "comm.world");
  EXPECT_EQ(rule_of([] { board_at(1000); }), "comm.segments");
}

TEST(SharedSegments, OtherTextsAreRefused) {
  const auto text = [](std::string_view of) { return error_of([&] { parse_shared_segments(of); }); };
  for (const char* wrong : {"", "a", "0,", "0,,1", "0 ,1", "-1,0", "0;1", ",", "99999999999,0"})
    EXPECT_EQ(text(wrong), "comm.segments: \"" + std::string(wrong) +
                               "\": not descriptors as \"7,8,9\", of the board and of each rank's memory");
  EXPECT_EQ(text("0,9999"),
            "comm.segments: \"0,9999\": descriptor 9999 is not open: what started this program "
            "closed it");
  EXPECT_EQ(text("0"), "comm.segments: \"0\": one descriptor, which leaves none for a rank's memory");
}

TEST(SharedSegments, OtherDescriptorsAreRefused) {
  EXPECT_EQ(rule_of([] { make_shared_segments(0); }), "comm.world");
  EXPECT_EQ(rule_of([] { make_shared_segments(257); }), "comm.world");
  SharedSegments segments = make_shared_segments(2);
  EXPECT_EQ(rule_of([&] { shm_communicator(segments, 2, 2); }), "comm.world");
  EXPECT_EQ(rule_of([&] { shm_communicator(segments, -1, 2); }), "comm.world");
  EXPECT_EQ(rule_of([&] { shm_communicator(segments, 0, 3); }), "comm.world");
  const auto first = shm_communicator(segments, 0, 2);
  EXPECT_EQ(error_of([&] { shm_communicator(segments, 0, 2); }),
            "comm.segments: rank 0 has come already; ranks that start again need new memory");
  SharedSegments swapped = segments;
  std::swap(swapped.control, swapped.memory[0]);
  EXPECT_EQ(rule_of([&] { shm_communicator(swapped, 0, 2); }), "comm.segments");
  const int null = ::open("/dev/null", O_RDWR);
  EXPECT_EQ(rule_of([&] { shm_board({null, {null}}); }), "comm.segments");
  ::close(null);
  // Another version, a board that was cut.
  void* board = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, segments.control, 0);
  ASSERT_NE(board, MAP_FAILED);
  auto& layout = *static_cast<BoardLayout*>(board);
  ++layout.version;
  EXPECT_EQ(error_of([&] { shm_board(segments); }),
            "comm.segments: the board is of version 4 and this program's library of version 3");
  --layout.version;
  EXPECT_EQ(rule_of([&] { shm_board(segments); }), "nothing");
  ASSERT_EQ(::ftruncate(segments.control, 8192), 0);
  EXPECT_EQ(rule_of([&] { shm_board(segments); }), "comm.segments");
  ::munmap(board, 4096);
  close_segments(segments);
}

}  // namespace
}  // namespace espalier
