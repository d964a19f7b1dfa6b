#include "cli/call.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "cli/common.h"
#include "cli/program_mark.h"
#include "espalier/error.h"
#include "launch/control_end.h"

namespace espalier::cli {
namespace {

// One line for each word that is no verb and no flag, with the nearest known ones.
std::string unknown_words(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> verbs, parts, flags;
  const auto flags_of = [&](const CLI::App* from) {
    for (const CLI::Option* option : from->get_options()) {
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
  };
  flags_of(&app);
  const auto verbs_of = [](const CLI::App* from) {
    return from->get_subcommands([](const CLI::App*) { return true; });
  };
  std::string part_of;
  for (const CLI::App* verb : verbs_of(&app)) {
    verbs.push_back(verb->get_name());
    for (const CLI::App* part : verbs_of(verb)) {
      if (argc > 1 && part->get_name() == argv[1]) part_of = cat(verb->get_name(), " ", argv[1]);
    }
    if (argc < 2 || verb->get_name() != argv[1]) continue;
    flags_of(verb);
    for (const CLI::App* part : verbs_of(verb)) {
      parts.push_back(cat(argv[1], " ", part->get_name()));
      if (argc > 2 && part->get_name() == argv[2]) flags_of(part);
    }
  }
  if (!part_of.empty() && std::ranges::find(verbs, argv[1]) == verbs.end())
    return cat("unknown verb ", argv[1], ": did you mean ", part_of, "?\n");
  std::string out;
  const auto check = [&](const char* what, const std::string& word, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), word) != known.end()) return;
    out += cat("unknown ", what, " ", word);
    const auto close = nearest(word, known);
    for (size_t i = 0; i < close.size(); ++i) out += cat(i ? " or " : ": did you mean ", close[i]);
    out += close.empty() ? "\n" : "?\n";
  };
  if (argc > 1 && argv[1][0] != '-') check("verb", argv[1], verbs);
  if (!out.empty()) return out;  // its flags are another verb's
  if (!parts.empty() && argc > 2 && argv[2][0] != '-') {
    check("verb", cat(argv[1], " ", argv[2]), parts);
    if (!out.empty()) return out;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (word.size() > 2 && word.starts_with("--")) check("flag", word, flags);
  }
  return out;
}

// The verb that was called, and its part: "data check".
std::string verb_of(const CLI::App& app) {
  std::string out;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands()[0];
    out += cat(out.empty() ? "" : " ", at->get_name());
  }
  return out;
}

const CLI::App* part_called(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands()[0];
  return at;
}

std::string called(const CLI::App& app) {
  const std::string verb = verb_of(app);
  return cat(app.get_name(), verb.empty() ? "" : " ", verb);
}

// Of a verb without its part, which ones it has.
std::string said_of(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = part_called(app);
  std::string parts;
  for (const CLI::App* part : at->get_subcommands([](const CLI::App*) { return true; }))
    parts += cat(parts.empty() ? "" : ", ", part->get_name());
  const bool lacks_part =
      !parts.empty() && std::string_view(error.what()).find("subcommand") != std::string_view::npos;
  return lacks_part ? cat(called(app), " needs one of: ", parts) : std::string(error.what());
}

// For programs on standard output, where the verb that was called has --json and it was given.
void write_error(const CLI::App& app, int argc, char** argv, const nlohmann::ordered_json& body) {
  const CLI::App* at = part_called(app);
  if (!at->get_option_no_throw("--json") ||
      std::none_of(argv, argv + argc, [](const char* word) { return word == std::string("--json"); }))
    return;
  try {
    Results{.json = true}.write_json(verb_of(app), {{"error", body}});
  } catch (const IoError&) {
    // Standard error has said it already.
  }
}

// What is missing, and how the verb is called.
int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const std::string unknown = unknown_words(app, argc, argv);
  const std::string message = unknown.empty() ? said_of(app, error) : unknown.substr(0, unknown.size() - 1);
  std::fprintf(stderr, "espalier: %s\n", message.c_str());
  const std::string help = app.help();
  const size_t usage = help.find("Usage: ");
  if (unknown.empty() && usage != help.npos)
    std::fprintf(stderr, "%s\n", help.substr(usage, help.find('\n', usage) - usage).c_str());
  const std::string help_of = called(app) + " --help";
  std::fprintf(stderr, "`%s` lists verbs and flags\n", help_of.c_str());
  write_error(app, argc, argv,
              {{"kind", "UsageError"}, {"rule", "cli.use"}, {"message", message}, {"fix", help_of}});
  return 2;
}

// What a file says may not steer a terminal.
std::string for_terminal(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') c = '?';
  }
  return text;
}

int report(const CLI::App& app, const Error& error, int argc, char** argv) {
  std::fprintf(stderr, "espalier: %s%s%s%s\n", for_terminal(error.message()).c_str(),
               error.rule().empty() ? "" : " [", error.rule().c_str(), error.rule().empty() ? "" : "]");
  if (!error.fix().empty()) std::fprintf(stderr, "  fix: %s\n", for_terminal(error.fix()).c_str());
  write_error(
      app, argc, argv,
      {{"kind", error.kind()}, {"rule", error.rule()}, {"message", error.message()}, {"fix", error.fix()}});
  return 2;
}

}  // namespace

int call(CLI::App& app, int argc, char** argv, const std::function<void()>& add_verbs) {
  try {
    if (add_verbs) add_verbs();
    if (argc == 1) {
      app.exit(CLI::CallForHelp(), std::cerr, std::cerr);
      return 2;
    }
    std::vector<std::string> given = with_program_mark(app, {argv, argv + argc});
    if (given.size() > static_cast<size_t>(argc)) set_program(given[0], {given.begin() + 1, given.end()});
    std::vector<char*> words;
    for (std::string& word : given) words.push_back(word.data());
    // "help data check" is "data check --help".
    std::string help = "--help";
    if (std::string_view(argv[1]) == "help") {
      words.erase(words.begin() + 1);
      words.push_back(help.data());
    }
    app.parse(static_cast<int>(words.size()), words.data());
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
      std::fputs("espalier: standard output cannot be written\n", stderr);
      return 2;
    }
    return 0;
  } catch (const CLI::Success& help) {
    const int code = app.exit(help);
    return std::fflush(stdout) == 0 && std::cout.flush() ? code : 2;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, argc, argv);
  } catch (const Exit& exit) {
    return exit.code;
  } catch (const InternalError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  } catch (const Error& error) {
    if (error.rule() != "comm.verdict") return report(app, error, argc, argv);
    // The launcher says its own, which have an id, once for all. That it is gone nobody else says.
    const bool said = std::getenv("ESPALIER_CONTROL") &&
                      std::string_view(error.what()).find(" (verdict ") != std::string_view::npos;
    if (!said) report(app, error, argc, argv);
    return kVerdictStatus;
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string path = shortened(error.path1().string());
    return report(app, IoError("file.path", cat("cannot use ", path, ": ", error.code().message())), argc,
                  argv);
  } catch (const std::bad_alloc&) {
    std::fputs("espalier: not enough memory for sizes like these\n", stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "espalier: %s\n", error.what());
    return 4;
  }
}

}  // namespace espalier::cli
