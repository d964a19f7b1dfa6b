// espalier train on a device, by a real PJRT plugin: what it says of the device, and programs kept on disk.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/device_check.h"
#include "cli/pictures_test.h"
#include "cli/verb_test.h"
#include "format/safetensors.h"
#include "pjrt/plugin_test.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

struct DeviceTrain : FolderTest {
  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    std::string table = "a,b,c,label\n";
    std::mt19937 random(3);
    for (int i = 0; i < 900; ++i) {
      const int a = static_cast<int>(random() % 100), b = static_cast<int>(random() % 100);
      table += cat(a, ",", b, ",", random() % 7, ",", a + b > 100 ? "yes" : "no", "\n");
    }
    file("rows.csv", table);
  }
  // Its JSON. `environment`: before the command.
  nlohmann::json train(const std::string& model, const std::string& words = "",
                       const std::string& environment = "") const {
    const Outcome run = call_shell(cat("ESPALIER_CACHE=", path("cache"), " ", environment, " ",
                                       build_folder(), "/espalier train --json --epochs 3 --data ",
                                       path("rows.csv"), " --label label --model ", path(model), " ", words));
    EXPECT_EQ(run.code, 0) << run.error;
    return run.code == 0 ? nlohmann::json::parse(run.output) : nlohmann::json();
  }
  // Of two models, the most as a share of an array's largest value.
  double weights_apart(const std::string& one, const std::string& two) const {
    const auto weights = [&](const std::string& model) {
      return read_safetensors(path(model + "/weights.safetensors")).arrays;
    };
    const std::vector<NamedArray> a = weights(one), b = weights(two);
    EXPECT_GE(a.size(), 4u);
    EXPECT_EQ(a.size(), b.size());
    double worst = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      EXPECT_EQ(a[i].value.type(), b[i].value.type());
      if (a[i].value.type().dtype != DType::kF32 || a[i].value.type() != b[i].value.type()) continue;
      const float *const x = a[i].value.view().as<float>(), *const y = b[i].value.view().as<float>();
      float largest = 1e-30f, apart = 0;
      for (int64_t k = 0; k < a[i].value.type().elements(); ++k) {
        largest = std::max(largest, std::abs(x[k]));
        apart = std::max(apart, std::abs(x[k] - y[k]));
      }
      worst = std::max<double>(worst, apart / largest);
    }
    return worst;
  }
  std::string there() const { return cat("--device xla-cpu --plugin ", pjrt::test_plugin()); }
  std::vector<fs::path> kept() const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(path("cache/programs")))
      if (entry.is_regular_file() && fs::file_size(entry.path()) > 484) out.push_back(entry.path());
    return out;
  }
};

TEST_F(DeviceTrain, SlowJsonSaysWhatTheDeviceDid) {
  const auto here = train("here"), far = train("far", there());
  EXPECT_FALSE(here.contains("device"));
  const auto& device = far.at("device");
  EXPECT_EQ(device.at("name"), "xla-cpu:0");
  EXPECT_GE(device.at("executes"), 3);
  EXPECT_GT(device.at("peak_bytes"), 10000);
  const auto& steady = device.at("steady_step");
  EXPECT_EQ(steady.at("executes"), 1);
  EXPECT_EQ(steady.at("uploads"), 2);
  EXPECT_EQ(steady.at("downloads"), 0);
  EXPECT_EQ(steady.at("compiles"), 0);
  EXPECT_NEAR(far.at("test").at("accuracy").get<double>(), here.at("test").at("accuracy").get<double>(),
              0.02);
}

TEST_F(DeviceTrain, SlowASecondStartCompilesNothing) {
  const auto first = train("first", there());
  EXPECT_GT(first.at("device").at("compiles"), 0);
  // Within a run a program that is met again is loaded, too.
  const int again = first.at("device").at("loads");
  ASSERT_FALSE(kept().empty());
  const auto second = train("second", there());
  EXPECT_EQ(second.at("device").at("compiles"), 0);
  EXPECT_EQ(second.at("device").at("loads"), first.at("device").at("compiles").get<int>() + again);
  EXPECT_EQ(second.at("test"), first.at("test"));
  EXPECT_EQ(posix_env().read_file(path("first/weights.safetensors")),
            posix_env().read_file(path("second/weights.safetensors")));
  // Other flags of the compiler: other programs.
  const auto other = train("other", there(), "XLA_FLAGS=--xla_cpu_enable_fast_math=false");
  EXPECT_EQ(other.at("device").at("loads"), again);
  const auto off = train("off", there(), "ESPALIER_CACHE=off");
  EXPECT_EQ(off.at("device").at("loads"), 0);
}

TEST_F(DeviceTrain, NightlyDamagedProgramsAreCompiledAgain) {
  const auto first = train("first", there());
  std::mt19937 random(5);
  for (int round = 0; round < 2; ++round) {
    for (const fs::path& program : kept()) {
      std::string bytes = posix_env().read_file(program.string());
      if (round % 2)
        bytes.resize(random() % bytes.size());
      else
        bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      std::ofstream(program, std::ios::binary) << bytes;
    }
    const auto again = train("again", cat(there(), " --force"));
    EXPECT_EQ(again.at("device").at("loads"), first.at("device").at("loads")) << "round " << round;
    EXPECT_EQ(again.at("test"), first.at("test"));
  }
}

TEST_F(DeviceTrain, NightlyTwoProcessesShareThePrograms) {
  const auto command = [&](const std::string& model) {
    return cat("ESPALIER_CACHE=", path("cache"), " ", build_folder(),
               "/espalier train --json --epochs 3 --data ", path("rows.csv"), " --label label --model ",
               path(model), " ", there(), " > ", path(model + ".json"));
  };
  const Outcome both = call_shell(cat(command("one"), " & ", command("two"), " && wait $!"));
  ASSERT_EQ(both.code, 0) << both.error;
  const auto of = [&](const char* file) { return nlohmann::json::parse(posix_env().read_file(path(file))); };
  EXPECT_EQ(of("one.json").at("test"), of("two.json").at("test"));
  EXPECT_EQ(train("three", there()).at("device").at("compiles"), 0);
}

// A run that was on this CPU goes on there.
TEST_F(DeviceTrain, SlowAPlanNamesItsDevice) {
  const std::string plan = file(
      "plan.toml", cat("[data]\nfile = \"rows.csv\"\nlabel = \"label\"\n[model]\npath = \"planned\"\n",
                       "[fit]\nepochs = 3\n[device]\nname = \"xla-cpu\"\nplugins = [\"",
                       fs::absolute(pjrt::test_plugin()).string(), "\"]\nmatmul_precision = \"high\"\n"));
  const Outcome run =
      call_shell(cat("ESPALIER_CACHE=", path("cache"), " ", build_folder(), "/espalier train --json ", plan));
  ASSERT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(nlohmann::json::parse(run.output).at("device").at("name"), "xla-cpu:0");
  const Outcome here = call_shell(cat(build_folder(), "/espalier train --json --device cpu --force ", plan));
  ASSERT_EQ(here.code, 0) << here.error;
  EXPECT_FALSE(nlohmann::json::parse(here.output).contains("device"));
}

TEST_F(DeviceTrain, SlowADeviceIsCheckedAgainstTheCpu) {
  const Outcome run = call_shell(cat("ESPALIER_CACHE=", path("cache"), " ", build_folder(),
                                     "/espalier devices --json --steps 2 --check ", pjrt::test_plugin()));
  ASSERT_EQ(run.code, 0) << run.error;
  const auto body = nlohmann::json::parse(run.output);
  EXPECT_TRUE(body.at("passed").get<bool>());
  ASSERT_EQ(body.at("checks").size(), 5u);
  for (const auto& check : body.at("checks")) {
    EXPECT_LE(check.at("distance").get<double>(), check.at("allowed").get<double>()) << check;
    EXPECT_GT(check.at("distance").get<double>(), 0) << "as if it were the CPU: " << check;
  }
}

TEST(DeviceCheck, NaNIsFarFromEverything) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> wanted{1, 2, 4};
  EXPECT_EQ(distance_of(std::vector<double>{1, 2, 4}, wanted), 0);
  EXPECT_EQ(distance_of(std::vector<double>{1, 3, 4}, wanted), 0.25);
  EXPECT_GT(distance_of(std::vector<double>{nan, 2, 4}, wanted), 1e300);
  EXPECT_GT(distance_of(std::vector<double>{1, 2, nan}, wanted), 1e300);
  EXPECT_NEAR(distance_of(std::vector<double>{0.01}, std::vector<double>{0}), 0.2, 1e-12);
}

// Under a strategy: one program on each, which meet in its sums.
TEST_F(DeviceTrain, NightlySeveralDevicesTrainAsOne) {
  const auto one = train("one", there());
  const std::string plugin = cat("--plugin ", pjrt::test_plugin()), four = "ESPALIER_XLA_CPU_DEVICES=4";
  for (const std::string& words : {cat("--devices xla-cpu:0,xla-cpu:2 ", plugin),
                                   cat("--device xla-cpu --strategy mirrored --devices 2 ", plugin)}) {
    SCOPED_TRACE(words);
    const auto two = train("two", cat(words, " --force"), four);
    EXPECT_EQ(two.at("device").at("name"), words.starts_with("--devices") ? "xla-cpu:0,2" : "xla-cpu:0-1");
    EXPECT_EQ(two.at("device").at("steady_step").at("executes"), 1);
    EXPECT_EQ(two.at("device").at("steady_step").at("uploads"), 4);
    EXPECT_EQ(two.at("device").at("steady_step").at("downloads"), 0);
    EXPECT_NEAR(two.at("test").at("log_loss").get<double>(), one.at("test").at("log_loss").get<double>(),
                1e-5);
  }
  const auto call = [&](const std::string& words) {
    return call_shell(cat(four, " ESPALIER_CACHE=", path("cache"), " ", build_folder(), "/espalier ", words));
  };
  const std::string judged = cat(path("one"), " ", path("rows.csv"), " --json ");
  const Outcome here = call(cat("evaluate ", judged)),
                far = call(cat("evaluate ", judged, "--device xla-cpu:1-3 --strategy mirrored ", plugin));
  ASSERT_EQ(far.code, 0) << far.error;
  EXPECT_EQ(nlohmann::json::parse(far.output).at("accuracy"),
            nlohmann::json::parse(here.output).at("accuracy"));
  const std::string again =
      cat("train --data ", path("rows.csv"), " --label label --model ", path("no"), " ", plugin);
  for (const auto& [words, rule] : std::map<std::string, std::string>{
           {" --device xla-cpu:0-1", "distribute.devices"},
           {" --device xla-cpu:2 --devices xla-cpu:0-1", "distribute.devices"},
           {" --devices xla-cpu:0-1 --strategy one", "distribute.devices"},
           {" --devices xla-cpu:0-1 --strategy multiworker", "distribute.devices"},
           {" --device xla-cpu --devices 2 --strategy multiworker", "distribute.devices"},
           {" --device cpu:0-1", "device.unknown"},
           {" --devices xla-cpu:0,xla-cpu:0", "device.several"},
           {" --devices xla-cpu:0,zzz", "device.several"},
           {" --device xla-cpu --strategy mirrored --devices 5", "device.several"}}) {
    const Outcome refused = call(again + words);
    EXPECT_EQ(refused.code, 2) << words;
    EXPECT_NE(refused.error.find(cat("[", rule, "]")), std::string::npos) << words << refused.error;
  }
}

// A process with a plugin each, and shared memory between them.
TEST_F(DeviceTrain, SlowWorkersTrainWithAPluginEach) {
  const auto one = train("one", there());
  const Outcome two =
      call_shell(cat("ESPALIER_CACHE=", path("cache"), " ", build_folder(), "/espalier launch -n 2 -- ",
                     build_folder(), "/espalier train --json --epochs 3 --data ", path("rows.csv"),
                     " --label label --model ", path("two"), " --strategy multiworker ", there()));
  ASSERT_EQ(two.code, 0) << two.error;
  const auto said = nlohmann::json::parse(two.output);
  EXPECT_EQ(said.at("device").at("name"), "xla-cpu:0");
  EXPECT_GT(said.at("device").at("executes"), 20);
  EXPECT_LE(weights_apart("one", "two"), 2e-6);
  // All on one kind of device: otherwise they would not have equal bits.
  const Outcome mixed = call_shell(
      cat("ESPALIER_CACHE=", path("cache"), " ", build_folder(),
          "/espalier launch -n 2 -- sh -c 'd=cpu; [ "
          "$ESPALIER_RANK = 0 ] && d=xla-cpu; exec ",
          build_folder(), "/espalier train --epochs 3 --data ", path("rows.csv"), " --label label --model ",
          path("mixed"), " --strategy multiworker --plugin ", pjrt::test_plugin(), " --device $d'"));
  EXPECT_NE(mixed.code, 0);
  EXPECT_NE(mixed.error.find("ranks do not run the same: device is xla-cpu on rank 0 and cpu on rank 1"),
            std::string::npos)
      << mixed.error;
  EXPECT_NEAR(said.at("test").at("log_loss").get<double>(), one.at("test").at("log_loss").get<double>(),
              1e-5);
}

// Rows are 900, so that 648 are of training, in steps of 32: 20, and one of 8 rows.
TEST_F(DeviceTrain, NightlyTwoProcessesLearnWhatOneDeviceDoes) {
  const std::string
      head = "[data]\nfile = \"rows.csv\"\nlabel = \"label\"\n[fit]\nepochs = 1\nbatch_size = 32\n",
      dense = "[[model.layers]]\ntype = \"Dense\"\nunits = 16\nactivation = \"relu\"\n",
      adam = "[optimizer]\ntype = \"Adam\"\nlearning_rate = 0.01\n";
  for (const auto& [name, plan] : std::map<std::string, std::string>{
           {"dropout", dense + "[[model.layers]]\ntype = \"Dropout\"\nrate = 0.4\n" + adam},
           {"normalized",
            dense + "[[model.layers]]\ntype = \"BatchNormalization\"\nsynchronized = true\n" + adam},
           {"accumulation", dense + adam + "gradient_accumulation_steps = 3\n"},
           {"bf16", "dtype = \"bf16\"\n" + dense + adam}}) {
    SCOPED_TRACE(name);
    file(name + ".toml", head + plan);
    const auto words = [&](const std::string& model) {
      return cat(build_folder(), "/espalier train ", path(name + ".toml"), " --json --model ", path(model),
                 " ", there());
    };
    const std::string cache = cat("ESPALIER_CACHE=", path("cache"), " ");
    const Outcome one = call_shell(cat(cache, words(name + "-one")));
    ASSERT_EQ(one.code, 0) << one.error;
    // Behind the last step ranks compare their weights' bits.
    const Outcome two = call_shell(cat(cache, build_folder(), "/espalier launch -n 2 -- ",
                                       words(name + "-two"), " --strategy multiworker"));
    ASSERT_EQ(two.code, 0) << two.error;
    EXPECT_LE(weights_apart(name + "-one", name + "-two"), 2e-6);
  }
}

struct DevicePictures : PicturesTest {};

TEST_F(DevicePictures, SlowAreJudgedThere) {
  ESPALIER_NEEDS_PLUGIN();
  const std::string data = squares();
  trained(data, model);
  const std::vector<std::string> there{"--device", pjrt::test_plugin()};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), there.begin(), there.end());
    return words;
  };
  const std::string one = folder + "/squares/red/00.jpg";
  const auto here = json(add_predict, {model, one}), far = json(add_predict, with({model, one}));
  EXPECT_EQ(far.dump().substr(0, 40), here.dump().substr(0, 40));
  const auto judged = json(add_evaluate, {model, data}), judged_far = json(add_evaluate, with({model, data}));
  EXPECT_EQ(judged_far.at("accuracy"), judged.at("accuracy")) << judged;
}

}  // namespace
}  // namespace espalier::cli
