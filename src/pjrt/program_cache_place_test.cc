// Where compiled programs are kept: in this user's folder, and never in one of others.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>

#include "base/sha256.h"
#include "espalier/error.h"
#include "pjrt/program_cache_test.h"

namespace espalier::pjrt {
namespace {

namespace fs = std::filesystem;

TEST_F(ProgramCacheTest, FoldersOfOthersAreNotUsed) {
  const ProgramKey key = key_of("step");
  ASSERT_TRUE(cache.put(key, "program", 1));
  const auto expect_unused = [&](const ProgramCache& refused, const std::string& why) {
    EXPECT_NE(refused.why_not().find(why), std::string::npos) << refused.why_not();
    EXPECT_EQ(refused.find(key), std::nullopt);
    EXPECT_FALSE(refused.put(key, "other", 1));
    EXPECT_EQ(refused.entries().size(), 0u);
    EXPECT_EQ(refused.clear().programs, 0);
  };
  fs::permissions(folder, fs::perms::group_write, fs::perm_options::add);
  expect_unused(cache, "is open to writers beside its owner (mode 0720): chmod go-w " + folder);
  fs::permissions(folder, fs::perms::owner_all | fs::perms::others_write);
  expect_unused(cache, "(mode 0702)");
  fs::permissions(folder, fs::perms::owner_all | fs::perms::others_read);
  EXPECT_EQ(cache.find(key), "program");

  fs::create_directory_symlink(folder, home + "/link");
  expect_unused(ProgramCache(home + "/link"), "is a link, and must be a folder");
  expect_unused(ProgramCache(file_of(key)), "cannot be used: Not a directory");
  if (::geteuid() != 0) {
    expect_unused(ProgramCache("/etc"), "belongs to user 0");
  } else {
    ASSERT_EQ(::chown(folder.c_str(), 1, static_cast<gid_t>(-1)), 0);
    expect_unused(cache, "belongs to user 1, and this is user 0");
    ASSERT_EQ(::chown(folder.c_str(), 0, static_cast<gid_t>(-1)), 0);
  }
  EXPECT_EQ(cache.find(key), "program");
}

TEST_F(ProgramCacheTest, FilesOfOthersAreNotUsed) {
  const ProgramKey key = key_of("step");
  ASSERT_TRUE(cache.put(key, "program", 1));
  fs::permissions(file_of(key), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(cache.find(key), std::nullopt);
  EXPECT_EQ(cache.entries().size(), 0u);
  ASSERT_TRUE(cache.put(key, "program", 1));  // in its place
  EXPECT_EQ(cache.find(key), "program");
  fs::rename(file_of(key), home + "/elsewhere");
  fs::create_symlink(home + "/elsewhere", file_of(key));
  EXPECT_EQ(cache.find(key), std::nullopt);
  ASSERT_TRUE(fs::remove(file_of(key)));
  // Would wait for whoever writes into it.
  ASSERT_EQ(::mkfifo(file_of(key).c_str(), 0600), 0);
  EXPECT_EQ(cache.find(key), std::nullopt);
}

TEST_F(ProgramCacheTest, WhatCannotBeWrittenIsNoError) {
  write_bytes(home + "/file", "");
  const ProgramCache nowhere(home + "/file/programs");
  EXPECT_FALSE(nowhere.put(key_of("step"), "program", 1));
  EXPECT_EQ(nowhere.find(key_of("step")), std::nullopt);
  ASSERT_TRUE(cache.put(key_of("step"), "program", 1));
  fs::create_directory(file_of(key_of("other")));
  EXPECT_FALSE(cache.put(key_of("other"), "program", 1));
  EXPECT_EQ(files().size(), 2u) << "a temporary file stays";
  if (::geteuid() == 0) return;
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_FALSE(cache.put(key_of("other"), "program", 1));
  EXPECT_EQ(cache.find(key_of("step")), "program");
  fs::permissions(folder, fs::perms::owner_all);
}

TEST_F(ProgramCacheTest, TheFolderOfAUser) {
  EnvironmentVariable named("ESPALIER_CACHE", nullptr), caches("XDG_CACHE_HOME", nullptr),
      own("HOME", home.c_str()), bytes("ESPALIER_CACHE_BYTES", nullptr);
  EXPECT_EQ(ProgramCache::of_user().folder(), home + "/.cache/espalier/programs");
  EXPECT_EQ(ProgramCache::of_user().cap(), int64_t{1} << 30);
  caches.set("relative");
  EXPECT_EQ(ProgramCache::of_user().folder(), home + "/.cache/espalier/programs");
  caches.set((home + "/caches").c_str());
  EXPECT_EQ(ProgramCache::of_user().folder(), home + "/caches/espalier/programs");
  named.set((home + "/mine/").c_str());
  EXPECT_EQ(ProgramCache::of_user().folder(), home + "/mine/programs");
  EXPECT_EQ(ProgramCache::of_user().why_not(), "");
  ASSERT_TRUE(ProgramCache::of_user().put(key_of("step"), "program", 1));
  EXPECT_EQ(fs::status(home + "/mine").permissions(), fs::perms::owner_all);
  EXPECT_EQ(ProgramCache::of_user().find(key_of("step")), "program");

  bytes.set("1000");
  EXPECT_EQ(ProgramCache::of_user().cap(), 1000);
  bytes.set("0");
  EXPECT_EQ(ProgramCache::of_user().cap(), 0);
  EXPECT_EQ(ProgramCache::of_user().why_not(), "");
  bytes.set("");
  EXPECT_EQ(ProgramCache::of_user().cap(), int64_t{1} << 30);
  bytes.set("-1");
  EXPECT_EQ(ProgramCache::of_user().why_not(),
            "ESPALIER_CACHE_BYTES must be a whole number from 0 on, and is -1");
  bytes.set("1GB");
  EXPECT_EQ(ProgramCache::of_user().why_not(),
            "ESPALIER_CACHE_BYTES must be a whole number from 0 on, and is 1GB");
  bytes.set(nullptr);
  // Whoever writes into the folder around it could put another one there.
  fs::permissions(home + "/mine", fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(ProgramCache::of_user().why_not().find("/mine is open to writers"), std::string::npos);
  EXPECT_EQ(ProgramCache::of_user().find(key_of("step")), std::nullopt);
  for (const char* off : {"off", ""}) {
    named.set(off);
    EXPECT_EQ(ProgramCache::of_user().why_not(), "ESPALIER_CACHE turns it off");
    EXPECT_FALSE(ProgramCache::of_user().put(key_of("step"), "program", 1));
    EXPECT_EQ(ProgramCache::of_user().find(key_of("step")), std::nullopt);
  }
  named.set(nullptr);
  caches.set(nullptr);
  own.set(nullptr);
  EXPECT_NE(ProgramCache::of_user().why_not().find("nor HOME names a folder"), std::string::npos);
}

struct PluginContent : ProgramCacheTest {
  const std::string plugin = home + "/plugin.so", remembered = folder + "/plugins";
  // Whoever computes it writes the file anew.
  ino_t written() const {
    struct stat status = {};
    ::stat(remembered.c_str(), &status);
    return status.st_ino;
  }
};

TEST_F(PluginContent, IsComputedOnceAndAnewAfterAChange) {
  write_bytes(plugin, "first");
  EXPECT_EQ(cache.content_of_plugin(plugin), sha256_of("first"));
  const ino_t first = written();
  ASSERT_NE(first, 0u);
  EXPECT_EQ(ProgramCache(folder).content_of_plugin(plugin), sha256_of("first"));
  EXPECT_EQ(written(), first);
  // In memory as well.
  fs::remove(remembered);
  EXPECT_EQ(cache.content_of_plugin(plugin), sha256_of("first"));
  EXPECT_FALSE(fs::exists(remembered));

  // Of the same size, and with the time of writing that it had.
  const auto before = fs::last_write_time(plugin);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  write_bytes(plugin, "other");
  fs::last_write_time(plugin, before);
  EXPECT_EQ(cache.content_of_plugin(plugin), sha256_of("other"));
  EXPECT_EQ(ProgramCache(folder).content_of_plugin(plugin), sha256_of("other"));
  EXPECT_THROW(cache.content_of_plugin(home + "/none.so"), IoError);
  // Without a folder, too.
  EXPECT_EQ(ProgramCache(plugin).content_of_plugin(plugin), sha256_of("other"));
}

TEST_F(PluginContent, OfTheLastOnesIsRemembered) {
  const auto plugin_of = [&](int i) { return cat(home, "/plugin", i, ".so"); };
  for (int i = 0; i < 33; ++i) {
    write_bytes(plugin_of(i), cat("plugin ", i));
    cache.content_of_plugin(plugin_of(i));
  }
  const std::string text = posix_env().read_file(remembered);
  EXPECT_EQ(std::ranges::count(text, '\n'), 32);
  EXPECT_EQ(text.find(sha256_of("plugin 0")), text.npos) << "the first one is forgotten";
  const size_t end = text.find('\n');
  EXPECT_EQ(text.substr(end - 64, 64), sha256_of("plugin 32"));
  const ino_t last = written();
  EXPECT_EQ(ProgramCache(folder).content_of_plugin(plugin_of(1)), sha256_of("plugin 1"));
  EXPECT_EQ(written(), last);
}

TEST_F(PluginContent, OfADamagedFileIsComputedAnew) {
  write_bytes(plugin, "plugin");
  cache.content_of_plugin(plugin);
  const std::string whole = posix_env().read_file(remembered), digest = sha256_of("plugin");
  std::mt19937_64 random(7);
  const auto with = [&](const std::string& text) {
    write_bytes(remembered, text);
    return ProgramCache(folder).content_of_plugin(plugin);
  };
  for (int i = 0; i < 200; ++i) {
    std::string damaged = whole;
    const size_t at = random() % whole.size();
    if (i % 2)
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    else
      damaged.resize(at);
    ASSERT_EQ(with(damaged), digest) << "damage " << i << " at " << at;
  }
  // One that is whole is believed.
  const std::string said(64, '0');
  std::string lines = whole.substr(0, whole.size() - 64);
  lines.replace(lines.find(digest), 64, said);
  EXPECT_EQ(with(lines + sha256_of(lines)), said);
  fs::permissions(remembered, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(ProgramCache(folder).content_of_plugin(plugin), digest);
}

}  // namespace
}  // namespace espalier::pjrt
