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

struct Call : testing::Test {
  const std::string folder =
      fresh_folder(cat("call-", testing::UnitTest::GetInstance()->current_test_info()->name()));
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

}  // namespace
}  // namespace espalier::cli
