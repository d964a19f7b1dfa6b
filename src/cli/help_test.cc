#include "cli/help.h"

#include <sstream>

#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

TEST(Help, OfEveryVerbFitsInAPage) {
  for (const Verb& verb : kVerbs) {
    CLI::App app("what it is", "espalier");
    app.formatter(help_formatter());
    verb.add(app);
    ASSERT_EQ(app.get_subcommands({}).size(), 1u);
    EXPECT_EQ(app.get_subcommands({})[0]->get_name(), verb.name);
    const std::string help = app.get_subcommands({})[0]->help();
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kHelpColumns) << line;
  }
}

TEST(Help, OfTheCommandFitsInAPage) {
  for (const char* flag : {"--help", "--help-all"}) {
    const Outcome outcome = call_command(flag);
    EXPECT_EQ(outcome.code, 0);
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kHelpColumns) << line;
  }
}

TEST(Help, OfTrainSaysWhatAPlanIs) {
  const std::string help = call_command("train --help").output;
  for (const char* part : {"PLAN", "flags beside it count more", "relative to its folder", "--write-plan",
                           "Examples:", "Exit codes:", "The data:", "--label COLUMN"}) {
    // Wherever lines break.
    std::string words, all;
    for (std::istringstream in(help); in >> words;) all += words + " ";
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << help;
  }
}

}  // namespace
}  // namespace espalier::cli
