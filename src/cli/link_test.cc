// Runs between two hosts that are far apart: network namespaces with names and a /dev/shm of their own, and a
// link between them on which a packet takes 10 ms and one of a hundred is lost (tests/slow_link.py).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "cli/beside_test.h"
#include "cli/engines_test.h"
#include "cli/launched_test.h"
#include "comm/control_fd.h"

namespace espalier::cli {
namespace {

// One for all tests.
class SlowLink {
 public:
  static constexpr const char* kFirstAddress = "10.231.8.1";

  SlowLink() : folder_(fresh_folder(cat("link-", ::getpid()))) {
    if (::geteuid() != 0) why_ = "not root, who may make network namespaces";
    for (const char* needed : {"/dev/net/tun", "/usr/bin/unshare", "/usr/bin/python3"}) {
      if (!std::filesystem::exists(needed)) why_ = cat("no ", needed);
    }
    if (!why_.empty()) return;
    // "e": no child of this process holds its standard input open.
    input_ = ::popen(cat("exec python3 tests/slow_link.py ", first(), " ", kFirstAddress, " ", second(),
                         " 10.231.8.2 --delay 0.01 --loss 0.01 > ", folder_, "/said 2> ", folder_, "/errors")
                         .c_str(),
                     "we");
    const auto read = [&](const char* name) {
      const std::string path = cat(folder_, "/", name);
      return std::filesystem::exists(path) ? posix_env().read_file(path) : std::string();
    };
    if (!comes_true([&] { return !read("said").empty() || !read("errors").empty(); }) || read("said").empty())
      why_ = cat("no link between network namespaces here: ", read("errors"));
  }
  ~SlowLink() {
    if (input_) ::pclose(input_);
  }
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

  // Why there is none; "" where it works.
  const std::string& why() const { return why_; }
  std::string first() const { return cat("link", ::getpid(), "a"); }
  std::string second() const { return cat("link", ::getpid(), "b"); }
  void say(const char* word) const {
    std::fprintf(input_, "%s\n", word);
    std::fflush(input_);
  }

 private:
  const std::string folder_;
  std::string why_;
  std::FILE* input_ = nullptr;
};

testing::AssertionResult is_said_once(const std::string& text, const std::string& part) {
  const size_t at = text.find(part);
  const bool once = at != text.npos && text.find(part, at + 1) == text.npos;
  return (once ? testing::AssertionSuccess() : testing::AssertionFailure())
         << '"' << part << "\" in: " << text;
}

// What ranks on both hosts run, in a folder of its own.
class LinkRun {
 public:
  static constexpr int kUnits = 64;
  // Of the two hidden layers: each of two hosts sends as much as a sum has.
  static constexpr int64_t gradients(int64_t units) { return 4 * (3 * units + (units + 1) * units); }

  // 69 of the rows train, 24 a step.
  static constexpr int kStepsAnEpoch = 3;
  LinkRun(const SlowLink& link, const std::string& name, int epochs, int units = kUnits)
      : link_(link), folder_(folder_to_launch(name, 96, units, epochs)) {}

  std::string folder() const { return folder_; }
  // What this rank has written to standard error.
  std::string said(int rank) const {
    const std::string path = cat(folder_, "/said-", rank);
    return std::filesystem::exists(path) ? posix_env().read_file(path) : std::string();
  }
  bool is_under_way() const {
    return comes_true([this] { return said(0).find("note: 24 rows a step") != std::string::npos; });
  }

  std::string launch(const std::string& agent, const std::string& flags = "") const {
    return by_launch(cat("--interface eth0 --agent '", agent, "'"), flags);
  }
  // An agent as ssh is one: it gives its words to a shell, and where it dies, the far side lives on, and sees
  // its input end. `passes` is what brings the launcher's words there.
  std::string far_agent(const std::string& passes) const {
    for (const std::string& host : {link_.first(), link_.second()}) ::mkfifo(input_of(host).c_str(), 0600);
    const std::string input = std::filesystem::absolute(input_of("$host")).string();
    return cat(script("ssh", cat("#!/bin/sh\nhost=$1\nshift\nsetsid tests/on_host \"$host\" sh -c \"$*\" < ",
                                 input, " > /dev/null 2>&1 &\nexec > ", input, "\n", passes, "\n")),
               " {host}");
  }
  std::string input_of(const std::string& host) const { return cat(folder_, "/to-", host); }

  std::string mpirun(const std::string& flags = "") const {
    return cat("env ", of_mpirun(), " ",
               on(link_.first(), cat("mpirun --allow-run-as-root -n 2 --host ", hosts(), " ",
                                     program("OMPI_COMM_WORLD_RANK", flags))));
  }
  std::string launch_by_mpirun() const {
    return cat("env ", of_mpirun(), " ", by_launch("--engine mpi", "", "OMPI_COMM_WORLD_RANK"));
  }

  // A rank as torchrun starts it; only the first is on the first host.
  std::string torchrun(int rank, int world, const std::string& more = "") const {
    return on(rank == 0 ? link_.first() : link_.second(),
              cat("env RANK=", rank, " WORLD_SIZE=", world, " MASTER_ADDR=", SlowLink::kFirstAddress,
                  " MASTER_PORT=29700 ", more, " ", program("RANK", "")));
  }

 private:
  static std::string on(const std::string& host, const std::string& words) {
    return cat("tests/on_host ", host, " ", words);
  }
  std::string hosts() const { return cat(link_.first(), ":1,", link_.second(), ":1"); }
  std::string script(const std::string& name, const std::string& text) const {
    const std::string path = std::filesystem::absolute(write_file(cat(folder_, "/", name), text)).string();
    ::chmod(path.c_str(), 0700);
    return path;
  }
  // Of a rank whose launcher has put its number into this variable.
  std::string program(const std::string& rank, const std::string& flags) const {
    return shell_words(cat("exec ", worker_words(folder_, flags), " 2> ", folder_, "/said-$", rank));
  }
  std::string by_launch(const std::string& how, const std::string& flags,
                        const std::string& rank = "ESPALIER_RANK") const {
    return on(link_.first(), cat(build_folder(), "/espalier launch --hosts ", hosts(), " ", how, " -- ",
                                 program(rank, flags)));
  }
  std::string of_mpirun() const {
    return cat("OMPI_MCA_plm_rsh_agent=",
               script("rsh", "#!/bin/sh\nhost=$1\nshift\nexec tests/on_host \"$host\" sh -c \"$*\"\n"),
               " OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_btl=tcp,self");
  }

  const SlowLink& link_;
  const std::string folder_;
};

class Link : public testing::Test {
 protected:
  static constexpr int kEpochs = 17, kSteps = LinkRun::kStepsAnEpoch * kEpochs, kMany = 5000;

  static void SetUpTestSuite() { link_ = std::make_unique<SlowLink>(); }
  static void TearDownTestSuite() { link_.reset(); }
  void SetUp() override {
    if (const std::string why = missing_engine(); !why.empty()) GTEST_SKIP() << why;
    if (!link_->why().empty()) GTEST_SKIP() << link_->why();
    link_->say("mend");
  }
  void TearDown() override {
    const auto left = [this] {
      return call_shell(cat("pgrep -fa '[e]spalier train ", build_folder(), "/tests/", name_, "'")).output;
    };
    EXPECT_TRUE(comes_true([&] { return left().empty(); })) << left();
  }
  LinkRun run(const std::string& name, int epochs) const { return {*link_, cat(name_, "/", name), epochs}; }

  static int64_t sent_by(const std::string& host) {
    const Outcome read =
        call_shell(cat("ip netns exec ", host, " cat /sys/class/net/eth0/statistics/tx_bytes"));
    return read.code == 0 ? std::stoll(read.output) : -1;
  }
  // That the run trains, over the link, what one device does.
  static void expect_same(const LinkRun& run, const std::string& words, const std::string& engine) {
    SCOPED_TRACE(words);
    const std::string& folder = run.folder();
    const std::string wanted = one_device_hash(folder);
    const int64_t first = sent_by(link_->first()), second = sent_by(link_->second());
    const Outcome two = call_shell(words);
    ASSERT_EQ(two.code, 0) << two.error << run.said(0);
    EXPECT_NE((two.error + run.said(0)).find(engine), std::string::npos) << two.error << run.said(0);
    EXPECT_EQ(weights_hash(folder + "/model"), wanted);
    EXPECT_GE(sent_by(link_->first()) - first, kSteps * LinkRun::gradients(LinkRun::kUnits));
    EXPECT_GE(sent_by(link_->second()) - second, kSteps * LinkRun::gradients(LinkRun::kUnits));
  }

  static std::unique_ptr<SlowLink> link_;
  const std::string name_ = testing::UnitTest::GetInstance()->current_test_info()->name();
};
std::unique_ptr<SlowLink> Link::link_;

TEST_F(Link, SlowHostsFarApartLearnTheBitsOfOneDevice) {
  const LinkRun gloo = run("gloo", kEpochs), mpi = run("mpi", kEpochs);
  expect_same(gloo, gloo.launch("tests/on_host {host}", "--deterministic"), "engine: gloo between 2 hosts");
  expect_same(mpi, mpi.mpirun("--deterministic"), "; engine: mpi");
}

// By what the interface sent, headers of packets included. Weights travel once, as they are.
TEST_F(Link, NightlyGradientsAsBf16AreHalfTheBytes) {
  constexpr int kWide = 512, kFewEpochs = 3;
  constexpr double kGradients = LinkRun::kStepsAnEpoch * kFewEpochs * LinkRun::gradients(kWide);
  const LinkRun gloo(*link_, name_ + "/gloo", kFewEpochs, kWide),
      mpi(*link_, name_ + "/mpi", kFewEpochs, kWide);
  const auto sent = [](const std::string& words) {
    const int64_t before = sent_by(link_->first());
    const Outcome outcome = call_shell(words);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return static_cast<double>(sent_by(link_->first()) - before);
  };
  const auto by_gloo = [&](const char* flags) { return sent(gloo.launch("tests/on_host {host}", flags)); };
  const auto by_mpi = [&](const char* flags) { return sent(mpi.mpirun(flags)); };
  EXPECT_NEAR((by_gloo("") - by_gloo("--compress bf16")) / kGradients, 0.5, 0.05);
  EXPECT_NEAR((by_mpi("") - by_mpi("--compress bf16")) / kGradients, 0.5, 0.05);
}

// Nobody is told of it by the system: each side finds out by what does not come.
TEST_F(Link, SlowACutIsSaidOnBothSides) {
  const LinkRun launched = run("launched", kMany), alone = run("alone", kMany), by_mpi = run("mpi", kMany);
  // What the launcher says behind the orders does not arrive there, and neither does its end.
  const std::string agent = launched.far_agent("head -n 1\nexec cat 3>&1 > /dev/null");
  const ControlFd held(::open(launched.input_of(link_->second()).c_str(), O_RDWR | O_CLOEXEC));
  Beside launcher(launched.launch(agent), launched.folder() + "/launcher");
  Beside zero(alone.torchrun(0, 2), alone.folder() + "/zero"),
      one(alone.torchrun(1, 2), alone.folder() + "/one");
  Beside mpirun(by_mpi.mpirun(), by_mpi.folder() + "/mpirun");
  ASSERT_TRUE(launched.is_under_way()) << launcher.errors();
  ASSERT_TRUE(alone.is_under_way()) << alone.said(0);
  ASSERT_TRUE(by_mpi.is_under_way()) << mpirun.errors();
  link_->say("cut");
  EXPECT_TRUE(launcher.ends()) << launcher.errors();
  EXPECT_EQ(launcher.code(), 43);
  EXPECT_TRUE(is_said_once(launcher.errors(),
                           cat("espalier launch: host ", link_->second(), " has not been heard of for ")));
  EXPECT_TRUE(is_said_once(launcher.errors(), " s, and with it rank 1; rank 0 waited (verdict "));
  EXPECT_TRUE(comes_true([&] {
    return is_said_once(launched.said(1), "espalier: the launcher is gone [comm.verdict]\n");
  })) << launched.said(1);
  for (Beside* rank : {&zero, &one}) {
    EXPECT_TRUE(rank->ends());
    EXPECT_EQ(rank->code(), 43);
  }
  // mpirun itself waits for the host for minutes.
  for (const LinkRun* each : {&alone, &by_mpi}) {
    EXPECT_TRUE(comes_true([&] { return is_said_once(each->said(0), ") has not been heard of for "); }))
        << each->said(0);
    EXPECT_TRUE(is_said_once(each->said(0), "espalier: rank 1 (pid "));
    // Its connection breaks after 8 s, and who has heard nothing for 9 s gives up.
    EXPECT_TRUE(comes_true([&] {
      return is_said_once(each->said(1), "espalier: rank 0 is gone [comm.verdict]\n") ||
             is_said_once(each->said(1), "espalier: rank 0 has not been heard of for ");
    })) << each->said(1);
  }
}

TEST_F(Link, NightlyMpirunUnderneathNamesAHostThatIsCutOff) {
  const LinkRun cut = run("run", kMany);
  Beside launcher(cut.launch_by_mpirun(), cut.folder() + "/launcher");
  ASSERT_TRUE(cut.is_under_way()) << launcher.errors();
  link_->say("cut");
  EXPECT_TRUE(launcher.ends()) << launcher.errors();
  EXPECT_NE(launcher.code(), 0);
  EXPECT_NE(launcher.errors().find(cat("on node ", link_->second())), std::string::npos) << launcher.errors();
}

TEST_F(Link, NightlyALauncherThatIsKilledIsMissedOnBothHosts) {
  const LinkRun orphaned = run("run", kMany);
  Beside launcher(orphaned.launch(orphaned.far_agent("exec cat")), orphaned.folder() + "/launcher");
  ASSERT_TRUE(orphaned.is_under_way()) << launcher.errors();
  launcher.signal(SIGKILL);
  for (const int rank : {0, 1}) {
    EXPECT_TRUE(comes_true([&] {
      return is_said_once(orphaned.said(rank), "espalier: the launcher is gone [comm.verdict]\n");
    })) << orphaned.said(rank);
  }
}

TEST_F(Link, NightlyRankZeroThatIsKilledIsMissedByAllOthers) {
  const LinkRun run_of_three = run("run", kMany);
  const auto words = [&](int rank) {
    return run_of_three.torchrun(rank, 3, rank == 0 ? "ESPALIER_CHAOS=kill:0@step20" : "");
  };
  Beside zero(words(0), run_of_three.folder() + "/zero"), one(words(1), run_of_three.folder() + "/one"),
      two(words(2), run_of_three.folder() + "/two");
  EXPECT_TRUE(zero.ends()) << run_of_three.said(0);
  for (Beside* survivor : {&one, &two}) {
    EXPECT_TRUE(survivor->ends());
    EXPECT_EQ(survivor->code(), 43);
  }
  for (const int rank : {1, 2})
    EXPECT_TRUE(is_said_once(run_of_three.said(rank), "espalier: rank 0 is gone [comm.verdict]\n"));
}

}  // namespace
}  // namespace espalier::cli
