// Verbs on a real plugin behind one that lets a call fail (tests/plugins/shim_plugin.cc).
#include <array>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "cli/seeded_fault_test.h"
#include "cli/verb_test.h"
#include "format/npy.h"
#include "pjrt/plugin_test.h"

namespace espalier::cli {
namespace {

constexpr const char* kThroughShim =
    R"(func.func @main(%a: tensor<5xf32>, %b: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = "stablehlo.add"(%a, %b) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %1 = "stablehlo.multiply"(%a, %0) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  "func.return"(%0, %1) : (tensor<5xf32>, tensor<5xf32>) -> ()
})";

struct ShimFaults : FolderTest {
  // What a verb says and leaves when nothing fails, and how many calls of each kind it makes.
  struct Result {
    Outcome outcome;
    std::map<std::string, std::string> model;
    nlohmann::json report;
  };
  const std::string shim = build_folder() + "/shim_plugin.so";
  const std::vector<std::string> verbs = {"run", "predict", "train"};

  void SetUp() override {
    ESPALIER_NEEDS_PLUGIN();
    Philox random(21);
    std::string rows = "size,weight,kind\n";
    for (int i = 0; i < 60; ++i) {
      const float size = random.uniform(), weight = random.uniform();
      rows += cat(size, ",", weight, size > weight ? ",a\n" : ",b\n");
    }
    file("rows.csv", rows);
    file("program.mlir", kThroughShim);
    write_npy(path("a.npy"), Literal::of<float>({1, 2, 3, 4, 5}));
    write_npy(path("b.npy"), Literal::of<float>({10, 2, -30, 0.5, 7}));
    const Outcome old = call_command(
        cat("train --data ", path("rows.csv"), " --label kind --epochs 1 --batch 16 --model ", path("old")));
    ASSERT_EQ(old.code, 0) << old.error;
  }
  std::string words(const std::string& verb) const {
    if (verb == "run")
      return cat("run ", path("program.mlir"), " --inputs ", path("a.npy"), " ", path("b.npy"));
    if (verb == "predict") return cat("predict ", path("old"), " ", path("rows.csv"));
    return cat("train --data ", path("rows.csv"), " --label kind --epochs 2 --batch 16 --model ",
               path("there/model"));
  }
  // Beside a model that is there already.
  Result through_shim(const std::string& verb, const std::string& fault) const {
    std::filesystem::remove_all(path("there"));
    std::filesystem::create_directory(path("there"));
    std::filesystem::copy(path("old"), path("there/model"));
    std::filesystem::remove(path("report.json"));
    Result out;
    out.outcome = call_shell(cat("ESPALIER_SHIM_PLUGIN=", pjrt::test_plugin(), " ESPALIER_SHIM=", fault,
                                 " ESPALIER_SHIM_REPORT=", path("report.json"), " ESPALIER_CACHE=off ",
                                 "timeout --signal=KILL ", kTooLong, " ", build_folder(), "/espalier ",
                                 words(verb), " --device ", shim));
    out.model = posix_env().read_folder(path("there/model"));
    if (posix_env().exists(path("report.json")))
      out.report = nlohmann::json::parse(posix_env().read_file(path("report.json")));
    return out;
  }
  // One line, and perhaps what helps: of a fault with these words.
  void expect_one_sentence(const Result& got, const std::string& fault) const {
    static const std::map<std::string, std::string> kSaid = {
        {"refuse", ": shim refused (code 13 of "},
        {"memory", ": shim has no memory left (code 8 of "},
        {"throws", ": out of the shim"},
        {"late", ": shim failed late (code 13 of "},
        {"truncate", "the plugin gave "}};
    const std::string& error = got.outcome.error;
    ASSERT_TRUE(kSaid.contains(fault)) << error;
    const size_t begins = error.find("espalier: ");
    ASSERT_NE(begins, std::string::npos) << error;
    EXPECT_EQ(error.find("espalier: ", begins + 1), std::string::npos) << error;
    const std::string sentence = error.substr(begins, error.find('\n', begins) - begins);
    EXPECT_NE(sentence.find(" [device."), std::string::npos) << error;
    // What is short behind the call is told as lost.
    const bool otherwise =
        sentence.find("has no device") != sentence.npos || sentence.find("[device.lost]") != sentence.npos;
    EXPECT_EQ(sentence.find("[device.memory]") != sentence.npos, fault == "memory" && !otherwise) << error;
    // That there is no device a list without one says, too.
    if (fault != "truncate" || sentence.find("has no device") == sentence.npos) {
      EXPECT_NE(sentence.find(kSaid.at(fault)), std::string::npos) << error;
    }
    EXPECT_TRUE(got.model == posix_env().read_folder(path("old"))) << "the model that was there has changed";
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("there")), {}), 1);
  }
};

// The client lives as long as the process, and so do the two numbers that layers draw from, which training
// moves to the device, and the ends of the last two runs.
void expect_no_leak(const nlohmann::json& report, const std::string& verb) {
  ASSERT_TRUE(report.is_object());
  for (const auto& [object, count] : report.at("living").items())
    EXPECT_LE(count.get<int>(), object == "clients"                      ? 1
                                : object == "events"                     ? 2
                                : object == "buffers" && verb == "train" ? 2
                                                                         : 0)
        << report;
  EXPECT_EQ(report.at("strangers"), 0) << report;
}

TEST_F(ShimFaults, SlowEachIsOneSentenceOrNoneAtAll) {
  std::map<std::string, Result> wanted;
  for (const std::string& verb : verbs) {
    wanted[verb] = through_shim(verb, "none@1");
    ASSERT_EQ(wanted[verb].outcome.code, 0) << wanted[verb].outcome.error;
    expect_no_leak(wanted[verb].report, verb);
    EXPECT_GT(wanted[verb].report.at("calls").at("execute"), 0);
  }
  EXPECT_FALSE(wanted["train"].model == posix_env().read_folder(path("old")));

  const std::map<std::string, std::vector<std::string>> kinds_of = {
      {"late", {"upload", "execute", "download"}},
      {"truncate", {"client", "compile", "upload", "execute", "download"}},
  };
  const std::vector<std::string> all_kinds = {"client",  "compile",  "describe", "upload",
                                              "execute", "download", "await",    "destroy"};
  std::set<std::string> ended, went_on;
  const int faults = runs_asked("ESPALIER_SHIM_FAULTS", 24);
  for (int seed = 0; seed < faults; ++seed) {
    SeededFault fault(seed, {"refuse", "truncate", "late", "throws", "memory", "truncate", "delay", "late"});
    const std::string verb = verbs[std::array{0, 1, 0, 2}[static_cast<size_t>(fault.below(4))]];
    const nlohmann::json& calls = wanted[verb].report.at("calls");
    const auto& kinds = kinds_of.contains(fault.kind) ? kinds_of.at(fault.kind) : all_kinds;
    const std::string& kind = kinds[static_cast<size_t>(fault.below(static_cast<int>(kinds.size())))];
    // Now and then of no kind in particular, or one more than there are.
    int all = 0;
    for (const auto& [name, count] : calls.items()) all += count.get<int>();
    const bool any = fault.below(6) == 0;
    const int number = 1 + fault.below(any ? all : calls.at(kind).get<int>() + 1);
    const std::string text = any ? cat(fault.kind, "@", number) : cat(fault.kind, "@", kind, ":", number);
    SCOPED_TRACE(cat("seed ", seed, ": ESPALIER_SHIM=", text, " espalier ", verb));

    const Result got = through_shim(verb, text);
    ASSERT_TRUE(got.outcome.code == 0 || got.outcome.code == 2) << got.outcome.code << got.outcome.error;
    expect_no_leak(got.report, verb);
    const std::string struck = got.report.at("struck");
    (got.outcome.code == 2 ? ended : went_on).insert(fault.kind);
    if (got.outcome.code == 2) {
      expect_one_sentence(got, fault.kind);
      continue;
    }
    EXPECT_EQ(got.outcome.output, wanted[verb].outcome.output);
    EXPECT_TRUE(got.model.at("weights.safetensors") == wanted[verb].model.at("weights.safetensors"));
    // No call is one too many but those that give back, those whose answer is told and no more, and the wait
    // for a run whose results nobody needs.
    if (fault.kind == "refuse" || fault.kind == "memory" || fault.kind == "throws") {
      EXPECT_TRUE(struck.empty() || struck == "destroy" || struck == "describe" || struck == "await")
          << struck;
    }
  }
  if (faults >= 24) {
    EXPECT_EQ(ended, (std::set<std::string>{"refuse", "truncate", "late", "throws", "memory"}));
    EXPECT_TRUE(went_on.contains("delay"));
  }
}

TEST_F(ShimFaults, SlowAKilledTrainingLeavesTheModelThatWasThere) {
  const Result wanted = through_shim("train", "none@1");
  ASSERT_EQ(wanted.outcome.code, 0) << wanted.outcome.error;
  for (const char* fault : {"dies@compile:2", "dies@execute:5", "dies@download:20"}) {
    const Result killed = through_shim("train", fault);
    EXPECT_EQ(killed.outcome.code, 128 + 9) << fault << killed.outcome.error;
    EXPECT_TRUE(killed.model == posix_env().read_folder(path("old"))) << fault;
  }
}

}  // namespace
}  // namespace espalier::cli
