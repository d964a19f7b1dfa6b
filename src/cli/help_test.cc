#include "cli/help.h"

#include <cctype>
#include <iterator>
#include <sstream>

#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

// Of a text that explains: begins with a capital, and with a noun or a verb; does not end in the air.
std::vector<std::string> faults_of_text(const std::string& text) {
  std::vector<std::string> out;
  if (text.empty()) return {"is empty"};
  if (!std::isupper(static_cast<unsigned char>(text[0]))) out.push_back("begins with no capital");
  const std::string first = text.substr(0, text.find_first_of(" :,;"));
  const std::string last = text.substr(text.find_last_of(' ') + 1);
  for (const char* word :
       {"Of", "What", "Where", "Whether", "How", "Which", "Why", "So", "That", "Between"}) {
    if (first == word) out.push_back(cat("begins with \"", word, "\""));
  }
  for (const char* word :
       {"it", "them", "those", "one", "ones", "others", "so", "too", "else", "either", "of"}) {
    if (last == word) out.push_back(cat("ends with \"", word, "\""));
  }
  if (std::string_view(".,;:?").find(text.back()) != std::string_view::npos)
    out.push_back(cat("ends with \"", text.substr(text.size() - 1), "\""));
  return out;
}

// What is wrong with the help of a verb and of its parts; `before`: the words before its name. Counts the
// pages.
std::vector<std::string> faults_of(const CLI::App& verb, const std::string& before, int& pages) {
  std::vector<std::string> out;
  const std::string name = cat(before, " ", verb.get_name());
  const auto take = [&](const std::string& of, const std::string& text) {
    for (const std::string& fault : faults_of_text(text)) out.push_back(cat(name, " ", of, ": ", fault));
  };
  ++pages;
  std::istringstream lines(verb.help(before));
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > kHelpColumns) out.push_back(cat(name, ": too wide: ", line));
    // Words of the parser, for what texts and the usage line say.
    for (const char* word : {"Excludes:", "Needs:", "REQUIRED", "SUBCOMMAND"}) {
      if (line.find(word) != std::string::npos) out.push_back(cat(name, ": ", word));
    }
  }
  take("itself", verb.get_description());
  for (const CLI::Option* option : verb.get_options()) {
    take(option->get_name(), option->get_description());
    if (option->get_expected_max() > 0 && option->get_option_text().empty())
      out.push_back(cat(name, " ", option->get_name(), ": says nothing of its values"));
  }
  const auto parts = verb.get_subcommands([](const CLI::App*) { return true; });
  // A verb without a group is none that people call.
  if (parts.empty() && !verb.get_group().empty() &&
      verb.get_footer().find("Exit codes: ") == std::string::npos)
    out.push_back(cat(name, ": has no exit codes"));
  for (const CLI::App* part : parts) {
    for (const std::string& fault : faults_of(*part, name, pages)) out.push_back(fault);
  }
  return out;
}

TEST(Help, OfEveryVerbFitsInAPageAndExplainsEachFlag) {
  int pages = 0;
  for (const Verb& verb : kVerbs) {
    CLI::App app("what it is", "espalier");
    app.formatter(help_formatter());
    verb.add(app);
    ASSERT_EQ(app.get_subcommands({}).size(), 1u);
    EXPECT_EQ(app.get_subcommands({})[0]->get_name(), verb.name);
    EXPECT_EQ(faults_of(*app.get_subcommands({})[0], "espalier", pages), std::vector<std::string>());
  }
  EXPECT_GT(pages, static_cast<int>(std::size(kVerbs)) + 11) << "with those of data, cache and fairness";
}

TEST(Help, FaultsThatArePlantedAreFound) {
  CLI::App app("Plant faults", "plant");
  app.formatter(help_formatter());
  CLI::App* part = app.add_subcommand("part", "what it is");
  bool given = false;
  int number = 3;
  part->add_option("--number", number, "Number of ranks")->capture_default_str()->required();
  part->add_flag("--so-many", given, "So many of them")->excludes("--number");
  part->add_flag("--none", given, "");
  part->add_flag("--open", given, "Number of ranks,");
  part->add_flag("--good", given, "Number of ranks (0 = all)");
  part->footer(std::string(kHelpColumns, 'x') + "\n" + std::string(kHelpColumns + 1, 'y'));
  int pages = 0;
  EXPECT_EQ(faults_of(app, "espalier", pages),
            (std::vector<std::string>{
                cat("espalier plant part: too wide: ", std::string(kHelpColumns + 1, 'y')),
                "espalier plant part itself: begins with no capital",
                "espalier plant part --number: says nothing of its values",
                "espalier plant part --so-many: begins with \"So\"",
                "espalier plant part --so-many: ends with \"them\"", "espalier plant part --none: is empty",
                "espalier plant part --open: ends with \",\"", "espalier plant part: has no exit codes"}));
  EXPECT_EQ(pages, 2);
}

TEST(Help, HasOneNotationOfValuesAndDefaults) {
  CLI::App app("Show forms", "forms");
  app.formatter(help_formatter());
  CLI::App* verb = app.add_subcommand("verb", "Show them");
  int number = 3;
  std::vector<std::string> files;
  verb->add_option("--number", number, "Number of ranks")->type_name("N")->capture_default_str();
  verb->add_option("--size", number, "Size of images")->option_text("N [7]");
  verb->add_option("files", files, "Tables to read")->type_name("FILE")->required();
  verb->add_flag("--flag")->excludes("--number");
  const std::string help = verb->help("forms");
  for (const char* line : {"Usage: forms verb [OPTIONS] files...\n", "  --number N [3]  ", "  --size N [7]  ",
                           "  files FILE ...  ", "  --flag\n"})
    EXPECT_NE(help.find(line), std::string::npos) << line << "\n" << help;
  app.set_help_all_flag("--help-all", "Print the help of every verb");
  EXPECT_NE(app.help().find("\nVerbs:\n  verb "), std::string::npos) << app.help();
  EXPECT_NE(app.help().find("--help-all"), std::string::npos) << app.help();
  CLI::App* other = app.add_subcommand("other", "Show another one");
  EXPECT_EQ(other->help().find("--help-all"), std::string::npos) << "it has no parts";
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
  for (const char* part : {"PLAN", "Flags override the plan", "relative to the folder of the plan",
                           "--write-plan", "Examples:", "Exit codes:", "Data:", "--label COLUMN"}) {
    // Wherever lines break.
    std::string words, all;
    for (std::istringstream in(help); in >> words;) all += words + " ";
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << help;
  }
}

}  // namespace
}  // namespace espalier::cli
