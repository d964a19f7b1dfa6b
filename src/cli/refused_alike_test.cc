// Input that all workers of a launch refuse alike is a usage error, as without a launcher: no verdict.
#include "cli/launched_test.h"

namespace espalier::cli {
namespace {

int64_t said_times(const std::string& text, const std::string& part) {
  int64_t out = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++out;
  return out;
}

TEST(RefusedAlike, SlowBadInputEndsWithTwoAndIsNoVerdict) {
  const std::string folder = folder_to_launch("refused-alike");
  write_file(folder + "/table.csv", "a,b,label\n1,2,yes\n3\n4,5,no\n");
  const std::string alone =
      cat(build_folder(), "/espalier train ", folder, "/plan.toml --model ", folder, "/model");
  const Outcome wanted = call_shell(alone);
  ASSERT_EQ(wanted.code, 2) << wanted.error;
  const Outcome run = call_shell(
      launch_words(3, cat("--restarts 2 --record ", folder, "/record.json"), worker_words(folder)));
  EXPECT_EQ(run.code, 2) << run.error;
  // Each rank says it, and the launcher adds nothing.
  EXPECT_EQ(said_times(run.error, wanted.error), 3) << run.error;
  EXPECT_EQ(run.error.size(), 3 * wanted.error.size()) << run.error;
  const auto record = nlohmann::json::parse(posix_env().read_file(folder + "/record.json"));
  EXPECT_EQ(record["starts"].size(), 1u) << "nothing of it would be other in another start";
  EXPECT_EQ(record["code"], 2);
  EXPECT_TRUE(record["starts"][0]["verdict"].is_null()) << record;
  for (const auto& rank : record["starts"][0]["ranks"]) EXPECT_EQ(rank["end"], "ended with status 2");
}

TEST(RefusedAlike, SlowWhatOneWorkerRefusesIsAVerdict) {
  const std::string folder = folder_to_launch("refused-by-one"), other = folder_to_launch("refused-by-one-1");
  write_file(other + "/table.csv", "a,b,label\n1,2,yes\n3\n4,5,no\n");
  const Outcome run =
      call_shell(launch_words(2, "", but_on(1, "exec " + worker_words(other), worker_words(folder))));
  EXPECT_EQ(run.code, 43) << run.error;
  EXPECT_NE(run.error.find("espalier launch: rank 1 (pid "), std::string::npos) << run.error;
  EXPECT_EQ(said_times(run.error, "(verdict "), 1) << run.error;
}

}  // namespace
}  // namespace espalier::cli
