// Workers over engines between hosts, and under the launchers of others.
#include "cli/engines_test.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "cli/seeded_fault_test.h"

namespace espalier::cli {
namespace {

class Engines : public EnginesTest {
 protected:
  // The weights of a run that these words start; whoever speaks first says `said`.
  void expect_same(const std::string& words, const std::string& said) const {
    SCOPED_TRACE(words);
    std::filesystem::remove_all(folder_ + "/model");
    const Outcome run = call_shell(words);
    ASSERT_EQ(run.code, 0) << run.output << run.error;
    EXPECT_NE((run.error + run.output).find(said), std::string::npos) << run.error << run.output;
    EXPECT_EQ(weights_hash(folder_ + "/model"), wanted_);
  }
  static std::string hosts(const std::string& list, const std::string& flags, const std::string& program) {
    return cat(build_folder(), "/espalier launch --hosts ", list, " --agent env --interface 127.0.0.1 ",
               flags, " -- ", program);
  }

  // Twelve runs, or ESPALIER_CHAOS_RUNS, by words_of(fault), which draws it: at least 99 of 100 are such that
  // is_named(fault, run), and those that were stopped for a moment learn the same.
  template <class Words, class Named>
  void expect_named(Words&& words_of, Named&& is_named) const {
    const int runs = runs_asked();
    int exact = 0;
    for (int seed = 0; seed < runs; ++seed) {
      SeededFault fault(seed);
      const std::string words = words_of(fault);
      const Outcome run = call_shell(words);
      SCOPED_TRACE(cat("seed ", seed, ": ", words, "\n", run.error));
      if (fault.kind == "short") {
        EXPECT_EQ(run.code, 0);
        EXPECT_EQ(weights_hash(folder_ + "/model"), wanted_);
        ++exact;
        continue;
      }
      const bool named = is_named(fault, run);
      exact += named;
      EXPECT_TRUE(named);
    }
    EXPECT_GE(exact * 100, runs * 99);
    expect_none_left();
  }
  void expect_none_left() const {
    EXPECT_TRUE(comes_true(
        [&] { return call_shell(cat("pgrep -fc '[e]spalier train ", folder_, "/'")).output == "0\n"; }));
  }
};

TEST_F(Engines, SlowHostsLearnTheBitsOfOneDevice) {
  for (const char* list : {"a:1,b:1", "a:2,b:2", "a:1,b:1,c:1", "a:3,b:1", "a:1,b:1,c:1,d:1", "a:4,b:4",
                           "a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1"})
    expect_same(hosts(list, "", train()), "engine: gloo between ");
}

TEST_F(Engines, NightlyFastModeIsNearOneDevice) {
  const auto distance = [&](const std::string& words) {
    const Outcome run = call_shell(words);
    EXPECT_EQ(run.code, 0) << run.error;
    return weights_hash(folder_ + "/model");
  };
  // The same sums in the same order: by threads of one process, which tests hold to 1e-6 of one device.
  const std::string mirrored =
      distance(cat(build_folder(), "/espalier train ", folder_,
                   "/plan.toml --strategy mirrored --devices 3 --force --model ", folder_, "/model"));
  EXPECT_EQ(distance(hosts("a:1,b:1,c:1", "", worker_words(folder_))), mirrored);
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  EXPECT_EQ(distance(cat(kMpirun, "-n 3 ", worker_words(folder_))), mirrored);
}

TEST_F(Engines, SlowMpirunStartsWorkers) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  for (const int ranks : {2, 3, 4, 8})
    expect_same(cat(kMpirun, "-n ", ranks, " ", train()),
                cat("rank 0 of ", ranks, " by Open MPI (OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=", ranks,
                    "); engine: shm, since all ranks are on one host"));
  expect_same(cat("ESPALIER_ENGINE=mpi ", kMpirun, "-x ESPALIER_ENGINE -n 3 ", train()), "; engine: mpi");
  expect_same(cat("ESPALIER_ENGINE=gloo ", kMpirun, "-x ESPALIER_ENGINE -n 3 ", train()),
              "engine: gloo over ");
  expect_same(cat("ESPALIER_ENGINE=shm ", kMpirun, "-x ESPALIER_ENGINE -n 3 ", train()),
              "; engine: shm, since ESPALIER_ENGINE says so");
}

TEST_F(Engines, SlowLaunchRunsMpirunUnderneath) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  const std::string launch = build_folder() + "/espalier launch -n 3 --engine mpi ";
  expect_same(cat(launch, "-- ", train()), "mpirun -n 3 ");
  // Chaos comes on the first start.
  const Outcome killed = call_shell(cat(launch, "--chaos kill:1@step5 -- ", train()));
  EXPECT_NE(killed.code, 0);
  expect_none_left();
}

// Neither mpirun nor ranks can remove anything when all of them are killed.
TEST_F(Engines, SlowFilesOfAKilledMpiLaunchGoWithTheNextStart) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  const std::string temporary = folder_ + "/tmp";
  std::filesystem::create_directories(temporary);
  const std::string launch =
      cat("TMPDIR=", temporary, " ", build_folder(), "/espalier launch -n 2 --engine mpi -- ");
  const auto left = [&](const std::string& of) {
    return call_shell(cat("find ", of, " -path '*/espalier-mpi-*' -name '", "*' | sort")).output;
  };
  const std::string others = left("/dev/shm");  // of tests beside this one
  // Ranks train until they are killed.
  const std::string plan = folder_ + "/plan.toml";
  write_file(plan,
             posix_env().read_file(plan) + "[[callbacks]]\ntype = \"EarlyStopping\"\npatience = 1000000\n");
  const Outcome killed = call_shell(
      cat(launch, worker_words(folder_), " --epochs 1000000 > ", folder_, "/log 2>&1 & launcher=$!; ",
          "for i in $(seq 600); do ls /dev/shm/espalier-mpi-*/vader_segment.* > /dev/null 2>&1 && break; ",
          "sleep 0.1; done; sleep 0.5; kill -9 $launcher"));
  const std::string memory = left("/dev/shm");
  EXPECT_NE(memory, others) << killed.output << killed.error << posix_env().read_file(folder_ + "/log");
  EXPECT_NE(left(temporary).find("/ompi."), std::string::npos) << "files of mpirun";
  expect_none_left();
  const Outcome next = call_shell(launch + "true");
  EXPECT_EQ(next.code, 0) << next.error;
  EXPECT_EQ(left(temporary), "");
  EXPECT_NE(left("/dev/shm"), memory);
  EXPECT_EQ(left("/dev/shm").find("vader_segment"), std::string::npos);
}

TEST_F(Engines, SlowVariablesOfTorchrunStartWorkers) {
  const int port = free_port();
  expect_same(together(3,
                       [&](int rank) {
                         return cat("exec env LOCAL_RANK=", rank, " LOCAL_WORLD_SIZE=3 ",
                                    torchrun_words(rank, 3, port), " ", train());
                       }),
              "rank 0 of 3 by torchrun (RANK=0 WORLD_SIZE=3); engine: shm, since all ranks are on one host");
}

TEST_F(Engines, SlowTfConfigStartsWorkers) {
  const int port = free_port();
  expect_same(
      together(2, [&](int rank) { return cat("exec env ", tf_config_words(rank, port), " ", train()); }),
      "rank 0 of 2 by TF_CONFIG (task worker 0 of 2); engine: shm, since all ranks are on one host");
}

TEST_F(Engines, SlowSlurmStartsWorkers) {
  if (call_shell("sinfo -h -o %t 2> /dev/null | grep -q idle").code != 0)
    GTEST_SKIP() << "no Slurm that runs";
  expect_same(cat("srun -O --mpi=pmix -n 3 ", train()), "rank 0 of 3 by Slurm ");
  expect_same(cat("srun -O --mpi=none -n 3 ", train()), "engine: shm, since all ranks are on one host");
  expect_same(cat("ESPALIER_ENGINE=gloo srun -O --mpi=none -n 3 ", train()), "engine: gloo over ");
}

// By faults of --chaos on hosts: who was it, on which of them, in which step.
TEST_F(Engines, SlowFaultsOverHostsAreNamed) {
  const std::pair<const char*, const char*> faults[] = {
      {"kill:1@step5", ", host a) ended by signal 9 in step 5 before "},
      {"throw:2@step4", ", host b) failed in step 4 before "},
      {"exit:3@step3", ", host b) ended with status 0 in step 3 while "},
      {"stop:2@step4:30s", ", host b) has not been heard of for "}};
  for (const auto& [fault, said] : faults) {
    SCOPED_TRACE(fault);
    const Outcome run = call_shell(hosts("a:2,b:2", cat("--chaos ", fault), worker_words(folder_)));
    EXPECT_EQ(run.code, 43) << run.error;
    const std::string wanted =
        cat("espalier launch: rank ",
            std::string_view(fault).substr(std::string_view(fault).find(':') + 1, 1), " (pid ");
    EXPECT_NE(run.error.find(wanted), std::string::npos) << run.error;
    EXPECT_NE(run.error.find(said), std::string::npos) << run.error;
  }
  const Outcome run = call_shell(hosts("a:2,b:2", "--chaos stop:1@step4:1s", train()));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(weights_hash(folder_ + "/model"), wanted_);
}

// Any rank in any step on hosts of any size, ended, stopped for good or for a moment: the verdict names the
// rank, its host, what befell it and the step.
TEST_F(Engines, NightlySeededFaultsOverHostsAreNamedExactly) {
  std::vector<std::string> host_of;
  expect_named(
      [&](SeededFault& fault) {
        std::string list;
        host_of.clear();
        const int hosts_of_run = 2 + fault.below(2);
        for (int host = 0; host < hosts_of_run; ++host) {
          const std::string name(1, static_cast<char>('a' + host));
          const int count = 1 + fault.below(2);
          list += cat(host ? "," : "", name, ":", count);
          host_of.insert(host_of.end(), static_cast<size_t>(count), name);
        }
        fault.draw(static_cast<int>(host_of.size()));
        return hosts(list, fault.flags(), train());
      },
      [&](const SeededFault& fault, const Outcome& run) {
        EXPECT_EQ(run.code, 43);
        const size_t at = run.error.find("espalier launch: rank ");
        const std::string verdict =
            at == std::string::npos ? "" : run.error.substr(at, run.error.find('\n', at) - at);
        const std::string host = cat(", host ", host_of[static_cast<size_t>(fault.rank)], ")");
        return verdict.find(cat("rank ", fault.rank, " (pid ")) != std::string::npos &&
               verdict.find(host + fault.said()) != std::string::npos;
      });
}

// Where mpirun starts the ranks, rank 0 has the coordinator, which knows of ends that a connection broke, and
// of its own loss nothing.
TEST_F(Engines, NightlySeededFaultsUnderMpirunAreNamed) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  int world = 0;
  expect_named(
      [&](SeededFault& fault) {
        world = 2 + fault.below(3);
        fault.draw(world);
        return launch_words(world, "--engine mpi " + fault.flags(), train());
      },
      [&](const SeededFault& fault, const Outcome& run) {
        EXPECT_NE(run.code, 0);
        for (int other = 0; other < world; ++other)
          EXPECT_TRUE(other == fault.rank ||
                      run.error.find(cat("espalier: rank ", other, " ")) == std::string::npos)
              << "it names rank " << other;
        const bool first = fault.rank == 0, throws = fault.kind == "throw";
        // An end without a word looks as a kill does.
        const std::string ended = first ? "espalier: rank 0 is gone" : ") lost its connection before ";
        const std::string silent = cat(first ? "espalier: rank 0" : ")", " has not been heard of for ");
        const std::string what = throws ? cat(")", fault.said()) : fault.kind == "stop" ? silent : ended;
        const std::string who = first && !throws ? "" : cat("espalier: rank ", fault.rank, " (pid ");
        const size_t at = run.error.find(who);
        return at != std::string::npos && run.error.find(what, at) != std::string::npos;
      });
}

TEST_F(Engines, SlowAWorkerWithoutALauncherIsMissed) {
  const int port = free_port();
  const Outcome run = call_shell(together(3, [&](int rank) {
    return cat("exec env ", rank == 2 ? "ESPALIER_CHAOS=kill:2@step5 " : "", torchrun_words(rank, 3, port),
               " ", worker_words(folder_));
  }));
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.error.find("rank 2 (pid "), std::string::npos) << run.error;
  EXPECT_NE(run.error.find(") lost its connection before "), std::string::npos) << run.error;
}

}  // namespace
}  // namespace espalier::cli
