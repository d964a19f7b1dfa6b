// The table "When something breaks" of docs/distributed.md, by runs that break so.
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <regex>
#include <thread>

#include "base/comes_true_test.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/espalier.h"
#include "launch/control_client.h"

namespace espalier::cli {
namespace {

// Programs of a rank, in processes of this test that runs below launch.

// Numbers without end. The one of a batch's four takes `seconds`, from the `from`-th on.
struct Numbers final : DataSource {
  Numbers(double seconds, int64_t from) : pause(seconds), from(from) {}
  std::optional<Tensors> next() override {
    if (now >= from && now % 4 == 0) std::this_thread::sleep_for(pause);
    const float x = static_cast<float>(now++ % 10);
    return Tensors{Tensor::of<float>({x, 1}), Tensor::of<float>({x})};
  }
  std::chrono::duration<double> pause;
  int64_t from, now = 0;
};

using BehindStep = std::function<void(const Model&, int64_t step)>;

// Fits one layer in 20 steps, with data that rank 1 waits for. `behind` is called behind each step.
void fit_numbers(const Strategy& workers, const BehindStep& behind, double seconds = 0, int64_t from = 0) {
  const auto scope = workers.scope();
  const double pause = workers.worker() == 1 ? seconds : 0;
  const Dataset data =
      Dataset::from_source([&](DataShard, uint64_t) { return std::make_unique<Numbers>(pause, from); },
                           {.shards = 1})
          .batch(4);
  Sequential model{Dense({.units = 1, .name = "dense"})};
  model.compile({.optimizer = SGD{.learning_rate = 0.001}, .loss = MeanSquaredError(), .metrics = {}});
  const auto calls = LambdaCallback({.on_batch_end = [&](int64_t step, const Logs&) {
    if (behind) behind(model, step);
  }});
  model.fit(data, {.epochs = 1, .steps_per_epoch = 20, .callbacks = {calls}});
}

// A loop of 20 calls, of which rank 1 makes so many.
void call_often(int most_of_one) {
  const strategy::MultiWorkerMirrored workers;
  const auto scope = workers.scope();
  const auto step = function([](const Tensor& x) { return strategy::all_reduce({x})[0]; }, {.name = "step"});
  for (int call = 0; call < (workers.worker() == 1 ? most_of_one : 20); ++call)
    workers.run(step, {{{full({2}, 1)}}});
}

const std::map<std::string, std::function<void()>> kPrograms = {
    {"slow", [] { fit_numbers(strategy::MultiWorkerMirrored(), {}, 0.1); }},
    {"stall", [] { fit_numbers(strategy::MultiWorkerMirrored(), {}, 3600, 24); }},
    {"calls", [] { call_often(20); }},
    {"returns",
     [] {
       call_often(7);
       ::_exit(5);
     }},
    {"other calls",
     [] {
       const strategy::MultiWorkerMirrored workers;
       fit_numbers(workers, [&](const Model&, int64_t step) {
         if (workers.worker() == 2 && step == 3) workers.gather({{Tensor::of<float>({1})}});
       });
     }},
    {"other bits",
     [] {
       const strategy::MultiWorkerMirrored workers({.audit_steps = 10});
       fit_numbers(workers, [&](const Model& model, int64_t step) {
         Variable kernel = model.trainable_variables()[0];
         if (workers.worker() == 1 && step == 3) kernel.assign(full(kernel.shape(), 1));
       });
     }},
    {"other rows",
     [] {
       const strategy::MultiWorkerMirrored workers;
       const auto scope = workers.scope();
       Sequential model{Dense({.units = 1})};
       model.compile({.loss = MeanSquaredError(), .metrics = {}});
       const Tensor x = full({6, 2}, workers.worker() == 1 ? 2 : 1);
       model.evaluate(x, full({6, 1}, 1));
     }},
    {"other numbers later",
     [] {
       const strategy::MultiWorkerMirrored workers;
       const auto scope = workers.scope();
       Sequential model{Dense({.units = 1})};
       model.compile({.optimizer = SGD{}, .loss = MeanSquaredError(), .metrics = {}});
       std::vector<float> x(20, 1);
       if (workers.worker() == 1) x.back() = 2;
       const Dataset rows = Dataset::from_tensor_slices({Tensor::of(x, {20, 1}), full({20, 1}, 1)});
       model.fit(rows.batch(5), {.epochs = 1});
     }},
    {"endless for one",
     [] {
       const strategy::MultiWorkerMirrored workers;
       const Dataset rows = Dataset::from_tensor_slices({full({4, 1}, 1)}).batch(2);
       workers.distribute(Dataset::per_worker(workers.worker() == 1 ? rows.repeat() : rows));
     }},
    {"own rows",
     [] {
       const strategy::MultiWorkerMirrored workers;
       const auto scope = workers.scope();
       Variable x(full({}, 0), {.name = "x"});
       const auto assigns = function([&](const Tensor& rows) { x.assign(reduce_sum(rows, {0})); });
       workers.run(assigns, {{{full({2}, 1)}}});
     }},
    {"closes",
     [] {
       const strategy::MultiWorkerMirrored workers;
       fit_numbers(workers, [&](const Model&, int64_t step) {
         if (workers.worker() != 1 || step != 3) return;
         for (int descriptor = 3; descriptor < 1024; ++descriptor) ::close(descriptor);
         std::this_thread::sleep_for(std::chrono::hours(1));
       });
     }},
    {"twice",
     [] {
       const strategy::MultiWorkerMirrored workers;
       strategy::MultiWorkerMirrored();
     }},
    {"stranger", [] {
       ::setenv("ESPALIER_SECRET", "a guess", 1);
       ControlClient::from_environment({})->wait_for_verdict(kTooLong);
     }}};

TEST(LaunchSentences, DISABLED_Program) {
  run_named_program([](const std::string& name) { kPrograms.at(name)(); });
}

// The cells of the table's first column.
std::vector<std::string> sentences_of_page() {
  const std::string page = posix_env().read_file("docs/distributed.md");
  std::vector<std::string> out;
  std::istringstream lines(page.substr(page.find("| sentence | what it means | what to do |")));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("| "))
    out.push_back(line.substr(2, line.find(" | ") - 2));
  return out;
}

// With a sign for each list of ranks, name and number.
std::string form_of(const std::string& text) {
  static const std::pair<std::regex, std::string> kSigns[] = {
      {std::regex(R"( \(verdict [0-9a-f]+\)$)"), ""},
      // Its last beat may have come between the begin of its step and the stop.
      {std::regex(R"(( s) waiting for input (in step \d+) before ([a-z-]+ '[a-z]+'))"),
       "$1 before $3 of step N, last seen $2"},
      {std::regex(R"(last seen [^;]+)"), "last seen PLACE"},
      {std::regex(R"(before [a-z-]+ of step \d+)"), "before CALL"},
      {std::regex(R"(\branks? \d+(-\d+)?(, \d+(-\d+)?)*)"), "RANKS"},
      {std::regex(R"("[^"]*")"), "\"NAME\""},
      {std::regex(R"(\d+(\.\d+)?)"), "N"}};
  std::string out = text;
  for (const auto& [pattern, sign] : kSigns) out = std::regex_replace(out, pattern, sign);
  return out;
}

struct Cell {
  std::string sentence, rule;
  bool warns = false;
};

// What a rank raises by --chaos, and the page's word for any such text.
constexpr const char* kRaised = "--chaos has this rank throw in step 9";
constexpr std::string_view kAnyText = "TEXT";

// `SENTENCE` [RULE] (a warning)
Cell cell_of(const std::string& text) {
  Cell out;
  const size_t end = text.find('`', 1), rule = text.find(" [", end);
  out.sentence = text.substr(1, end - 1);
  if (out.sentence.ends_with(kAnyText))
    out.sentence.replace(out.sentence.size() - kAnyText.size(), kAnyText.size(), kRaised);
  if (rule != text.npos) out.rule = text.substr(rule + 1);
  out.warns = text.ends_with(" (a warning)");
  return out;
}

// Whether a line of what a run wrote is the sentence.
bool says(const std::string& written, const Cell& cell) {
  const std::string wanted = cat(cell.warns ? "warning: " : "", form_of(cell.sentence));
  std::istringstream lines(written);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string prefix : {"espalier launch: ", "espalier: "}) {
      if (line.starts_with(prefix)) line.erase(0, prefix.size());
    }
    if (line.ends_with(cell.rule) && !cell.rule.empty()) line.resize(line.size() - cell.rule.size() - 1);
    if (form_of(line) == wanted) return true;
  }
  return false;
}

// Runs that say the sentences of the page, in its order.
TEST(LaunchSentences, NightlyEachOfThePageIsSaidByARun) {
  const std::string folder = folder_to_launch("launch-sentences");
  const std::string train = worker_words(folder), large = folder_to_launch("launch-sentences-large", 96, 700);
  write_file(
      folder + "/synchronized.toml",
      "[data]\nfile = \"table.csv\"\nlabel = \"label\"\n[[model.layers]]\ntype = \"BatchNormalization\"\n"
      "synchronized = true\n");
  const std::vector<std::string> runs = {
      launch_words(4, "--chaos kill:2@step4", train),
      launch_words(4, "--chaos throw:0@step9", train),
      launch_words(4, "--chaos exit:3@step2", train),
      launch_words(3, "--chaos kill:2@step8", program_words("calls")),
      launch_words(3, "", program_words("returns")),
      launch_words(3, "--chaos stop:1@step15:300s", program_words("slow")),
      launch_words(3, "--stall-after 8s", program_words("stall")),
      launch_words(2, "--stall-after 8s", but_on(0, "exec sleep 300", train)),
      launch_words(3, "", but_on(2, cat("exec ", train, " --lr 0.02"), train)),
      launch_words(4, "", program_words("other calls")),
      launch_words(3, "", but_on(1, cat("exec ", program_words("slow")), train)),
      launch_words(3, "", program_words("other rows")),
      launch_words(3, "", program_words("other numbers later")),
      launch_words(3, "", program_words("endless for one")),
      launch_words(3, "", program_words("other bits")),
      launch_words(2, "", program_words("own rows")),
      launch_words(2, "", but_on(1, "ulimit -f 2048", worker_words(large))),
      cat("ESPALIER_RANK=0 ", train),
      launch_words(3, "", program_words("closes")),
      launch_words(2, "", but_on(1, "export ESPALIER_CONTROL=unix:@nobody", train)),
      launch_words(2, "", program_words("twice")),
      launch_words(2, "", cat(train, " --data - < ", folder, "/table.csv")),
      cat(build_folder(), "/espalier train ", folder, "/synchronized.toml --deterministic --model ", folder,
          "/model"),
      launch_words(2, "", but_on(1, program_words("stranger"), train)),
  };
  const std::vector<std::string> cells = sentences_of_page();
  ASSERT_EQ(cells.size(), runs.size()) << "a row of the page, and a run that says it";
  for (size_t i = 0; i < cells.size(); ++i) {
    const Outcome run = call_shell(runs[i]);
    const Cell cell = cell_of(cells[i]);
    EXPECT_TRUE(says(run.error, cell)) << cell.sentence << "\n" << runs[i] << "\n" << run.error;
    EXPECT_NE(run.error.find(cell.rule), std::string::npos) << cell.rule << "\n" << run.error;
  }
}

}  // namespace
}  // namespace espalier::cli
