#include "launch/doctor.h"

#include <sys/socket.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/format.h"
#include "launch/control_socket.h"
#include "launch/doctor_findings.h"
#include "launch/planted_doctor_test.h"

namespace espalier {
namespace {

TEST(Doctor, NothingIsWrong) {
  for (const DoctorPlan& plan :
       {DoctorPlan{}, DoctorPlan{.ranks = 8}, DoctorPlan{.hosts = kTwoHosts},
        DoctorPlan{.hosts = kTwoHosts, .engine = "mpi", .interface = "ib0", .port = 4000}}) {
    EXPECT_EQ(troubles(Planted{.plan = plan}), "");
  }
  EXPECT_EQ(troubles(Planted{.variables = slurm_step("pmix"), .plan = {.engine = "mpi"}}), "");
  EXPECT_EQ(troubles(Planted{.variables = slurm_step(), .plan = {.engine = "gloo"}}), "");
}

TEST(Doctor, HalfAPlaceAndLaunchersThatDiffer) {
  EXPECT_EQ(
      troubles(Planted{.variables = {{"RANK", "1"}}}),
      "WRONG launcher: RANK is 1, and WORLD_SIZE is not set: torchrun sets both; no process can tell its "
      "place in the run; fix: set WORLD_SIZE, or unset RANK\n");
  EXPECT_EQ(
      troubles(Planted{.variables = {{"RANK", "1"},
                                     {"WORLD_SIZE", "2"},
                                     {"PMI_RANK", "0"},
                                     {"PMI_SIZE", "4"},
                                     {"MASTER_ADDR", "a"},
                                     {"MASTER_PORT", "29500"}}}),
      "WARN  launcher: PMI says rank 0 of 4 (PMI_RANK=0 PMI_SIZE=4); torchrun says rank 1 of 2; fix: unset "
      "the variables of the one that is not meant\n");
  EXPECT_EQ(
      troubles(Planted{.variables = {{"JOB_COMPLETION_INDEX", "3"}}}),
      "WARN  launcher: JOB_COMPLETION_INDEX is 3, and ESPALIER_PODS is not set; each pod trains alone; fix: "
      "set ESPALIER_PODS and ESPALIER_SERVICE in the manifest\n");
}

TEST(Doctor, TooFewSlots) {
  const Planted planted{.plan = {.hosts = kTwoHosts, .ranks = 6}};
  EXPECT_EQ(
      troubles(planted),
      "WRONG slots: 6 ranks for a:2,b:2, which have 4 slots; some ranks have no place; fix: at most -n 4, or "
      "more slots\n");
  EXPECT_EQ(planted.diagnosis().command, "espalier launch --hosts a:2,b:2 -- PROGRAM");
}

TEST(Doctor, MoreRanksThanCores) {
  Planted planted{.plan = {.ranks = 8, .program = {"./train", "my data"}}};
  planted.machine.affinity = 6;
  planted.machine.allowed = 3;
  EXPECT_EQ(
      troubles(planted),
      "WARN  slots: 8 ranks here with 1 thread each, and 8 cores, of which this process may use 6 (affinity "
      "mask), 3 at once (CPU quota of its cgroup); ranks wait for each other's cores: MPI's waits are 16 "
      "times as long then; fix: 3 ranks on this host\n");
  EXPECT_EQ(planted.diagnosis().command, "espalier launch -n 3 -- ./train 'my data'");
  planted.variables["ESPALIER_THREADS"] = "4";
  EXPECT_EQ(planted.diagnosis().command, "env ESPALIER_THREADS=1 espalier launch -n 3 -- ./train 'my data'");
  planted.variables.clear();
  planted.plan.ranks = 0;
  planted.plan.hosts = {{"localhost", 4}, {"b", 9}};
  EXPECT_EQ(planted.diagnosis().command, "espalier launch --hosts localhost:3,b:9 -- ./train 'my data'");
}

// Ranks fill the slots of hosts in order: one that the hosts before took is not planned here, too.
TEST(Doctor, RanksThatFitOnTheHostsBeforeAreNotPlannedHere) {
  Planted planted{.plan = {.hosts = {{"b", 9}, {"a", 9}}, .ranks = 9}};
  EXPECT_EQ(troubles(planted), "");
  planted.plan.ranks = 18;
  EXPECT_EQ(troubles(planted).find("WARN  slots: 9 ranks here with 1 thread each, and 8 cores"), 0u)
      << troubles(planted);
}

TEST(Doctor, ThreadsAboveCores) {
  const Planted planted{.variables = {{"ESPALIER_THREADS", "4"}}, .plan = {.ranks = 4}};
  EXPECT_EQ(
      troubles(planted),
      "WARN  threads: 4 ranks here with 4 threads each, and 8 cores, of which this process may use 8 "
      "(affinity mask); threads take cores from each other; fix: ESPALIER_THREADS=2, or leave it unset\n");
  EXPECT_EQ(planted.diagnosis().command, "env ESPALIER_THREADS=2 espalier launch -n 4 -- PROGRAM");
  // mpirun gives each rank cores of its own: the mask is not for all of them.
  Planted bound{.variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                              {"OMPI_MCA_orte_hnp_uri", "65536.0;tcp://10.0.0.1:5"},
                              {"OMPI_MCA_ess_base_jobid", "65536"}}};
  bound.machine.affinity = bound.machine.allowed = 2;
  EXPECT_EQ(troubles(bound), "");
  bound.variables["ESPALIER_THREADS"] = "3";
  EXPECT_NE(troubles(bound).find("fix: ESPALIER_THREADS=2, or"), std::string::npos) << troubles(bound);
  EXPECT_EQ(bound.diagnosis().command, "env ESPALIER_THREADS=2 mpirun -n 4 PROGRAM");
  bound.machine.root = true;
  bound.machine.processors = 3;
  EXPECT_EQ(bound.diagnosis().command,
            "env ESPALIER_THREADS=2 mpirun -n 4 --oversubscribe --allow-run-as-root PROGRAM");
  // Of a launcher: 4 tasks of this host.
  Planted step{.variables = slurm_step()};
  step.variables["ESPALIER_THREADS"] = "3";
  EXPECT_NE(troubles(step).find("WARN  threads: 4 ranks here with 3 threads each"), std::string::npos);
}

TEST(Doctor, TinySharedMemory) {
  Planted planted{.plan = {.ranks = 2, .engine = "mpi"}};
  planted.machine.shm_free = 2 * 4194312 - 1;
  planted.machine.shm_size = 67108864;
  EXPECT_EQ(
      troubles(planted),
      "WRONG shm: /dev/shm has 8388623 bytes free of 67108864; Open MPI takes 4194312 for each of 2 ranks: "
      "it "
      "slows down or ends; fix: more of it, as docker run --shm-size=1g, or a volume of medium Memory at "
      "/dev/shm\n");
  planted.plan.engine = "auto";
  EXPECT_TRUE(troubles(planted).starts_with("WARN  shm: ")) << troubles(planted);
  planted.machine.shm_free = 2 * 4194312;
  EXPECT_EQ(troubles(planted), "");
}

TEST(Doctor, MemoryAndFiles) {
  Planted planted{.plan = {.hosts = {{"a", 2}, {"b", 64}}}};
  planted.machine.memory_free = (int64_t{256} << 20) - 1;
  planted.machine.open_files = 259;
  EXPECT_EQ(
      troubles(planted),
      "WARN  memory: 255 MiB free of 16384 MiB for 2 ranks; below 128 MiB a rank the system may end them; "
      "fix: fewer ranks, or a higher limit\n"
      "WARN  files: a process may have 259 files open; a rank of 66 may need 260; fix: ulimit -n 260\n");
}

TEST(Doctor, AnInterfaceThatIsNotThere) {
  const Planted planted{.plan = {.hosts = kTwoHosts, .interface = "eth1"}};
  EXPECT_EQ(
      troubles(planted),
      "WRONG interface: no interface or address of this host is eth1: there are lo 127.0.0.1 (this host "
      "alone), eth0 10.0.0.1, ib0 10.1.0.1; ranks could not listen there; fix: --interface eth0\n");
  EXPECT_EQ(planted.diagnosis().command, "espalier launch --hosts a:2,b:2 --interface eth0 -- PROGRAM");
  EXPECT_EQ(troubles(Planted{.plan = {.hosts = kTwoHosts, .interface = "10.1.0.1"}}), "");
}

TEST(Doctor, LoopbackForOtherHosts) {
  const Planted asked{.plan = {.hosts = kTwoHosts, .interface = "lo"}};
  EXPECT_EQ(
      troubles(asked),
      "WRONG interface: ranks here would be reached at 127.0.0.1, lo, which is this host alone; ranks of "
      "other hosts would reach themselves; fix: --interface eth0\n");
  EXPECT_EQ(asked.diagnosis().command, "espalier launch --hosts a:2,b:2 --interface eth0 -- PROGRAM");
  EXPECT_EQ(troubles(Planted{.plan = {.ranks = 2, .interface = "lo"}}), "");  // all are here

  // The name of this host is, as Debian's installer makes it.
  Planted named{.plan = {.hosts = kTwoHosts}};
  named.machine.addresses = {"127.0.1.1"};
  EXPECT_EQ(
      troubles(named),
      "WARN  name: a is 127.0.1.1, this host alone; programs that look for this host by its name miss it; "
      "fix: another address in /etc/hosts, or --interface eth0\n");
  named.machine.addresses = {};
  EXPECT_TRUE(troubles(named).starts_with("WARN  name: the host name a is not resolved; "))
      << troubles(named);

  // Where ranks meet.
  const Planted meets{.variables = {{"RANK", "1"},
                                    {"WORLD_SIZE", "4"},
                                    {"LOCAL_RANK", "1"},
                                    {"LOCAL_WORLD_SIZE", "2"},
                                    {"MASTER_ADDR", "localhost"},
                                    {"MASTER_PORT", "29500"}}};
  EXPECT_NE(
      troubles(meets).find("WRONG coordinator: ranks of several hosts meet at localhost:29500, loopback; "),
      std::string::npos)
      << troubles(meets);

  Planted looped = meets;
  looped.variables["MASTER_ADDR"] = "a";
  EXPECT_EQ(troubles(looped), "");
  looped.asks.address_towards = [](const std::string&) { return std::string("127.0.0.1"); };
  EXPECT_NE(
      troubles(looped).find("WRONG coordinator: ranks of several hosts meet at a:29500, which is loopback "
                            "here, by /etc/hosts; this host would look for rank 0 in itself; "),
      std::string::npos)
      << troubles(looped);

  Planted alone{.plan = {.hosts = kTwoHosts}};
  alone.machine.interfaces = {{"lo", "127.0.0.1", true}};
  alone.asks.address_towards = [](const std::string&) { return std::string(); };
  EXPECT_NE(troubles(alone).find("WRONG interface: ranks here would be reached at 127.0.0.1, lo, "),
            std::string::npos)
      << troubles(alone);
}

TEST(Doctor, HostsThatOnlyTheAgentKnows) {
  Planted planted{.plan = {.hosts = kTwoHosts}};
  planted.asks.address_towards = [](const std::string&) { return std::string(); };
  EXPECT_EQ(
      troubles(planted),
      "WRONG interface: no address is known here of a:2,b:2; espalier launch cannot tell at which of its "
      "own ranks find it; fix: --interface eth0\n");
  EXPECT_EQ(planted.diagnosis().command, "espalier launch --hosts a:2,b:2 --interface eth0 -- PROGRAM");
  planted.plan.interface = "eth0";
  EXPECT_EQ(troubles(planted), "");
  planted.plan = {.hosts = {{"a", 2}, {"root@b", 2}}};
  planted.asks.address_towards = [](const std::string& host) { return host == "b" ? "10.1.0.1" : ""; };
  EXPECT_EQ(troubles(planted), "");
}

TEST(Doctor, SlurmWithoutPmix) {
  const auto with = [](const std::string& mpi) {
    return Planted{.variables = slurm_step(mpi), .plan = {.engine = "mpi"}};
  };
  EXPECT_EQ(troubles(with("pmi2")),
            "WRONG slurm: srun has --mpi=pmi2, and the engine is mpi; Open MPI of Debian has no PMI-2 and "
            "ends; fix: srun --mpi=pmix, or ESPALIER_ENGINE=gloo\n");
  for (const std::string mpi : {"", "none"})
    EXPECT_EQ(troubles(with(mpi)),
              "WRONG slurm: srun has no --mpi=pmix, and the engine is mpi; each of 4 tasks is an MPI job of "
              "one rank; fix: srun --mpi=pmix, or ESPALIER_ENGINE=gloo\n");
  EXPECT_EQ(with("pmi2").diagnosis().command, "srun -n 4 --mpi=pmix PROGRAM");
  EXPECT_EQ((Planted{.variables = slurm_step()}).diagnosis().command, "srun -n 4 PROGRAM");
  const Planted script{.variables = {{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}};
  EXPECT_EQ(troubles(script),
            "WARN  slurm: in job 7 of Slurm, outside of srun; what is called so is one process, not a task "
            "for each "
            "of SLURM_NTASKS; fix: put srun before the program\n");
  EXPECT_EQ(script.diagnosis().command, "srun -n 4 PROGRAM");
}

// What a rank chooses where nobody has asked: memory on one host, else mpi below an MPI launcher.
TEST(Doctor, TheEngineIsTheOneThatRanksWillTake) {
  const auto engine = [](const Planted& planted) {
    for (const DoctorFinding& one : planted.diagnosis().findings) {
      if (one.topic == "plan") return one.what;
    }
    return std::string();
  };
  Planted step{.variables = slurm_step("pmi2")};
  EXPECT_EQ(engine(step), "4 ranks, engine shm, since all ranks are on one host");
  step.variables["SLURM_STEP_NODELIST"] = "a,b";
  step.variables["SLURM_STEP_TASKS_PER_NODE"] = "2(x2)";
  EXPECT_EQ(engine(step), "4 ranks, engine gloo, since no MPI launcher started them");
  step.variables["PMI_RANK"] = "1";
  step.variables["PMI_SIZE"] = "4";
  EXPECT_EQ(engine(step), "4 ranks, engine mpi, since an MPI launcher started them");
  EXPECT_TRUE(troubles(step).starts_with("WRONG slurm: srun has --mpi=pmi2, and the engine is mpi; "))
      << troubles(step);
  EXPECT_EQ(step.diagnosis().command, "srun -n 4 --mpi=pmix PROGRAM");
  step.machine.engines["mpi"] = "not there";
  EXPECT_EQ(engine(step), "4 ranks, engine gloo, since the module mpi is not there");
  Planted asked{.variables = slurm_step()};
  asked.variables["ESPALIER_ENGINE"] = "mpi";
  EXPECT_TRUE(troubles(asked).starts_with("WRONG slurm: srun has no --mpi=pmix, and the engine is mpi; "))
      << troubles(asked);
  // Not of ranks that espalier launch will start.
  asked.plan.ranks = 2;
  EXPECT_EQ(engine(asked), "2 ranks on this host, engine shm");
}

TEST(Doctor, ByHand) {
  Planted planted{.variables = {{"ESPALIER_RANK", "0"}, {"ESPALIER_WORLD", "2"}},
                  .plan = {.program = {"./train"}}};
  EXPECT_EQ(
      troubles(planted),
      "WRONG coordinator: espalier (ESPALIER_RANK=0 ESPALIER_WORLD=2) does not say where ranks meet; no "
      "rank can find rank 0; fix: ESPALIER_COORDINATOR=HOST:PORT for all of them, HOST being that of rank "
      "0\n");
  EXPECT_EQ(planted.diagnosis().command, "espalier launch -n 8 -- ./train");
  planted.variables["ESPALIER_COORDINATOR"] = "a:29500";
  EXPECT_EQ(troubles(planted), "");
  EXPECT_EQ(planted.diagnosis().command, "./train");
  planted.asks.port_problem = [](int port) { return port == 29500 ? "Address already in use" : ""; };
  EXPECT_EQ(planted.diagnosis().command, "env ESPALIER_COORDINATOR=a:40000 ./train");
  // What espalier launch has started has memory, or hears of rank 0 by it.
  planted.variables = {{"ESPALIER_RANK", "0"}, {"ESPALIER_WORLD", "2"}, {"ESPALIER_SEGMENTS", "3"}};
  EXPECT_EQ(troubles(planted), "");
}

TEST(Doctor, ABusyPort) {
  Planted planted{.plan = {.port = 29500}};
  planted.asks.port_problem = [](int port) { return port == 29500 ? "Address already in use" : ""; };
  EXPECT_EQ(troubles(planted),
            "WRONG port: 29500: Address already in use; rank 0 could not listen there; fix: another one, as "
            "40000\n");
  // That of the launcher, where this process is rank 0.
  planted.plan.port = 0;
  planted.variables = {{"RANK", "0"},        {"WORLD_SIZE", "2"},
                       {"LOCAL_RANK", "0"},  {"LOCAL_WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};
  EXPECT_TRUE(troubles(planted).starts_with("WRONG port: 29500: ")) << troubles(planted);
  EXPECT_EQ(planted.diagnosis().command,
            "torchrun --no-python --nproc-per-node=2 --master-port=40000 PROGRAM");
  planted.variables["RANK"] = planted.variables["LOCAL_RANK"] = "1";
  EXPECT_EQ(troubles(planted), "");
}

TEST(Doctor, EnginesThatAreNotThere) {
  Planted planted{.plan = {.hosts = kTwoHosts, .engine = "gloo"}};
  planted.machine.engines["gloo"] = "the engine gloo needs libgloo-dev";
  EXPECT_EQ(troubles(planted),
            "WRONG engine: the engine gloo needs libgloo-dev; the run cannot start; fix: install it, or "
            "another --engine\n");
  EXPECT_EQ(planted.diagnosis().command, "espalier launch --hosts a:2,b:2 --engine mpi -- PROGRAM");
  planted.plan.engine = "auto";
  EXPECT_TRUE(troubles(planted).starts_with("WRONG engine: the engine gloo needs libgloo-dev; "))
      << "the launcher takes gloo between hosts, whatever else is there";
  EXPECT_EQ(planted.diagnosis().command, "espalier launch --hosts a:2,b:2 --engine mpi -- PROGRAM");
  planted.plan.engine = "shm";
  EXPECT_EQ(
      troubles(planted),
      "WRONG engine: engine shm for 4 ranks on several hosts; shared memory ends at its host; fix: --engine "
      "auto\n");
  planted.plan.engine = "mpi";
  planted.machine.versions["mpirun"] = "";
  EXPECT_EQ(
      troubles(planted),
      "WRONG engine: neither mpirun nor srun is there; nothing starts ranks of MPI; fix: apt-get install "
      "openmpi-bin\n");
}

// A program that lies elsewhere gets the folder of the command's from espalier launch, and from nobody else.
TEST(Doctor, EnginesThatOnlyTheCommandFinds) {
  const auto engines = [](const Planted& planted) {
    for (const DoctorFinding& one : planted.diagnosis().findings) {
      if (one.topic == "engines") return one.what;
    }
    return std::string();
  };
  Planted planted{.plan = {.hosts = kTwoHosts}};
  planted.machine.engines["gloo"] = "the engine gloo is not there";
  planted.machine.command_engines["gloo"] = "/opt/bin";
  EXPECT_EQ(troubles(planted), "");
  EXPECT_EQ(engines(planted), "shm, gloo (of /opt/bin, which espalier launch tells its ranks), mpi");
  planted.plan.hosts.clear();
  planted.variables = {{"RANK", "0"},        {"WORLD_SIZE", "4"},
                       {"LOCAL_RANK", "0"},  {"LOCAL_WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(
      troubles(planted),
      "WRONG engine: the engine gloo is not there; the run cannot start; fix: ESPALIER_MODULES=/opt/bin\n");
  EXPECT_EQ(engines(planted), "shm, mpi");
}

TEST(Doctor, AnEngineThatNobodyKnows) {
  const Planted planted{.variables = {{"RANK", "0"},
                                      {"WORLD_SIZE", "4"},
                                      {"LOCAL_RANK", "0"},
                                      {"LOCAL_WORLD_SIZE", "4"},
                                      {"MASTER_ADDR", "a"},
                                      {"MASTER_PORT", "29500"},
                                      {"ESPALIER_ENGINE", "tcp"}}};
  EXPECT_EQ(troubles(planted),
            "WRONG engine: ESPALIER_ENGINE is tcp; no rank knows an engine of this name; fix: "
            "ESPALIER_ENGINE=auto\n");
}

RankReport report_of_rank(int rank) {
  const std::string host = rank < 2 ? "a" : "b";
  return {rank, 4, "1.0", host, "eth0", rank < 2 ? "10.0.0.1" : "10.0.0.2"};
}
std::vector<RankReport> reports_of_ranks() {
  return {report_of_rank(0), report_of_rank(1), report_of_rank(2), report_of_rank(3)};
}

TEST(DoctorReports, NothingIsWrong) {
  const auto findings = compare_reports(reports_of_ranks());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(to_string(findings[0]), "OK    ranks: all 4 have reported, each once, on 2 hosts");
  // On one host loopback is as good.
  RankReport here = report_of_rank(0), there = report_of_rank(1);
  here.world = there.world = 2;
  here.address = there.address = "127.0.0.1";
  EXPECT_EQ(troubles(compare_reports({here, there})), "");
}

TEST(DoctorReports, TwoRanksWithOneIdAndOneThatIsMissing) {
  auto reports = reports_of_ranks();
  reports[3].rank = 1;
  EXPECT_EQ(
      troubles(compare_reports(reports)),
      "WRONG ranks: rank 1 comes 2 times, on a and b; two processes would do the work of one; fix: a number "
      "of its own for each process\n"
      "WRONG ranks: rank 3 of 4 has not reported; all others would wait; fix: start it, or look why it did "
      "not start\n");
  EXPECT_EQ(troubles(compare_reports({report_of_rank(2)})),
            "WRONG ranks: ranks 0, 1, 3 of 4 have not reported; all others would wait; fix: start it, or "
            "look why it "
            "did not start\n");
  EXPECT_TRUE(any_wrong(compare_reports({})));
  // Where ranks say two numbers, those of the larger one are looked for.
  RankReport smaller = report_of_rank(1);
  smaller.world = 2;
  EXPECT_NE(troubles(compare_reports({report_of_rank(0), smaller}))
                .find("WRONG ranks: ranks 2, 3 of 4 have not reported"),
            std::string::npos);
}

TEST(DoctorReports, VersionsAndWorldsThatDiffer) {
  auto reports = reports_of_ranks();
  reports[2].version = "1.1";
  reports[3].world = 3;
  EXPECT_EQ(
      troubles(compare_reports(reports)),
      "WRONG ranks: the number of ranks is 3 on rank 3; 4 on ranks 0, 1, 2; they wait for ranks that others "
      "do not know; fix: one number for all\n"
      "WRONG versions: the library is 1.0 on ranks 0, 1, 3; 1.1 on rank 2; they are refused at the first "
      "step; fix: one version on all hosts\n");
}

TEST(DoctorReports, AddressesThatOthersCannotReach) {
  auto reports = reports_of_ranks();
  reports[0].address = reports[1].address = "127.0.0.1";
  reports[0].interface = reports[1].interface = "lo";
  EXPECT_EQ(troubles(compare_reports(reports)),
            "WRONG interface: a is to be reached at 127.0.0.1 (lo); ranks of other hosts cannot; fix: an "
            "--interface that leads to the other hosts\n");
  reports = reports_of_ranks();
  reports[2].address = reports[3].address = "10.0.0.1";
  EXPECT_EQ(troubles(compare_reports(reports)),
            "WRONG interface: b and a are both to be reached at 10.0.0.1; messages for one of them go to the "
            "other; "
            "fix: an --interface that leads to the other hosts\n");
}

TEST(MachineFacts, AreThoseOfThisMachine) {
  const MachineFacts facts = machine_facts();
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  EXPECT_EQ(facts.host, name);
  EXPECT_LE(facts.allowed, facts.affinity);
  EXPECT_LE(facts.affinity, facts.processors);
  EXPECT_GT(facts.memory, int64_t{64} << 20);
  EXPECT_LE(facts.memory_free, facts.memory);
  EXPECT_GT(facts.open_files, 0);
  std::error_code missing;
  const std::filesystem::space_info shm = std::filesystem::space("/dev/shm", missing);
  EXPECT_EQ(facts.shm_size, missing ? -1 : static_cast<int64_t>(shm.capacity));
  EXPECT_LE(facts.shm_free, facts.shm_size);
  // Others may have given some of it back since.
  if (!missing) {
    EXPECT_GE(facts.shm_free, static_cast<int64_t>(shm.available / 2));
  }
  bool loopback = false;
  for (const NetworkInterface& one : facts.interfaces)
    loopback = loopback || (one.loopback && one.name == "lo");
  EXPECT_TRUE(loopback);
  EXPECT_EQ(facts.versions.at("espalier").empty(), false);
  EXPECT_EQ(facts.engines.size(), 2u);
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(address_towards("no such host"), "");
}

TEST(MachineFacts, APortThatSomebodyHasIsBusy) {
  std::string address = "tcp:127.0.0.1:0";
  ControlFd listener = listen_at(address);
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  EXPECT_EQ(port_problem(port), "Address already in use");
  listener.close();
  EXPECT_EQ(port_problem(port), "");
  const int other = free_port();
  EXPECT_GT(other, 1024);
  EXPECT_EQ(port_problem(other), "");
}

}  // namespace
}  // namespace espalier
