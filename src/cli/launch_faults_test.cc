// Programs that leave the ways of `espalier launch`, as ranks of it.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/thread_pool.h"
#include "cli/beside_test.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/espalier.h"
#include "strategy/worker.h"

namespace espalier::cli {
namespace {

void fit_slowly(const Strategy& workers, const std::function<void(int64_t step)>& behind) {
  const auto scope = workers.scope();
  Sequential model{Dense({.units = 1})};
  model.compile({.optimizer = SGD{}, .loss = MeanSquaredError()});
  const auto calls = LambdaCallback({.on_batch_end = [&](int64_t step, const Logs&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    behind(step);
  }});
  const Tensor x = random_normal({60, 2}, 1, 0);
  model.fit(x, full({60, 1}, 1), {.epochs = 1, .batch_size = 4, .callbacks = {calls}});
}

// What a test waits for that ends the run, in one piece: ranks share the stream.
constexpr const char* kUnderWay = "it is under way";

const std::map<std::string, std::function<void()>> kFaults = {
    {"closes",
     [] {
       const strategy::MultiWorkerMirrored workers;
       fit_slowly(workers, [&](int64_t step) {
         if (workers.worker() != 1 || step != 3) return;
         for (int descriptor = 3; descriptor < 1024; ++descriptor) ::close(descriptor);
       });
     }},
    {"loop",
     [] {
       const strategy::MultiWorkerMirrored workers;
       workers.reduce(ReduceOp::kSum, {{full({4}, 1)}});
       std::cerr << cat(kUnderWay, "\n");
       while (true) workers.reduce(ReduceOp::kSum, {{full({4}, 1)}});
     }},
    {"throws",
     [] {
       try {
         const strategy::MultiWorkerMirrored workers;
         for (int round = 0;; ++round) {
           if (workers.worker() == 1 && round == 2) throw std::runtime_error("there are no more rows");
           workers.reduce(ReduceOp::kSum, {{full({4}, 1)}});
         }
       } catch (const std::runtime_error& error) {
         std::cerr << cat(error.what(), "\n");
         ::_exit(5);
       }
     }},
    {"goes when it is told",
     [] {
       const strategy::MultiWorkerMirrored workers;
       int64_t steps = 0;
       while (!workers.told_to_go()) {
         fit_slowly(workers, [&](int64_t) {
           if (++steps == 1) std::cerr << cat(kUnderWay, "\n");
         });
       }
       std::cerr << cat("rank ", workers.worker(), " goes behind ", steps, "\n");
       ::_exit(workers.told_to_go() ? workers.kPreempted : 0);
     }},
    {"loops until it is told",
     [] {
       const strategy::MultiWorkerMirrored workers;
       const auto scope = workers.scope();
       const auto step = function([](const Tensor& x) { return strategy::all_reduce({x})[0]; });
       int64_t calls = 0;
       while (!workers.told_to_go()) {
         workers.run(step, {{{full({2}, 1)}}});
         if (++calls == 1) std::cerr << cat(kUnderWay, "\n");
         std::this_thread::sleep_for(std::chrono::milliseconds(20));
       }
       std::cerr << cat("rank ", workers.worker(), " goes behind ", calls, "\n");
       ::_exit(workers.kPreempted);
     }},
    {"has rows of its own",
     [] {
       const strategy::MultiWorkerMirrored workers;
       const auto scope = workers.scope();
       Sequential model{Dense({.units = 1})};
       model.compile({.optimizer = SGD{}, .loss = MeanSquaredError()});
       const double own = workers.worker();
       const Dataset data = Dataset::from_generator([own] {
         return [own, row = 0]() mutable -> std::optional<Tensors> {
           if (row++ == 8) return std::nullopt;
           return Tensors{full({2}, own + row), full({1}, 1)};
         };
       });
       const auto says =
           LambdaCallback({.on_batch_end = [](int64_t, const Logs&) { std::cerr << "a step was made\n"; }});
       model.fit(data.batch(4), {.epochs = 1, .callbacks = {says}});
     }},
    {"fits twice",
     [] {
       const strategy::MultiWorkerMirrored workers;
       for (int i = 0; i < 2; ++i) fit_slowly(workers, [](int64_t) {});
     }},
    {"says its threads",
     [] {
       // As of a machine of eight cores, where each of four workers is kept to two by a mask.
       ::setenv("ESPALIER_CORES", std::getenv("SAID_CORES"), 1);
       ::setenv("ESPALIER_LOCAL_WORLD", "4", 1);
       const auto worker = Worker::from_environment();
       std::cout << "threads: " << worker->default_threads() << " of " << default_threads() << std::endl;
     }},
    {"validates on others",
     [] {
       const strategy::MultiWorkerMirrored workers;
       const auto scope = workers.scope();
       Sequential model{Dense({.units = 1})};
       model.compile({.optimizer = SGD{}, .loss = MeanSquaredError()});
       const Tensor x = random_normal({8, 2}, 1, 0), y = full({8, 1}, 1);
       const Tensor other = full({4, 1}, workers.worker() == 1 ? 2 : 1);
       model.fit(x, y,
                 {.epochs = 1, .batch_size = 4, .validation_x = full({4, 2}, 1), .validation_y = other});
     }},
    {"evaluates alone", [] {
       const strategy::MultiWorkerMirrored workers;
       const auto scope = workers.scope();
       Sequential model{Dense({.units = 1})};
       model.compile({.optimizer = SGD{}, .loss = MeanSquaredError()});
       const Tensor x = random_normal({8, 2}, 1, 0), y = full({8, 1}, 1);
       model.fit(x, y, {.epochs = 1, .batch_size = 4});
       if (workers.worker() == 0) model.evaluate(x, y);
     }}};

TEST(LaunchFaults, DISABLED_Program) {
  run_named_program([](const std::string& name) { kFaults.at(name)(); });
}

size_t times(const std::string& text, const std::string& part) {
  size_t out = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++out;
  return out;
}

// Sent SIGTERM when so many ranks have said that they are under way.
Outcome told_to_end(const std::string& words, size_t ranks = 2) {
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  Beside run(words, fresh_folder("launch-faults-" + name) + "/errors");
  EXPECT_TRUE(comes_true([&] { return times(run.errors(), kUnderWay) == ranks; })) << run.errors();
  run.signal(SIGTERM);
  EXPECT_TRUE(run.ends()) << run.errors();
  return {run.code(), "", run.errors()};
}

TEST(LaunchFaults, SlowARankThatClosesItsConnectionIsNamedOnAll) {
  const Outcome run = call_shell(launch_words(3, "", program_words("closes")));
  EXPECT_EQ(run.code, 43);
  EXPECT_GE(times(run.error, "espalier: rank 1 (pid "), 3u) << run.error;
  EXPECT_EQ(times(run.error, "espalier launch: rank 1 (pid "), 1u) << run.error;
  EXPECT_EQ(times(run.error, "launcher is gone"), 0u) << run.error;
}

// Not only fit says that it has failed: who unwinds out of a loop of its own has not left as planned.
TEST(LaunchFaults, SlowAProgramThatThrowsInItsOwnLoopHasFailed) {
  const Outcome run = call_shell(launch_words(2, "", program_words("throws")));
  EXPECT_EQ(run.code, 43);
  EXPECT_EQ(times(run.error, "there are no more rows"), 2u) << run.error << "its own, and as its last line";
  EXPECT_GE(times(run.error, "its program threw"), 1u) << run.error;
  EXPECT_EQ(times(run.error, "left"), 0u) << run.error;
}

// All ranks behind the same step.
void expect_go(const std::string& program, int ranks) {
  const Outcome run =
      told_to_end(launch_words(ranks, "", program_words(program)), static_cast<size_t>(ranks));
  EXPECT_EQ(run.code, 42) << run.error;
  EXPECT_EQ(times(run.error, " goes behind "), static_cast<size_t>(ranks)) << run.error;
  const size_t at = run.error.find(" goes behind ");
  EXPECT_EQ(times(run.error, run.error.substr(at, run.error.find('\n', at) - at + 1)),
            static_cast<size_t>(ranks))
      << run.error;
}

TEST(LaunchFaults, SlowAProgramThatIsToldToGoEndsWith42) { expect_go("goes when it is told", 2); }

TEST(LaunchFaults, SlowALoopOfOnesOwnThatIsToldToGoEndsWith42) {
  expect_go("loops until it is told", 2);
  expect_go("loops until it is told", 1);
}

TEST(LaunchFaults, SlowARankThatIsKilledInACallIsNamedWithItsNumber) {
  const Outcome run =
      call_shell(launch_words(2, "--chaos kill:1@step3", program_words("loops until it is told")));
  EXPECT_EQ(run.code, 43);
  EXPECT_GE(times(run.error, "rank 1 (pid "), 1u) << run.error;
  EXPECT_GE(times(run.error, "ended by signal 9 in call 3 of \"function\""), 1u) << run.error;
}

TEST(LaunchFaults, SlowRowsOfAWorkersOwnAreNamedBeforeTheFirstStep) {
  const Outcome run = call_shell(launch_words(2, "", program_words("has rows of its own")));
  EXPECT_EQ(run.code, 43);
  EXPECT_GE(times(run.error, "element 0 of the dataset of worker 1 is another one than that of worker 0"), 1u)
      << run.error;
  EXPECT_EQ(times(run.error, "a step was made"), 0u) << run.error;
}

TEST(LaunchFaults, ThreadsAreTheCoresSharedOutOrThoseOfItsMask) {
  const auto says = [](int cores, const std::string& mask, int threads, int of) {
    const Outcome run = call_shell(
        cat("SAID_CORES=", cores, " ", launch_words(1, "", mask + program_words("says its threads"))));
    EXPECT_TRUE(run.output.ends_with(cat("\nthreads: ", threads, " of ", of, "\n"))) << cores << run.output;
  };
  const int all = default_threads();
  says(4 * all, "", all, all);
  says(100 * all, "", all, all);
  says(4, "", 1, all);
  says(8, "taskset -c 0 ", 1, 1);
}

TEST(LaunchFaults, NightlyAFaultOfChaosComesOnce) {
  const Outcome run = call_shell(launch_words(2, "--chaos stop:1@step3:0.3s", program_words("fits twice")));
  EXPECT_EQ(run.code, 0) << run.error;
}

TEST(LaunchFaults, ProcessesThatWouldAllDoTheSameAreRefused) {
  const std::string folder = folder_to_launch("launch-faults-same");
  const std::string plan =
      cat(build_folder(), "/espalier train ", folder, "/plan.toml --model ", folder, "/model");
  for (const char* strategy : {"", " --strategy mirrored --devices 2"}) {
    const Outcome run = call_shell(launch_words(2, "", plan + strategy));
    EXPECT_EQ(run.code, 2);
    EXPECT_NE(run.error.find("this is one of 2 processes of espalier launch, and the strategy is "),
              std::string::npos)
        << run.error;
    EXPECT_NE(run.error.find("[distribute.launched]"), std::string::npos) << run.error;
  }
  EXPECT_EQ(call_shell(launch_words(1, "", plan)).code, 0);
}

TEST(LaunchFaults, SlowTheFirstRanksProgressIsThatOfTheTerminalBehindTheLauncher) {
  const std::string folder = folder_to_launch("launch-faults-terminal");
  const auto shown = [&](const std::string& flags) {
    return call_shell(cat("TERM=xterm COLUMNS= script -qec \"", launch_words(2, flags, worker_words(folder)),
                          "\" /dev/null"))
        .output;
  };
  if (call_shell("command -v script").code != 0) GTEST_SKIP() << "no script, of bsdutils";
  const std::string whole = shown(""), prefixed = shown("--prefix");
  EXPECT_EQ(times(whole, "epoch 4/4"), 1u) << whole;
  EXPECT_GE(times(whole, "\x1b[1m"), 1u) << whole;
  EXPECT_EQ(times(prefixed, "\x1b["), 0u) << prefixed;
}

TEST(LaunchFaults, ABadNumberOfThreadsIsASentence) {
  const Outcome run = call_shell(cat("ESPALIER_THREADS=abc ", build_folder(), "/espalier --version"));
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.error.find("not \"abc\" [threads.environment]"), std::string::npos) << run.error;
}

TEST(LaunchFaults, SlowSignalsThatNobodyLooksForEndTheRun) {
  const Outcome run = told_to_end(launch_words(2, "", program_words("loop")));
  EXPECT_EQ(run.code, 128 + SIGTERM) << run.error;
}

// Rank 0 waits for one that the signal ends.
TEST(LaunchFaults, SlowARunThatIsToldToEndBeforeItsFirstStepIsNoFailure) {
  const std::string train = worker_words(folder_to_launch("launch-faults-told"));
  const std::string sleeps = cat("{ echo ", kUnderWay, " >&2; exec sleep 300; }");
  const Outcome run = told_to_end(launch_words(2, "--restarts 3", but_on(1, sleeps, train)), 1);
  EXPECT_EQ(run.code, 128 + SIGTERM) << run.error;
  EXPECT_EQ(times(run.error, "espalier launch: rank 1"), 0u) << run.error;
  EXPECT_EQ(times(run.error, "start again"), 0u) << run.error;
}

// Who ends all processes of a service reaches a rank twice: by the launcher, too.
TEST(LaunchFaults, NightlyAWorkerThatIsToldTwiceSavesAllTheSame) {
  const std::string folder = folder_to_launch("launch-faults-twice", 600), plan = folder + "/plan.toml";
  // Nothing ends it before, and its log says that it is under way.
  const std::string log = folder + "/log.csv", checkpoint = folder + "/model.checkpoint";
  write_file(plan, posix_env().read_file(plan) + "[[callbacks]]\ntype = \"CSVLogger\"\npath = \"log.csv\"\n");
  const std::string words =
      launch_words(2, "", worker_words(folder, "--batch 1 --epochs 100000 --checkpoint-every 100000000"));
  for (const int gap : {1, 5}) {
    std::filesystem::remove(log);
    std::filesystem::remove(checkpoint);
    Beside run(words, folder + "/errors");
    EXPECT_TRUE(comes_true([&] {
      return posix_env().exists(log) && times(posix_env().read_file(log), "\n") > 1;
    })) << run.errors();
    run.signal(SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(gap));
    run.signal(SIGTERM);
    EXPECT_TRUE(run.ends()) << run.errors();
    EXPECT_EQ(run.code(), 42) << run.errors();
    EXPECT_TRUE(posix_env().exists(checkpoint)) << run.errors();
  }
}

TEST(LaunchFaults, ARecordThatCannotBeWrittenDoesNotHideHowTheRunEnded) {
  const std::string folder = fresh_folder("launch-faults-record");
  const auto run = [&](int code) {
    std::filesystem::create_directory(folder + "/in");
    return call_shell(launch_words(1, cat("--record ", folder, "/in/record.json"),
                                   shell_words(cat("rm -r ", folder, "/in; exit ", code))));
  };
  const Outcome failed = run(7);
  EXPECT_EQ(failed.code, 7);
  EXPECT_EQ(times(failed.error, "record.json"), 1u) << failed.error;
  EXPECT_EQ(run(0).code, 2);
}

// Nobody asks for a record before something has gone wrong.
TEST(LaunchFaults, SlowARunThatIsGivenUpIsKeptUnasked) {
  const std::string folder = folder_to_launch("launch-faults-kept"), kept = folder + "/kept";
  const auto files = [&] {
    std::vector<std::string> out;
    if (!std::filesystem::exists(kept + "/espalier/runs")) return out;
    for (const auto& file : std::filesystem::directory_iterator(kept + "/espalier/runs"))
      out.push_back(file.path());
    return out;
  };
  const auto run = [&](const std::string& flags) {
    std::filesystem::remove_all(kept);
    std::filesystem::create_directory(kept);
    return call_shell(cat("XDG_STATE_HOME=", kept, " ", launch_words(2, flags, worker_words(folder))));
  };
  const Outcome killed = run("--chaos kill:1@step3");
  EXPECT_EQ(killed.code, 43) << killed.error;
  ASSERT_EQ(files().size(), 1u);
  EXPECT_TRUE(
      killed.error.ends_with(cat("\nespalier launch: what each rank did last is in ", files()[0], "\n")))
      << killed.error;
  const auto start = nlohmann::json::parse(posix_env().read_file(files()[0]))["starts"].at(0);
  // Everybody on this host may read the number of a run: it names no file.
  EXPECT_EQ(files()[0].find(start["verdict"]["id"].get<std::string>()), std::string::npos);
  struct stat status;
  ASSERT_EQ(::stat(files()[0].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u) << "it has the last lines of ranks";
  EXPECT_EQ(start["verdict"]["rank"], 1);
  for (const int rank : {0, 1}) EXPECT_GT(start["ranks"].at(rank)["collectives"].size(), 3u);
  EXPECT_EQ(run(cat("--chaos kill:1@step3 --record ", folder, "/record.json")).code, 43);
  EXPECT_EQ(files().size(), 0u);
  EXPECT_EQ(run("").code, 0);
  EXPECT_EQ(files().size(), 0u);
}

TEST(LaunchFaults, RanksThatReadOtherTablesAreTold) {
  const std::string folder = folder_to_launch("launch-faults-table");
  const std::string table = posix_env().read_file(folder + "/table.csv");
  const size_t digit = table.find_last_of("0123456789");
  std::string other = table;
  other[digit] = table[digit] == '1' ? '2' : '1';
  const std::string elsewhere = folder_to_launch("launch-faults-table-2");
  write_file(elsewhere + "/table.csv", other);
  const Outcome run =
      call_shell(launch_words(3, "", but_on(2, cat("exec ", worker_words(elsewhere)), worker_words(folder))));
  EXPECT_EQ(run.code, 43);
  EXPECT_EQ(times(run.error, "ranks do not run the same: hash of the rows is "), 1u) << run.error;
  EXPECT_EQ(times(run.error, " on rank 2 (verdict "), 1u) << run.error;
}

// Each rank says it, the launcher, and once more it in the last lines of the odd one.
TEST(LaunchFaults, RanksThatValidateOnOtherRowsAreTold) {
  const Outcome run = call_shell(launch_words(3, "", program_words("validates on others")));
  EXPECT_EQ(run.code, 43);
  EXPECT_EQ(times(run.error, "ranks do not run the same: hash of the validation rows is "), 5u) << run.error;
  EXPECT_EQ(times(run.error, " on rank 1 (verdict "), 5u) << run.error;
}

TEST(LaunchFaults, NightlyWhoIsBehindItsFitIsInNoStepOfIt) {
  const Outcome run = call_shell(launch_words(2, "", program_words("evaluates alone")));
  EXPECT_EQ(run.code, 43);
  EXPECT_EQ(times(run.error, " after step 2 while rank 0 is in step 2"), 2u) << run.error;
}

}  // namespace
}  // namespace espalier::cli
