// Each way tells the same begins and ends, and of a device what is brought there and read of it.
#include <map>
#include <mutex>

#include "place/ways_test.h"

namespace espalier {
namespace {

using Kind = Activity::Kind;

constexpr int64_t kRowBytes = kWidth * 4;

// A variable that is updated by one exchange, and a result of all rows.
OnProcess adding_sums(int64_t) {
  Variable w = stored_variable(1, "w");
  const auto body = [=](std::span<const Tensor> in) mutable {
    const NameScope scope("sums");
    w.assign_add(sum_of_all(in[0]));
    return std::vector<Tensor>{in[0] * 2};
  };
  return {{w}, TracedFunction(body, {.name = "adding"})};
}

std::string text_of(const ActivityCounts& counts, Kind kind) {
  const ActivityCounts::Count count = counts.of(kind);
  return cat(count.begun, " begun, ", count.ended, " ended, ", count.bytes, " bytes");
}
std::string text_of(int64_t count, int64_t bytes) {
  return cat(count, " begun, ", count, " ended, ", bytes, " bytes");
}

class Events : public OnEachWay {
 protected:
  const WayKind kind = GetParam();
  const int64_t processes = static_cast<int64_t>(kind.processes), each = static_cast<int64_t>(replicas);
  const bool on_device = kind.devices > 0, staged = on_device && processes > 1,
             in_pools = !on_device && !kind.interpreted && !kind.shards && each > 1;
};
ESPALIER_ON_WAYS(Events, {});

TEST_P(Events, ARunHasOneBeginAndOneEndAndASignatureOneCompilation) {
  ActivityCounts counts;
  const auto own = way_of(kind, &counts);
  const OnWay add(*own, adding_sums);
  int64_t calls = 0, signatures = 0;
  for (const int64_t rows : {kRows, kRows, 2 * kRows, kRows, 2 * kRows}) {
    if (calls == 0 || calls == 2) ++signatures;
    add(rows_for(*own, rows, calls++));
    EXPECT_EQ(text_of(counts, Kind::kCompile), text_of(signatures * processes, 0)) << calls;
    EXPECT_EQ(text_of(counts, Kind::kRun), text_of(calls * processes, 0)) << calls;
  }
}

TEST_P(Events, WhatRanksExchangeHasItsBytes) {
  ActivityCounts counts;
  const auto own = way_of(kind, &counts);
  const OnWay add(*own, adding_sums);
  for (int64_t call = 1; call <= 3; ++call) {
    add(rows_for(*own, kRows, call));
    // Devices of one program meet inside of it, shards of one rank by its programs, and one replica meets
    // nobody.
    const int64_t exchanges = in_pools || staged ? call * each : 0;
    EXPECT_EQ(text_of(counts, Kind::kExchange), text_of(exchanges, exchanges * kRowBytes));
  }
}

TEST_P(Events, TransfersHaveTheirBytes) {
  ActivityCounts counts;
  const auto own = way_of(kind, &counts);
  const OnWay add(*own, adding_sums);
  for (int64_t call = 1; call <= 3; ++call) {
    add(rows_for(*own, kRows, call));
    int64_t uploads = 0, uploaded = 0, downloads = 0, downloaded = 0;
    if (on_device) {
      // All rows in each call, and in the first one the variable, of which each replica gets a copy.
      uploads = processes * (call + 1);
      uploaded = call * kRows * kRowBytes + each * kRowBytes;
    }
    if (on_device && kind.shards) {
      // Rows of two parts at a time, and once the numbers of those. What each gives to the sum comes to the
      // host, and goes to both devices.
      uploads = 2 * call + 1 + 2 + each * call;
      uploaded = call * kRows * kRowBytes + 2 * kRowBytes + each * 4 + call * each * 2 * kRowBytes;
      downloads = 2 * call * each;
      downloaded = call * (kRows + each) * kRowBytes;
    } else if (staged) {
      // The sum of a rank's rows comes to the host, and that of all goes back.
      uploads += call * processes;
      uploaded += call * processes * kRowBytes;
      downloads = call * processes;
      downloaded = call * processes * kRowBytes;
    } else if (on_device && each > 1) {
      // What each replica has of the result.
      downloads = call * each;
      downloaded = call * kRows * kRowBytes;
    }
    EXPECT_EQ(text_of(counts, Kind::kUpload), text_of(uploads, uploaded)) << call;
    EXPECT_EQ(text_of(counts, Kind::kDownload), text_of(downloads, downloaded)) << call;
  }
}

// What was told on each thread.
class Listener final : public RunEvents {
 public:
  void on_begin(const Activity& activity) override { add("begin", activity); }
  void on_end(const Activity& activity) override { add("end", activity); }
  std::vector<std::vector<std::string>> of_threads() const {
    std::vector<std::vector<std::string>> out;
    for (const auto& [thread, lines] : lines_) out.push_back(lines);
    return out;
  }

 private:
  void add(const char* which, const Activity& activity) {
    constexpr const char* kWords[] = {"compile", "run", "exchange", "upload", "download"};
    const std::lock_guard lock(mutex_);
    lines_[std::this_thread::get_id()].push_back(
        cat(which, " ", kWords[static_cast<size_t>(activity.kind)], " ", activity.what));
  }
  std::mutex mutex_;
  std::map<std::thread::id, std::vector<std::string>> lines_;
};

TEST_P(Events, AreNestedOnEachThreadAndNamed) {
  Listener told;
  const auto own = way_of(kind, &told);
  const OnWay add(*own, adding_sums);
  for (int64_t call = 0; call < 2; ++call) add(rows_for(*own, kRows, call));
  size_t lines = 0;
  for (const std::vector<std::string>& thread : told.of_threads()) {
    std::vector<std::string> open;
    for (const std::string& line : thread) {
      ++lines;
      const size_t space = line.find(' ');
      const std::string what = line.substr(space + 1);
      const bool of_device = what.starts_with("upload fake:") || what.starts_with("download fake:");
      EXPECT_TRUE(what == "compile adding" || what == "run adding" || what == "exchange sums" || of_device)
          << what;
      if (line.starts_with("begin")) {
        open.push_back(what);
      } else {
        ASSERT_FALSE(open.empty()) << line;
        EXPECT_EQ(open.back(), what);
        open.pop_back();
      }
    }
    EXPECT_TRUE(open.empty());
  }
  EXPECT_GE(lines, static_cast<size_t>(2 * 3 * processes));
}

// Who reads a result of a device waits for it, in his own context.
class Reads : public Events {};
ESPALIER_ON_WAYS(Reads, {{"host", "a result lies here"},
                         {"pools2", "a result lies here"},
                         {"pools3", "a result lies here"},
                         {"devices2", "results of replicas are downloaded by the call"},
                         {"interpreter2", "a result lies here"},
                         {"interpreter3", "a result lies here"},
                         {"shards4", "a result lies here"},
                         {"shards4devices2", "results of parts are downloaded by the call"}});

TEST_P(Reads, AreDownloadsOfTheContextThatReads) {
  const OnWay add(*way, adding_sums);
  const OfReplicas results = add(rows_for(*way, kRows, 0));
  ActivityCounts counts;
  const RunContext context({.threads = 1, .events = &counts});
  for (int times = 0; times < 2; ++times) {
    const RunScope scope(context);
    for (const auto& of_replica : results) numbers_in(of_replica[0]);
  }
  // One that was read lies here.
  EXPECT_EQ(text_of(counts, Kind::kDownload), text_of(each, kRows * kRowBytes));
  EXPECT_EQ(text_of(counts, Kind::kRun), text_of(0, 0));
}

}  // namespace
}  // namespace espalier
