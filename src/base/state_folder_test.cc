#include "base/state_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

class StateFolders : public testing::Test {
 protected:
  StateFolders() : folder_(cat(testing::TempDir(), "state-folder-", posix_env().entropy())) {
    fs::create_directories(folder_);
    for (const char* name : kNames) {
      const char* const value = std::getenv(name);
      before_.push_back(value ? std::optional<std::string>(value) : std::nullopt);
      ::unsetenv(name);
    }
  }
  ~StateFolders() override {
    for (size_t i = 0; i < before_.size(); ++i) {
      if (before_[i])
        ::setenv(kNames[i], before_[i]->c_str(), 1);
      else
        ::unsetenv(kNames[i]);
    }
    fs::remove_all(folder_);
  }
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  static constexpr const char* kNames[] = {"XDG_STATE_HOME", "HOME", "XDG_RUNTIME_DIR"};
  std::vector<std::optional<std::string>> before_;
  std::string folder_;
};

TEST_F(StateFolders, TheFirstThatCanBeUsed) {
  EXPECT_EQ(StateFolder("runs").why_not,
            "neither XDG_STATE_HOME nor HOME nor XDG_RUNTIME_DIR names a folder");
  ::setenv("XDG_RUNTIME_DIR", (folder_ + "/runtime").c_str(), 1);
  EXPECT_EQ(StateFolder("runs").path, folder_ + "/runtime/espalier/runs");
  ::setenv("HOME", folder_.c_str(), 1);
  EXPECT_EQ(StateFolder("runs").path, folder_ + "/.local/state/espalier/runs");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  EXPECT_EQ(StateFolder("runs").path, folder_ + "/.local/state/espalier/runs");
  ::setenv("XDG_STATE_HOME", (folder_ + "/state").c_str(), 1);
  const StateFolder runs("runs");
  EXPECT_EQ(runs.path, folder_ + "/state/espalier/runs");
  EXPECT_EQ(mode_of(runs.path), 0700u);
  EXPECT_EQ(mode_of(folder_ + "/state/espalier"), 0700u);
}

TEST_F(StateFolders, OneThatOthersMayWriteIntoIsNotUsed) {
  ::setenv("XDG_STATE_HOME", folder_.c_str(), 1);
  fs::create_directory(folder_ + "/espalier");
  fs::permissions(folder_ + "/espalier", fs::perms::all);
  const StateFolder open("runs");
  EXPECT_FALSE(open.folder);
  EXPECT_NE(open.why_not.find("is open to writers beside its owner"), std::string::npos) << open.why_not;
  ::setenv("HOME", (folder_ + "/of-user").c_str(), 1);
  EXPECT_EQ(StateFolder("runs").path, folder_ + "/of-user/.local/state/espalier/runs");
  // Nor a link.
  fs::remove_all(folder_ + "/espalier");
  fs::create_directory_symlink(folder_, folder_ + "/espalier");
  EXPECT_EQ(StateFolder("runs").path, folder_ + "/of-user/.local/state/espalier/runs");
}

TEST_F(StateFolders, TheNewestAreKept) {
  ::setenv("XDG_STATE_HOME", folder_.c_str(), 1);
  const StateFolder runs("runs");
  const std::string_view text[] = {"x"};
  ASSERT_TRUE(runs.folder.write("other", text));
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(runs.folder.write(cat("run-", 9 - i), text));
  keep_newest(runs.folder, "run-", 3);
  EXPECT_EQ(runs.folder.names(), (std::vector<std::string>{"other", "run-3", "run-4", "run-5"}));
  EXPECT_EQ(mode_of(runs.path + "/run-3"), 0600u);
}

TEST_F(StateFolders, ATemporaryFolderIsOfThisUserAloneAndGoes) {
  std::string path;
  {
    const TemporaryFolder one("test"), other("test");
    path = one.path();
    EXPECT_NE(path, other.path());
    EXPECT_EQ(mode_of(path), 0700u);
    const Descriptor file = one.create("file");
    EXPECT_EQ(::write(file.number(), "1", 1), 1);
    EXPECT_EQ(posix_env().read_file(path + "/file"), "1");
    EXPECT_EQ(mode_of(path + "/file"), 0600u);
    EXPECT_ANY_THROW(one.create("file"));
    fs::create_directories(path + "/deep/er");
    fs::create_directory(folder_ + "/kept");
    fs::create_directory_symlink(folder_, path + "/deep/link");
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(folder_ + "/kept")) << "a link is removed, not what it leads to";
}

}  // namespace
}  // namespace espalier
