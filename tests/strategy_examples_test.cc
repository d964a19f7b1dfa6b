// The programs of examples/ that train on several devices and by several workers.
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/scratch_test.h"

namespace espalier {
namespace {

// The program for one device.
constexpr const char* kOneDevice = R"(#include <cstdio>

#include <espalier/espalier.h>

using namespace espalier;

int main() {
  const Tensor x = random_normal({1024, 784}, 1, 0);
  const Tensor y = argmax(matmul(x, random_normal({784, 10}, 2, 0)), 1);
  Sequential model{Dense({.units = 128, .activation = "relu"}), Dense({.units = 10})};
  model.compile({.optimizer = Adam{}, .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const auto epochs = model.fit(x, y, {.epochs = 5, .batch_size = 64});
  std::printf("loss %.4f, at first %.4f\n", epochs.back().at("loss"), epochs.front().at("loss"));
}
)";

std::vector<std::string> lines_of_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

TEST(StrategyExamples, AreTheProgramForOneDeviceAndTwoLines) {
  for (const auto& [name, strategy, of] :
       {std::tuple{"mirrored", "const strategy::Mirrored devices({.devices = 2});", "devices"},
        {"multiworker", "const strategy::MultiWorkerMirrored workers;", "workers"}}) {
    SCOPED_TRACE(name);
    const std::vector<std::string> lines = lines_of_file(cat("examples/", name, ".cc"));
    EXPECT_GT(lines.size(), 10u);
    EXPECT_LE(lines.size(), 25u);
    const std::vector<std::string> added = {cat("  ", strategy),
                                            cat("  const auto scope = ", of, ".scope();")};
    std::string rest;
    size_t more = 0;
    for (const std::string& line : lines) {
      if (line.starts_with("//")) continue;
      if (more < added.size() && line == added[more]) {
        ++more;
        continue;
      }
      rest += line + "\n";
    }
    EXPECT_EQ(more, added.size());
    EXPECT_EQ(rest, kOneDevice);
  }
}

struct ExampleLosses {
  double last, first;
};
// Of each process that the line starts.
std::vector<ExampleLosses> losses_of(const std::string& name, const std::string& line) {
  const std::string out = fresh_folder("strategy-" + name) + "/out";
  EXPECT_EQ(std::system(cat(line, " > ", out).c_str()), 0) << line;
  std::vector<ExampleLosses> all;
  for (const std::string& said : lines_of_file(out)) {
    ExampleLosses& each = all.emplace_back();
    EXPECT_EQ(std::sscanf(said.c_str(), "loss %lf, at first %lf", &each.last, &each.first), 2) << said;
  }
  return all;
}

TEST(StrategyExamples, SlowLearnTheSameOnDevicesAndByWorkers) {
  const std::string folder = build_folder(), workers = folder + "/example_multiworker";
  const auto alone = losses_of("alone", workers);
  const auto launched = losses_of("launched", cat(folder, "/espalier launch -n 3 -- ", workers));
  const auto mirrored = losses_of("mirrored", folder + "/example_mirrored");
  ASSERT_EQ(alone.size(), 1u);
  ASSERT_EQ(launched.size(), 3u);
  ASSERT_EQ(mirrored.size(), 1u);
  EXPECT_LT(alone[0].last, 0.5 * alone[0].first);
  for (const auto& all : {launched, mirrored}) {
    for (const ExampleLosses& each : all) {
      // As they are printed.
      EXPECT_NEAR(each.first, alone[0].first, 1.01e-4);
      EXPECT_NEAR(each.last, alone[0].last, 1.01e-4);
    }
  }
}

// The loop of the first page, whose last digits are of its sums.
TEST(StrategyExamples, SlowTheFirstLoopLearnsTheSameByWorkers) {
  const std::string folder = build_folder(), loop = folder + "/example_own_loop";
  const auto said = [&](const std::string& launch, const std::string& name) {
    const std::string out = fresh_folder("own-loop-" + name) + "/out";
    EXPECT_EQ(std::system(cat(launch, loop, " > ", out).c_str()), 0) << launch;
    const auto lines = lines_of_file(out);
    double accuracy = 0;
    EXPECT_TRUE(lines.size() == 1 && std::sscanf(lines[0].c_str(), "accuracy: %lf", &accuracy) == 1);
    return accuracy;
  };
  const double alone = said("", "alone");
  EXPECT_GT(alone, 0.8);
  EXPECT_LT(alone, 1.0);
  EXPECT_NEAR(said(cat(folder, "/espalier launch -n 3 -- "), "three"), alone, 1.01e-3);
}

// Line for line.
TEST(StrategyExamples, ThePageShowsThem) {
  const auto text = [](const std::string& path) {
    std::string out;
    for (const std::string& line : lines_of_file(path)) out += line + "\n";
    return out;
  };
  const std::string page = text("docs/distributed.md");
  for (const char* name : {"loop", "gan"}) {
    const std::string program = text(cat("examples/", name, ".cc"));
    ASSERT_GT(program.size(), 1000u);
    EXPECT_NE(page.find(cat("`examples/", name, ".cc`")), std::string::npos) << name;
    EXPECT_NE(page.find("```cpp\n" + program + "```\n"), std::string::npos) << name;
  }
}

// One set of bits, also where a worker was killed.
TEST(StrategyExamples, SlowTheGanIsThatOfOneWorker) {
  const std::string folder = build_folder();
  const auto said = [&](const std::string& launch, const std::string& name) {
    const std::string own = fresh_folder("gan-" + name);
    EXPECT_EQ(
        std::system(
            cat(launch, folder, "/example_gan ", own, "/kept > ", own, "/out 2> ", own, "/errors").c_str()),
        0);
    return lines_of_file(own + "/out");
  };
  const auto alone = said("", "alone");
  ASSERT_EQ(alone.size(), 1u);
  double loss = 0, middle = 0;
  ASSERT_EQ(std::sscanf(alone[0].c_str(), "critic_loss %lf, middle %lf", &loss, &middle), 2) << alone[0];
  EXPECT_NEAR(middle, 2, 0.7);  // of the rows it is to make others of
  EXPECT_EQ(said(folder + "/espalier launch -n 2 -- ", "two"), alone);
  EXPECT_EQ(said(folder + "/espalier launch -n 3 --restarts 1 --chaos kill:1@step90 -- ", "killed"), alone);
}

// One set of bits on any number of workers; where it ended it has nothing left to do.
TEST(StrategyExamples, SlowTheLoopIsThatOfOneWorker) {
  const std::string folder = build_folder(), loop = folder + "/example_loop ";
  const auto said = [&](const std::string& launch, const std::string& name) {
    const std::string own = fresh_folder("loop-" + name);
    for (const char* out : {"/first", "/again"})
      EXPECT_EQ(std::system(cat(launch, loop, own, "/kept > ", own, out).c_str()), 0) << launch;
    const auto lines = lines_of_file(own + "/first");
    EXPECT_EQ(lines_of_file(own + "/again"), lines);
    return lines;
  };
  const auto alone = said("", "alone");
  ASSERT_EQ(alone.size(), 1u);
  double accuracy = 0;
  ASSERT_EQ(std::sscanf(alone[0].c_str(), "accuracy %lf", &accuracy), 1) << alone[0];
  EXPECT_GT(accuracy, 0.8);
  EXPECT_LT(accuracy, 1.0);
  EXPECT_EQ(said(cat(folder, "/espalier launch -n 2 -- "), "two"), alone);
  EXPECT_EQ(said(cat(folder, "/espalier launch -n 3 -- "), "three"), alone);
}

}  // namespace
}  // namespace espalier
