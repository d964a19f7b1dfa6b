// What verbs share: flags that mean the same everywhere, and where text comes from and goes to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/called_command.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/messages.h"
#include "cli/verbs.h"
#include "espalier/layers.h"
#include "ir/graph.h"
#include "report/terminal.h"

namespace espalier::cli {

// The program in the text of `path`. Raises IoError, FormatError[text.*].
std::shared_ptr<const Graph> read_program(const std::string& path);

// Where results go: text for people or JSON, standard output or a file.
struct Results {
  bool json = false;
  std::string out = "-";
  std::shared_ptr<std::vector<std::string>> warned = std::make_shared<std::vector<std::string>>();

  void add_json(CLI::App& verb);
  void add_out(CLI::App& verb);
  // What the place that they go to can show.
  Terminal terminal() const;
  // To `out`: whole or not at all when it is a file.
  void write(std::string_view text) const;
  // Raises ValueError[results.out] when `out` is one of these files, which a verb reads.
  void keep(const std::vector<std::string>& inputs) const;
  // A line on standard error for each text, "warning: " before it; the verb puts `*warned` into its JSON.
  void warn(const std::vector<std::string>& texts) const;
  // What work says while it lasts: notes on standard error, warnings as warn() has them.
  operator Messages() const;
  // {"version": 1, "verb": ..., and the fields of `body`}.
  void write_json(const std::string& verb, const nlohmann::ordered_json& body) const;
  // "next: " and a command as the last line of standard output; nothing with --json. For one that would read
  // a stream again, its help.
  void suggest(const std::vector<std::string>& arguments) const;
  // Of a file that was written to `out`: the same; on standard error, where that is standard output and holds
  // the file, the call as it was with --out `name`.
  void suggest_with_file(const std::vector<std::string>& arguments, const std::string& name) const;
  // On standard error, which file of --out was written, if one was.
  void say_written() const;
};

// A file that a flag names to be written.
struct Written {
  const char* flag;
  std::string path;
};
// Raises ValueError[results.apart] where two of them are one file, which the second would replace; "" and "-"
// are none, and a stream takes both.
void keep_apart(const std::vector<Written>& files);

// On standard error, beside the results.
void say_aside(const std::string& text);

// A line of text behind its head of ten columns.
std::string headed_line(const std::string& head, const std::string& text);

// The call as a whole with another flag, quoted; in words where nobody called a command.
std::string called_again(const std::string& flag);
// A file's name as a command takes it: "./" before one that begins with a dash.
std::string file_word(const std::string& path);
// That of the path, or, where something is there, of the first of NAME-2, NAME-3, ... that is free.
std::string free_name(const std::string& path);
// `check` of a model on rows: against its gates, or to write them where they are not there; gates.toml is of
// `model`, NAME-gates.toml of others.
std::vector<std::string> check_words(const std::string& model, const std::string& data);

// What a flag takes: one of these words; a number from `low` to `high`; the name of what is written.
CLI::Validator one_of_words(std::vector<std::string> words);
CLI::Validator number_from(int64_t low, int64_t high);
CLI::Validator number_from(double low, double high);
CLI::Validator a_name();
// The name of a column by itself, which may stand in quotes.
CLI::Validator a_column();
// The words between commas of each text, without blanks and quotes around them (base/listed_names.h).
std::vector<std::string> comma_separated(const std::vector<std::string>& texts);

// --seed.
CLI::Option* add_seed(CLI::App& verb, uint64_t& seed);
// --dtype: f32 or bf16.
CLI::Option* add_dtype(CLI::App& verb, std::string& dtype,
                       const std::vector<std::string>& words = {"f32", "bf16", "f16"});
// --threads.
void add_threads(CLI::App& verb);

}  // namespace espalier::cli
