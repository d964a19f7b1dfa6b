#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

std::multiset<std::string> lines_in(const std::string& text) {
  std::multiset<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.insert(line);
  return out;
}

constexpr const char* kNoneJoined =
    "espalier launch: warning: none of the 2 ranks joined: the program makes no "
    "strategy::MultiWorkerMirrored, so Espalier trained nothing together\n";

TEST(LaunchVerb, WordsBehindTheMarkAreTheProgramsOwn) {
  const Outcome run = call_command("launch -n 2 -- printf '<%s>\\n' --ranks 7 -- '[1,2]' '' 'a b' --help");
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(lines_in(run.output),
            (std::multiset<std::string>{"<--ranks>", "<7>", "<-->", "<[1,2]>", "<>", "<a b>", "<--help>",
                                        "<--ranks>", "<7>", "<-->", "<[1,2]>", "<>", "<a b>", "<--help>"}));
  EXPECT_EQ(run.error, kNoneJoined);
}

TEST(LaunchVerb, TheMarkMayBeLeftOutBeforeAProgram) {
  for (const char* flags : {"-n 2 --prefix", "-n2 --prefix", "--ranks=2 --restarts 0 --prefix",
                            "--prefix --stall-after=9s --env A=1 -n 2"}) {
    // A program has what looks like flags of the launcher.
    const Outcome run = call_command(cat("launch ", flags, " printf '<%s>\\n' --ranks '[1,2]' -n --help"));
    EXPECT_EQ(run.code, 0) << flags << run.error;
    EXPECT_EQ(lines_in(run.output),
              (std::multiset<std::string>{"[rank 0] <--ranks>", "[rank 0] <[1,2]>", "[rank 0] <-n>",
                                          "[rank 0] <--help>", "[rank 1] <--ranks>", "[rank 1] <[1,2]>",
                                          "[rank 1] <-n>", "[rank 1] <--help>"}))
        << flags;
    EXPECT_EQ(run.error, kNoneJoined) << flags;
  }
  const std::string folder = fresh_folder("launch-mark");
  write_file(folder + "/program", "#!/bin/sh\necho \"$1 of $ESPALIER_WORLD\"\n");
  std::filesystem::permissions(folder + "/program", std::filesystem::perms::owner_all);
  EXPECT_EQ(call_command(cat("launch -n 1 ", folder, "/program --epochs")).output, "--epochs of 1\n");
}

// Whether they are programs of Espalier nobody knows.
TEST(LaunchVerb, ThatNoRankJoinedIsOneWarning) {
  EXPECT_EQ(call_command("launch -n 2 -- true").error, kNoneJoined);
  EXPECT_EQ(call_command("launch -n 1 -- true").error, "") << "one is alone in any case";
  const Outcome failed = call_command("launch -n 2 -- false");
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.error.find("joined"), std::string::npos) << "what failed is said: " << failed.error;
}

TEST(LaunchVerb, PrefixAndPlaces) {
  const Outcome run = call_command("launch -n 2 --prefix -- sh -c 'echo $ESPALIER_RANK of $ESPALIER_WORLD'");
  EXPECT_EQ(lines_in(run.output), (std::multiset<std::string>{"[rank 0] 0 of 2", "[rank 1] 1 of 2"}));
}

TEST(LaunchVerb, CodeAndLastLinesAreThoseOfTheFirstFailure) {
  const Outcome run = call_command(
      "launch -n 3 -- sh -c '[ $ESPALIER_RANK = 1 ] && { echo no data >&2; exit 5; }; exec sleep 60'");
  EXPECT_EQ(run.code, 5);
  EXPECT_TRUE(run.error.starts_with("no data\nespalier launch: rank 1 (pid ")) << run.error;
  EXPECT_TRUE(run.error.ends_with(") ended with status 5\nthe last 1 line of rank 1:\n  | no data\n"))
      << run.error;
  EXPECT_EQ(call_command("launch -n 1 -- sh -c 'kill -SEGV $$'").code, 139);
  EXPECT_EQ(call_command("launch -n 2 -- sh -c 'exit 42'").code, 42);
}

TEST(LaunchVerb, RestartsAreSaid) {
  const Outcome run = call_command("launch -n 1 --restarts 1 -- sh -c 'exit $((1 - ESPALIER_RESTART))'");
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(run.error.ends_with(") ended with status 1\nall ranks start again, 1 of 1\n")) << run.error;
}

TEST(LaunchVerb, ChaosIsForTheFirstStart) {
  const Outcome run = call_command(
      "launch -n 1 --restarts 1 --chaos kill:0@step3 -- "
      "sh -c 'echo \"<$ESPALIER_CHAOS>\"; exit $((1 - ESPALIER_RESTART))'");
  EXPECT_EQ(run.output, "<kill:0@step3>\n<>\n");
}

TEST(LaunchVerb, ARecordSaysHowEachStartEnded) {
  const std::string file = fresh_folder("launch-record") + "/record.json";
  const Outcome run =
      call_command(cat("launch -n 2 --restarts 1 --record ", file,
                       " -- sh -c 'sleep 0.$((5 * ESPALIER_RANK)); exit $((3 - 3 * ESPALIER_RESTART))'"));
  EXPECT_EQ(run.code, 0) << run.error;
  const auto json = nlohmann::json::parse(posix_env().read_file(file));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["verb"], "launch");
  EXPECT_EQ(json["code"], 0);
  ASSERT_EQ(json["starts"].size(), 2u);
  EXPECT_EQ(json["starts"][0]["code"], 3);
  EXPECT_EQ(json["starts"][0]["verdict"], nullptr);
  EXPECT_EQ(json["starts"][0]["ranks"][0]["end"], "ended with status 3");
  EXPECT_EQ(json["starts"][0]["ranks"][1]["end"], "ended by signal 15");
  EXPECT_EQ(json["starts"][1]["ranks"][1]["end"], "ended with status 0");
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const Outcome refused = call_command("launch -n 1 --record /nowhere/record.json -- echo started");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.output, "");
}

TEST(LaunchVerb, WrongUseIsSaidBeforeAnythingStarts) {
  const auto refused = [](const std::string& words, const std::string& text) {
    const Outcome run = call_command("launch " + words);
    EXPECT_EQ(run.code, 2) << words;
    EXPECT_NE(run.error.find(text), std::string::npos) << words << "\n" << run.error;
    EXPECT_EQ(run.output, "") << words;
  };
  refused("-n 2", "stand behind \"--\"");
  refused("-n 2 --", "stand behind \"--\"");
  refused("-n 2 no-such-program --epochs 3", "cannot run no-such-program: no folder of PATH has it; the ");
  refused("-n 2 no-such-program --epochs 3",
          "stand behind \"--\" [launch.words]\n  fix: espalier launch -n 2 -- ");
  refused("-n 2 /etc/passwd", "stand behind \"--\"");
  refused("-n 2 --epochs 3 echo started", "unknown flag --epochs");
  refused("-- echo started", "--ranks is required");
  refused("-n 0 -- echo started", "0 is not from 1 to 256");
  refused("-n 257 -- echo started", "257 is not from 1 to 256");
  refused("-n two -- echo started", "two");
  refused("-n 2 -- no-such-program", "cannot run no-such-program: no folder of PATH has it [launch.program]");
  refused("-n 2 -- /etc/passwd", "cannot run /etc/passwd: it is no file that may be executed");
  refused("-n 2 --engine tcp -- echo started", "--engine");
  refused("-n 2 --restarts -1 -- echo started", "--restarts");
  for (const char* time : {"300x", "0s", "-1s", "s", "5m", "infs", "nans", "1e9s"})
    refused(cat("-n 2 --stall-after=", time, " -- echo started"), "[launch.stall]");
  refused("-n 2 --chaos kill:2@step3 -- echo started", "[chaos.rank]");
  refused("-n 2 --chaos kill:1 -- echo started", "[chaos.syntax]");
}

}  // namespace
}  // namespace espalier::cli
