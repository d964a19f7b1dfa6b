// The ledger of rows that training.json keeps of each epoch.
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

// Of rows 0 to count - 1, as docs/distributed.md says it.
nlohmann::json entry_of(uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t row = 0; row < count; ++row) {
    uint64_t h = row + 0x9e3779b97f4a7c15;
    for (int i = 0; i < 2; ++i) h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93;
    sum += h ^ (h >> 32);
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
  return {{"rows", count}, {"ids", digits}};
}

struct LedgerOfRows : FolderTest {
  // A plan of four epochs of a model that nothing is compared with.
  std::string plan(int rows) const {
    std::string text = "a,b,label\n";
    for (int i = 0; i < rows; ++i)
      text += cat(std::sin(i * 1.7), ",", std::cos(i * 2.3), ",", i % 3 ? "yes" : "no", "\n");
    file("table.csv", text);
    return file("plan.toml",
                "[data]\nfile = \"table.csv\"\nlabel = \"label\"\n[[model.layers]]\ntype = \"Dense\"\n"
                "units = 4\n[fit]\nepochs = 4\nbatch_size = 48\nclass_weight = \"balanced\"\n");
  }
  nlohmann::json history(const std::string& model) const {
    return nlohmann::json::parse(posix_env().read_file(path(model + "/training.json")));
  }
  // Each epoch has trained on each row once.
  void expect_whole(const std::string& model) const {
    const nlohmann::json found = history(model);
    const auto wanted = entry_of(found["train_rows"].get<uint64_t>());
    EXPECT_EQ(found["ledger"], nlohmann::json(4, wanted)) << model;
  }
};

TEST_F(LedgerOfRows, EveryEpochHasEachRowOnce) {
  const std::string table = plan(205);
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{}, {"--strategy", "mirrored", "--devices", "2"}, {"--deterministic"}}) {
    std::vector<std::string> words = {table, "--model", path("model"), "--force"};
    words.insert(words.end(), flags.begin(), flags.end());
    call_verb(add_train, words);
    expect_whole("model");
  }
  const nlohmann::json found = history("model");
  EXPECT_NE(found["ledger"][0]["ids"], entry_of(found["train_rows"].get<uint64_t>() - 1)["ids"]);
}

// As many entries as the model that was kept has epochs, whichever of the two it was.
TEST_F(LedgerOfRows, IsThatOfTheModelThatIsKept) {
  plan(120);
  bool linear = false, layers = false;
  for (const char* label : {"label", "b"}) {
    std::vector<std::string> words = {"--data",  path("table.csv"), "--label", label,
                                      "--model", path("model"),     "--force"};
    if (label[0] == 'b') words.insert(words.end(), {"--learning-rate", "1e-9"});
    call_verb(add_train, words);
    const nlohmann::json found = history("model");
    (found["linear"]["linear_kept"].get<bool>() ? linear : layers) = true;
    EXPECT_EQ(found["ledger"].size(), found["epochs"].get<size_t>()) << found;
    for (const auto& epoch : found["ledger"]) EXPECT_EQ(epoch, entry_of(found["train_rows"].get<uint64_t>()));
  }
  EXPECT_TRUE(linear);
}

TEST_F(LedgerOfRows, OfImages) {
  std::string rows;
  for (int i = 0; i < 50; ++i) {
    for (int k = 0; k < 16; ++k) rows += cat((i * 7 + k * 3) % 256, ",");
    rows += cat(i % 2, "\n");
  }
  call_verb(add_train, {"--data", file("digits.csv", rows), "--epochs", "2", "--model", path("model")});
  EXPECT_EQ(history("model")["ledger"], nlohmann::json(2, entry_of(40)));
}

// In the middle of epochs, by three workers, then two, then one device.
TEST_F(LedgerOfRows, SlowHoldsOverKillsAndOtherNumbersOfWorkers) {
  const std::string train = cat(plan(601), " --checkpoint-every 3 --model ", path("model"));
  const auto launched = [&](int workers, const std::string& chaos, const std::string& more) {
    return call_command(cat("launch -n ", workers, chaos, " -- ", build_folder(), "/espalier train ", train,
                            " --strategy multiworker", more));
  };
  EXPECT_EQ(launched(3, "", "").code, 0);
  expect_whole("model");
  EXPECT_EQ(launched(3, " --chaos kill:1@step8", "").code, 43);
  EXPECT_EQ(launched(2, " --chaos kill:0@step20", " --resume").code, 43);
  const Outcome last = call_command(cat("train ", train, " --resume"));
  EXPECT_EQ(last.code, 0) << last.error;
  expect_whole("model");
}

// Each worker has a plan with a log of its own: the first one's alone is written.
TEST_F(LedgerOfRows, SlowAWorkerThatIsWaitedForIsNamed) {
  const std::string table = plan(205);
  call_verb(add_train, {table, "--model", path("model")});
  EXPECT_FALSE(history("model").contains("waits"));
  const Outcome run =
      call_command(cat("launch -n 3 --chaos stop:1@step6:1s -- ", build_folder(), "/espalier train ", table,
                       " --strategy multiworker --force --model ", path("model")));
  ASSERT_EQ(run.code, 0) << run.error;
  const nlohmann::json waits = history("model")["waits"];
  ASSERT_EQ(waits.size(), 4u);
  std::vector<double> of;
  for (size_t rank = 0; rank < 3; ++rank) {
    of.push_back(0);
    for (const auto& epoch : waits) of[rank] += epoch.at(rank).get<double>();
  }
  EXPECT_GT(of[1], 0.8);
  EXPECT_LT(std::max(of[0], of[2]), 0.8 * of[1]);
}

TEST_F(LedgerOfRows, SlowLogsOfAPlanAreTheFirstWorkers) {
  const std::string text = posix_env().read_file(plan(201));
  for (const int rank : {0, 1})
    file(cat("plan", rank, ".toml"),
         cat(text, "[[callbacks]]\ntype = \"CSVLogger\"\npath = \"", rank, ".csv\"\n"));
  const Outcome run =
      call_command(cat("launch -n 2 -- sh -c '", build_folder(), "/espalier train ", path("plan"),
                       "$ESPALIER_RANK.toml --strategy multiworker --model ", path("model"), "'"));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_TRUE(posix_env().exists(path("0.csv")));
  EXPECT_FALSE(posix_env().exists(path("1.csv")));
}

}  // namespace
}  // namespace espalier::cli
