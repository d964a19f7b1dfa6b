#include "base/held_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/scratch_test.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

struct HeldFolders : testing::Test {
  std::string above =
      fs::absolute(
          fresh_folder(cat("held-folders-", testing::UnitTest::GetInstance()->current_test_info()->name())))
          .string();

  // As one of a process that is dead, with a file of Open MPI in it.
  std::string left_over(const std::string& name, mode_t mode = 0700) {
    const std::string path = above + "/" + name;
    fs::create_directories(path + "/ompi.host.0/pid.7/0");
    std::ofstream(path + "/ompi.host.0/pid.7/contact.txt") << "7";
    ::chmod(path.c_str(), mode);
    return path;
  }
};

TEST_F(HeldFolders, GoWithTheirObject) {
  std::string path;
  {
    const HeldFolder folder(above, "espalier-mpi-");
    path = folder.path();
    EXPECT_TRUE(path.starts_with(above + "/espalier-mpi-")) << path;
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directories(path + "/ompi.host.0/pid.7");
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(HeldFolder(above + "/nowhere", "espalier-mpi-").path(), "");
}

TEST_F(HeldFolders, ThatNobodyHoldsAreRemovedAndNothingElse) {
  const std::string dead = left_over("espalier-mpi-0123456789abcdef");
  std::vector<std::string> kept = {left_over("espalier-mpi-0123456789abcdeg"), left_over("espalier-mpi-01"),
                                   left_over("espalier-mpi-0123456789abcdef0"), left_over("ompi.host.0"),
                                   left_over("espalier-mpi-00000000000000aa", 0755)};
  const std::string target = left_over("target"), link = above + "/espalier-mpi-00000000000000bb";
  fs::create_directory_symlink(target, link);
  kept.insert(kept.end(), {target, link});
  const HeldFolder living(above, "espalier-mpi-"), next(above, "espalier-mpi-");
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(living.path()));
  EXPECT_NE(living.path(), next.path());
  for (const std::string& path : kept)
    EXPECT_TRUE(fs::exists(path + "/ompi.host.0/pid.7/contact.txt")) << path;
}

TEST_F(HeldFolders, OfAKilledProcessIsRemovedAtTheNextStart) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const HeldFolder folder(above, "espalier-mpi-");
    [[maybe_unused]] const ssize_t told = ::write(ends[1], folder.path().data(), folder.path().size());
    while (true) ::pause();
  }
  char text[4096];
  const ssize_t got = ::read(ends[0], text, sizeof text);
  ASSERT_GT(got, 0);
  const std::string path(text, static_cast<size_t>(got));
  EXPECT_TRUE(fs::exists(path));
  { const HeldFolder other(above, "espalier-mpi-"); }
  EXPECT_TRUE(fs::exists(path)) << "it lives";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(path)) << "nobody was there to remove it";
  { const HeldFolder other(above, "espalier-mpi-"); }
  EXPECT_FALSE(fs::exists(path));
  ::close(ends[0]);
  ::close(ends[1]);
}

// Each has one, however they meet.
TEST_F(HeldFolders, OfThreadsThatBeginTogetherAreKept) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        const HeldFolder folder(above, "espalier-mpi-");
        EXPECT_FALSE(folder.path().empty());
        EXPECT_TRUE(fs::exists(folder.path())) << folder.path();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(fs::is_empty(above));
}

}  // namespace
}  // namespace espalier
