// Compiled programs on disk: what was put is found, and what is damaged is not.
#include "pjrt/program_cache_test.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

namespace espalier::pjrt {
namespace {

namespace fs = std::filesystem;

TEST_F(ProgramCacheTest, WhatWasPutIsFound) {
  const ProgramKey key = key_of("step");
  EXPECT_EQ(cache.find(key), std::nullopt);
  EXPECT_FALSE(fs::exists(folder)) << "made to look into it";
  EXPECT_EQ(cache.why_not(), "");
  const std::string bytes = random_bytes(100'000, 1);
  EXPECT_TRUE(cache.put(key, bytes, 1.5));
  EXPECT_EQ(cache.find(key), bytes);
  EXPECT_EQ(ProgramCache(folder).find(key), bytes);
  EXPECT_TRUE(cache.put(key, "", 2));
  EXPECT_EQ(cache.find(key), "");
  EXPECT_TRUE(cache.put(key, bytes, 1.5));
  EXPECT_EQ(files(), std::vector<std::string>{key.name()});
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(file_of(key)).permissions(), fs::perms::owner_read | fs::perms::owner_write);

  const auto entries = cache.entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].name, key.name());
  EXPECT_EQ(entries[0].program, "step");
  EXPECT_EQ(entries[0].device, "some kind");
  EXPECT_EQ(entries[0].bytes, static_cast<int64_t>(bytes.size() + StoredProgram::kHeadBytes));
  EXPECT_EQ(entries[0].compile_seconds, 1.5);
  EXPECT_LT(std::abs(1e-9 * static_cast<double>(entries[0].used) - posix_env().wall_seconds()), 60);
}

TEST_F(ProgramCacheTest, DamagedFilesAreNotThereAndAreRemoved) {
  const ProgramKey key = key_of("step");
  const std::string bytes = random_bytes(3000, 2);
  ASSERT_TRUE(cache.put(key, bytes, 1));
  const std::string path = file_of(key), whole = posix_env().read_file(path);
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = whole;
    // Half of the bytes that are flipped lie in the head.
    const size_t at = random() % (i % 2 ? whole.size() : StoredProgram::kHeadBytes);
    if (i % 4 < 3)
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    else
      damaged.resize(at);
    fs::remove(path);
    write_bytes(path, damaged);
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    ASSERT_EQ(cache.find(key), std::nullopt) << "damage " << i << " at " << at;
    ASSERT_FALSE(fs::exists(path)) << "damage " << i << " at " << at;
  }
  for (const std::string& other : {whole + "1", std::string(), random_bytes(4000, 4)}) {
    write_bytes(path, other);
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(cache.entries().size(), 0u);
    EXPECT_EQ(cache.find(key), std::nullopt);
    EXPECT_FALSE(fs::exists(path));
  }
  ASSERT_TRUE(cache.put(key, bytes, 1));
  EXPECT_EQ(cache.find(key), bytes);
}

TEST_F(ProgramCacheTest, TheProgramOfAnotherKeyIsNotThere) {
  const ProgramKey key = key_of("step"), other = key_of("other");
  ASSERT_TRUE(cache.put(other, "program", 1));
  fs::rename(file_of(other), file_of(key));
  EXPECT_EQ(cache.find(key), std::nullopt);
  EXPECT_FALSE(fs::exists(file_of(key)));
}

TEST_F(ProgramCacheTest, TheLeastRecentlyUsedGoBeyondTheCap) {
  constexpr size_t kBytes = 10'000;
  const ProgramCache small(folder, 3 * (kBytes + StoredProgram::kHeadBytes));
  const auto put = [&](const char* program) {
    return small.put(key_of(program), random_bytes(kBytes, 5), 1);
  };
  const auto there = [&](const char* program) { return fs::exists(file_of(key_of(program))); };
  EXPECT_TRUE(put("a") && put("b") && put("c"));
  EXPECT_TRUE(put("b"));  // in its own place
  EXPECT_TRUE(there("a") && there("b") && there("c"));
  EXPECT_TRUE(small.find(key_of("a")));
  EXPECT_TRUE(put("d"));
  EXPECT_TRUE(there("a") && there("b") && there("d"));
  EXPECT_FALSE(there("c"));
  EXPECT_TRUE(put("e"));
  EXPECT_FALSE(there("b"));
  std::vector<std::string> last_first;
  for (const auto& entry : small.entries()) last_first.push_back(entry.program);
  EXPECT_EQ(last_first, (std::vector<std::string>{"e", "d", "a"}));
  // What never fits takes nobody's place.
  EXPECT_FALSE(small.put(key_of("f"), random_bytes(4 * kBytes, 6), 1));
  EXPECT_EQ(small.entries().size(), 3u);
}

TEST_F(ProgramCacheTest, EntriesAreInTheOrderOfUse) {
  // Faster than the clock of files ticks.
  std::vector<std::string> last_first;
  for (int i = 0; i < 10; ++i) {
    last_first.insert(last_first.begin(), cat("program", i));
    ASSERT_TRUE(cache.put(key_of(last_first[0]), "program", 1));
  }
  const auto listed = [&] {
    std::vector<std::string> out;
    for (const auto& entry : cache.entries()) out.push_back(entry.program);
    return out;
  };
  EXPECT_EQ(listed(), last_first);
  ASSERT_TRUE(cache.find(key_of("program3")));
  std::erase(last_first, "program3");
  last_first.insert(last_first.begin(), "program3");
  EXPECT_EQ(listed(), last_first);
}

TEST_F(ProgramCacheTest, LeftOversOfKilledProcessesGoAfterAnHour) {
  ASSERT_TRUE(cache.put(key_of("a"), "program", 1));
  const std::string old = file_of(key_of("b")) + ".1-2.part", young = file_of(key_of("b")) + ".1-3.part",
                    theirs = folder + "/film.part";
  for (const std::string& path : {old, young, theirs}) {
    write_bytes(path, "half");
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  }
  for (const std::string& path : {old, theirs})
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(61));
  ASSERT_TRUE(cache.put(key_of("c"), "program", 1));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(theirs));
}

TEST_F(ProgramCacheTest, ClearRemovesWhatTheCacheHasWritten) {
  EXPECT_EQ(cache.clear().programs, 0);
  ASSERT_TRUE(cache.put(key_of("a"), "program", 1) && cache.put(key_of("b"), "another", 1));
  write_bytes(home + "/plugin.so", "plugin");
  cache.content_of_plugin(home + "/plugin.so");
  write_bytes(file_of(key_of("c")) + ".1-2.part", "half");
  write_bytes(folder + "/notes", "of somebody");
  const ProgramCache::Cleared cleared = cache.clear();
  EXPECT_EQ(cleared.programs, 2);
  EXPECT_EQ(cleared.bytes, static_cast<int64_t>(14 + 2 * StoredProgram::kHeadBytes));
  EXPECT_EQ(files(), std::vector<std::string>{"notes"});
}

// What is read of a plugin that is being replaced is that of neither: the next one reads it again.
TEST_F(ProgramCacheTest, TheDigestOfAFileThatChangesWhileItIsReadIsNotKept) {
  const std::string plugin = home + "/plugin.so";
  write_bytes(plugin, random_bytes(size_t{1} << 24, 1));
  std::atomic<int> changes = 0;
  std::atomic<bool> over = false;
  std::thread changing([&] {
    std::fstream file(plugin, std::ios::binary | std::ios::in | std::ios::out);
    while (!over) {
      file.seekp(0);
      file.put(static_cast<char>(++changes % 256)).flush();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  while (changes < 10) std::this_thread::yield();
  cache.content_of_plugin(plugin);
  over = true;
  changing.join();
  EXPECT_FALSE(fs::exists(folder));
  cache.content_of_plugin(plugin);
  EXPECT_EQ(files().size(), 1u) << "of a file at rest it is";
}

TEST_F(ProgramCacheTest, SlowProcessesShareAFolder) {
  // Room for five of eight, so that they remove each other's, too.
  constexpr size_t kBytes = 20'000;
  constexpr uint64_t kPrograms = 8;
  const auto work = [&](uint64_t seed) {
    const ProgramCache shared(folder, 5 * (kBytes + StoredProgram::kHeadBytes));
    std::mt19937_64 random(seed);
    int found = 0;
    for (int i = 0; i < 400; ++i) {
      const uint64_t which = random() % kPrograms;
      const ProgramKey key = key_of(cat("program", which));
      const std::string bytes = random_bytes(kBytes, which);
      const std::optional<std::string> kept = shared.find(key);
      if (kept && *kept != bytes) return -1;
      found += kept.has_value();
      if (!kept && !shared.put(key, bytes, 1)) return -2;
    }
    return found;
  };
  std::vector<pid_t> children;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(work(seed) > 20 ? 0 : 1);
    children.push_back(child);
  }
  int ours[2] = {};
  {
    std::jthread beside([&] { ours[0] = work(3); });
    ours[1] = work(4);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_GT(ours[0], 20);
  EXPECT_GT(ours[1], 20);
  for (const std::string& name : files()) EXPECT_FALSE(OwnFolder::is_left_over(name)) << name;
}

}  // namespace
}  // namespace espalier::pjrt
