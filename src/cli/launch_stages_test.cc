// Where a rank is that does not go on: one that hangs there, by real runs.
#include <cstdlib>
#include <map>
#include <regex>
#include <thread>

#include "cli/beside_test.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/espalier.h"

namespace espalier::cli {
namespace {

void hang() { std::this_thread::sleep_for(std::chrono::hours(1)); }

// Sixteen rows, three batches a pass, of which the last is smaller; the second one does not come.
struct FewRows final : DataSource {
  explicit FewRows(bool hangs) : hangs(hangs) {}
  std::optional<Tensors> next() override {
    if (now == 16) return std::nullopt;
    if (now++ == 7 && hangs) hang();
    return Tensors{full({2}, 1), full({1}, 1)};
  }
  const bool hangs;
  int now = 0;
};
Dataset few_rows(bool hangs) {
  return Dataset::from_source([hangs](DataShard, uint64_t) { return std::make_unique<FewRows>(hangs); },
                              {.shards = 1})
      .batch(6);
}

// Traced once for batches of each size, and where a model is saved.
struct SlowLayer final : Layer {
  SlowLayer(bool* hangs, int64_t rows) : Layer("slow"), hangs_(hangs), rows_(rows) {}
  Tensor call(const Tensor& x) override {
    if (*hangs_ && (rows_ < 0 || x.size(0) == rows_)) hang();
    return x * 2;
  }
  bool* hangs_;
  const int64_t rows_;
};

// Two epochs of three steps; hangs at "RANK:PLACE".
void fit_few(const std::string& hangs_at) {
  const strategy::MultiWorkerMirrored workers;
  const auto scope = workers.scope();
  const auto hangs = [&](const char* place) { return hangs_at == cat(workers.worker(), ":", place); };
  const std::string folder = std::getenv("HANGS_IN");
  bool in_trace = hangs("trace") || hangs("trace of the last");
  Sequential model{SlowLayer(&in_trace, hangs("trace of the last") ? 2 : -1), Dense({.units = 1})};
  model.compile({.optimizer = SGD(), .loss = MeanSquaredError(), .metrics = {}});
  const auto at = [&](const char* place) {
    if (hangs(place)) hang();
  };
  const auto calls = LambdaCallback({.on_train_begin = [&](const Callback::Run&) { at("train begin"); },
                                     .on_epoch_begin =
                                         [&](int epoch) {
                                           if (epoch == 1) at("epoch begin");
                                         },
                                     .on_batch_end =
                                         [&](int64_t step, const Logs&) {
                                           if (step == 2) at("batch end");
                                         },
                                     .on_epoch_end =
                                         [&](int, const Logs&) {
                                           at("epoch end");
                                           in_trace |= hangs("save");
                                         },
                                     .on_train_end = [&](const Logs&) { at("train end"); }});
  model.fit(few_rows(hangs("input")), {.epochs = 2,
                                       .validation_data = few_rows(hangs("validation")),
                                       .callbacks = {calls, ModelCheckpoint({.path = folder + "/saved"})}});
}

TEST(LaunchStages, DISABLED_Program) { run_named_program(fit_few); }

// All at once, for a stall must be longer than the healthy stages of a busy machine.
TEST(LaunchStages, NightlyARankThatHangsIsNamedWithItsPlace) {
  const std::map<std::string, std::string> said{{"none", ""},
                                                {"1:input", "waiting for input in step 2"},
                                                {"1:trace", "tracing step 1"},
                                                {"1:trace of the last", "tracing step 3"},
                                                {"1:train begin", "in a callback before its first step"},
                                                {"1:epoch begin", "in a callback of step 3"},
                                                {"1:batch end", "in a callback of step 2"},
                                                {"1:validation", "in evaluation of step 3"},
                                                {"1:epoch end", "in a callback of step 3"},
                                                {"0:save", "in the save of step 3"},
                                                {"1:train end", "in a callback of step 6"}};
  std::map<std::string, Beside> runs;
  for (const auto& [at, wanted] : said) {
    const std::string folder = fresh_folder(cat("launch-stages-", runs.size()));
    runs.try_emplace(
        at, launch_words(2, "--stall-after 25s", cat("env HANGS_IN=", folder, " ", program_words(at))),
        folder + "/errors");
  }
  for (const auto& [at, wanted] : said) {
    SCOPED_TRACE(at);
    Beside& run = runs.at(at);
    EXPECT_TRUE(run.ends());
    const std::string sentence = cat("espalier launch: rank ", at.substr(0, 1), " \\(pid \\d+\\) has been ",
                                     wanted, " for \\d+ s(; .*)? \\(verdict ");
    EXPECT_EQ(run.code(), at == "none" ? 0 : 43) << run.errors();
    EXPECT_EQ(std::regex_search(run.errors(), std::regex(sentence)), at != "none") << sentence << "\n"
                                                                                   << run.errors();
  }
}

}  // namespace
}  // namespace espalier::cli
