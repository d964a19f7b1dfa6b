#include "base/env.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/error.h"

namespace espalier {
namespace {

class EnvTest : public ::testing::Test {
 protected:
  EnvTest() : folder_(cat(::testing::TempDir(), "espalier-env-", posix_env().entropy())) {
    posix_env().make_folder(folder_);
  }
  ~EnvTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return cat(folder_, "/", name); }
  std::string folder_;
};

TEST_F(EnvTest, LeftOversOfKilledWritersAreRemoved) {
  posix_env().write_file(path("x.1-2.part"), "");
  posix_env().make_folder(path("x.3-4.part") + "/inside");
  for (const char* other : {"x", "x.part", "x..part", "x.a.part", "y.1-2.part", "x.1-2.partial"})
    posix_env().write_file(path(other), "");
  posix_env().remove_left_overs(path("x"));
  EXPECT_EQ(posix_env().list_folder(folder_),
            (std::vector<std::string>{"x", "x..part", "x.1-2.partial", "x.a.part", "x.part", "y.1-2.part"}));
}

TEST_F(EnvTest, WritesAndReadsBack) {
  const std::string bytes("a\0b\n", 4);
  posix_env().write_file(path("x"), bytes);
  EXPECT_EQ(posix_env().read_file(path("x")), bytes);
  posix_env().write_file(path("x"), "");
  EXPECT_EQ(posix_env().read_file(path("x")), "");
  const std::string large(3 << 20, 'q');
  posix_env().write_file(path("x"), large);
  EXPECT_EQ(posix_env().read_file(path("x")), large);
  EXPECT_EQ(posix_env().list_folder(folder_), std::vector<std::string>{"x"}) << "no temporary file stays";
}

TEST_F(EnvTest, ReadsFilesThatAnnounceNoSize) {
  EXPECT_NE(posix_env().read_file("/proc/self/status").find("Pid:"), std::string::npos);
}

TEST_F(EnvTest, AFolderThatIsReplacedIsReadWhole) {
  constexpr int kFiles = 40;
  const auto version = [](const std::string& text) {
    std::map<std::string, std::string> files;
    for (int i = 0; i < kFiles; ++i) files[cat(i)] = text;
    files["of-" + text] = text;
    return files;
  };
  posix_env().write_folder(path("model"), version("0"));
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 1; i < 7; ++i) posix_env().write_folder(path("model"), version(cat(i)), {cat("of-", i - 1)});
    done = true;
  });
  while (!done) {
    const auto files = posix_env().read_folder(path("model"));
    EXPECT_EQ(files, version(files.empty() ? "none" : files.begin()->second));
  }
  writer.join();
  EXPECT_EQ(posix_env().read_folder(path("model")), version("6"));
}

TEST_F(EnvTest, AFolderIsReadWithoutWhatIsNoFile) {
  std::filesystem::create_symlink("nowhere", path("link"));
  posix_env().make_folder(path("inside"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  posix_env().write_file(path("x"), "1");
  EXPECT_EQ(posix_env().read_folder(folder_), (std::map<std::string, std::string>{{"x", "1"}}));
  EXPECT_EQ(rule_of([&] { posix_env().read_folder(path("x")); }), "file.read");
  EXPECT_EQ(rule_of([&] { posix_env().read_folder(path("absent")); }), "file.read");
}

// A writer that is done before the reader looks has written all the same; one that is late is waited for.
TEST_F(EnvTest, APipeIsReadWholeWheneverItsWriterComes) {
  for (const int late : {0, 1}) {
    for (int i = 0; i < 50; ++i) {
      const std::string pipe = path(cat("pipe-", late, "-", i).c_str());
      ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
      std::thread writer([&] {
        if (late) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::ofstream(pipe) << "bytes";
      });
      EXPECT_EQ(posix_env().read_file(pipe), "bytes");
      writer.join();
    }
  }
}

TEST_F(EnvTest, AFailedWriteLeavesTheOldFile) {
  posix_env().make_folder(path("taken/by/folders"));
  EXPECT_EQ(rule_of([&] { posix_env().write_file(path("taken"), "new"); }), "file.write");
  EXPECT_EQ(posix_env().list_folder(folder_), std::vector<std::string>{"taken"});
  EXPECT_EQ(rule_of([&] { posix_env().write_file(path("missing/x"), "new"); }), "file.write");
}

TEST_F(EnvTest, ErrorsNameThePath) {
  try {
    posix_env().read_file(path("absent"));
    FAIL();
  } catch (const IoError& error) {
    EXPECT_EQ(error.rule(), "file.read");
    EXPECT_NE(error.message().find(path("absent")), std::string::npos);
    EXPECT_NE(error.message().find("no such file"), std::string::npos);
  }
  EXPECT_EQ(rule_of([&] { posix_env().read_file(folder_); }), "file.read");
  EXPECT_EQ(rule_of([&] { posix_env().remove_file(path("absent")); }), "file.remove");
  EXPECT_EQ(rule_of([&] { posix_env().list_folder(path("absent")); }), "file.list");
  posix_env().write_file(path("x"), "1");
  EXPECT_EQ(rule_of([&] { posix_env().make_folder(path("x")); }), "file.make");
  EXPECT_TRUE(posix_env().exists(path("x")));
  posix_env().remove_file(path("x"));
  EXPECT_FALSE(posix_env().exists(path("x")));
}

TEST_F(EnvTest, ClocksAndEntropy) {
  const double before = posix_env().steady_seconds();
  EXPECT_GE(posix_env().steady_seconds(), before);
  EXPECT_GT(posix_env().wall_seconds(), 1.7e9);
  EXPECT_NE(posix_env().entropy(), posix_env().entropy());
}

TEST(EnvFiles, WritingKeepsWhatAFileIs) {
  const std::string folder = testing::TempDir() + "keeps";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string file = folder + "/file", link = folder + "/link";
  posix_env().write_file(file, "old");
  std::filesystem::permissions(file,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink(file, link);
  posix_env().write_file(link, "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(posix_env().read_file(file), "new");
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  // A device stays one; its refusal is an error.
  EXPECT_THROW(posix_env().write_file("/dev/full", "x"), IoError);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_THROW(posix_env().write_file(folder, "x"), IoError);
  try {
    posix_env().write_file(folder + "/none/file", "x");
    ADD_FAILURE() << "written into a folder that is not there";
  } catch (const IoError& error) {
    EXPECT_EQ(error.message(),
              cat("cannot write ", folder, "/none/file: there is no folder ", folder, "/none"));
  }
}

}  // namespace
}  // namespace espalier
