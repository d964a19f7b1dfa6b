// What the doctor says as a whole: all lines, the command and the report, and where its limits lie.
#include <gtest/gtest.h>

#include "base/format.h"
#include "launch/doctor_findings.h"
#include "launch/planted_doctor_test.h"

namespace espalier {
namespace {

std::string whole(const Planted& planted) {
  const Diagnosis out = planted.diagnosis();
  std::string text;
  for (const DoctorFinding& finding : out.findings) text += to_string(finding) + "\n";
  const RankReport& rank = out.report;
  return cat(text, out.command, "\n", rank.rank, " of ", rank.world, ", ", rank.version, ", ", rank.host,
             ", ", rank.interface, " ", rank.address);
}

// Of a topic, what it says; lines of several.
std::string said_of(const Planted& planted, std::string_view topic) {
  std::string out;
  for (const DoctorFinding& finding : planted.diagnosis().findings) {
    if (finding.topic == topic) out += (out.empty() ? "" : "\n") + to_string(finding);
  }
  return out;
}

std::string command_of(std::map<std::string, std::string> variables, DoctorPlan plan = {},
                       MachineFacts machine = healthy()) {
  return Planted{.variables = std::move(variables), .machine = std::move(machine), .plan = std::move(plan)}
      .diagnosis()
      .command;
}

// Rank 1 of 4 on two hosts.
std::map<std::string, std::string> torchrun_over_hosts(const std::string& host = "b") {
  return {{"RANK", "1"},         {"WORLD_SIZE", "4"},     {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"},
          {"MASTER_ADDR", host}, {"MASTER_PORT", "29500"}};
}

TEST(DoctorWhole, OfAProcessAlone) {
  Planted alone;
  alone.machine.shm_free = int64_t{512} << 20;
  EXPECT_EQ(whole(alone),
            "OK    launcher: no launcher's variables are set: this process is alone\n"
            "OK    cores: 8 cores, of which this process may use 8 (affinity mask); 1 rank here with 8 "
            "threads each\n"
            "OK    shm: 512 MiB free in /dev/shm\n"
            "OK    memory: 8192 MiB free of 16384 MiB\n"
            "OK    files: a process may have 1024 files open\n"
            "OK    interface: lo 127.0.0.1 (this host alone), eth0 10.0.0.1, ib0 10.1.0.1; others reach this "
            "host at 10.0.0.1\n"
            "OK    name: a is 10.0.0.1\n"
            "OK    port: espalier launch takes ports that are free\n"
            "OK    engines: shm, gloo, mpi\n"
            "OK    versions: espalier 1.0, mpirun: 4.1, srun: none\n"
            "espalier launch -n 8 -- PROGRAM\n"
            "0 of 1, 1.0, a, eth0 10.0.0.1");
}

TEST(DoctorWhole, OfAPlanOverHosts) {
  Planted planned{.plan = {.hosts = kTwoHosts, .engine = "mpi", .interface = "ib0", .port = 4000}};
  planned.machine.affinity = 6;
  planned.machine.allowed = 5;
  planned.machine.engines["gloo"] = "the engine gloo needs libgloo-dev";
  EXPECT_EQ(whole(planned),
            "OK    launcher: no launcher's variables are set: this process is alone\n"
            "OK    plan: 4 ranks on a:2,b:2, engine mpi\n"
            "OK    cores: 8 cores, of which this process may use 6 (affinity mask), 5 at once (CPU quota of "
            "its cgroup); 2 ranks here with 2 threads each\n"
            "OK    shm: 1024 MiB free in /dev/shm\n"
            "OK    memory: 8192 MiB free of 16384 MiB\n"
            "OK    files: a process may have 1024 files open\n"
            "OK    interface: lo 127.0.0.1 (this host alone), eth0 10.0.0.1, ib0 10.1.0.1; others reach this "
            "host at 10.1.0.1\n"
            "OK    name: a is 10.0.0.1\n"
            "OK    port: 4000 is free\n"
            "OK    engines: shm, mpi; the engine gloo needs libgloo-dev\n"
            "OK    versions: espalier 1.0, mpirun: 4.1, srun: none\n"
            "espalier launch --hosts a:2,b:2 --engine mpi --interface ib0 -- PROGRAM\n"
            "0 of 1, 1.0, a, ib0 10.1.0.1");
}

TEST(DoctorWhole, OfARankOfAnotherLauncher) {
  Planted rank{.variables = torchrun_over_hosts()};
  rank.asks.address_towards = [](const std::string& host) { return host == "b" ? "10.1.0.1" : "10.0.0.1"; };
  EXPECT_EQ(whole(rank),
            "OK    launcher: torchrun is believed, the first that says a place: rank 1 of 4 (RANK=1 "
            "WORLD_SIZE=4), 1 of 2 on this host, ranks meet at b:29500\n"
            "OK    plan: 4 ranks, engine gloo, since no MPI launcher started them\n"
            "OK    cores: 8 cores, of which this process may use 8 (affinity mask); 2 ranks here with 4 "
            "threads each\n"
            "OK    shm: 1024 MiB free in /dev/shm\n"
            "OK    memory: 8192 MiB free of 16384 MiB\n"
            "OK    files: a process may have 1024 files open\n"
            "OK    interface: lo 127.0.0.1 (this host alone), eth0 10.0.0.1, ib0 10.1.0.1; others reach this "
            "host at 10.1.0.1\n"
            "OK    name: a is 10.0.0.1\n"
            "OK    port: rank 0 listens at b:29500\n"
            "OK    secret: ESPALIER_SECRET is set\n"
            "OK    engines: shm, gloo, mpi\n"
            "OK    versions: espalier 1.0, mpirun: 4.1, srun: none\n"
            "PROGRAM\n"
            "1 of 4, 1.0, a, ib0 10.1.0.1");
}

TEST(DoctorWhole, OfATaskOfSlurm) {
  Planted task{.variables = slurm_step("pmix_v4"), .plan = {.engine = "mpi"}};
  EXPECT_EQ(said_of(task, "launcher"),
            "OK    launcher: Slurm is believed, the first that says a place: rank 1 of 4 (SLURM_PROCID=1 "
            "SLURM_STEP_NUM_TASKS=4), 1 of 4 on this host, 1 host from a on, ranks meet at a:61447");
  EXPECT_EQ(said_of(task, "plan"), "OK    plan: 4 ranks, engine mpi");
  EXPECT_EQ(said_of(task, "slurm"), "OK    slurm: srun --mpi=pmix_v4");
  EXPECT_EQ(said_of(task, "port"), "OK    port: rank 0 listens at a:61447");
  task.variables = slurm_step();
  task.variables["PMIX_RANK"] = "1";
  EXPECT_EQ(said_of(task, "slurm"), "OK    slurm: srun --mpi=pmix");
  // Nothing is said of it where MPI is not what they talk through, or a task is alone.
  task.plan.engine = "gloo";
  EXPECT_EQ(said_of(task, "slurm"), "");
  task.variables = slurm_step("none");
  task.variables["SLURM_STEP_NUM_TASKS"] = task.variables["SLURM_STEP_TASKS_PER_NODE"] = "1";
  task.variables["SLURM_PROCID"] = task.variables["SLURM_LOCALID"] = "0";
  task.plan.engine = "mpi";
  EXPECT_EQ(said_of(task, "slurm"), "");
  task.variables = slurm_step("cray");
  EXPECT_EQ(said_of(task, "slurm"),
            "WRONG slurm: srun has --mpi=cray, and the engine is mpi; each of 4 tasks is an MPI job of one "
            "rank; fix: srun --mpi=pmix, or ESPALIER_ENGINE=gloo");
}

// One less of each, and it is said.
TEST(DoctorWhole, JustEnoughIsEnough) {
  Planted just{.variables = {{"ESPALIER_THREADS", "4"}}, .plan = {.hosts = kTwoHosts}};
  just.machine.shm_free = 2 * 4194312;
  just.machine.memory_free = int64_t{256} << 20;
  just.machine.open_files = 128 + 2 * 4;
  EXPECT_EQ(troubles(just), "");
  Planted less = just;
  --less.machine.shm_free;
  less.machine.shm_size = less.machine.shm_free;
  EXPECT_EQ(troubles(less),
            "WARN  shm: /dev/shm has 8388623 bytes free of 8388623; engine gloo takes none of it; Open MPI "
            "would take 4194312 a rank; fix: more of it, as docker run --shm-size=1g, or a volume of medium "
            "Memory at /dev/shm\n");
  less.machine.shm_free = less.machine.shm_size = -1;
  EXPECT_TRUE(troubles(less).starts_with("WARN  shm: there is no /dev/shm; engine gloo takes none of it; "))
      << troubles(less);
  less = just;
  --less.machine.open_files;
  EXPECT_EQ(troubles(less),
            "WARN  files: a process may have 135 files open; a rank of 4 may need 136; fix: ulimit -n 136\n");
  less = just;
  less.variables["ESPALIER_THREADS"] = "5";
  EXPECT_TRUE(troubles(less).starts_with("WARN  threads: 2 ranks here with 5 threads each, and 8 cores"))
      << troubles(less);
  // Below a mask and no quota.
  less = just;
  less.machine.affinity = less.machine.allowed = 6;
  less.variables.clear();
  EXPECT_EQ(said_of(less, "cores"),
            "OK    cores: 8 cores, of which this process may use 6 (affinity mask); 2 ranks here with 3 "
            "threads each");
  // Between ranks of one host there are no connections, unless they talk through another engine.
  Planted here{.plan = {.ranks = 8}};
  here.machine.open_files = 128;
  EXPECT_EQ(troubles(here), "");
  here.plan.engine = "gloo";
  EXPECT_EQ(said_of(here, "files"),
            "WARN  files: a process may have 128 files open; a rank of 8 may need 144; fix: ulimit -n 144");
  here.plan = {.ranks = 9};
  EXPECT_TRUE(said_of(here, "slots").ends_with("; fix: 8 ranks on this host")) << said_of(here, "slots");
  here.machine.processors = here.machine.affinity = here.machine.allowed = 1;
  EXPECT_TRUE(
      said_of(here, "slots").starts_with("WARN  slots: 9 ranks here with 1 thread each, and 1 core, "))
      << said_of(here, "slots");
  EXPECT_TRUE(said_of(here, "slots").ends_with("; fix: 1 rank on this host")) << said_of(here, "slots");
}

TEST(DoctorWhole, Commands) {
  EXPECT_EQ(command_of({}, {.program = {"./a", "b c"}}), "espalier launch -n 8 -- ./a 'b c'");
  EXPECT_EQ(command_of({}, {.ranks = 3}), "espalier launch -n 3 -- PROGRAM");
  EXPECT_EQ(command_of({}, {.ranks = 9, .engine = "mpi", .interface = "eth0"}),
            "espalier launch -n 8 --engine mpi --interface eth0 -- PROGRAM");
  EXPECT_EQ(command_of({}, {.hosts = kTwoHosts, .ranks = 3}), "espalier launch --hosts a:2,b:1 -- PROGRAM");
  EXPECT_EQ(command_of({}, {.hosts = kTwoHosts, .ranks = 2}), "espalier launch --hosts a:2 -- PROGRAM");
  EXPECT_EQ(command_of({}, {.hosts = {{"fe80::5", 2}, {"b", 1}}}),
            "espalier launch --hosts '[fe80::5]:2,b:1' -- PROGRAM");
  // In a job of Slurm, outside of a step.
  std::map<std::string, std::string> job{{"SLURM_JOB_ID", "7"}};
  EXPECT_EQ(command_of(job), "srun -n 1 PROGRAM");
  job["SLURM_NTASKS"] = "3x";
  EXPECT_EQ(command_of(job), "srun -n 1 PROGRAM");
  job["SLURM_NTASKS"] = "3";
  EXPECT_EQ(command_of(job), "srun -n 3 PROGRAM");
  EXPECT_EQ(command_of(job, {.ranks = 2}), "espalier launch -n 2 -- PROGRAM");
  job["SLURM_OVERCOMMIT"] = "1";
  EXPECT_EQ(command_of(job), "srun -n 3 -O PROGRAM");
  job["PMI_RANK"] = "1";
  job["PMI_SIZE"] = "4";
  EXPECT_EQ(command_of(job), "srun -n 4 -O --mpi=pmix PROGRAM");
  // By mpirun: of MPICH, which knows no flag of Open MPI, and of Open MPI.
  MachineFacts as_root = healthy();
  as_root.root = true;
  as_root.allowed = 1;
  EXPECT_EQ(command_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}, {}, as_root), "mpirun -n 4 PROGRAM");
  const std::map<std::string, std::string> by_mpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                                                     {"OMPI_COMM_WORLD_SIZE", "4"},
                                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  MachineFacts four = healthy();
  four.allowed = 4;
  EXPECT_EQ(command_of(by_mpirun, {}, four), "mpirun -n 4 PROGRAM");
  four.allowed = 3;
  EXPECT_EQ(command_of(by_mpirun, {}, four), "mpirun -n 4 --oversubscribe PROGRAM");
  // By torchrun: on one host; over hosts each has a command of its own.
  EXPECT_EQ(command_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}}),
            "torchrun --no-python --nproc-per-node=2 PROGRAM");
  EXPECT_EQ(command_of(torchrun_over_hosts()), "PROGRAM");
  EXPECT_EQ(command_of({{"JOB_COMPLETION_INDEX", "1"}, {"ESPALIER_PODS", "2"}, {"ESPALIER_THREADS", "9"}}),
            "env ESPALIER_THREADS=8 PROGRAM");
  // By hand.
  Planted by_hand{.variables = {{"ESPALIER_RANK", "0"},
                                {"ESPALIER_WORLD", "2"},
                                {"ESPALIER_COORDINATOR", "[fd00::1]:29500"},
                                {"ESPALIER_THREADS", "5"}}};
  EXPECT_EQ(by_hand.diagnosis().command, "env ESPALIER_THREADS=4 PROGRAM");
  by_hand.asks.port_problem = [](int) { return "Address already in use"; };
  EXPECT_EQ(by_hand.diagnosis().command,
            "env ESPALIER_THREADS=4 'ESPALIER_COORDINATOR=[fd00::1]:40000' PROGRAM");
}

TEST(DoctorWhole, ByWhichInterfaceOthersReachThisHost) {
  const auto reached = [](const Planted& planted) {
    const RankReport report = planted.diagnosis().report;
    return cat(report.interface, " ", report.address);
  };
  // The way to the first other host.
  Planted planted{.plan = {.hosts = {{"a", 2}, {"b", 2}, {"c", 2}}}};
  planted.asks.address_towards = [](const std::string& host) {
    return host == "b" ? "10.1.0.1" : "10.0.0.1";
  };
  EXPECT_EQ(reached(planted), "ib0 10.1.0.1");
  planted.plan.interface = "10.0.0.1";
  EXPECT_EQ(reached(planted), "eth0 10.0.0.1");
  planted.plan.interface = "eth7";
  EXPECT_EQ(reached(planted), "eth7 ");
  EXPECT_TRUE(said_of(planted, "interface").ends_with("; fix: --interface eth0")) << "by its name";
  planted.plan.interface = "ib7";
  EXPECT_TRUE(said_of(planted, "interface").ends_with("; fix: --interface ib0")) << "by its name";
  planted.plan.interface = "wlp0s20f3";
  EXPECT_TRUE(said_of(planted, "interface").ends_with("; fix: --interface eth0")) << "the first that leads";
  // Nobody knows a way: the first that is neither loopback nor link-local.
  Planted lost;
  lost.asks.address_towards = [](const std::string&) { return std::string(); };
  lost.machine.interfaces = {{"lo", "127.0.0.1", true}, {"eth0", "fe80::1%eth0"}, {"eth1", "10.0.0.7"}};
  EXPECT_EQ(reached(lost), "eth1 10.0.0.7");
  lost.machine.interfaces.pop_back();
  EXPECT_EQ(reached(lost), "lo 127.0.0.1");
  lost.plan.hosts = kTwoHosts;
  EXPECT_EQ(said_of(lost, "interface"),
            "WRONG interface: ranks here would be reached at 127.0.0.1, lo, which is this host alone; ranks "
            "of other hosts would reach themselves; fix: a network between the hosts");
  lost.machine.interfaces.clear();
  EXPECT_EQ(said_of(lost, "interface"),
            "WRONG interface: no interface leads to other hosts: there are none; ranks of other hosts cannot "
            "reach this one; fix: a network between the hosts");
  lost.plan.hosts.clear();
  EXPECT_EQ(said_of(lost, "interface"), "OK    interface: none");
}

TEST(DoctorWhole, NamesOfThisHost) {
  MachineFacts machine = healthy();
  for (const char* host : {"a", "a.x.org", "localhost", "127.0.9.9", "10.1.0.1", "eth0"})
    EXPECT_TRUE(is_this_host(host, machine)) << host;
  for (const char* host : {"ab", "b", "10.1.0.10", "b.a"}) EXPECT_FALSE(is_this_host(host, machine)) << host;
  machine.host = "n1.x.org";
  EXPECT_TRUE(is_this_host("n1", machine));
  EXPECT_FALSE(is_this_host("n", machine));
  // On one host nobody misses it.
  Planted alone;
  alone.machine.addresses = {"10.0.0.1", "127.0.1.1"};
  EXPECT_EQ(said_of(alone, "name"), "OK    name: a is 10.0.0.1, 127.0.1.1, this host alone");
  alone.machine.addresses.pop_back();
  alone.machine.addresses.push_back("10.1.0.1");
  EXPECT_EQ(said_of(alone, "name"), "OK    name: a is 10.0.0.1, 10.1.0.1");
  alone.machine.addresses.clear();
  EXPECT_EQ(said_of(alone, "name"), "OK    name: the host name a is not resolved");
}

TEST(DoctorWhole, WhereRanksMeet) {
  Planted first{.variables = torchrun_over_hosts("a")};
  first.variables["RANK"] = first.variables["LOCAL_RANK"] = "0";
  EXPECT_EQ(said_of(first, "port"), "OK    port: 29500 is free");
  first.asks.address_towards = [](const std::string&) { return std::string("127.0.0.1"); };
  EXPECT_EQ(said_of(first, "coordinator"),
            "WRONG coordinator: ranks of several hosts meet at a:29500, which is loopback here, by "
            "/etc/hosts; rank 0 would listen where this host alone reaches it; fix: the address of rank 0's "
            "host that others reach");
  // Of ranks that espalier launch will start it is not asked.
  first.plan.hosts = kTwoHosts;
  EXPECT_EQ(said_of(first, "coordinator"), "");
  EXPECT_EQ(said_of(first, "secret"), "");
  Planted other{.variables = torchrun_over_hosts(), .plan = {.ranks = 2}};
  EXPECT_EQ(said_of(other, "port"), "OK    port: espalier launch takes ports that are free");
}

TEST(DoctorWhole, ReportsInManyNumbers) {
  const auto of = [](std::vector<RankReport> reports) { return troubles(compare_reports(reports)); };
  const RankReport first{0, 9, "1.0", "a", "eth0", "10.0.0.1"};
  EXPECT_EQ(of({first}),
            "WRONG ranks: ranks 1, 2, 3, 4, 5, 6, 7, 8 of 9 have not reported; all others would wait; fix: "
            "start it, or look why it did not start\n");
  RankReport larger = first;
  larger.world = 11;
  EXPECT_EQ(of({larger}),
            "WRONG ranks: ranks 1, 2, 3, 4, 5, 6, 7, 8 and 2 more of 11 have not reported; all others would "
            "wait; fix: start it, or look why it did not start\n");
  RankReport one{0, 2, "1.0", "a", "eth0", "10.0.0.1"}, two{1, 2, "1.0", "a", "eth0", "10.0.0.1"};
  EXPECT_EQ(to_string(compare_reports({one, two}).at(0)),
            "OK    ranks: all 2 have reported, each once, on 1 host");
  EXPECT_EQ(of({one, two, two, two}),
            "WRONG ranks: rank 1 comes 3 times, on a and a and a; two processes would do the work of one; "
            "fix: a number of its own for each process\n");
  two.host = "b";
  two.address = two.interface = "";
  EXPECT_EQ(of({one, two}),
            "WRONG interface: b is to be reached at no address (); ranks of other hosts cannot; fix: an "
            "--interface that leads to the other hosts\n");
  EXPECT_EQ(of({}),
            "WRONG ranks: no rank has reported; there is nothing to compare; fix: espalier doctor --json in "
            "each rank\n");
  EXPECT_FALSE(any_wrong({{DoctorGrade::kOk, "a", ""}, {DoctorGrade::kWarn, "b", ""}}));
  EXPECT_TRUE(any_wrong({{DoctorGrade::kWrong, "a", ""}, {DoctorGrade::kOk, "b", ""}}));
}

}  // namespace
}  // namespace espalier
