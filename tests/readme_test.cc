#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/scratch_test.h"
#include "espalier/csv.h"

namespace espalier {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Of a terminal of 24 lines.
TEST(Readme, ItsFirstScreenSaysWhatItIsForAndWhatItDoesNotDoYet) {
  std::istringstream lines(read("README.md"));
  std::string screen, line;
  for (int i = 0; i < 24 && std::getline(lines, line); ++i) screen += line + "\n";
  for (const char* part :
       {"What it is for", "What it runs on", "Linux on x86-64", "What it does not do yet", "No GPUs"})
    EXPECT_NE(screen.find(part), std::string::npos) << part << "\n" << screen;
}

TEST(Readme, ItsProgramsAreTheCompiledExamples) {
  const std::string page = read("README.md"), fence = "```cpp\n";
  std::vector<std::string> programs;
  for (size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    programs.push_back(page.substr(at, page.find("```", at) - at));
  }
  EXPECT_EQ(programs, (std::vector{read("examples/first.cc"), read("examples/predict.cc"),
                                   read("examples/own_loop.cc")}));
}

TEST(Readme, ItsOutputIsWhatTheExamplePrints) {
  const std::string out = fresh_folder("readme") + "/out";
  ASSERT_EQ(std::system(cat(build_folder(), "/example_first > ", out).c_str()), 0);
  std::string block = "It prints\n\n    ";
  for (const char c : read(out)) block += c == '\n' ? "\n    " : std::string(1, c);
  block.resize(block.size() - 4);
  EXPECT_NE(read("README.md").find(block + "\n"), std::string::npos) << block;
}

TEST(Readme, TheExampleOfTrainingLearns) {
  const std::string out = fresh_folder("readme-training") + "/out";
  ASSERT_EQ(std::system(cat(build_folder(), "/example_training > ", out).c_str()), 0);
  const std::string said = read(out);
  const auto value = [&](const std::string& name) {
    const size_t at = said.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << said;
    return std::atof(said.c_str() + at + name.size() + 2);
  };
  EXPECT_GT(value("inside_accuracy"), 0.9) << said;
  EXPECT_LT(value("distance_mae"), 0.1) << said;
}

// Pasted into a shell, in a folder of their own: all of them work, and the gates block, as the page says.
TEST(Readme, ItsTableCommandsWorkAsTheyStand) {
  const std::string page = read("README.md"), folder = fresh_folder("readme-table");
  const auto block = [&](const std::string& before) {
    const size_t begin = page.find("\n\n", page.find(before)) + 2;
    return page.substr(begin, page.find("\n\n", begin) - begin);
  };
  const auto shell = [&](const std::string& text) {
    std::ofstream(folder + "/block.sh") << text << "\n";
    const int status = std::system(cat("cd ", folder, " && sh block.sh > out 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  ASSERT_EQ(shell(block("who has none at hand makes three:")), 0) << read(folder + "/out");
  std::istringstream lines(block("Then this works as it stands:"));
  const std::string program = "build/release/espalier";
  int ran = 0;
  for (std::string line; std::getline(lines, line); ++ran) {
    const size_t at = line.find(program);
    ASSERT_NE(at, std::string::npos) << line;
    line.replace(at, program.size(), std::filesystem::absolute(cat(build_folder(), "/espalier")).string());
    EXPECT_EQ(shell(line), line.find("--gates") == std::string::npos ? 0 : 1)
        << line << read(folder + "/out");
  }
  EXPECT_GE(ran, 12);
  EXPECT_TRUE(std::filesystem::exists(folder + "/report.html"));
  // Those of several devices and processes use the plan that they wrote.
  std::istringstream strategies(block("with `--deterministic` to the bit."));
  const std::string beginning = "build/release/",
                    programs = std::filesystem::absolute(build_folder()).string() + "/";
  ran = 0;
  for (std::string line; std::getline(strategies, line); ++ran) {
    for (size_t at = 0; (at = line.find(beginning, at)) != std::string::npos; at += programs.size())
      line.replace(at, beginning.size(), programs);
    EXPECT_EQ(shell(line), 0) << line << read(folder + "/out");
  }
  EXPECT_EQ(ran, 4);
}

TEST(Readme, SlowItsLineCompilesTheExample) {
  std::error_code none;
  if (!std::filesystem::equivalent(build_folder(), "build/release", none))
    GTEST_SKIP() << "the line is of build/release";
  const std::string page = read("README.md"), folder = fresh_folder("readme-line");
  const size_t begin = page.find("    g++ -std=c++20 -Iinclude "), end = page.find("\n\n", begin);
  ASSERT_NE(begin, std::string::npos);
  std::string line = page.substr(begin, end - begin);
  for (size_t at = 0; (at = line.find("build/first", at)) != std::string::npos; at += folder.size())
    line.replace(at, std::string("build/first").size(), folder + "/first");
  ASSERT_EQ(std::system(cat("( ", line, " ) > ", folder, "/line").c_str()), 0) << line;
  ASSERT_EQ(std::system(cat("build/release/example_first > ", folder, "/example").c_str()), 0);
  EXPECT_EQ(read(folder + "/line"), read(folder + "/example"));
}

void expect_the_commands_predictions(const std::string& name, const std::string& table,
                                     const std::string& label, const std::string& new_rows,
                                     const std::string& warnings, const std::string& flags = "") {
  SCOPED_TRACE(name);
  const std::string folder = fresh_folder("readme-" + name), data = folder + "/rows.csv";
  std::ofstream(data) << table;
  const auto run = [&](const std::string& program, const std::string& arguments) {
    const std::string out = folder + "/out";
    const std::string command = cat(build_folder(), "/", program, " ", arguments, " 2> ", folder, "/errors");
    EXPECT_EQ(std::system(cat(command, " > ", out).c_str()), 0) << read(folder + "/errors");
    return read(out);
  };
  run("espalier",
      cat("train --data ", data, " --label ", label, " --epochs 3 --model ", folder, "/model ", flags));
  const std::string arguments = cat(folder, "/model ", data);
  const CsvTable expected = parse_csv(run("espalier", "predict " + arguments), {.header = CsvHeader::kYes});
  const CsvTable said = parse_csv(run("example_predict", arguments), {.header = CsvHeader::kYes});
  EXPECT_EQ(said.names(), expected.names());
  ASSERT_EQ(said.rows(), expected.rows());
  ASSERT_EQ(said.columns(), expected.columns());
  for (int64_t row = 0; row < said.rows(); ++row) {
    for (int64_t column = 0; column < said.columns(); ++column) {
      const auto value = expected.number(row, column);
      if (!value) {
        EXPECT_EQ(said.cell(row, column), expected.cell(row, column));
      } else {
        EXPECT_NEAR(said.number(row, column).value_or(NAN), *value, 1e-5 * std::abs(*value));
      }
    }
  }
  EXPECT_EQ(read(folder + "/errors"), "");
  std::ofstream(data) << new_rows;
  run("example_predict", arguments);
  EXPECT_EQ(read(folder + "/errors"), warnings);
}

TEST(Readme, ItsSecondProgramPredictsWhatTheCommandDoes) {
  std::string fruit = "weight,colour,fruit\n", houses = "rooms,district,price\n";
  for (int i = 0; i < 200; ++i) {
    fruit += i % 2 ? cat(120 + i % 40, i % 3 ? ",green" : ",red", ",apple\n")
                   : cat(40 + i % 30, i % 3 ? ",blue" : ",red", ",plum\n");
    houses += cat(1 + i % 6, i % 4 ? ",west,$" : ",east,$", 900 * (1 + i % 6) + 7 * i, "\n");
  }
  expect_the_commands_predictions(
      "classes", fruit, "fruit", "weight,colour\nheavy,red\n1000,pink\n?,blue\n2000,red\n",
      "weight: 1 of 4 cells cannot be read, the first in line 2; they count as missing\n"
      "colour: 1 of 4 values are none of those that training met often, the first in line 3; rare ones, or "
      "written otherwise?\n"
      "weight: 2 of 4 rows outside 40 to 159, which training saw\n");
  // All are said to be of one class.
  expect_the_commands_predictions("threshold", fruit, "fruit", "weight,colour\n50,red\n", "",
                                  "--threshold 0 --positive plum");
  expect_the_commands_predictions(
      "numbers", houses, "price", "rooms,district\n2,west\n3,east\n4,north\n",
      "district: 1 of 3 values are none of those that training met often, the first in line 4; rare ones, or "
      "written otherwise?\n");
}

TEST(Examples, ARowIsHeldAgainstASchema) {
  const std::string folder = fresh_folder("example-rows"), schema = folder + "/schema.pbtxt";
  std::ofstream(schema)
      << "feature { name: 'age' type: INT int_domain { max: 90 } annotation { tag: "
         "'espalier.policy=default' tag: 'espalier.default=35' } } feature { name: 'pay' type: FLOAT }";
  const auto said = [&](const std::string& row) {
    const int status =
        std::system(cat(build_folder(), "/example_rows ", schema, " ", row, " > ", folder, "/out").c_str());
    return cat(WEXITSTATUS(status), " ", read(folder + "/out"));
  };
  EXPECT_EQ(said("age=30 pay=7"), "0 good\n");
  EXPECT_EQ(said("age=99 pay=7"), "0 replaced\nage: above 90\nage=35\npay=7\n");
  EXPECT_EQ(said("age=30 pay=x"), "1 refused\npay: no number\n");
}

TEST(Examples, NewRowsAreHeldAgainstTheSchemaOfThoseBefore) {
  const std::string folder = fresh_folder("example-validation");
  const auto table = [&](const char* name, const char* last) {
    std::ofstream out(folder + "/" + name);
    out << "age,job\n";
    for (int i = 0; i < 50; ++i) out << 20 + i << (i % 2 ? ",clerk\n" : i == 48 ? last : ",smith\n");
    return cat(folder, "/", name);
  };
  const std::string train = table("train.csv", ",smith\n");
  const auto said = [&](const std::string& now) {
    const int status = std::system(cat(build_folder(), "/example_validation ", train, " ", now, " ", folder,
                                       "/schema.pbtxt > ", folder, "/out")
                                       .c_str());
    return cat(WEXITSTATUS(status), " ", read(folder + "/out"));
  };
  EXPECT_EQ(said(train), "0 No anomalies: 2 features, 50 rows.\n");
  const std::string other = said(table("new.csv", ",smythe\n"));
  EXPECT_TRUE(other.starts_with("1 1 thing is not as the schema says: job (Unexpected string values: smythe"))
      << other;
  EXPECT_TRUE(other.ends_with("\njob: Examples contain values missing from the schema: smythe (~2%). \n"))
      << other;
}

TEST(Examples, ScoresAreHeldAgainstGates) {
  const std::string folder = fresh_folder("example-release"), gates = folder + "/gates.toml";
  std::ofstream(gates) << "[[gates]]\ncriterion = \"equal_opportunity\"\nbetween = \"sex\"\nmax = 0.1\n";
  const auto said = [&](int found) {
    std::ofstream table(folder + "/scores.csv");
    table << "label,score,sex\n";
    for (int i = 0; i < 200; ++i)
      table << (i % 4 < 2) << (i / 4 % 10 < (i % 2 ? found : 9) ? ",0.75," : ",0.25,")
            << (i % 2 ? "f\n" : "m\n");
    table.close();
    const int status = std::system(
        cat(build_folder(), "/example_release ", folder, "/scores.csv ", gates, " > ", folder, "/out")
            .c_str());
    return cat(WEXITSTATUS(status), " ", read(folder + "/out"));
  };
  const std::string blocked = said(6);
  EXPECT_TRUE(
      blocked.starts_with("1 overall: 0.75 of 100 are found\nsex=f: 0.6 of 50 are found\nsex=m: 0.9 of 50 "
                          "are found\nBlocked: true positive rate for sex=f is 0.60 against 0.90"))
      << blocked;
  EXPECT_TRUE(said(9).starts_with("0 overall: 0.9 of 100 are found\n")) << said(9);
}

// Killed three times, it ends as the run that nothing happened to.
TEST(Examples, ASourceGoesOnInTheNextProcess) {
  const std::string folder = fresh_folder("example-source");
  const auto said = [&](const char* checkpoint, const char* dies_after) {
    const int status = std::system(cat(build_folder(), "/example_source ", folder, "/", checkpoint, " ",
                                       dies_after, " > ", folder, "/out")
                                       .c_str());
    return cat(WEXITSTATUS(status), " ", read(folder + "/out"));
  };
  const std::string whole = said("whole", "");
  ASSERT_TRUE(whole.starts_with("0 300 steps in this process\nloss ")) << whole;
  for (const char* steps : {"57", "125", "44"}) EXPECT_EQ(said("killed", steps), "3 ");
  // Of the last checkpoint, 10 steps, a killed process may have written nothing yet.
  const std::string last = said("killed", "");
  EXPECT_EQ(last.substr(last.find(" steps")), whole.substr(whole.find(" steps")));
  const int steps = std::stoi(last.substr(2));
  EXPECT_TRUE(last.starts_with("0 ") && steps % 10 == 0 && steps >= 90 && steps <= 120) << last;
}

}  // namespace
}  // namespace espalier
