// Workers with a plugin each, and the processes of a TPU's hosts, of which one is killed or stopped.
#include <filesystem>
#include <functional>
#include <regex>

#include <nlohmann/json.hpp>

#include "cli/launched_test.h"
#include "cli/seeded_fault_test.h"
#include "pjrt/plugin_test.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

const std::string& one_device() {
  static const std::string words = cat("--device xla-cpu --plugin ", pjrt::test_plugin());
  return words;
}

double log_loss(const Outcome& run) {
  return run.code == 0 ? nlohmann::json::parse(run.output).at("test").at("log_loss").get<double>() : -1;
}

// As a verdict says it of a rank, which broke behind that one, at the begin of its next step.
double seconds_since_last_collective(const std::string& said, int rank) {
  const std::regex line(cat("\n  \\| rank ", rank, ": number [^\n]*, began ([0-9.]+) s ago"));
  std::smatch match;
  return std::regex_search(said, match, line) ? std::stod(match[1]) : 1e9;
}

// The variables and the launcher of two processes that are workers of a run, and what a verb is told of where
// it runs.
struct Launched {
  std::string environment, launch, place;
};
const Launched& two_workers() {
  static const Launched out = {"", "launch -n 2", cat("--strategy multiworker ", one_device())};
  return out;
}
// Hosts of one TPU with two chips each. Values travel through `folder`, which is to be empty.
Launched two_hosts(const std::string& folder) {
  return {cat("ESPALIER_XLA_CPU_DEVICES=4 ESPALIER_POD_PLUGIN=", pjrt::test_plugin(),
              " ESPALIER_POD_FOLDER=", folder, " "),
          "launch --hosts t0:1,t1:1 --interface 127.0.0.1 --agent env",
          cat("--strategy tpu --device xla-cpu --plugin ", build_folder(), "/pod_cpu_plugin.so")};
}

// ESPALIER_DEVICE_FAULTS: how many. The verdict names the rank, and of one that was killed the step, within
// its limit; from the newest checkpoint one device goes on, and this CPU.
void expect_faults_are_named(const std::string& name,
                             const std::function<Launched(const std::string&)>& launched) {
  const std::string folder = folder_to_launch(name);
  const std::string& device = one_device();
  // Each start would compile for longer than it trains.
  const std::string cache = cat("ESPALIER_CACHE=", folder, "/cache ");
  const std::string espalier = build_folder() + "/espalier ";
  const auto words = [&](const std::string& model, const std::string& more) {
    return cat(espalier, "train ", folder, "/plan.toml --json --checkpoint-every 1 --resume --model ", folder,
               "/", model, " ", more);
  };
  const Outcome whole = call_shell(cache + words("whole", device));
  ASSERT_EQ(whole.code, 0) << whole.error;
  const double wanted = log_loss(whole);
  int stops = 0, gone_on = 0;
  const int faults = runs_asked("ESPALIER_DEVICE_FAULTS", 2);
  for (int seed = 0; seed < faults; ++seed) {
    SeededFault fault(seed, {"kill", "stop"});
    fault.draw(2);
    const std::string model = folder + "/run", kept = folder + "/kept", checkpoint = model + ".checkpoint",
                      values = folder + "/values";
    const auto clear = [&] {
      for (const std::string& path : {model, checkpoint}) fs::remove_all(path);
    };
    clear();
    for (const std::string& path : {kept, values}) fs::remove_all(path);
    fs::create_directory(values);
    const Launched two = launched(values);
    const Outcome run = call_shell(cat(cache, two.environment, espalier, two.launch, " ", fault.flags(),
                                       " -- ", words("run", two.place)));
    SCOPED_TRACE(cat("seed ", seed, ": ", fault.flags(), "\n", run.error));
    ASSERT_EQ(run.code, 43);
    EXPECT_NE(run.error.find(cat(")", fault.said())), std::string::npos);
    EXPECT_LE(seconds_since_last_collective(run.error, fault.rank), fault.most_seconds());
    stops += fault.kind == "stop";
    if (!posix_env().exists(checkpoint)) {
      EXPECT_LE(fault.step, 2) << "no checkpoint was written";
      continue;
    }
    fs::rename(checkpoint, kept);
    for (const std::string& place : {device, std::string()}) {
      clear();
      fs::copy(kept, checkpoint, fs::copy_options::recursive);
      const Outcome next = call_shell(cache + words("run", place));
      EXPECT_EQ(next.code, 0) << next.error;
      EXPECT_NEAR(log_loss(next), wanted, 1e-4) << place;
      EXPECT_EQ(next.error.find("begins anew"), std::string::npos) << next.error;
      ++gone_on;
    }
  }
  EXPECT_EQ(stops, faults / 2);
  EXPECT_GE(gone_on, faults);
}

TEST(DeviceWorkers, SlowSeededFaultsAreNamedAndTheRunGoesOn) {
  ESPALIER_NEEDS_PLUGIN();
  expect_faults_are_named("device-workers", [](const std::string&) { return two_workers(); });
}

TEST(PodRuns, NightlySeededFaultsAreNamedAndTheRunGoesOn) {
  ESPALIER_NEEDS_PLUGIN();
  expect_faults_are_named("pod-faults", two_hosts);
}

// A host that is killed is started again with the others, and goes on from the checkpoint.
TEST(PodRuns, NightlyARestartGoesOn) {
  ESPALIER_NEEDS_PLUGIN();
  const std::string folder = folder_to_launch("pod-restart"), values = folder + "/values";
  fs::create_directory(values);
  const Launched pod = two_hosts(values);
  const std::string espalier = build_folder() + "/espalier ";
  const auto train = [&](const std::string& model, const std::string& more) {
    return cat(espalier, "train ", folder, "/plan.toml --json --model ", folder, "/", model, more, " ",
               pod.place);
  };
  const Outcome whole = call_shell(cat(pod.environment, espalier, pod.launch, " -- ", train("whole", ""))),
                broken = call_shell(cat(pod.environment, espalier, pod.launch,
                                        " --chaos kill:1@step7 --restarts 1 -- ",
                                        train("broken", " --checkpoint-every 2 --resume")));
  EXPECT_EQ(whole.code, 0) << whole.error;
  EXPECT_EQ(broken.code, 0) << broken.error;
  EXPECT_NE(broken.error.find(" ended by signal 9 in step 7 "), std::string::npos) << broken.error;
  EXPECT_EQ(weights_hash(folder + "/broken"), weights_hash(folder + "/whole"));
}

// One process with all devices, and one device.
TEST(PodRuns, SlowHostsTrainAsOneProcess) {
  ESPALIER_NEEDS_PLUGIN();
  const std::string folder = folder_to_launch("pod-train"), values = folder + "/values";
  const std::string espalier = build_folder() + "/espalier ", table = folder + "/table.csv";
  fs::create_directory(values);
  const Launched pod = two_hosts(values);
  const auto on_hosts = [&](const std::string& words) {
    return call_shell(cat(pod.environment, espalier, pod.launch, " -- ", espalier, words, " ", pod.place));
  };
  const auto here = [&](const std::string& words, const std::string& place) {
    return call_shell(cat("ESPALIER_XLA_CPU_DEVICES=4 ", espalier, words, " ", place));
  };
  const auto train = [&](const std::string& model) {
    return cat("train ", folder, "/plan.toml --json --model ", folder, "/", model);
  };
  const Outcome whole = on_hosts(train("pod")), all = here(train("all"), one_device() + " --strategy tpu"),
                one = here(train("one"), one_device());
  for (const Outcome* const run : {&whole, &all, &one}) ASSERT_EQ(run->code, 0) << run->error;
  EXPECT_NE(whole.error.find("24 rows a step: 6 on each of 4 devices"), std::string::npos) << whole.error;
  EXPECT_EQ(weights_hash(folder + "/pod"), weights_hash(folder + "/all"));
  EXPECT_NEAR(log_loss(whole), log_loss(one), 1e-6);
  for (const std::string verb : {"evaluate", "predict"}) {
    const std::string words = cat(verb, " ", folder, "/pod ", table, verb == "evaluate" ? " --json" : "");
    const Outcome together = on_hosts(words), alone = here(words, one_device() + " --strategy tpu");
    EXPECT_EQ(together.code, 0) << together.error;
    EXPECT_EQ(together.output, alone.output);
  }
  // Each process would be a whole TPU.
  const Outcome twice = call_shell(
      cat(espalier, "launch -n 2 -- ", espalier, train("twice"), " ", one_device(), " --strategy tpu"));
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.error.find("tpu."), std::string::npos) << twice.error;
  const Outcome devices = here(train("two"), one_device() + " --strategy tpu --devices 2");
  EXPECT_EQ(devices.code, 2);
  EXPECT_NE(devices.error.find("[distribute.devices]"), std::string::npos) << devices.error;
}

}  // namespace
}  // namespace espalier::cli
