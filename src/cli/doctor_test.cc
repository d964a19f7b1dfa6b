// Mistakes that are planted around the command, and that it finds.
#include <unistd.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/engines_test.h"
#include "cli/verb_test.h"
#include "launch/control_socket.h"
#include "launch/machine_facts.h"

namespace espalier::cli {
namespace {

Outcome call_doctor(const std::string& flags, const std::string& before = "") {
  return call_shell(cat(before, " ", build_folder(), "/espalier doctor ", flags));
}

bool output_says(const Outcome& run, const std::string& text) {
  return run.output.find(text) != std::string::npos;
}

std::string command_of(const Outcome& run) {
  const size_t at = run.output.rfind("\nrun: ");
  EXPECT_NE(at, std::string::npos) << run.output;
  EXPECT_TRUE(run.output.ends_with('\n'));
  return run.output.substr(at + 6, run.output.size() - at - 7);
}

bool can_run(const std::string& line) { return std::system(cat(line, " > /dev/null 2>&1").c_str()) == 0; }

constexpr const char* kOneOfTwo =
    "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500";

TEST(DoctorVerb, SaysWhatItBelievesAndWhy) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  const Outcome alone = call_doctor("");
  EXPECT_EQ(alone.code, 0) << alone.output;
  EXPECT_TRUE(output_says(alone, "OK    launcher: no launcher's variables are set: this process is alone\n"));
  EXPECT_TRUE(command_of(alone).starts_with("espalier launch -n ")) << alone.output;
  const Outcome mess = call_doctor("", cat("env PMI_RANK=0 PMI_SIZE=4 ", kOneOfTwo));
  EXPECT_EQ(mess.code, 0) << mess.output;
  EXPECT_TRUE(
      output_says(mess,
                  "OK    launcher: torchrun is believed, the first that says a place: rank 1 of 2 (RANK=1 "
                  "WORLD_SIZE=2), 1 of 2 on this host, ranks meet at 127.0.0.1:29500\n"))
      << mess.output;
  EXPECT_TRUE(output_says(mess, "WARN  launcher: PMI says rank 0 of 4 (PMI_RANK=0 PMI_SIZE=4); "))
      << mess.output;
  EXPECT_EQ(mess.error, "");
  const Outcome half = call_doctor("", "env RANK=1");
  EXPECT_EQ(half.code, 1);
  EXPECT_TRUE(output_says(half, "WRONG launcher: RANK is 1, and WORLD_SIZE is not set")) << half.output;
}

TEST(DoctorVerb, JsonHasAVersion) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  const Outcome run = call_doctor("--json", cat("env ", kOneOfTwo));
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["verb"], "doctor");
  EXPECT_EQ(json["fine"], true);
  EXPECT_EQ(json["place"]["source"], "torchrun");
  EXPECT_EQ(json["place"]["rank"], 1);
  EXPECT_EQ(json["place"]["local_world"], 2);
  EXPECT_EQ(json["report"]["world"], 2);
  EXPECT_EQ(json["command"], "torchrun --no-python --nproc-per-node=2 PROGRAM");
  EXPECT_EQ(json["findings"][0]["grade"], "OK");
  EXPECT_EQ(json["findings"][0]["topic"], "launcher");
  const auto refused = nlohmann::json::parse(call_doctor("--json", "env WORLD_SIZE=2").output);
  EXPECT_EQ(refused["fine"], false);
  EXPECT_EQ(refused["place"], nullptr);
}

TEST(DoctorVerb, TheCorrectedLineWorks) {
  const Outcome run = call_doctor("-n 200 -- sh -c 'echo of $ESPALIER_WORLD'", "taskset -c 0");
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_TRUE(output_says(run, "WARN  slots: 200 ranks here with 1 thread each, and ")) << run.output;
  EXPECT_EQ(command_of(run), "espalier launch -n 1 -- sh -c 'echo of $ESPALIER_WORLD'");
  EXPECT_EQ(call_shell(cat("PATH=", build_folder(), ":$PATH; ", command_of(run))).output, "of 1\n");
}

TEST(DoctorVerb, ThreadsAboveCores) {
  const Outcome run = call_doctor("-n 1 -- echo", "ESPALIER_THREADS=2 taskset -c 0");
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(output_says(run, "WARN  threads: 1 rank here with 2 threads each, and ")) << run.output;
  EXPECT_EQ(command_of(run), "env ESPALIER_THREADS=1 espalier launch -n 1 -- echo");
}

TEST(DoctorVerb, HostsAndSlots) {
  const Outcome run = call_doctor("--hosts node1:2,node2:2 -n 6");
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(output_says(run, "WRONG slots: 6 ranks for node1:2,node2:2, which have 4 slots; "))
      << run.output;
  // Behind them --interface, where these names are not known.
  EXPECT_TRUE(command_of(run).starts_with("espalier launch --hosts node1:2,node2:2 ")) << run.output;
  const Outcome file = call_doctor("--hostfile deploy/hostfile -n 9");
  EXPECT_TRUE(output_says(file, "WRONG slots: 9 ranks for node1:4,node2:4, which have 8 slots; "))
      << file.output;
}

TEST(DoctorVerb, AnInterfaceThatIsNotThere) {
  const Outcome run = call_doctor("--hosts node1:1,node2:1 --interface eht0");
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(output_says(
      run, "WRONG interface: no interface or address of this host is eht0: there are lo 127.0.0.1 "))
      << run.output;
  const Outcome loopback = call_doctor("--hosts node1:1,node2:1 --interface lo");
  EXPECT_EQ(loopback.code, 1);
  EXPECT_TRUE(output_says(loopback, "WRONG interface: ranks here would be reached at 127.0.0.1, lo, "))
      << loopback.output;
}

TEST(DoctorVerb, AnEngineThatIsNotThere) {
  const Outcome run = call_doctor("--hosts node1:1,node2:1 --engine gloo", "ESPALIER_MODULES=deploy");
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(output_says(run, "WRONG engine: the engine gloo is not there: ")) << run.output;
  EXPECT_TRUE(output_says(run, "libgloo")) << run.output;
}

// A program that lies elsewhere has the engines of the command that starts it, and doctor says so beforehand.
TEST(DoctorVerb, AnEngineThatLaunchHandsOn) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  const std::string folder = folder_to_launch("doctor-elsewhere"), program = folder + "/espalier";
  std::filesystem::copy_file(build_folder() + "/espalier", program);
  const std::string train =
      cat(program, " train ", folder, "/plan.toml --strategy multiworker --model ", folder, "/model");
  const std::string flags = cat("--hosts a:1,b:1 --interface 127.0.0.1 ");
  const Outcome said = call_doctor(cat(flags, "-- ", train));
  const std::string build = std::filesystem::canonical(build_folder()).string();
  EXPECT_TRUE(output_says(said, cat("gloo (of ", build, ", which espalier launch tells its ranks)")))
      << said.output;
  EXPECT_FALSE(output_says(said, "WRONG engine")) << said.output;
  const Outcome run = call_shell(cat(build_folder(), "/espalier launch --agent env ", flags, "-- ", train));
  EXPECT_EQ(run.code, 0) << run.error;
  const std::string torchrun =
      "env RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500";
  const Outcome alone = call_doctor(cat("-- ", train), torchrun);
  EXPECT_TRUE(output_says(alone, cat("; the run cannot start; fix: ESPALIER_MODULES=", build)))
      << alone.output;
}

TEST(DoctorVerb, ABusyPort) {
  std::string address = "tcp:127.0.0.1:0";
  const ControlFd listener = listen_at(address);
  const std::string port = address.substr(address.rfind(':') + 1);
  const Outcome run = call_doctor("-n 1 --port " + port);
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(output_says(run, cat("WRONG port: ", port, ": Address already in use; "))) << run.output;
}

TEST(DoctorVerb, ATinySharedMemory) {
  if (!can_run("unshare -m mount -t tmpfs -o size=1m none /dev/shm"))
    GTEST_SKIP() << "mounting a file system needs root";
  const Outcome run = call_shell(cat("unshare -m sh -c 'mount -t tmpfs -o size=1m none /dev/shm; ",
                                     build_folder(), "/espalier doctor -n 1 --engine mpi'"));
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(output_says(
      run, "WRONG shm: /dev/shm has 1048576 bytes free of 1048576; Open MPI takes 4194312 for each of "))
      << run.output;
}

TEST(DoctorVerb, AHostWithoutANetwork) {
  if (!can_run("unshare -n true")) GTEST_SKIP() << "a network namespace needs root";
  const Outcome run = call_doctor("--hosts node1:1,node2:1", "unshare -n");
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(output_says(run, "WRONG interface: no interface leads to other hosts: there are none"))
      << run.output;
}

TEST(DoctorVerb, WhatRanksSayIsHeldAgainstEachOther) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  const std::string folder = fresh_folder("doctor-reports");
  const auto report = [&](const std::string& file, const std::string& variables) {
    const std::string meet = cat("env ESPALIER_COORDINATOR=localhost:", free_port(), " ");
    EXPECT_EQ(call_doctor(cat("--json --out ", folder, "/", file), meet + variables).code, 0);
  };
  report("0", "PMI_RANK=0 PMI_SIZE=3");
  report("1", "PMI_RANK=1 PMI_SIZE=3");
  report("2", "PMI_RANK=2 PMI_SIZE=3");
  report("again", "PMI_RANK=1 PMI_SIZE=3");
  const Outcome fine = call_doctor(cat("--compare ", folder, "/0 ", folder, "/1 ", folder, "/2"));
  EXPECT_EQ(fine.code, 0);
  EXPECT_EQ(fine.output, "OK    ranks: all 3 have reported, each once, on 1 host\n");
  const Outcome twice = call_doctor(cat("--compare ", folder, "/0 ", folder, "/1 ", folder, "/again"));
  EXPECT_EQ(twice.code, 1);
  EXPECT_TRUE(output_says(twice, "WRONG ranks: rank 1 comes 2 times, on ")) << twice.output;
  EXPECT_TRUE(output_says(twice, "WRONG ranks: rank 2 of 3 has not reported; ")) << twice.output;
  // Another version on another host.
  std::string text = posix_env().read_file(folder + "/2");
  const std::string version =
      cat("\"version\": \"", nlohmann::json::parse(text)["report"]["version"].get<std::string>());
  text.replace(text.find(version), version.size(), "\"version\": \"0.0.7");
  write_file(folder + "/2", text);
  const Outcome differs = call_doctor(cat("--json --compare ", folder, "/0 ", folder, "/1 ", folder, "/2"));
  EXPECT_EQ(differs.code, 1);
  EXPECT_TRUE(output_says(differs, "0.0.7 on rank 2")) << differs.output;
  EXPECT_EQ(nlohmann::json::parse(differs.output)["version"], 1);
  for (const std::string wrong : {"", "{", "[]", "{\"report\": {}}", "{\"report\": {\"rank\": \"x\"}}"})
    EXPECT_EQ(call_doctor(cat("--compare ", write_file(folder + "/wrong", wrong))).code, 2) << wrong;
}

TEST(DoctorVerb, RanksOfMpirun) {
  if (!can_run("mpirun --version")) GTEST_SKIP() << "mpirun is not there (openmpi-bin)";
  if (const std::string why = missing_engine(); !why.empty()) GTEST_SKIP() << why;
  const std::string folder = fresh_folder("doctor-mpirun");
  const Outcome run =
      call_shell(cat("env -u ESPALIER_THREADS mpirun --allow-run-as-root --oversubscribe -n 3 sh -c '",
                     build_folder(), "/espalier doctor --json --out ", folder, "/$PMIX_RANK'"));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(call_doctor(cat("--compare ", folder, "/*")).output,
            "OK    ranks: all 3 have reported, each once, on 1 host\n");
  const auto json = nlohmann::json::parse(posix_env().read_file(folder + "/2"));
  EXPECT_EQ(json["place"]["source"], "Open MPI");
  EXPECT_EQ(json["place"]["local_world"], 3);
}

TEST(DoctorVerb, WrongUseEndsWith2) {
  for (const std::string flags :
       {"--hosts a:0", "--hosts ''", "--hosts a,a", "--hostfile /nowhere/hosts", "--engine nccl", "-n 0",
        "-n many", "--port 65536", "--hosts a --hostfile deploy/hostfile", "--nonsense",
        "--compare /nowhere/report"}) {
    const Outcome run = call_doctor(flags);
    EXPECT_EQ(run.code, 2) << flags << run.output;
    EXPECT_NE(run.error, "") << flags;
  }
}

}  // namespace
}  // namespace espalier::cli
