#include "base/held_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "base/scratch_test.h"

namespace espalier {
namespace {

TEST(HeldFiles, OneHasItAndOthersAreToldWho) {
  const std::string folder = fresh_folder("held-file-one"), path = folder + "/model.lock";
  auto first = std::make_unique<HeldFile>(path, "the first");
  EXPECT_TRUE(first->is_held());
  EXPECT_EQ(first->holder(), "");
  const HeldFile second(path, "the second");
  EXPECT_FALSE(second.is_held());
  EXPECT_EQ(second.holder(), "the first");
  {
    const HeldFile other(folder + "/other.lock", "another");
    EXPECT_TRUE(other.is_held());
  }
  first.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "it goes with who holds it";
  const HeldFile third(path, "3");
  EXPECT_TRUE(third.is_held());
  EXPECT_EQ(HeldFile(path, "the fourth").holder(), "3");
}

TEST(HeldFiles, OfAKilledProcessIsFree) {
  const std::string path = fresh_folder("held-file-killed") + "/model.lock";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const HeldFile held(path, "the child");
    const char said = held.is_held() ? 'y' : 'n';
    if (::write(ready[1], &said, 1) == 1) ::pause();
    ::_exit(1);
  }
  char said = 0;
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  EXPECT_EQ(HeldFile(path, "me").holder(), "the child");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(HeldFile(path, "me").is_held());
  for (const int end : ready) ::close(end);
}

// Each of many rounds has one holder, though the file goes away behind each.
TEST(HeldFiles, NobodyHoldsAFileWithoutAName) {
  const std::string folder = fresh_folder("held-file-rounds"), path = folder + "/model.lock",
                    inside = folder + "/inside";
  constexpr int kProcesses = 3, kRounds = 200;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (int round = 0; round < kRounds;) {
      const HeldFile held(path, "a child");
      if (!held.is_held()) continue;
      ++round;
      // Fails where another one is inside.
      if (::mkdir(inside.c_str(), 0700) != 0 || ::rmdir(inside.c_str()) != 0) ::_exit(1);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(HeldFiles, ALinkAndAFolderThatIsNotThereAreRefused) {
  const std::string folder = fresh_folder("held-file-refused");
  std::ofstream(folder + "/target") << "kept";
  std::filesystem::create_symlink("target", folder + "/model.lock");
  EXPECT_EQ(rule_of([&] { HeldFile(folder + "/model.lock", "me"); }), "file.write");
  EXPECT_EQ(std::filesystem::file_size(folder + "/target"), 4u);
  EXPECT_EQ(rule_of([&] { HeldFile(folder + "/none/model.lock", "me"); }), "file.write");
}

}  // namespace
}  // namespace espalier
