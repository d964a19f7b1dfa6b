// espalier verify-parity: a user's plan trained by one device and by several workers, and what differs.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "base/env.h"
#include "base/format.h"
#include "base/sha256.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "base/state_folder.h"
#include "cli/common.h"
#include "cli/device_flags.h"
#include "espalier/error.h"
#include "format/safetensors.h"
#include "ir/literal.h"
#include "launch/control_end.h"
#include "launch/launch.h"
#include "pjrt/find.h"
#include "plan/plan.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

enum class Verdict { kPassed, kUndecided, kFailed };
constexpr const char* kVerdicts[] = {"passed", "undecided", "failed"};

struct ParityFlags {
  std::string plan, dtype;
  std::vector<std::string> ranks = {"1,2,4"};
  bool deterministic = false;
  std::optional<int> epochs;
  std::optional<double> tolerance;
  DevicePlan device = {};
  std::vector<std::string> device_words = {};  // those that count more than the plan's
  Results results;
};

constexpr const char* kWhyApart =
    "The difference is more than four times the effect of rounding, so something in this plan depends\n"
    "on the number of workers. --epochs 1 shows the effect of one epoch, --deterministic trains\n"
    "identical bits.\n";

constexpr const char* kRounding =
    "Runs on one device whose steps move the weights by their last bit differ as much, so the difference\n"
    "may be rounding: values of these tensors are small, or their gradients nearly cancel.\n"
    "--deterministic trains identical bits.\n";

constexpr const char* kOtherStatistics =
    "BatchNormalization that is not synchronized learns from the rows of one replica, so its weights\n"
    "depend on the number of replicas. Set synchronized = true, or use --deterministic.\n";

bool normalizes_locally(const TrainPlan& plan) {
  return std::ranges::any_of(plan.model.layers, [](const LayerPlan& layer) {
    const auto* one = std::get_if<BatchNormalizationOptions>(&layer);
    return one && !one->synchronized;
  });
}

// The file of weights that `ranks` workers end with; 0: one device, without a strategy. `nudge` is train's.
std::string weights_by(int ranks, const ParityFlags& flags, const TemporaryFolder& folder, int nudge = 0) {
  const std::string model = cat(folder.path(), "/", ranks, "-", nudge);
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string(), "train",
                                    flags.plan, "--model", model};
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (flags.epochs) add({"--epochs", cat(*flags.epochs)});
  if (flags.deterministic) add({"--deterministic"});
  if (nudge) add({"--nudge", cat(nudge)});
  words.insert(words.end(), flags.device_words.begin(), flags.device_words.end());
  if (ranks)
    add({"--strategy", "multiworker"});
  else
    add({"--strategy", "one"});
  const std::string said = cat("said-", posix_env().entropy());
  const Descriptor output = folder.create(said);
  const LaunchOutcome outcome = launch(
      {.ranks = std::max(ranks, 1), .program = words, .output = output.number(), .errors = output.number()});
  // Somebody has had enough of it.
  for (const int signal : {SIGINT, SIGTERM}) {
    if (outcome.code == 128 + signal || outcome.code == kPreemptedStatus) throw Exit{128 + SIGINT};
  }
  if (outcome.code != 0)
    throw RunError("parity.train", cat(ranks ? cat("training by ", counted(ranks, "worker")) : "training",
                                       " ended with ", outcome.code, ": ", outcome.failure, "\n",
                                       posix_env().read_file(cat(folder.path(), "/", said))));
  return model + "/weights.safetensors";
}

const std::byte* element(const Literal& array, int64_t i) {
  return static_cast<const std::byte*>(array.raw()) + static_cast<size_t>(i) * size_of(array.type().dtype);
}

struct Distance {
  double share = 0;  // of the largest value of the tensor
  double largest = 0;
};
using Distances = std::map<std::string, Distance>;  // by tensor

Distances distances_between(const std::string& a, const std::string& b) {
  const SafeTensors one = read_safetensors(a), other = read_safetensors(b);
  Distances out;
  for (const NamedArray& array : one.arrays) {
    const Literal* const match = other.find(array.name);
    if (!match || match->type() != array.value.type())
      throw FormatError("parity.weights", cat("\"", array.name, "\" is not in both models with one type"));
    double largest = 0, apart = 0;
    const Literal x = array.value.expanded(), y = match->expanded();
    for (int64_t i = 0; i < x.type().elements(); ++i) {
      const double from = load_scalar(x.type().dtype, element(x, i));
      const double to = load_scalar(y.type().dtype, element(y, i));
      largest = std::max(largest, std::abs(from));
      const double gap = std::abs(from - to);
      apart = std::isnan(gap) && !(std::isnan(from) && std::isnan(to)) ? INFINITY : std::max(apart, gap);
    }
    out[array.name] = {largest > 0 ? apart / largest : apart, largest};
  }
  return out;
}

// How far a run on one device ends from itself where every weight is moved to the next number above or below
// behind each step: for each tensor the most of some such runs. Of 80 distances of rounding alone, from 40
// runs of a plan whose gradients cancel, half were less than 0.8 of that, and the largest 2.6: up to four
// times are not told from rounding. A mistake in what rows count, or whose they are, is a thousand times as
// far.
constexpr int kNudges = 3;
constexpr double kOfRounding = 4;

Distances rounding_of(const std::string& one, const ParityFlags& flags, const TemporaryFolder& folder) {
  Distances out;
  for (int nudge = 1; nudge <= kNudges; ++nudge) {
    say_aside(cat("training on one device with its weights moved by their last bit, ", nudge, " of ", kNudges,
                  "\n"));
    for (const auto& [tensor, apart] : distances_between(one, weights_by(0, flags, folder, nudge))) {
      Distance& most = out[tensor];
      if (apart.share >= most.share) most = apart;
    }
  }
  return out;
}

std::vector<int> ranks_of(const ParityFlags& flags) {
  std::vector<int> out;
  for (const std::string& word : comma_separated(flags.ranks)) {
    if (const std::string wrong = number_from(int64_t{1}, LaunchOptions::kMostRanks)(word); !wrong.empty())
      throw CLI::ValidationError("--ranks", wrong);
    out.push_back(std::stoi(word));
  }
  return out;
}

void verify_parity(const ParityFlags& flags) {
  const std::vector<int> ranks = ranks_of(flags);
  const TrainPlan plan = read_plan(posix_env().read_file(flags.plan), flags.plan);
  const bool flagged = std::ranges::count(flags.device_words, "--device") > 0;
  if (const std::string& device = flagged ? flags.device.name : plan.device.name;
      pjrt::single_devices(device).size() > 1)
    throw ValueError("parity.device",
                     cat("workers have one device each, and ", flagged ? "--device" : "the plan",
                         " names several: ", shortened(device)),
                     flagged ? "--device with the name of one" : "name one in its [device]");
  const bool narrow = plan.fit.dtype != "f32" || plan.distribute.compress != "none";
  const double tolerance = flags.deterministic ? 0 : flags.tolerance.value_or(narrow ? 1e-2 : 1e-6);
  const TemporaryFolder folder("parity");
  say_aside("training on one device\n");
  const std::string one = weights_by(0, flags, folder);
  const std::string wanted = sha256_of(posix_env().read_file(one));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  Table table(
      {"workers", "relative difference", "rounding alone", "tensor", "largest value", "sha256 of weights"});
  table.row({"one device", "", "", "", "", wanted.substr(0, 16)});
  Verdict worst = Verdict::kPassed;
  std::optional<Distances> rounding;
  for (const int count : ranks) {
    say_aside(cat("training by ", counted(count, "worker"), "\n"));
    const std::string weights = weights_by(count, flags, folder);
    const std::string hash = sha256_of(posix_env().read_file(weights));
    const Distances apart = distances_between(one, weights);
    Verdict verdict = Verdict::kPassed;
    if (flags.deterministic) {
      if (hash != wanted) verdict = Verdict::kFailed;
    } else {
      for (const auto& [tensor, distance] : apart) {
        if (distance.share <= tolerance) continue;
        if (!rounding) rounding = rounding_of(one, flags, folder);
        verdict =
            std::max(verdict, distance.share <= kOfRounding * (*rounding)[tensor].share ? Verdict::kUndecided
                                                                                        : Verdict::kFailed);
      }
    }
    worst = std::max(worst, verdict);
    const auto farthest =
        std::ranges::max_element(apart, {}, [](const auto& entry) { return entry.second.share; });
    const bool named = farthest != apart.end() && farthest->second.share > 0;
    const std::string tensor = named ? farthest->first : "";
    const Distance most = named ? farthest->second : Distance{};
    const bool held = rounding && named;
    const double own = held ? (*rounding)[tensor].share : 0;
    table.row({count,
               shortest(static_cast<float>(most.share)),
               held ? shortest(static_cast<float>(own)) : std::string(),
               tensor,
               named ? shortest(static_cast<float>(most.largest)) : std::string(),
               {hash.substr(0, 16), verdict == Verdict::kPassed ? Ink::kPlain : Ink::kBold}});
    rows.push_back({{"workers", count},
                    {"apart", most.share},
                    {"rounding", held ? nlohmann::ordered_json(own) : nlohmann::ordered_json()},
                    {"tensor", tensor},
                    {"largest", most.largest},
                    {"sha256", hash},
                    {"verdict", kVerdicts[static_cast<int>(verdict)]},
                    {"passed", verdict == Verdict::kPassed}});
  }
  const bool all = worst == Verdict::kPassed;
  if (flags.results.json) {
    flags.results.write_json("verify-parity", {{"plan", flags.plan},
                                               {"deterministic", flags.deterministic},
                                               {"tolerance", tolerance},
                                               {"sha256", wanted},
                                               {"runs", rows},
                                               {"verdict", kVerdicts[static_cast<int>(worst)]},
                                               {"passed", all}});
  } else {
    const std::string rule =
        flags.deterministic ? std::string("the same bits")
                            : cat("at most ", shortest(tolerance), " of the largest value of a tensor apart");
    flags.results.write(cat(table.text(flags.results.terminal()),
                            all ? "passed: " : cat(kVerdicts[static_cast<int>(worst)], ": not "), rule,
                            "\n"));
    if (worst == Verdict::kUndecided) say_aside(kRounding);
    if (worst == Verdict::kFailed && !flags.deterministic)
      say_aside(normalizes_locally(plan) ? kOtherStatistics : kWhyApart);
    std::vector<std::string> next = {"launch", "-n",       cat(ranks.back()), "--",         "espalier",
                                     "train",  flags.plan, "--strategy",      "multiworker"};
    if (flags.deterministic) next.emplace_back("--deterministic");
    next.insert(next.end(), flags.device_words.begin(), flags.device_words.end());
    if (all) flags.results.suggest(next);
  }
  if (!all) throw Exit{worst == Verdict::kUndecided ? 3 : 1};
}

}  // namespace

void add_verify_parity(CLI::App& app) {
  auto flags = std::make_shared<ParityFlags>();
  CLI::App* verb = app.add_subcommand(
      "verify-parity", "Verify that a plan trains the same weights on one device and on several workers");
  verb->add_option("plan", flags->plan, "Plan (.toml), as for `train`")->required()->option_text("PLAN");
  verb->add_option("--ranks", flags->ranks,
                   "Numbers of workers (ranks) to compare with one device, comma-separated")
      ->allow_extra_args(false)
      ->option_text("N,... [1,2,4]");
  verb->add_flag("--deterministic", flags->deterministic,
                 "Train with `train --deterministic` and require bit-identical weights");
  verb->add_option("--epochs", flags->epochs, "Number of epochs (default: that of the plan)")
      ->check(number_from(int64_t{1}, 1 << 30))
      ->option_text("N");
  verb->add_option("--tolerance", flags->tolerance,
                   "Largest difference of weights, as a share of the largest absolute value of their tensor "
                   "(default: 1e-6; 1e-2 if the plan computes in 16 bits)")
      ->check(number_from(0.0, 1.0))
      ->option_text("X");
  add_device(*verb, flags->device)->option_text("NAME [that of the plan]");
  flags->results.add_json(*verb);
  flags->results.add_out(*verb);
  verb->footer(
      "Trains a model by the plan on one device, then on each number of workers on this\n"
      "machine, and compares the weights. No model is kept. Sums in another order round\n"
      "differently, and every step adds rounding: with 16-bit dtypes, compare one or\n"
      "two epochs only. If weights differ by more than --tolerance, the effect of\n"
      "rounding is measured: three more runs on one device move each weight by its last\n"
      "bit in every step (`train --nudge`). A difference of up to four times that\n"
      "effect is undecided; a larger one is a failure.\n"
      "\n"
      "Examples:\n"
      "  espalier verify-parity plan.toml\n"
      "  espalier verify-parity plan.toml --ranks 2,3,8 --deterministic --epochs 2\n"
      "\n"
      "Exit codes: 0 equal, 1 not equal, 2 usage error or bad input, 3 undecided.");
  verb->callback([flags, verb] {
    flags->device_words = given_device_words(*verb);
    verify_parity(*flags);
  });
}

}  // namespace espalier::cli
