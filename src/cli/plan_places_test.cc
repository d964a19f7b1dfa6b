// Where a written plan lies, and what its paths say from there.
#include <filesystem>

#include "base/env.h"
#include "cli/verb_test.h"
#include "plan/plan.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

struct PlanPlaces : testing::Test {
  const fs::path before = fs::current_path();
  const std::string folder = fs::canonical(
      fresh_folder(cat("plan-places-", testing::UnitTest::GetInstance()->current_test_info()->name())));

  void SetUp() override {
    fs::create_directories(folder + "/here/below");
    fs::create_directories(folder + "/other/deep");
    fs::create_directory_symlink("../other/deep", folder + "/here/linked");
    fs::current_path(folder + "/here");
    write_file("table.csv", "x,kind\n1,a\n2,b\n");
  }
  void TearDown() override { fs::current_path(before); }
  // What a plan at `out` says of `data`.
  static std::string said(const std::string& data, const std::string& out) {
    call_verb(add_train, {"--data", data, "--label", "kind", "--write-plan", "--out", out});
    const std::string file = read_plan(posix_env().read_file(out), "plan.toml").data.file;
    EXPECT_TRUE(fs::equivalent(fs::path(out).parent_path() / file, data)) << file << " of " << out;
    return file;
  }
};

TEST_F(PlanPlaces, PathsAreSaidFromThePlansFolder) {
  for (const auto& [out, file] :
       std::map<std::string, std::string>{{"d.toml", "table.csv"},
                                          {"./d.toml", "table.csv"},
                                          {"below/d.toml", "../table.csv"},
                                          {"below/../d.toml", "table.csv"},
                                          {"../d.toml", "here/table.csv"},
                                          {"../other/d.toml", "../here/table.csv"},
                                          // "linked" is a folder in another.
                                          {"linked/d.toml", "../../here/table.csv"}}) {
    EXPECT_EQ(said("table.csv", out), file) << out;
    EXPECT_EQ(said("./table.csv", out), file) << out;
    EXPECT_EQ(said("../here/table.csv", out), file) << out;
  }
  EXPECT_EQ(said(folder + "/here/table.csv", "../d.toml"), folder + "/here/table.csv");
}

TEST_F(PlanPlaces, ALinkedFileKeepsItsName) {
  fs::create_symlink("../here/table.csv", "../other/latest.csv");
  EXPECT_EQ(said("../other/latest.csv", "../d.toml"), "other/latest.csv");
  write_file("../other/deep/table.csv", "x,kind\n1,a\n2,b\n");
  EXPECT_EQ(said("linked/table.csv", "d.toml"), "../other/deep/table.csv");
}

TEST_F(PlanPlaces, AFolderThatIsNotThereYetIsSaidToo) {
  call_verb(add_train, {"--data", "table.csv", "--label", "kind", "--model", "runs/one/", "--write-plan",
                        "--out", "../d.toml"});
  EXPECT_EQ(read_plan(posix_env().read_file("../d.toml"), "plan.toml").model.path, "here/runs/one");
}

}  // namespace
}  // namespace espalier::cli
