// Workers with a plugin each, of which one is killed or stopped.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/launched_test.h"
#include "cli/seeded_fault_test.h"
#include "pjrt/plugin_test.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

// ESPALIER_DEVICE_FAULTS: how many. The verdict names the rank and the step, within its limit; from the
// newest checkpoint one device goes on, and this CPU.
TEST(DeviceWorkers, SlowSeededFaultsAreNamedAndTheRunGoesOn) {
  ESPALIER_NEEDS_PLUGIN();
  const std::string folder = folder_to_launch("device-workers"), record = folder + "/record.json";
  const std::string device = cat("--device xla-cpu --plugin ", pjrt::test_plugin());
  // Each start would compile for longer than it trains.
  const std::string cache = cat("ESPALIER_CACHE=", folder, "/cache ", build_folder(), "/espalier ");
  const auto words = [&](const std::string& model, const std::string& more) {
    return cat("train ", folder, "/plan.toml --json --checkpoint-every 1 --resume --model ", folder, "/",
               model, " ", more);
  };
  const auto log_loss = [](const Outcome& run) {
    return run.code == 0 ? nlohmann::json::parse(run.output).at("test").at("log_loss").get<double>() : -1;
  };
  const Outcome whole = call_shell(cache + words("whole", device));
  ASSERT_EQ(whole.code, 0) << whole.error;
  const double wanted = log_loss(whole);
  int stops = 0, gone_on = 0;
  const int faults = runs_asked("ESPALIER_DEVICE_FAULTS", 2);
  for (int seed = 0; seed < faults; ++seed) {
    SeededFault fault(seed, {"kill", "stop"});
    fault.draw(2);
    const std::string model = folder + "/run", kept = folder + "/kept", checkpoint = model + ".checkpoint";
    const auto clear = [&] {
      for (const std::string& path : {model, checkpoint}) fs::remove_all(path);
    };
    clear();
    fs::remove_all(kept);
    const Outcome run =
        call_shell(cat(cache, "launch -n 2 --record ", record, " ", fault.flags(), " -- ", build_folder(),
                       "/espalier ", words("run", cat("--strategy multiworker ", device))));
    SCOPED_TRACE(cat("seed ", seed, ": ", fault.flags(), "\n", run.error));
    ASSERT_EQ(run.code, 43);
    EXPECT_NE(run.error.find(cat(")", fault.said())), std::string::npos);
    const auto last = nlohmann::json::parse(posix_env().read_file(record)).at("starts").back();
    EXPECT_LE(seconds_to_verdict(last, fault.rank), fault.kind == "stop" ? 6.5 : 2.5);
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

}  // namespace
}  // namespace espalier::cli
