#include <cstdio>
#include <exception>

#include "base/format.h"
#include "cli/verbs.h"
#include "espalier/error.h"

namespace {

// The known flags and verbs nearest to an unexpected argument, as a line of help.
std::string suggestion(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  const auto options_of = [&](const CLI::App* from) {
    for (const CLI::Option* option : from->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  };
  options_of(&app);
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(verb->get_name());
  for (const CLI::App* verb : app.get_subcommands()) options_of(verb);
  std::string out;
  for (const std::string& name : espalier::nearest(word, known))
    out += espalier::cat(out.empty() ? "did you mean " : " or ", name);
  return out.empty() ? "" : out + "?\n";
}

int wrong_use(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::fprintf(stderr, "espalier: %s\n", error.what());
  for (int i = 1; i < argc; ++i) {
    if (std::string(error.what()).find(argv[i]) != std::string::npos)
      std::fputs(suggestion(app, argv[i]).c_str(), stderr);
  }
  std::fputs("`espalier --help` and `espalier VERB --help` say what is known\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains machine-learning models and carries them from raw data to a watched release.",
               "espalier");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every verb");
  for (const auto add : espalier::cli::kVerbs) add(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return wrong_use(app, error, argc, argv);
  } catch (const espalier::cli::Exit& exit) {
    return exit.code;
  } catch (const espalier::InternalError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  } catch (const espalier::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "espalier: %s\n", error.what());
    return 4;
  }
}
