#include "cli/help.h"

#include <sstream>

namespace espalier::cli {
namespace {

// --help-all shifts the pages of the verbs by two.
constexpr size_t kWidth = kHelpColumns - 2;

// The words of `text` in lines that begin at `indent` and end before kWidth; the first one begins at `at`.
std::string wrapped(const std::string& text, size_t indent, size_t at) {
  std::istringstream words(text);
  std::string out, word;
  while (words >> word) {
    if (at > indent && at + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out;
}

class Manual final : public CLI::Formatter {
 public:
  Manual() { label("SUBCOMMAND", "VERB"); }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    using CLI::detail::find_and_replace;
    std::string out = CLI::Formatter::make_help(app, std::move(name), mode);
    // The name of the parser's usual group.
    out = find_and_replace(std::move(out), "Subcommands:\n", "Verbs:\n");
    // A verb without parts has no further pages.
    if (const CLI::Option* all = app->get_help_all_ptr(); all && app->get_subcommands({}).empty())
      out = find_and_replace(std::move(out), make_option(all, false), "");
    return find_and_replace(std::move(out), "\n\n\n", "\n\n");
  }
  std::string make_option(const CLI::Option* option, bool positional) const override {
    return entry(make_option_name(option, positional) + make_option_opts(option), make_option_desc(option));
  }
  // One notation on all pages: NAME METAVAR [default]. The usage line says what is required, and texts say
  // which options need or exclude each other.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_option_text().empty()) return " " + option->get_option_text();
    if (option->get_expected_max() == 0) return "";  // a flag
    std::string out = " " + option->get_type_name();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) out += " ...";
    if (!option->get_default_str().empty()) out += " [" + option->get_default_str() + "]";
    return out;
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return entry(verb->get_name(), verb->get_description());
  }
  // What has to be given stands in it.
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string needed;
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_required() && option->nonpositional())
        needed += " " + option->get_name() + make_option_opts(option);
    }
    return CLI::detail::find_and_replace(CLI::Formatter::make_usage(app, std::move(name)), " [OPTIONS]",
                                         needed + " [OPTIONS]");
  }
  std::string make_description(const CLI::App* app) const override {
    const std::string text = app->get_description();
    return text.empty() ? text : wrapped(text, 0, 0) + "\n\n";
  }

 private:
  // A name, and what it means beside it; below it, when the name is long.
  static std::string entry(const std::string& name, const std::string& meaning) {
    constexpr size_t kMeanings = 26;
    std::string out = "  " + name;
    if (meaning.empty()) return out + "\n";
    if (out.size() + 2 > kMeanings)
      out += "\n" + std::string(kMeanings, ' ');
    else
      out.resize(kMeanings, ' ');
    return out + wrapped(meaning, kMeanings, kMeanings) + "\n";
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<Manual>(); }

}  // namespace espalier::cli
