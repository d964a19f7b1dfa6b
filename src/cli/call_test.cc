// How a call of the command ends: exit codes, and what is said where nothing can be written.
#include "cli/call.h"

#include <filesystem>

#include "cli/verb_test.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

template <class Work>
int code_of(Work work, std::string* said = nullptr) {
  CLI::App app("", "espalier");
  app.add_subcommand("verb")->callback(work);
  std::string words[] = {"espalier", "verb"};
  char* argv[] = {words[0].data(), words[1].data()};
  testing::internal::CaptureStderr();
  const int code = call(app, 2, argv);
  const std::string error = testing::internal::GetCapturedStderr();
  if (said) *said = error;
  return code;
}

struct Call : FolderTest {
  std::string table() const {
    std::string text = "y,p\n";
    for (int i = 0; i < 40; ++i) text += cat(i % 2, ",0.", i % 9, "\n");
    return write_file(folder + "/s.csv", text);
  }
};

TEST_F(Call, ErrorsAreExitCodes) {
  std::string said;
  EXPECT_EQ(code_of([] {}), 0);
  EXPECT_EQ(code_of([] { throw Exit{3}; }), 3);
  EXPECT_EQ(code_of([] { throw ValueError("a.rule", "it is wrong"); }, &said), 2);
  EXPECT_EQ(said, "espalier: it is wrong [a.rule]\n");
  EXPECT_EQ(code_of([] { throw InternalError("we are wrong"); }, &said), 4);
  EXPECT_NE(said.find("we are wrong"), std::string::npos) << said;
  EXPECT_EQ(code_of([] { throw std::runtime_error("somebody is wrong"); }), 4);
  EXPECT_EQ(code_of([] { throw std::bad_alloc(); }), 2);
  EXPECT_EQ(code_of([] { std::filesystem::create_directory("none/none"); }, &said), 2);
  EXPECT_EQ(said, "espalier: cannot use none/none: No such file or directory [file.path]\n");
}

TEST_F(Call, AnOutputThatCannotBeWrittenIsOneSentence) {
  const std::string file = table();
  for (const char* to : {">/dev/full", ">&-"}) {
    for (const char* json : {"", " --json"}) {
      for (const std::string& verb :
           {cat("data head ", file), cat("data stats ", file), std::string("info")}) {
        const Outcome out = call_command(cat(verb, json, " ", to));
        EXPECT_EQ(out.code, 2) << verb << json << to << out.error;
        EXPECT_NE(out.error.find("standard output"), std::string::npos) << verb << json << to << out.error;
      }
    }
    const Outcome wrong = call_command(cat("data head ", folder, "/none.csv --json ", to));
    EXPECT_EQ(wrong.code, 2) << wrong.error;
    EXPECT_NE(wrong.error.find("no such file"), std::string::npos) << wrong.error;
    EXPECT_EQ(call_command(cat("data head --jsn --json ", to)).code, 2);
  }
}

TEST_F(Call, PathsOfNoUseAreWrongUse) {
  const std::string file = table(), loop = folder + "/loop", at_length(5000, 'a');
  std::filesystem::create_symlink("loop", loop);
  for (const std::string& arguments :
       {cat("data head ", file, " --out ''"), cat("data leak ", file, " --test ", at_length),
        cat("data head ", file, " --out ", at_length), cat("data stats ", at_length), cat("data leak ", loop),
        cat("data stats ", loop), cat("data head ", file, " --out ", loop, "/a"), cat("data split ", loop),
        cat("evaluate ", loop, " ", loop), cat("train --data ", loop, " --label y"),
        cat("train --data ", file, " --label y --model ", at_length), std::string("info --out ''"),
        cat("check --scores ", loop, " --label y --score p --gates ", loop)}) {
    const Outcome out = call_command(arguments);
    EXPECT_EQ(out.code, 2) << arguments << "\n" << out.error;
    EXPECT_TRUE(out.error.starts_with("espalier: ")) << arguments << "\n" << out.error;
  }
  EXPECT_NE(call_command(cat("data leak ", loop)).error.find("Too many levels of symbolic links"),
            std::string::npos);
}

TEST_F(Call, EveryOutputHasAName) {
  const std::string file = table(), scores = cat("check --scores ", file, " --label y --score p --gates g");
  for (const std::string& arguments :
       {scores + " --html ''", scores + " --junit ''", scores + " --prometheus ''", scores + " --csv ''",
        cat("data split ", file, " --train '' --test ", folder, "/b"),
        cat("data split ", file, " --test '' --train ", folder, "/a"),
        cat("data stats ", file, " --sketch ''"), cat("data validate ", file, " --schema s --apply-fix ''"),
        cat("export m --to c --out ''"), cat("import m --out ''"), cat("quantize m --out ''"),
        cat("run m --outputs ''"), cat("predict m ", file, " --quarantine ''"),
        cat("train --data ", file, " --label y --quarantine '' --model ", folder, "/m")}) {
    const Outcome out = call_command(arguments);
    EXPECT_EQ(out.code, 2) << arguments;
    EXPECT_NE(out.error.find("a file needs a name"), std::string::npos) << arguments << "\n" << out.error;
  }
}

TEST_F(Call, OutputsAreFilesOfTheirOwn) {
  const std::string file = table(), one = folder + "/one", link = folder + "/link",
                    schema = folder + "/s.pbtxt";
  const std::string gates = write_file(folder + "/g.toml", "[[gates]]\nmetric = \"accuracy\"\nmin = 0\n");
  const std::string scores = cat("check --scores ", file, " --label y --score p --gates ", gates);
  EXPECT_EQ(call_command(cat("data schema ", file, " --out ", schema)).code, 0);
  const auto refused = [&](const std::string& arguments, const std::string& first,
                           const std::string& second) {
    const Outcome out = call_command(arguments);
    EXPECT_EQ(out.code, 2) << arguments << "\n" << out.error;
    EXPECT_NE(out.error.find(first), std::string::npos) << arguments << "\n" << out.error;
    EXPECT_NE(out.error.find(second), std::string::npos) << arguments << "\n" << out.error;
  };
  const std::string other = cat(folder, "/./one");
  refused(cat("data split ", file, " --train ", one, " --test ", other, " --replace"), "--train", "--test");
  refused(cat("data split ", file, " --train ", one, " --test ", one, "2 --out ", one), "--train", "--out");
  for (const char* flag : {"--junit", "--prometheus", "--csv", "--out"})
    refused(cat(scores, " --html ", one, " ", flag, " ", other), "--html", flag);
  refused(cat("data stats ", file, " --sketch ", one, " --out ", other), "--sketch", "--out");
  refused(cat("data validate ", file, " --schema ", schema, " --apply-fix ", one, ".pb --out ", other, ".pb"),
          "--apply-fix", "--out");
  refused(cat("predict m ", file, " --schema s --quarantine ", one, " --out ", other), "--quarantine",
          "--out");
  refused(cat("train --data ", file, " --label y --schema ", schema, " --quarantine ", one, " --out ", other),
          "--quarantine", "--out");
  EXPECT_FALSE(std::filesystem::exists(one));
  const std::string here = cat("cd ", folder, " && ", std::filesystem::absolute(build_folder()).string());
  EXPECT_EQ(call_shell(cat(here, "/espalier data split s.csv --train a --test ./a")).code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder + "/a"));
  write_file(one, "kept");
  std::filesystem::create_symlink("one", link);
  refused(cat(scores, " --html ", one, " --junit ", link), "--html", "--junit");
  EXPECT_EQ(call_command(cat(scores, " --html ", one, " --junit ", one, "2")).code, 0);
  EXPECT_EQ(call_command(cat(scores, " --junit /dev/null --csv /dev/null")).code, 0);
}

}  // namespace
}  // namespace espalier::cli
