// A file or a folder has its name only when all of its bytes are on the disk, and the name is there when the
// call returns: a machine that loses its power between two calls of the system leaves the old one or the new
// one. SIGKILL cannot show that, since the system keeps what a killed process has written.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"
#include "watched_files.h"

namespace espalier {
namespace {

using Kind = FileCall::Kind;

ino_t inode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_ino;
}

class WrittenOrder : public testing::Test {
 protected:
  WrittenOrder() : folder_(cat(testing::TempDir(), "/written-", posix_env().entropy())) {
    std::filesystem::create_directories(folder_);
  }
  ~WrittenOrder() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return cat(folder_, "/", name); }

  // That what is called `name` now was synced with so many bytes before it got the name, and the folder of
  // the name behind it.
  void expect_order(const std::vector<FileCall>& calls, const std::string& name, off_t bytes) const {
    const ino_t file = inode_of(path(name)), folder = inode_of(folder_);
    const auto renamed = std::ranges::find_if(calls, [&](const FileCall& call) {
      return call.kind == Kind::kRename && call.inode == file && call.name.ends_with(name);
    });
    ASSERT_NE(renamed, calls.end()) << name << " was not renamed";
    EXPECT_TRUE(std::any_of(calls.begin(), renamed,
                            [&](const FileCall& call) {
                              return call.kind == Kind::kSync && call.inode == file &&
                                     (bytes < 0 || call.bytes == bytes);
                            }))
        << name << " got its name before its bytes were on the disk";
    EXPECT_TRUE(
        std::any_of(renamed, calls.end(),
                    [&](const FileCall& call) { return call.kind == Kind::kSync && call.inode == folder; }))
        << "the folder of " << name << " was not synced behind the rename";
  }

  const std::string folder_;
};

TEST_F(WrittenOrder, AFileIsSyncedThenNamedThenItsFolderIsSynced) {
  for (const size_t bytes : {size_t{0}, size_t{5}, size_t{1} << 20}) {  // new, and over the one before
    const WatchedFiles watched;
    posix_env().write_file(path("file"), std::string(bytes, 'x'));
    ASSERT_EQ(watched.calls().size(), 3u);
    expect_order(watched.calls(), "file", static_cast<off_t>(bytes));
  }
  const WatchedFiles watched;
  const std::string_view parts[] = {"of ", "several ", "parts"};
  posix_env().write_parts(path("parts"), parts);
  expect_order(watched.calls(), "parts", 16);
}

TEST_F(WrittenOrder, AFolderIsSyncedWithAllOfItsFilesBeforeItHasItsName) {
  for (const char* text : {"first", "of another length"}) {
    const WatchedFiles watched;
    posix_env().write_folder(path("model"), {{"a", text}, {"b", cat(text, text)}});
    const std::vector<FileCall> calls = watched.calls();
    expect_order(calls, "model", -1);
    const auto renamed = std::ranges::find(calls, Kind::kRename, &FileCall::kind);
    for (const char* name : {"a", "b"}) {
      const ino_t file = inode_of(path(cat("model/", name)));
      const auto size = static_cast<off_t>(std::filesystem::file_size(path(cat("model/", name))));
      EXPECT_TRUE(std::any_of(calls.begin(), renamed, [&](const FileCall& call) {
        return call.kind == Kind::kSync && call.inode == file && call.bytes == size;
      })) << name;
    }
  }
}

TEST_F(WrittenOrder, SoAreCheckpointsAndModels) {
  const WatchedFiles watched;
  Sequential model{Dense({.units = 1})};
  model.compile({.loss = MeanSquaredError()});
  model.fit(full({4, 2}, 1), full({4, 1}, 1),
            {.epochs = 1,
             .batch_size = 2,
             .callbacks = {BackupAndRestore({.path = path("run"), .delete_checkpoint = false})}});
  model.save(path("model"));
  expect_order(watched.calls(), "run", static_cast<off_t>(std::filesystem::file_size(path("run"))));
  expect_order(watched.calls(), "model", -1);
}

// A disk that is full, or broken, says so at the sync: the old file is as it was, and nothing is left beside
// it.
TEST_F(WrittenOrder, ASyncThatFailsIsAnErrorAndTheOldFileStays) {
  posix_env().write_file(path("file"), "old");
  posix_env().write_folder(path("model"), {{"a", "old"}});
  WatchedFiles watched;
  for (const int reason : {EIO, ENOSPC}) {
    watched.fail_sync(0, reason);
    EXPECT_EQ(rule_of([&] { posix_env().write_file(path("file"), "new"); }), "file.write");
    EXPECT_EQ(posix_env().read_file(path("file")), "old");
    for (const int number : {0, 1}) {  // of the file, of the folder that has it
      watched.fail_sync(number, reason);
      EXPECT_EQ(rule_of([&] { posix_env().write_folder(path("model"), {{"a", "new"}}); }), "file.write");
      EXPECT_EQ(posix_env().read_file(path("model/a")), "old");
    }
    EXPECT_EQ(posix_env().list_folder(folder_), (std::vector<std::string>{"file", "model"}));
  }
  // That of the folder behind the rename: the new file is there, and may be gone with the power.
  watched.fail_sync(1, EIO);
  EXPECT_EQ(rule_of([&] { posix_env().write_file(path("file"), "new"); }), "file.sync");
  EXPECT_EQ(posix_env().read_file(path("file")), "new");
  // A file system that cannot sync folders is no fault of the file.
  watched.fail_sync(1, EINVAL);
  EXPECT_EQ(rule_of([&] { posix_env().write_file(path("file"), "newer"); }), "nothing");
}

}  // namespace
}  // namespace espalier
