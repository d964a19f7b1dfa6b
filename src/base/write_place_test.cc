#include "base/write_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/error.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kAnother = 65533;  // nobody has it

class WritePlaces : public testing::Test {
 protected:
  WritePlaces() : folder_(cat(testing::TempDir(), "write-place-", posix_env().entropy())) {
    fs::create_directories(folder_);
    posix_env().write_file(path("kept"), "kept");
    fs::create_directory(path("kept-folder"));
    posix_env().write_file(path("kept-folder/file"), "kept");
  }
  ~WritePlaces() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // A link of another user, as root alone can make one.
  void plant_link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, path(name));
    ASSERT_EQ(::lchown(path(name).c_str(), kAnother, kAnother), 0);
  }
  void expect_untouched() const {
    EXPECT_EQ(posix_env().read_file(path("kept")), "kept");
    EXPECT_EQ(posix_env().read_folder(path("kept-folder")),
              (std::map<std::string, std::string>{{"file", "kept"}}));
  }

  std::string folder_;
};

// Root of a namespace may have no other users.
bool can_give_away(const std::string& file) {
  return ::geteuid() == 0 && ::chown(file.c_str(), kAnother, kAnother) == 0 &&
         ::chown(file.c_str(), 0, 0) == 0;
}
#define AS_ROOT() \
  if (!can_give_away(path("kept"))) GTEST_SKIP() << "only root can give a file to another user"

TEST_F(WritePlaces, LinksOfThisUserAreFollowed) {
  fs::create_directory(path("real"));
  fs::create_symlink("real", path("to-folder"));
  fs::create_symlink("to-folder/../real/./file", path("to-file"));
  fs::create_symlink(path("to-file"), path("to-link"));
  posix_env().write_file(path("to-link"), "1");
  EXPECT_EQ(posix_env().read_file(path("real/file")), "1");
  EXPECT_TRUE(fs::is_symlink(path("to-link")) && fs::is_symlink(path("to-file")));
  posix_env().write_file(path("to-folder/other"), "2");
  EXPECT_EQ(posix_env().read_file(path("real/other")), "2");
  posix_env().make_folder(path("to-folder/a/b/../c"));
  EXPECT_TRUE(fs::is_directory(path("real/a/b")) && fs::is_directory(path("real/a/c")));
  fs::create_symlink("real", path("to-model"));
  fs::remove_all(path("real"));
  fs::create_directory(path("real"));
  posix_env().write_folder(path("to-model"), {{"x", "3"}});
  EXPECT_TRUE(fs::is_symlink(path("to-model")));
  EXPECT_EQ(posix_env().read_file(path("real/x")), "3");
  // What a link leads to need not be there.
  fs::create_symlink("later", path("to-later"));
  posix_env().write_file(path("to-later"), "4");
  EXPECT_EQ(posix_env().read_file(path("later")), "4");
  posix_env().remove_file(path("to-later"));
  EXPECT_EQ(posix_env().read_file(path("later")), "4") << "a link is removed, not what it leads to";
}

TEST_F(WritePlaces, LoopsAndLongWaysEnd) {
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_EQ(rule_of([&] { posix_env().write_file(path("a"), ""); }), "file.write");
  EXPECT_EQ(rule_of([&] { posix_env().write_file("", ""); }), "file.write");
  EXPECT_EQ(rule_of([&] { posix_env().write_file("/", ""); }), "file.write");
  EXPECT_EQ(rule_of([&] { posix_env().write_file(path("kept/x"), ""); }), "file.write");
  EXPECT_EQ(rule_of([&] { posix_env().write_folder("/", {}); }), "file.write");
}

TEST_F(WritePlaces, FoldersWithoutANameAreFoundByTheirPath) {
  fs::create_directory(path("here"));
  const fs::path before = fs::current_path();
  fs::current_path(path("here"));
  const WritePlace dot(".", "write"), up("../here/..", "write");
  fs::current_path(before);
  EXPECT_EQ(dot.name(), "here");
  EXPECT_EQ(up.name(), fs::path(folder_).filename().string());
}

TEST_F(WritePlaces, StandardOutputAndPipesOfTheShellAreWrittenThrough) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const auto read = [&] {
    char bytes[16];
    const ssize_t size = ::read(ends[0], bytes, sizeof bytes);
    return std::string(bytes, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  };
  for (const std::string& name :
       {cat("/dev/fd/", ends[1]), cat("/proc/self/fd/", ends[1]), cat("/dev/./fd/", ends[1])}) {
    posix_env().check_writable(name);
    posix_env().write_file(name, "bytes");
    EXPECT_EQ(read(), "bytes") << name;
  }
  fs::create_symlink(cat("/proc/self/fd/", ends[1]), path("out"));
  posix_env().write_file(path("out"), "by link");
  EXPECT_EQ(read(), "by link");
  EXPECT_EQ(rule_of([&] { posix_env().write_file(cat("/dev/fd/", ends[0]), "x"); }), "file.write");
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(rule_of([&] { posix_env().write_file(cat("/dev/fd/", ends[1]), "x"); }), "file.write");
  // As a shell has it behind `>`: what was written before stays.
  const int file = ::open(path("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(file, "first ", 6), 6);
  posix_env().write_file(cat("/dev/fd/", file), "second");
  ::close(file);
  EXPECT_EQ(posix_env().read_file(path("log")), "first second");
}

TEST_F(WritePlaces, APipeIsWrittenWhereAProcessReadsIt) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  posix_env().check_writable(pipe);
  try {
    posix_env().write_file(pipe, "x");
    ADD_FAILURE() << "nobody reads it";
  } catch (const IoError& error) {
    EXPECT_EQ(error.message(), cat("cannot write ", pipe, ": no process reads this pipe"));
  }
  const std::string much(1 << 20, 'x');
  std::string got;
  std::thread reader([&] { got = posix_env().read_file(pipe); });
  // The reader's open waits for a writer; ours is refused until it does.
  for (;;) {
    try {
      posix_env().write_file(pipe, much);
      break;
    } catch (const IoError&) {
      std::this_thread::yield();
    }
  }
  reader.join();
  EXPECT_EQ(got, much);
}

TEST_F(WritePlaces, LinksOfAnotherUserAreRefused) {
  AS_ROOT();
  plant_link("kept", "out");
  plant_link(folder_ + "/kept-folder", "model");
  plant_link("nowhere", "absent");
  for (const auto& write : std::vector<std::function<void()>>{
           [&] { posix_env().write_file(path("out"), "x"); },
           [&] { posix_env().write_file(path("absent"), "x"); },
           [&] { posix_env().write_file(path("model/file"), "x"); },
           [&] {
             posix_env().write_folder(path("model"), {{"file", "x"}});
           },
           [&] {
             posix_env().write_folder(path("model/inside"), {{"file", "x"}});
           },
           [&] { posix_env().make_folder(path("model/inside/x")); },
           [&] { posix_env().make_folder(path("model")); },
           [&] { posix_env().remove_file(path("model/file")); },
           [&] { posix_env().remove_left_overs(path("model/file")); },
           [&] { posix_env().check_writable(path("out")); },
       })
    EXPECT_EQ(rule_of(write), "file.link");
  expect_untouched();
  EXPECT_FALSE(fs::exists(path("nowhere")));
  try {
    posix_env().write_file(path("out"), "x");
  } catch (const IoError& error) {
    EXPECT_EQ(error.message(),
              cat("cannot write ", path("out"), ": \"out\" in it is a link to kept, which user ", kAnother,
                  " made; only links of this user and of root are followed"));
  }
  // The link itself can go.
  posix_env().remove_file(path("out"));
  expect_untouched();
}

TEST_F(WritePlaces, PipesOfAnotherUserAreRefusedWithoutAWait) {
  AS_ROOT();
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  ASSERT_EQ(::chown(pipe.c_str(), kAnother, kAnother), 0);
  EXPECT_EQ(rule_of([&] { posix_env().write_file(pipe, "x"); }), "file.write");
  EXPECT_EQ(rule_of([&] { posix_env().check_writable(pipe); }), "file.write");
  EXPECT_EQ(rule_of([&] { posix_env().read_file(pipe); }), "file.read");
  // Nor where somebody reads it.
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(rule_of([&] { posix_env().write_file(pipe, "x"); }), "file.write");
  char byte;
  EXPECT_EQ(::read(reader, &byte, 1), 0) << "no byte went into it";
  ::close(reader);
}

TEST_F(WritePlaces, AModeThatAnotherUserChoseIsNotKept) {
  AS_ROOT();
  posix_env().write_file(path("open"), "old");
  fs::permissions(path("open"), fs::perms::all);
  ASSERT_EQ(::chown(path("open").c_str(), kAnother, kAnother), 0);
  posix_env().write_file(path("open"), "new");
  struct stat status;
  ASSERT_EQ(::stat(path("open").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & (S_IWGRP | S_IWOTH), 0u);
  EXPECT_EQ(status.st_uid, ::geteuid());
}

TEST_F(WritePlaces, AFileWithASecondNameKeepsItsBytesThere) {
  fs::create_hard_link(path("kept"), path("second"));
  posix_env().write_file(path("second"), "new");
  expect_untouched();
}

TEST_F(WritePlaces, AFolderOfOtherFilesIsNotEmptied) {
  EXPECT_EQ(rule_of([&] { posix_env().write_folder(path("kept-folder"), {{"x", "1"}}); }), "file.foreign");
  expect_untouched();
  posix_env().write_folder(path("kept-folder"), {{"x", "1"}}, {"file"});
  EXPECT_EQ(posix_env().read_folder(path("kept-folder")), (std::map<std::string, std::string>{{"x", "1"}}));
  fs::create_directory(path("kept-folder/deep"));
  posix_env().write_file(path("kept-folder/deep/x"), "deep");
  EXPECT_EQ(rule_of([&] {
              posix_env().write_folder(path("kept-folder"), {{"x", "2"}, {"deep", ""}});
            }),
            "file.foreign");
  EXPECT_EQ(posix_env().read_file(path("kept-folder/deep/x")), "deep");
  EXPECT_EQ(posix_env().read_file(path("kept-folder/x")), "1");
  EXPECT_EQ(posix_env().list_folder(folder_), (std::vector<std::string>{"kept", "kept-folder"}))
      << "no temporary folder stays";
}

TEST_F(WritePlaces, WhatMayNotBeLookedAtIsNotAbsent) {
  AS_ROOT();
  fs::create_directory(path("locked"));
  posix_env().write_file(path("locked/file"), "1");
  fs::permissions(path("locked"), fs::perms::none);
  for (fs::path above = folder_; above != above.root_path(); above = above.parent_path()) {
    if ((fs::status(above).permissions() & fs::perms::others_exec) == fs::perms::none)
      GTEST_SKIP() << "another user cannot reach " << above;
  }
  // A thread's user is its own below the C library; access() goes by the real one.
  EXPECT_EXIT(
      {
        if (::setresuid(kAnother, kAnother, kAnother) != 0) ::_exit(2);
        ::_exit(rule_of([&] { posix_env().exists(path("locked/file")); }) == "file.find" ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  fs::permissions(path("locked"), fs::perms::owner_all);
}

}  // namespace
}  // namespace espalier
