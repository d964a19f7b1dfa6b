#include "cli/common.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/input_file.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "espalier/threads.h"
#include "launch/launch_environment.h"
#include "report/progress.h"
#include "strategy/replicas.h"
#include "text/text.h"
#include "train/saved_files.h"

namespace espalier::cli {
void say_aside(const std::string& text) { std::fputs(text.c_str(), stderr); }

std::string headed_line(const std::string& head, const std::string& text) {
  constexpr size_t kWidth = 10;
  return cat(head, std::string(kWidth - std::min(kWidth - 1, head.size()), ' '), text, "\n");
}

std::string called_again(const std::string& flag) {
  std::vector<std::string> words = called_words();
  if (words.empty()) return flag.empty() ? "the same command" : cat("the same command with ", flag);
  if (!flag.empty() && std::ranges::find(words, flag) == words.end()) words.push_back(flag);
  bool reads = false;
  for (size_t i = 0; i < words.size(); ++i) reads |= words[i] == "-" && (i == 0 || words[i - 1] != "--out");
  // As one of several.
  const char* const launch = std::getenv(kLaunchVariable);
  return cat("`", launch ? cat(launch, " -- ") : "", command(words), "`",
             reads ? " with the same standard input" : "");
}

std::string file_word(const std::string& path) { return path.starts_with('-') ? "./" + path : path; }

std::string free_name(const std::string& path) {
  const std::filesystem::path whole = path;
  std::filesystem::path out = whole;
  for (int i = 2; posix_env().exists(out.string()); ++i)
    out.replace_filename(cat(whole.stem().string(), "-", i, whole.extension().string()));
  return file_word(out.string());
}

std::vector<std::string> check_words(const std::string& of_model, const std::string& of_data) {
  // As short as they can be: a plan in a folder says folder/../model.
  const auto plain = [](const std::string& path) {
    const std::string out = std::filesystem::path(path).lexically_normal().string();
    return path == "-" ? out : file_word(out);
  };
  const std::string model = plain(of_model), data = plain(of_data);
  // Beside the model: that of another folder is of another model.
  const std::filesystem::path folder = std::filesystem::path(model + "/").parent_path();
  const std::string name = folder.filename().string();
  const std::string gates =
      (folder.parent_path() / (name == "model" ? "gates.toml" : cat(name, "-gates.toml"))).string();
  if (posix_env().exists(gates)) return {"check", model, data, "--gates", gates};
  return {"check", model, data, "--init", "--out", gates};
}

std::shared_ptr<const Graph> read_program(const std::string& path) {
  if (saved_files::holds_model(path))
    throw ValueError("graph.model", cat(path, " is a saved model, and its programs are templates"),
                     command({"export", path, "--to", "stablehlo", "--out", "program.mlir"}));
  const std::string text = read_text(path);
  try {
    return parse_program(text, source_name(path));
  } catch (const FormatError& error) {
    const std::string message = cat(source_name(path), ": ", printable(error.message()));
    if (path.ends_with(".onnx"))
      throw FormatError(error.rule(), cat(message, "; ONNX is imported"),
                        command({"import", path, "--out", std::filesystem::path(path).stem().string()}));
    if (text.find("${") == std::string::npos) throw FormatError(error.rule(), message, error.fix());
    throw FormatError(error.rule(),
                      cat(message,
                          "; a saved model's programs are templates, ${...} stands for numbers "
                          "that follow from the batch"),
                      "give what `espalier export MODEL --to stablehlo --out program.mlir` writes");
  }
}

void Results::add_json(CLI::App& verb) { verb.add_flag("--json", json, "Write results as JSON"); }
void Results::add_out(CLI::App& verb) {
  // Before the work, not after it.
  const auto writable = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
    if (path == "-" || std::filesystem::is_directory(folder, error)) return std::string();
    return cat("there is no folder ", folder.string());
  };
  verb.add_option("--out", out, "Write results to this file (- for standard output)")
      ->option_text("FILE [-]")
      ->check(a_name())
      ->check(CLI::Validator(writable, ""));
}

Terminal Results::terminal() const {
  constexpr int kFile = -1;
  return Terminal::of(out == "-" ? STDOUT_FILENO : kFile);
}

void Results::write(std::string_view text) const {
  if (!is_chief()) return;
  if (out != "-") return posix_env().write_file(out, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw IoError("file.write", "cannot write standard output");
}

void Results::keep(const std::vector<std::string>& inputs) const { keep_inputs(out, inputs); }

void keep_apart(const std::vector<Written>& files) {
  namespace fs = std::filesystem;
  const auto same = [](const std::string& a, const std::string& b) {
    std::error_code none;
    const auto whole = [&](const std::string& path) {
      return fs::weakly_canonical(fs::absolute(path, none), none);
    };
    return fs::equivalent(a, b, none) || (!whole(a).empty() && whole(a) == whole(b));
  };
  for (auto second = files.begin(); second != files.end(); ++second) {
    if (second->path.empty() || is_stream(second->path)) continue;
    for (auto first = files.begin(); first != second; ++first) {
      if (first->path.empty() || is_stream(first->path) || !same(first->path, second->path)) continue;
      throw ValueError("results.apart",
                       cat(first->flag, " ", first->path, " and ", second->flag, " ", second->path,
                           " are one file, and the second would replace the first"),
                       "name two files");
    }
  }
}

void Results::warn(const std::vector<std::string>& texts) const {
  for (const std::string& text : texts) std::fputs(cat("warning: ", text, "\n").c_str(), stderr);
  warned->insert(warned->end(), texts.begin(), texts.end());
}

Results::operator Messages() const {
  return Messages({.lines = say_aside,
                   .note = [](const std::string& sentence) { say_aside(cat("note: ", sentence, "\n")); },
                   .warning = [*this](const std::string& sentence) { warn({sentence}); },
                   .detail =
                       [](const std::string& text, bool important) {
                         const Terminal terminal = Terminal::of(STDERR_FILENO);
                         say_aside(terminal.paint(important ? Ink::kBold : Ink::kDim, cat("  ", text)) +
                                   "\n");
                       },
                   .progress =
                       [](const std::string& label, int64_t total, const std::string& unit) {
                         const auto bar = std::make_shared<ProgressBar>();
                         bar->start(label, total, unit);
                         return [bar](int64_t done) { bar->update(done); };
                       }});
}

void Results::write_json(const std::string& verb, const nlohmann::ordered_json& body) const {
  nlohmann::ordered_json all = {{"version", 1}, {"verb", verb}};
  all.update(body);
  write(json_text(all));
}

void Results::say_written() const {
  if (out != "-" && !json) std::fputs(cat("wrote ", out, "\n").c_str(), stderr);
}

namespace {

// What was read of a stream is gone: the help of the verb says how to go on.
std::vector<std::string> at_hand(const std::vector<std::string>& arguments) {
  if (std::ranges::none_of(arguments, is_stream)) return arguments;
  const bool of_parts = arguments[0] == "data" || arguments[0] == "fairness";
  std::vector<std::string> out(arguments.begin(), arguments.begin() + (of_parts ? 2 : 1));
  out.emplace_back("--help");
  return out;
}

}  // namespace

void Results::suggest(const std::vector<std::string>& arguments) const {
  if (!json) std::printf("next: %s\n", command(at_hand(arguments)).c_str());
}

void Results::suggest_with_file(const std::vector<std::string>& arguments, const std::string& name) const {
  if (out != "-") return suggest(arguments);
  std::vector<std::string> words = called_words();
  if (json || words.empty()) return;
  words.insert(words.end(), {"--out", name});
  std::fputs(cat("next: ", command(at_hand(words)), "\n").c_str(), stderr);
}

namespace {

template <class T>
CLI::Validator number_between(T low, T high, const char* what) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        T value{};
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        const bool number = stop == end && error != std::errc::invalid_argument;
        if (!number)
          return cat("\"", text, "\" is no ", what,
                     text.find(',') == text.npos ? "" : ": the decimal sign is a point");
        const bool within = error == std::errc() && value >= low && value <= high;
        const auto shown = [](T limit) {
          if constexpr (std::is_floating_point_v<T>) return shortest(limit);
          return cat(limit);
        };
        if (within) return "";
        return high == std::numeric_limits<T>::max()
                   ? cat(text, " is below ", shown(low))
                   : cat(text, " is not from ", shown(low), " to ", shown(high));
      },
      "");
}

}  // namespace

CLI::Validator one_of_words(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](const std::string& text) -> std::string {
        if (std::ranges::count(words, text)) return "";
        std::string known;
        for (size_t i = 0; i < words.size(); ++i)
          known += cat(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
        return cat("\"", text, "\" is not ", known);
      },
      "");
}
CLI::Validator number_from(int64_t low, int64_t high) { return number_between(low, high, "whole number"); }
CLI::Validator number_from(double low, double high) { return number_between(low, high, "number"); }
CLI::Validator a_name() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "a file needs a name" : ""; },
                        "");
}

CLI::Validator a_column() {
  return CLI::Validator(
      [](std::string& text) {
        text = name_alone(text);
        return std::string();
      },
      "");
}

std::vector<std::string> comma_separated(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    for (std::string& name : names_listed(text)) out.push_back(std::move(name));
  }
  return out;
}

CLI::Option* add_seed(CLI::App& verb, uint64_t& seed) {
  const auto digits = [](const std::string& text) {
    const bool fine = !text.empty() &&
                      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
    return fine ? std::string() : cat("a seed is a whole number from 0 on, not ", text);
  };
  return verb.add_option("--seed", seed, "Random seed for initial weights and row order")
      ->option_text(cat("N [", seed, "]"))
      ->check(CLI::Validator(digits, ""));
}

CLI::Option* add_dtype(CLI::App& verb, std::string& dtype, const std::vector<std::string>& words) {
  std::string listed;
  for (const std::string& word : words) listed += cat(listed.empty() ? "" : "|", word);
  return verb
      .add_option(
          "--dtype", dtype,
          "Dtype that layers compute in; variables stay f32 (Keras policies mixed_bfloat16, mixed_float16)")
      ->option_text(cat(listed, " [", dtype, "]"))
      ->check(one_of_words(words));
}

void add_threads(CLI::App& verb) {
  verb.add_option_function<int>(
          "--threads", set_threads,
          "Number of CPU threads, by default one per processor (does not change results)")
      ->option_text(cat("N [", threads(), "]"));
}

}  // namespace espalier::cli
