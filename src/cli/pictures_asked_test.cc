// What verbs are asked of images and cannot do, and what they say is next.
#include <filesystem>

#include "cli/pictures_test.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

struct PicturesAsked : PicturesTest {
  const fs::path before = fs::current_path();

  void TearDown() override { fs::current_path(before); }
  // What is said of a mistake: rule, message and fix.
  static std::string refused(AddVerb add, const std::vector<std::string>& arguments) {
    try {
      call_verb(add, arguments);
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.message(), "; fix: ", error.fix());
    }
    return "accepted";
  }
  static std::string next_of(const std::string& text) { return text.substr(text.rfind("next: ")); }
  // 40 digits of 2x2.
  std::string digits() const {
    std::string text;
    for (int row = 0; row < 40; ++row) {
      for (int pixel = 0; pixel < 4; ++pixel) text += pixel == row % 4 ? "255," : "0,";
      text += cat(row % 4, "\n");
    }
    return write_file(folder + "/digits.csv", text);
  }
};

TEST_F(PicturesAsked, AFolderThatHoldsNothingIsRefusedBeforeTheTraining) {
  const std::string data = squares();
  std::string said;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--data", data},
        {"--data", write_file(folder + "/t.csv", "x,kind\n1,a\n2,b\n"), "--label", "kind"}}) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--model", "/proc/x"});
    EXPECT_TRUE(refused(add_train, all).starts_with("save.path: cannot write into the folder /proc: "))
        << refused(add_train, all);
  }
  trained(data, model);
  EXPECT_TRUE(refused(add_quantize, {model, "--calibrate", data, "--out", "/proc/x"})
                  .starts_with("save.path: cannot write into the folder /proc: "));
  const auto left = [&] {
    std::vector<std::string> names = posix_env().list_folder(folder);
    return std::ranges::count_if(names, [](const std::string& name) { return name.ends_with(".probe"); });
  };
  EXPECT_EQ(left(), 0);
}

}  // namespace
}  // namespace espalier::cli
