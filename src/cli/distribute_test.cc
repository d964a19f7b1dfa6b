// Training by launched workers, as a shell runs it.
#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <regex>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/sha256.h"
#include "cli/beside_test.h"
#include "cli/launched_test.h"
#include "cli/seeded_fault_test.h"
#include "cli/verb_test.h"
#include "format/safetensors.h"

namespace espalier::cli {
namespace {

// A table of two classes that a linear model does not learn, so that every part of a run has work; the
// folder of a plan for it.
std::string launched_folder(const std::string& name, int rows) {
  const std::string folder = fresh_folder(name);
  std::string text = "a,b,c,kind,label\n";
  for (int i = 0; i < rows; ++i) {
    const double a = std::sin(i * 1.7), b = std::cos(i * 2.3), c = std::sin(i * 0.37 + 1);
    text += cat(a, ",", b, ",", c, ",",
                i % 3 == 0   ? "x"
                : i % 3 == 1 ? "y"
                             : "z",
                ",", a * b + 0.3 * c > 0 ? "yes" : "no", "\n");
  }
  write_file(folder + "/table.csv", text);
  write_file(folder + "/plan.toml", R"([data]
file = "table.csv"
label = "label"

[[model.layers]]
type = "Dense"
units = 24
activation = "relu"
[[model.layers]]
type = "BatchNormalization"
momentum = 0.9
[[model.layers]]
type = "Dropout"
rate = 0.2

[optimizer]
type = "Adam"
learning_rate = 0.01
gradient_accumulation_steps = 2

[fit]
epochs = 4
batch_size = 96
class_weight = "balanced"

[[callbacks]]
type = "ReduceLROnPlateau"
patience = 1
min_delta = 0.5
[[callbacks]]
type = "EarlyStopping"
patience = 3
restore_best_weights = true
)");
  return folder;
}

// Of what was learned alone: the generator that Dropout draws from is that of the last epoch in any case.
std::string learned_by(const std::string& model) {
  std::string out;
  for (const NamedArray& array : read_safetensors(model + "/weights.safetensors").arrays) {
    if (array.value.type().dtype != DType::kF32) continue;
    out += array.name;
    out.append(reinterpret_cast<const char*>(array.value.raw()), array.value.raw_bytes());
  }
  return sha256_of(out);
}

std::string launched(int workers, const std::string& flags, const std::string& train) {
  return cat("launch -n ", workers, " ", flags, " -- ", build_folder(), "/espalier train ", train,
             " --strategy multiworker");
}

// What is replaced, by what; of launched_folder()'s plan.
using PlanEdit = std::pair<std::string_view, std::string_view>;
constexpr PlanEdit kNoBias = {"activation = \"relu\"", "activation = \"relu\"\nuse_bias = false"};
constexpr PlanEdit kSynchronized = {"momentum = 0.9\n", "momentum = 0.9\nsynchronized = true\n"};
constexpr PlanEdit kNoNormalization = {"[[model.layers]]\ntype = \"BatchNormalization\"\nmomentum = 0.9\n",
                                       ""};

std::string edited(std::string text, std::initializer_list<PlanEdit> edits) {
  for (const auto& [what, by] : edits) {
    const size_t at = text.find(what);
    EXPECT_NE(at, text.npos) << what;
    if (at != text.npos) text.replace(at, what.size(), by);
  }
  return text;
}

// Edits the file; gives its text.
std::string edit_plan(const std::string& plan, std::initializer_list<PlanEdit> edits) {
  const std::string text = edited(posix_env().read_file(plan), edits);
  write_file(plan, text);
  return text;
}

// EarlyStopping ends these runs, and the weights are those of an epoch before.
TEST(Distribute, SlowWeightsDoNotDependOnTheNumberOfWorkers) {
  const std::string folder = launched_folder("distribute-bits", 1009);
  const std::string plan =
      edit_plan(folder + "/plan.toml",
                {{"epochs = 4", "epochs = 9"},
                 {"\"EarlyStopping\"\npatience = 3", "\"EarlyStopping\"\npatience = 2\nmin_delta = 0.3"}});
  write_file(folder + "/as_it_ends.toml",
             edited(plan, {{"restore_best_weights = true", "restore_best_weights = false"}}));
  for (const char* batch : {"96", "725"}) {
    SCOPED_TRACE(batch);
    const std::string flags = cat(" --deterministic --batch ", batch),
                      train = cat(folder, "/plan.toml", flags);
    const Outcome one = call_command(cat("train ", train, " --model ", folder, "/one --force"));
    ASSERT_EQ(one.code, 0) << one.error;
    const std::string wanted = weights_hash(folder + "/one");
    const auto history = nlohmann::json::parse(posix_env().read_file(folder + "/one/training.json"));
    const int epochs = history["epochs"];
    ASSERT_GE(epochs, 3);
    ASSERT_LT(epochs, 9);
    // The best one was the third from the end: what a run that ends there has learned, and no longer one.
    for (const int more : {0, 1, 2}) {
      const Outcome shorter = call_command(cat("train ", folder, "/as_it_ends.toml", flags, " --epochs ",
                                               epochs - 2 + more, " --model ", folder, "/shorter --force"));
      ASSERT_EQ(shorter.code, 0) << shorter.error;
      EXPECT_EQ(learned_by(folder + "/shorter") == learned_by(folder + "/one"), more == 0) << epochs;
    }
    for (const int workers : {1, 2, 3, 4, 8}) {
      const std::string model = cat(folder, "/w", workers);
      const Outcome run = call_command(launched(workers, "", cat(train, " --model ", model, " --force")));
      EXPECT_EQ(run.code, 0) << workers << "\n" << run.error;
      EXPECT_EQ(weights_hash(model), wanted) << workers;
      const std::string mirrored = cat(folder, "/m", workers);
      const Outcome local = call_command(cat("train ", train, " --strategy mirrored --devices ", workers,
                                             " --model ", mirrored, " --force"));
      EXPECT_EQ(local.code, 0) << workers << "\n" << local.error;
      EXPECT_EQ(weights_hash(mirrored), wanted) << workers;
    }
  }
}

// Killed, and gone on with by another number of workers, and killed again.
TEST(Distribute, SlowARunThatIsKilledGoesOnWithAnyNumberOfWorkers) {
  const std::string folder = launched_folder("distribute-kills", 601);
  const std::string train = cat(folder, "/plan.toml --deterministic --checkpoint-every 3");
  const std::string whole = folder + "/whole", model = folder + "/model";
  ASSERT_EQ(call_command(cat("train ", train, " --model ", whole)).code, 0);
  Outcome run = call_command(launched(3, cat("--record ", folder, "/record.json --chaos kill:1@step8"),
                                      cat(train, " --model ", model)));
  EXPECT_EQ(run.code, 43) << run.error;
  const auto record = nlohmann::json::parse(posix_env().read_file(folder + "/record.json"));
  const auto& start = record["starts"].at(0);
  EXPECT_EQ(start["verdict"]["rank"], 1);
  EXPECT_NE(run.error.find(start["verdict"]["text"].get<std::string>()), std::string::npos) << start;
  EXPECT_EQ(start["ranks"][1]["end"], "ended by signal 9");
  for (const int rank : {0, 2}) {
    const auto& calls = start["ranks"][rank]["collectives"];
    ASSERT_GT(calls.size(), 1u);
    EXPECT_EQ(calls.back()["step"], 8);
    EXPECT_EQ(calls.back()["done_seconds_ago"], nullptr);
    EXPECT_EQ(calls.back()["number"].get<int>() - calls.front()["number"].get<int>() + 1, calls.size());
  }
  EXPECT_NE(run.error.find("rank 1 (pid "), std::string::npos) << run.error;
  EXPECT_NE(run.error.find("ended by signal 9 in step 8"), std::string::npos) << run.error;
  EXPECT_TRUE(posix_env().exists(model + ".checkpoint"));
  run = call_command(launched(2, "--chaos kill:0@step14", cat(train, " --resume --model ", model)));
  EXPECT_EQ(run.code, 43) << run.error;
  run = call_command(launched(4, "", cat(train, " --resume --model ", model)));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(weights_hash(model), weights_hash(whole));
  EXPECT_FALSE(posix_env().exists(model + ".checkpoint"));
}

TEST(Distribute, SlowRestartsGoOnByThemselves) {
  const std::string folder = launched_folder("distribute-restarts", 601);
  const std::string train = cat(folder, "/plan.toml --deterministic --checkpoint-every 2 --resume");
  ASSERT_EQ(call_command(cat("train ", folder, "/plan.toml --deterministic --model ", folder, "/whole")).code,
            0);
  const Outcome run = call_command(
      launched(3, "--restarts 2 --chaos kill:2@step7", cat(train, " --model ", folder, "/model")));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(weights_hash(folder + "/model"), weights_hash(folder + "/whole"));
}

// What a checkpoint holds knows nothing of workers. Rank 0 fails: a failure lets it end what it writes.
TEST(Distribute, NightlyCheckpointsOfOneAndFourWorkersAreEqual) {
  const std::string folder = launched_folder("distribute-checkpoints", 601);
  std::vector<std::string> bytes;
  for (const int workers : {1, 4}) {
    const std::string model = folder + "/model";
    const Outcome run = call_command(
        launched(workers, "--chaos throw:0@step8",
                 cat(folder, "/plan.toml --deterministic --checkpoint-every 7 --model ", model)));
    EXPECT_EQ(run.code, 43) << run.error;
    bytes.push_back(posix_env().read_file(model + ".checkpoint"));
    posix_env().remove_file(model + ".checkpoint");
  }
  EXPECT_TRUE(bytes[0] == bytes[1]);
}

// Told to go, all workers save behind one step and end with 42.
TEST(Distribute, SlowToldToGoAllSaveAndEndWith42) {
  const std::string folder = launched_folder("distribute-go", 601);
  const std::string model = folder + "/model", plan = folder + "/plan.toml --deterministic";
  ASSERT_EQ(call_command(cat("train ", plan, " --model ", folder, "/whole")).code, 0);
  for (const auto& [signal, step] : {std::pair(SIGTERM, 5), {SIGUSR1, 13}}) {
    SCOPED_TRACE(signal);
    // A worker that stops for a moment holds the run while the signal comes.
    Beside run(
        cat(build_folder(), "/espalier ",
            launched(2, cat("--chaos stop:1@step", step, ":2s"), cat(plan, " --resume --model ", model))),
        folder + "/errors");
    EXPECT_TRUE(comes_true([&] {
      return std::ranges::any_of(processes_below(run.process()), [](pid_t process) {
        const auto state = process_state(process);
        return state && state->letter == 'T';
      });
    }));
    run.signal(signal);
    EXPECT_TRUE(run.ends());
    EXPECT_EQ(run.code(), 42) << run.errors();
    EXPECT_TRUE(posix_env().exists(model + ".checkpoint")) << run.errors();
  }
  const Outcome run = call_command(launched(3, "", cat(plan, " --resume --model ", model)));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(weights_hash(model), weights_hash(folder + "/whole"));
}

// What is there of a run that said its job's name: processes, sockets, and names or mappings of its memory.
std::string left_behind(const std::string& job, const std::string& folder) {
  return call_shell(cat("pgrep -fc '[e]spalier train ", folder, "/'; grep -c ", job, " /proc/net/unix; ",
                        "ls /dev/shm | grep -c ", job, "; cat /proc/[0-9]*/maps 2>/dev/null | grep -c ", job))
      .output;
}

// Seeded faults: what the launcher says, when, and that nothing is left. ESPALIER_CHAOS_RUNS: how many.
TEST(Distribute, SlowSeededFaultsAreNamedExactly) {
  const std::string folder = launched_folder("distribute-chaos", 601), record = folder + "/record.json";
  const std::string plan = folder + "/plan.toml --deterministic";
  ASSERT_EQ(call_command(cat("train ", plan, " --model ", folder, "/whole")).code, 0);
  const std::string undisturbed = weights_hash(folder + "/whole");
  const int runs = runs_asked();
  int exact = 0;
  for (int seed = 0; seed < runs; ++seed) {
    // Twelve faults in a row are of each kind twice.
    SeededFault fault(seed, {"kill", "throw", "exit", "stop", "short", "mismatch"});
    const bool mismatch = fault.kind == "mismatch";
    // Of two that differ none is the odd one.
    const int ranks = mismatch ? 3 + fault.below(3) : 2 + fault.below(4);
    fault.draw(ranks);
    const int rank = fault.rank;
    const std::string model = folder + "/model";
    const std::string lr = mismatch ? cat(" --lr 0.0$((1 + (ESPALIER_RANK == ", rank, ")))") : "";
    const std::string wanted = mismatch ? "optimizer.learning_rate is " : cat(")", fault.said());
    const std::string line =
        cat("launch -n ", ranks, " --record ", record, " ", mismatch ? "" : fault.flags(),
            " -- sh -c 'echo job $ESPALIER_JOB.; exec ", build_folder(), "/espalier train ", plan,
            " --force --model ", model, " --strategy multiworker", lr, "'");
    const Outcome run = call_command(line);
    SCOPED_TRACE(cat("seed ", seed, ": ", line, "\n", run.error));
    const size_t at = run.output.find("job ");
    ASSERT_NE(at, std::string::npos) << run.output;
    const std::string job = run.output.substr(at + 4, run.output.find('.', at) - at - 4);
    EXPECT_TRUE(comes_true([&] { return left_behind(job, folder) == "0\n0\n0\n0\n"; }));
    if (fault.kind == "short") {
      EXPECT_EQ(run.code, 0);
      EXPECT_EQ(weights_hash(model), undisturbed);
      ++exact;
      continue;
    }
    EXPECT_EQ(run.code, 43);
    const auto start = nlohmann::json::parse(posix_env().read_file(record))["starts"].at(0);
    ASSERT_TRUE(start["verdict"].is_object()) << start;
    const std::string text = start["verdict"]["text"];
    const bool named = text.find(wanted) != std::string::npos;
    const bool culprit =
        start["verdict"]["rank"] == rank &&
        (mismatch ? std::regex_search(text, std::regex(cat("0\\.02 on rank ", rank, "( |$)"))) &&
                        text.find("0.01 on ranks ") != text.npos
                  : text.starts_with(cat("rank ", rank, " (pid ")));
    exact += named && culprit;
    EXPECT_TRUE(named && culprit) << text;
    // Before the first step there is nothing to count from but the begin of the run.
    if (!mismatch) {
      EXPECT_LE(seconds_to_verdict(start, rank), fault.most_seconds());
      EXPECT_GE(seconds_to_verdict(start, rank), fault.kind == "stop" ? 4 : 0);
    }
  }
  EXPECT_GE(exact * 100, runs * 99);
}

// Four workers beside four loops that never rest, one of them stopped for 2 s in a run: nobody is given up.
// ESPALIER_BUSY_RUNS: how many runs.
TEST(Distribute, NightlyHealthyRunsOfABusyMachineAreNotGivenUp) {
  const std::string folder = launched_folder("distribute-busy", 601);
  const std::string plan = folder + "/plan.toml --deterministic";
  ASSERT_EQ(call_command(cat("train ", plan, " --model ", folder, "/whole")).code, 0);
  const int runs = runs_asked("ESPALIER_BUSY_RUNS", 2);
  for (int run = 0; run < runs; ++run) {
    SCOPED_TRACE(run);
    const std::string model = folder + "/model";
    const std::string flags = run == 0 ? "--chaos stop:1@step9:2s" : "";
    const Outcome out = call_shell(
        cat("loops=; for i in 1 2 3 4; do while :; do :; done & loops=\"$loops $!\"; done; ", build_folder(),
            "/espalier ", launched(4, flags, cat(plan, " --force --model ", model)),
            "; code=$?; kill $loops; exit $code"));
    EXPECT_EQ(out.code, 0) << out.error;
    EXPECT_EQ(weights_hash(model), weights_hash(folder + "/whole"));
  }
}

// Rank 1 of three has a plan of its own, changed so; what is said of it.
TEST(Distribute, SlowPlansThatDifferAreNamedBeforeTheFirstStep) {
  const std::string folder = launched_folder("distribute-mismatch", 301);
  const std::string text = posix_env().read_file(folder + "/plan.toml");
  write_file(folder + "/plan0.toml", text);
  const auto expect_named = [&](const std::string& flags, const std::string& wanted) {
    const Outcome run = call_command(cat("launch -n 3 -- sh -c '", build_folder(), "/espalier train ", folder,
                                         "/plan$((ESPALIER_RANK == 1)).toml --strategy multiworker --model ",
                                         folder, "/model ", flags, "'"));
    EXPECT_EQ(run.code, 43) << run.error;
    EXPECT_NE(run.error.find(cat("ranks do not run the same: ", wanted)), std::string::npos) << wanted << "\n"
                                                                                             << run.error;
    EXPECT_FALSE(posix_env().exists(folder + "/model"));
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    write_file(folder + "/plan1.toml", edited(text, {{from, to}}));
  };
  const std::string stopping = "[[callbacks]]\ntype = \"EarlyStopping\"\npatience = 3\n";
  for (const auto& [from, to, wanted] : std::vector<std::array<std::string, 3>>{
           {"patience = 3", "patience = 2", "callbacks[1].patience is 3 on ranks 0, 2 and 2 on rank 1"},
           {stopping + "restore_best_weights = true\n", "",
            "callbacks[1] is EarlyStopping on ranks 0, 2 and not set on rank 1"},
           {"min_delta = 0.5", "min_delta = 0.5\nfactor = 0.5",
            "callbacks[0].factor is 0.1 on ranks 0, 2 and 0.5 on rank 1"},
           {"epochs = 4", "epochs = 4\nmetrics = [\"auc\"]",
            "fit.metrics is [\"auto\"] on ranks 0, 2 and [\"auc\"] on rank 1"},
           {"epochs = 4", "epochs = 4\ncheckpoint_every = 5",
            "fit.checkpoint_every is 0 on ranks 0, 2 and 5 on rank 1"},
           {"relu", "tanh", "model.layers[0].activation is \"relu\" on ranks 0, 2 and \"tanh\" on rank 1"}}) {
    SCOPED_TRACE(wanted);
    changed(from, to);
    expect_named("", wanted);
  }
  changed("", "");
  expect_named("--lr 0.0$((1 + (ESPALIER_RANK == 2)))",
               "optimizer.learning_rate is 0.01 on ranks 0, 1 and 0.02 on rank 2");
  // Logs are the first one's, wherever each would write them.
  changed("[[callbacks]]", "[[callbacks]]\ntype = \"CSVLogger\"\npath = \"log.csv\"\n[[callbacks]]");
  const Outcome run = call_command(cat("launch -n 3 -- sh -c '", build_folder(), "/espalier train ", folder,
                                       "/plan$((ESPALIER_RANK == 1)).toml --strategy multiworker --model ",
                                       folder, "/model'"));
  EXPECT_EQ(run.code, 0) << run.error;
}

TEST(VerifyParity, SlowAPlanLearnsTheSameByAnyNumberOfWorkers) {
  const std::string folder = launched_folder("verify-parity", 301), plan = folder + "/plan.toml";
  // The bias of a layer before normalisation has no gradient but rounding: its share says nothing.
  edit_plan(plan, {kNoBias, kNoNormalization});
  const Outcome run = call_command(cat("verify-parity ", plan, " --ranks 1,3 --epochs 2 --json"));
  ASSERT_EQ(run.code, 0) << run.error << run.output;
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["runs"].size(), 2u);
  EXPECT_EQ(json["runs"][0]["apart"], 0);
  EXPECT_GT(json["runs"][1]["apart"], 0);
  const Outcome strict = call_command(cat("verify-parity ", plan, " --ranks 3 --epochs 2 --tolerance 0"));
  EXPECT_EQ(strict.code, 3) << strict.error << strict.output;
  EXPECT_NE(strict.output.find("undecided: not at most 0"), std::string::npos) << strict.output;
  EXPECT_NE(strict.error.find("by their last bit"), std::string::npos) << strict.error;
  const Outcome bits = call_command(cat("verify-parity ", plan, " --ranks 3 --epochs 2 --deterministic"));
  EXPECT_EQ(bits.code, 0) << bits.error << bits.output;
  EXPECT_EQ(call_command(cat("verify-parity ", plan, " --ranks 0")).code, 2);
}

TEST(VerifyParity, SlowADeviceOfTheFlagCountsMoreThanThePlans) {
  const std::string folder = launched_folder("verify-parity-device", 301), plan = folder + "/plan.toml";
  write_file(plan, posix_env().read_file(plan) + "[device]\nname = \"gpu:77\"\n");
  const std::string line = cat("verify-parity ", plan, " --ranks 1 --epochs 1");
  const Outcome of_plan = call_command(line);
  EXPECT_EQ(of_plan.code, 2) << of_plan.output;
  EXPECT_NE(of_plan.error.find("there is no device \"gpu:77\""), std::string::npos) << of_plan.error;
  const Outcome here = call_command(cat(line, " --device cpu"));
  EXPECT_EQ(here.code, 0) << here.error;
  EXPECT_NE(here.output.find(" --device cpu\n"), std::string::npos) << here.output;
  const Outcome several = call_command(cat(line, " --device gpu:0-1"));
  EXPECT_EQ(several.code, 2);
  EXPECT_NE(several.error.find("[parity.device]"), std::string::npos) << several.error;
}

// Sums of other parts are not told from what rounding makes of one device, however much that is.
TEST(VerifyParity, NightlyTensorsThatAreRoundingAreUndecided) {
  const std::string folder = launched_folder("verify-parity-rounding", 301), plan = folder + "/plan.toml";
  const std::string text = edit_plan(plan, {kNoBias, kSynchronized});
  for (int seed = 1; seed <= 4; ++seed) {
    write_file(plan, edited(text, {{"[fit]", cat("[fit]\nseed = ", seed)}}));
    const Outcome run = call_command(cat("verify-parity ", plan, " --ranks 2 --tolerance 0 --json"));
    ASSERT_EQ(run.code, 3) << run.error << run.output;
    const auto json = nlohmann::json::parse(run.output);
    EXPECT_EQ(json["verdict"], "undecided");
    EXPECT_GT(json["runs"][0]["rounding"], 0);
  }
}

TEST(VerifyParity, NightlyStatisticsOfOneReplicaAreNamedAsTheCause) {
  const std::string folder = launched_folder("verify-parity-local", 301), plan = folder + "/plan.toml";
  // As it stands, with BatchNormalization of one replica's rows; its own strategy is not that of the runs.
  write_file(plan, posix_env().read_file(plan) + "[distribute]\nstrategy = \"mirrored\"\ndevices = 2\n");
  const Outcome run = call_command(cat("verify-parity ", plan, " --ranks 2 --epochs 1"));
  EXPECT_EQ(run.code, 1) << run.error;
  EXPECT_NE(run.error.find("BatchNormalization that is not synchronized learns from the rows of one replica"),
            std::string::npos)
      << run.error;
  EXPECT_EQ(run.output.find("next: "), std::string::npos) << run.output;
  const Outcome bits = call_command(cat("verify-parity ", plan, " --ranks 2 --epochs 1 --deterministic"));
  EXPECT_EQ(bits.code, 0) << bits.error << bits.output;
  EXPECT_NE(bits.output.find("--strategy multiworker --deterministic"), std::string::npos) << bits.output;
}

TEST(Distribute, SlowGradientsInHalfTheBytesLearnTheSame) {
  const std::string folder = launched_folder("compress", 301), plan = folder + "/plan.toml";
  const Outcome one = call_command(cat("train ", plan, " --compress bf16 --model ", folder, "/model"));
  EXPECT_EQ(one.code, 2);
  EXPECT_NE(one.error.find("compress is of the strategy multiworker, and it is one [distribute.compress]"),
            std::string::npos)
      << one.error;
  write_file(plan,
             posix_env().read_file(plan) + "[distribute]\ncompress = \"bf16\"\nstrategy = \"multiworker\"\n");
  // A plan that says it is compared as one that computes in 16 bits is.
  edit_plan(plan, {kNoNormalization});
  const Outcome run = call_command(cat("verify-parity ", plan, " --ranks 2 --epochs 1 --json"));
  ASSERT_EQ(run.code, 0) << run.error << run.output;
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["tolerance"], 1e-2);
  EXPECT_GT(json["runs"][0]["apart"], 1e-5);
}

// What [distribute] of a plan says is what happens: how many have which rows, and the messages of gradients,
// however many, change no bit.
TEST(Distribute, SlowAPlanSaysWhereItTrainsAndHow) {
  const std::string folder = launched_folder("distribute-plan", 301);
  const std::string plan = posix_env().read_file(folder + "/plan.toml");
  const auto with = [&](const std::string& name, const std::string& keys) {
    write_file(cat(folder, "/", name, ".toml"), cat(plan, "\n[distribute]\n", keys));
    return cat(folder, "/", name, ".toml --model ", folder, "/", name);
  };
  const Outcome flags = call_command(
      cat("train ", folder, "/plan.toml --strategy mirrored --devices 3 --model ", folder, "/flags"));
  ASSERT_EQ(flags.code, 0) << flags.error;
  EXPECT_NE(flags.error.find("note: 96 rows a step: 32 on each of 3 devices\n"), std::string::npos)
      << flags.error;
  const std::string cut = "first_bucket = 1\nbucket = 100\naudit_steps = 2\n";
  const Outcome said =
      call_command(cat("train ", with("mirrored", cat("strategy = \"mirrored\"\ndevices = 3\n", cut))));
  ASSERT_EQ(said.code, 0) << said.error;
  EXPECT_EQ(weights_hash(folder + "/mirrored"), weights_hash(folder + "/flags"));
  // One of the command line leaves the devices of the plan's own.
  const std::string one = folder + "/mirrored.toml --strategy one --model " + folder + "/one";
  EXPECT_EQ(call_command("train " + one).code, 0);
  EXPECT_NE(weights_hash(folder + "/one"), weights_hash(folder + "/flags"));
  const std::string words = with("workers", cat("strategy = \"multiworker\"\n", cut));
  const Outcome workers = call_command(cat("launch -n 3 -- ", build_folder(), "/espalier train ", words));
  ASSERT_EQ(workers.code, 0) << workers.error;
  EXPECT_EQ(weights_hash(folder + "/workers"), weights_hash(folder + "/flags"));
  const std::string note = "note: 96 rows a step: 32 on each of 3 workers\n";
  ASSERT_NE(workers.error.find(note), std::string::npos) << workers.error;
  EXPECT_EQ(workers.error.find(note, workers.error.find(note) + 1), std::string::npos)
      << "the first worker alone says it: " << workers.error;
}

TEST(Distribute, ShardsThatRunOneAfterAnotherHaveNoStatisticsOfAll) {
  const std::string folder = launched_folder("distribute-synchronized", 101);
  edit_plan(folder + "/plan.toml", {kSynchronized});
  const Outcome run =
      call_command(cat("train ", folder, "/plan.toml --deterministic --model ", folder, "/model"));
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.error.find("[strategy.synchronized]"), std::string::npos) << run.error;
  EXPECT_FALSE(posix_env().exists(folder + "/model"));
}

TEST(Distribute, DevicesAreMirroreds) {
  const std::string folder = launched_folder("distribute-flags", 101);
  const Outcome run =
      call_command(cat("train ", folder, "/plan.toml --devices 2 --model ", folder, "/model"));
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.error.find("[distribute.devices]"), std::string::npos) << run.error;
}

}  // namespace
}  // namespace espalier::cli
