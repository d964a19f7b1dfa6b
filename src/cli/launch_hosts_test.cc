// `espalier launch --hosts`, with agents that are processes of this machine, and in network namespaces.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/shell_words.h"
#include "cli/beside_test.h"
#include "cli/engines_test.h"
#include "cli/launched_test.h"

namespace espalier::cli {
namespace {

// Two hosts of two ranks each, which are this machine.
std::string hosts_words(const std::string& flags, const std::string& script) {
  return cat(build_folder(),
             "/espalier launch --hosts a:2,b:2 --interface 127.0.0.1 --agent 'env HOSTNAME={host}' ", flags,
             " -- ", shell_words(script));
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  std::ranges::sort(out);
  return out;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::vector<pid_t> pids_of(const std::string& file, size_t wanted) {
  std::vector<pid_t> out;
  comes_true([&] {
    std::ifstream in(file);
    out.clear();
    for (pid_t pid; in >> pid;) out.push_back(pid);
    return out.size() >= wanted;
  });
  return out;
}

// A launch whose ranks, each with a child of its own, write their numbers, and their agent's, into files.
struct LongRun {
  explicit LongRun(const std::string& name, const std::string& flags = "") : folder(fresh_folder(name)) {
    const std::string script = cat("sleep 300 & echo $! $$ >> ", folder, "/ranks; echo $PPID >> ", folder,
                                   "/agent-$ESPALIER_HOST; wait");
    thread = std::thread([this, words = hosts_words(flags, script)] {
      status = std::system(cat("{ echo $$ > ", folder, "/launcher; exec ", words, "; } > ", folder,
                               "/out 2> ", folder, "/err < /dev/null")
                               .c_str());
      over = true;
    });
    ranks = pids_of(folder + "/ranks", 8);
    for (const char* host : {"0", "1"}) {
      const std::vector<pid_t> found = pids_of(cat(folder, "/agent-", host), 2);
      agents.push_back(found.empty() ? -1 : found[0]);
    }
    const std::vector<pid_t> found = pids_of(folder + "/launcher", 1);
    launcher = found.empty() ? -1 : found[0];
  }
  ~LongRun() {
    if (!over && launcher > 0) ::kill(launcher, SIGKILL);
    thread.join();
  }
  bool is_there() const { return ranks.size() == 8 && agents[0] > 0 && agents[1] > 0 && launcher > 0; }
  // They would sleep for 300 s.
  bool none_left() {
    return comes_true(
        [&] { return std::ranges::none_of(ranks, lives) && std::ranges::none_of(agents, lives); });
  }
  std::string errors() const { return posix_env().read_file(folder + "/err"); }
  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

  std::string folder;
  std::vector<pid_t> ranks, agents;
  pid_t launcher = -1;
  std::atomic<bool> over{false};
  int status = 0;
  std::thread thread;
};

// Hosts talk through gloo.
class LaunchHosts : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(LaunchHosts, EachRankHasItsPlace) {
  const Outcome run = call_command(
      "launch --hosts a:2,b:2 --interface 127.0.0.1 --agent 'env HOSTNAME={host} MINE={host}' --stall-after "
      "2.5s -- sh -c "
      "'echo $ESPALIER_RANK/$ESPALIER_WORLD $ESPALIER_LOCAL_RANK/$ESPALIER_LOCAL_WORLD "
      "$ESPALIER_HOST:$ESPALIER_HOST_SIZES $HOSTNAME $MINE $ESPALIER_ENGINE@$ESPALIER_ENGINE_ADDRESS "
      "$ESPALIER_STALL_AFTER $ESPALIER_RESTART ${ESPALIER_CHAOS-none} ${ESPALIER_CONTROL%:*} "
      "${#ESPALIER_SECRET} "
      "$(echo $ESPALIER_SEGMENTS | tr -cd , | wc -c) $(readlink /proc/self/fd/$ESPALIER_BOARD | cut -c1-24) "
      "$PWD'");
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(
      run.error,
      "espalier launch: engine: gloo between 2 hosts, shm inside\nespalier launch: warning: none of the 4 "
      "ranks joined: the program makes no strategy::MultiWorkerMirrored, so Espalier trained nothing "
      "together\n");
  const std::string same = cat(" gloo@127.0.0.1 2.5 0 none tcp:127.0.0.1 32 2 /memfd:espalier-control ",
                               std::filesystem::current_path().string());
  EXPECT_EQ(sorted_lines(run.output),
            (std::vector<std::string>{cat("0/4 0/2 0:2,2 a a", same), cat("1/4 1/2 0:2,2 a a", same),
                                      cat("2/4 0/2 1:2,2 b b", same), cat("3/4 1/2 1:2,2 b b", same)}));
}

TEST_F(LaunchHosts, TheEnvironmentGoesAlongAndTheHostsOwnStays) {
  const Outcome run = call_shell(
      cat("env OMP_NUM_THREADS='a \"b\"' HOSTNAME=here SLURM_PROCID=3 TPU_WORKER_ID=7 ESPALIER_RANK=9 "
          "PATH=\"$PATH:/given\" ",
          build_folder(),
          "/espalier launch --hosts a,b --interface lo --agent 'env -i HOSTNAME={host} HOME=/of/{host}' -- ",
          shell_words("echo $ESPALIER_RANK \"$OMP_NUM_THREADS\" $HOSTNAME $HOME ${SLURM_PROCID-none} "
                      "${TPU_WORKER_ID-none} ${PATH##*:} "
                      "$ESPALIER_ENGINE_ADDRESS")));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(sorted_lines(run.output), (std::vector<std::string>{"0 a \"b\" a /of/a none none /given lo",
                                                                "1 a \"b\" b /of/b none none /given lo"}));
}

// Keys of services stay here unless they are named; an agent's own host may have one.
TEST_F(LaunchHosts, OtherVariablesGoWhereTheyAreNamed) {
  const auto said = [](const std::string& flags) {
    const Outcome run = call_shell(cat("env TOKEN=of-here KEY='a=b c' ", build_folder(),
                                       "/espalier launch --hosts a --interface lo --agent 'env -i KEY=of-a' ",
                                       flags, " -- ", shell_words("echo ${TOKEN-none} $KEY")));
    EXPECT_EQ(run.code, 0) << run.error;
    return run.output;
  };
  EXPECT_EQ(said(""), "none of-a\n");
  EXPECT_EQ(said("--env TOKEN --env KEY"), "of-here a=b c\n");
  EXPECT_EQ(said("--env TOKEN=said --env TOKEN=last --env=KEY=[1,2]"), "last [1,2]\n");
}

TEST_F(LaunchHosts, VariablesAreGivenOnOneHostToo) {
  const Outcome run = call_shell(cat("env TOKEN=of-here OTHER=stays ", build_folder(),
                                     "/espalier launch -n 1 --env TOKEN=said -- ",
                                     shell_words("env | grep -c ^TOKEN=; echo $TOKEN $OTHER")));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(run.output, "1\nsaid stays\n");
}

TEST_F(LaunchHosts, OneHostNeedsNoEngine) {
  const Outcome run = call_command(
      "launch --hosts localhost:2 --agent env -- sh -c 'echo $ESPALIER_RANK ${ESPALIER_ENGINE-none} "
      "${ESPALIER_BOARD-none} $ESPALIER_HOST_SIZES; exit 42'");
  EXPECT_EQ(run.code, 42);
  EXPECT_EQ(run.error, "espalier launch: engine: shm (one host)\n");
  EXPECT_EQ(sorted_lines(run.output), (std::vector<std::string>{"0 none none 2", "1 none none 2"}));
}

TEST_F(LaunchHosts, HostfilesAndFewerRanks) {
  const std::string file =
      write_file(fresh_folder("launch-hostfile") + "/hosts", "a slots=2 # two\nb:3\nc\n");
  const Outcome run =
      call_command(cat("launch --hostfile ", file,
                       " -n 3 --interface lo --agent env --prefix -- sh -c 'echo $ESPALIER_HOST of "
                       "$ESPALIER_HOST_SIZES'"));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(sorted_lines(run.output),
            (std::vector<std::string>{"[rank 0] 0 of 2,1", "[rank 1] 0 of 2,1", "[rank 2] 1 of 2,1"}));
}

TEST_F(LaunchHosts, WrongUseIsASentence) {
  const std::pair<const char*, const char*> cases[] = {
      {"--hosts a:0", "[launch.hosts]"},
      {"--hosts a,b -n 3", "-n 3 is more than the 2 ranks of 2 hosts"},
      {"--hosts a,b --engine shm", "--engine shm is the memory of one host, and there are 2"},
      {"-n 2 --engine gloo", "--engine gloo is for ranks of several hosts"},
      {"--hosts a --hostfile x", "--hosts"},
      {"--hosts nowhere.invalid:2", "host nowhere.invalid: "},
      {"--hosts a --interface eth77", "--interface eth77 is no interface with an address here"},
      {"--hosts a --interface lo --agent \"'x\"", "has a quote that is open"},
      {"--hosts a --interface lo --agent /no/such/agent", "cannot run /no/such/agent"},
      {"-n 1 --env NO_SUCH_VARIABLE", "--env NO_SUCH_VARIABLE: there is no such variable here"},
      {"-n 1 --env 1A=x", "--env 1A=x: the name of a variable is letters, digits and _"},
      {"-n 1 --env ESPALIER_SECRET=x", "--env ESPALIER_SECRET: each rank gets its own from its launcher"},
      {"", "-n,--ranks is required"}};
  for (const auto& [flags, part] : cases) {
    const Outcome run = call_command(cat("launch ", flags, " -- true"));
    EXPECT_EQ(run.code, 2) << flags;
    EXPECT_TRUE(contains(run.error, part)) << flags << "\n" << run.error;
  }
}

TEST_F(LaunchHosts, ARankThatFailsIsNamedWithItsHost) {
  const std::string record = fresh_folder("launch-hosts-record") + "/run.json";
  const Outcome run = call_shell(hosts_words(
      "--record " + record, "[ $ESPALIER_RANK = 3 ] && { echo no data >&2; exit 5; }; exec sleep 300"));
  EXPECT_EQ(run.code, 5);
  EXPECT_TRUE(contains(run.error, "\nespalier launch: rank 3 (pid ")) << run.error;
  EXPECT_TRUE(contains(run.error, ", host b) ended with status 5\nthe last 1 line of rank 3:\n  | no data\n"))
      << run.error;
  const auto starts = nlohmann::json::parse(posix_env().read_file(record)).at("starts");
  EXPECT_EQ(starts.at(0).at("ranks").at(3).at("end"), "ended with status 5");
  EXPECT_EQ(starts.at(0).at("ranks").at(3).at("host"), "b");
  EXPECT_EQ(starts.at(0).at("ranks").at(0).at("end"), "ended by signal 15");
}

TEST_F(LaunchHosts, AllStartAgain) {
  const Outcome run =
      call_shell(hosts_words("--restarts 1",
                             "[ $ESPALIER_RESTART$ESPALIER_RANK = 02 ] && exit 3; [ "
                             "$ESPALIER_RESTART = 1 ] && exec echo $ESPALIER_RANK; exec sleep 300"));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_TRUE(contains(run.error, ", host b) ended with status 3\nall ranks start again, 1 of 1\n"))
      << run.error;
  EXPECT_EQ(sorted_lines(run.output), (std::vector<std::string>{"0", "1", "2", "3"}));
}

TEST_F(LaunchHosts, SlowAHostThatCannotBeReachedIsASentenceWithTheAgentsWords) {
  const std::string agent = fresh_folder("launch-no-host") + "/agent";
  write_file(agent,
             "#!/bin/sh\n[ $1 = b ] && { echo \"ssh: Could not resolve hostname $1\" >&2; exit 255; "
             "}\nshift\nexec \"$@\"\n");
  ::chmod(agent.c_str(), 0755);
  const Outcome run =
      call_shell(cat(build_folder(), "/espalier launch --hosts a:2,b:2 --interface lo --agent '", agent,
                     " {host}' -- sleep 300"));
  EXPECT_EQ(run.code, 43);
  EXPECT_TRUE(contains(run.error,
                       "espalier launch: host b has not joined: its agent ended with status 255 (verdict "))
      << run.error;
  EXPECT_TRUE(contains(run.error, "\n  | ssh: Could not resolve hostname b\n")) << run.error;
}

TEST_F(LaunchHosts, AProgramThatIsNotThereIsASentence) {
  const Outcome run = call_command("launch --hosts a,b --interface lo --agent env -- ./no-such-program");
  EXPECT_EQ(run.code, 43);
  EXPECT_TRUE(contains(run.error, "  | espalier: cannot run ./no-such-program: No such file or directory"))
      << run.error;
}

// ssh and its like join their words for a shell; others hand them on.
TEST_F(LaunchHosts, AgentsAreFoundInFoldersWithBlanks) {
  const std::string folder = fresh_folder("launch blanks $HOME 'x'");
  const std::string command = folder + "/espalier", ssh = folder + "/ssh";
  std::filesystem::create_hard_link(build_folder() + "/espalier", command);
  write_file(ssh, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n");
  ::chmod(ssh.c_str(), 0755);
  const auto quoted = [](const std::string& word) { return espalier::shell_words({word}); };
  for (const std::string& agent : {cat(quoted(ssh), " {host}"), std::string("env")}) {
    const Outcome run = call_shell(cat(quoted(command), " launch --hosts localhost:2 --agent ", quoted(agent),
                                       " -- ", shell_words("echo $ESPALIER_RANK")));
    EXPECT_EQ(run.code, 0) << run.error;
    EXPECT_EQ(sorted_lines(run.output), (std::vector<std::string>{"0", "1"})) << run.error;
  }
}

TEST_F(LaunchHosts, SlowAnAgentThatIsKilledTakesItsRanksAlongAndIsNamed) {
  LongRun run("launch-agent-killed");
  ASSERT_TRUE(run.is_there());
  ::kill(run.agents[1], SIGKILL);
  EXPECT_TRUE(run.none_left()) << "ranks outlive their agent, or those of the other host the verdict";
  EXPECT_TRUE(comes_true([&] { return run.over.load(); }));
  EXPECT_EQ(run.code(), 43);
  EXPECT_TRUE(contains(run.errors(),
                       "host b is gone (its agent ended by signal 9), and with it ranks 2, 3 (verdict "))
      << run.errors();
}

// Longer than a host may be silent.
TEST_F(LaunchHosts, SlowAgentsAreHeardWhileTheirRanksSayNothing) {
  const Outcome run = call_shell(hosts_words("", "sleep 7; echo $ESPALIER_RANK"));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(sorted_lines(run.output), (std::vector<std::string>{"0", "1", "2", "3"}));
}

TEST_F(LaunchHosts, SlowNothingOutlivesALauncherThatIsKilled) {
  LongRun run("launch-hosts-killed");
  ASSERT_TRUE(run.is_there());
  ::kill(run.launcher, SIGKILL);
  EXPECT_TRUE(run.none_left());
}

// The agent sees the end of its input, and nothing else says that the launcher is gone.
TEST_F(LaunchHosts, NightlyAnAgentEndsWithItsInput) {
  const std::string folder = fresh_folder("launch-agent-input");
  const std::string keeper = folder + "/agent";
  // Between the launcher and the agent, in another session; what ends it does not end the agent.
  write_file(keeper, "#!/bin/sh\nmkfifo $0-$1\nsetsid \"$2\" \"$3\" < $0-$1 &\nexec cat > $0-$1\n");
  ::chmod(keeper.c_str(), 0755);
  const std::string script = cat("sleep 300 & echo $! $$ >> ", folder, "/ranks; wait");
  std::thread thread([&] {
    call_shell(cat("{ echo $$ > ", folder, "/launcher; exec ", build_folder(),
                   "/espalier launch --hosts a,b --interface lo --agent '", keeper, " {host}' -- ",
                   shell_words(script), "; }"));
  });
  const std::vector<pid_t> ranks = pids_of(folder + "/ranks", 4), launcher = pids_of(folder + "/launcher", 1);
  EXPECT_EQ(ranks.size(), 4u);
  if (!launcher.empty()) ::kill(launcher[0], SIGKILL);
  EXPECT_TRUE(comes_true([&] { return std::ranges::none_of(ranks, lives); }));
  thread.join();
}

TEST_F(LaunchHosts, AnAgentWithoutOrdersSaysSo) {
  for (const char* input : {"/dev/null", "<(echo hello)", "<(echo {})"}) {
    const Outcome run = call_shell(cat("bash -c \"", build_folder(), "/espalier agent < ", input, "\""));
    EXPECT_EQ(run.code, 2) << input;
    EXPECT_TRUE(contains(run.error, "espalier: ")) << run.error;
  }
}

TEST_F(LaunchHosts, SlowSignalsReachAllHosts) {
  for (const int signal : {SIGINT, SIGTERM}) {
    LongRun run(cat("launch-hosts-signal-", signal));
    ASSERT_TRUE(run.is_there());
    ::kill(run.launcher, signal);
    EXPECT_TRUE(comes_true([&] { return run.over.load(); }));
    EXPECT_TRUE(run.none_left());
    EXPECT_EQ(run.code(), 128 + signal) << run.errors();
    EXPECT_FALSE(contains(run.errors(), "ended by signal")) << run.errors();
  }
}

TEST_F(LaunchHosts, SlowTheSecretIsInNoCommandLine) {
  LongRun run("launch-hosts-secret");
  ASSERT_TRUE(run.is_there());
  std::string secret;
  std::istringstream variables(posix_env().read_file(cat("/proc/", run.ranks[1], "/environ")));
  for (std::string one; std::getline(variables, one, '\0');) {
    if (one.starts_with("ESPALIER_SECRET=")) secret = one.substr(16);
  }
  ASSERT_EQ(secret.size(), 32u);
  int looked = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline");
    const std::string words{std::istreambuf_iterator<char>(in), {}};
    EXPECT_FALSE(contains(words, secret)) << entry.path();
    looked += contains(words, std::string("espalier\0agent", 14));
  }
  EXPECT_GE(looked, 2);
}

TEST_F(LaunchHosts, SlowWorkersOfAHostTrainAndAreNamedAsWithoutAnAgent) {
  const std::string folder = folder_to_launch("launch-hosts-train");
  const std::string hosts = cat(build_folder(), "/espalier launch --hosts localhost:2 --agent env ");
  const Outcome plain = call_shell(launch_words(2, "", worker_words(folder, "--deterministic")));
  ASSERT_EQ(plain.code, 0) << plain.error;
  const std::string hash = weights_hash(folder + "/model");
  const Outcome run = call_shell(cat(hosts, "-- ", worker_words(folder, "--deterministic")));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(weights_hash(folder + "/model"), hash);
  const Outcome killed = call_shell(cat(hosts, "--chaos kill:1@step5 -- ", worker_words(folder)));
  EXPECT_EQ(killed.code, 43);
  EXPECT_TRUE(
      contains(killed.error,
               ", host localhost) ended by signal 9 in step 5 before all-gather 'header'; rank 0 waited"))
      << killed.error;
  EXPECT_TRUE(contains(killed.error, "\nthe last collective of each rank:\n  | rank 0: number "))
      << killed.error;
  EXPECT_TRUE(contains(killed.error, "\n  | rank 1: number ")) << killed.error;
}

// Hosts with a network each, and nothing else between them.
TEST_F(LaunchHosts, SlowBetweenNetworkNamespaces) {
  const std::string a = cat("esp", ::getpid() % 10000, "a"), b = cat("esp", ::getpid() % 10000, "b");
  if (::geteuid() != 0) GTEST_SKIP() << "not root, who may make network namespaces";
  const std::string make =
      cat("ip netns add ", a, " && ip netns add ", b, " && ip link add ", a, " netns ", a,
          " type veth peer name ", b, " netns ", b, " && ip -n ", a, " addr add 10.231.7.1/24 dev ", a,
          " && ip -n ", b, " addr add 10.231.7.2/24 dev ", b, " && ip -n ", a, " link set ", a,
          " up && ip -n ", b, " link set ", b, " up && ip -n ", a, " link set lo up");
  const std::string remove = cat("ip netns del ", a, "; ip netns del ", b);
  if (const Outcome made = call_shell(make); made.code != 0) {
    call_shell(remove);
    GTEST_SKIP() << "no network namespaces with a veth pair here: " << made.error;
  }
  const std::string launch = cat("ip netns exec ", a, " ", build_folder(), "/espalier launch --hosts ", a,
                                 ":2,", b, ":2 --agent 'ip netns exec {host}' --interface ");
  for (const std::string& interface : {a, std::string("10.231.7.1")}) {
    const Outcome run = call_shell(
        cat(launch, interface, " -- ", shell_words("echo $ESPALIER_RANK $ESPALIER_ENGINE_ADDRESS")));
    EXPECT_EQ(run.code, 0) << run.error;
    const std::string first = interface == a ? a : "10.231.7.1";  // a name where the host has it
    EXPECT_EQ(sorted_lines(run.output),
              (std::vector<std::string>{"0 " + first, "1 " + first, "2 10.231.7.2", "3 10.231.7.2"}));
  }
  // The cable is cut when ranks of both hosts run: nothing says so.
  const std::string runs = fresh_folder("launch-cut") + "/runs";
  const Outcome cut = call_shell(
      cat(launch, "10.231.7.1 -- ",
          shell_words(cat("[ $ESPALIER_RANK = 2 ] && echo > ", runs,
                          "; if [ $ESPALIER_RANK = 0 ]; then until "
                          "[ -e ",
                          runs, " ]; do sleep 0.05; done; ip link set ", a, " down; fi; exec sleep 300"))));
  EXPECT_EQ(cut.code, 43);
  EXPECT_TRUE(contains(cut.error, cat("host ", b, " has not been heard of for "))) << cut.error;
  call_shell(remove);
}

}  // namespace
}  // namespace espalier::cli
