// espalier export: a saved model in a format of others.
#include "train/export.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/c_quoted.h"
#include "base/env.h"
#include "base/find_named.h"
#include "base/format.h"
#include "base/shell_words.h"
#include "base/shortest.h"
#include "cli/reading_files.h"
#include "cli/train_images.h"
#include "passes/bind_variables.h"
#include "passes/pass.h"
#include "tables/loaded_table_model.h"
#include "tables/scores.h"
#include "text/c.h"
#include "train/program.h"

namespace espalier::cli {
namespace {

struct ExportRun {
  std::string model, format, out, name;
  bool caller_scratch = false, weights_as_arguments = false;
  int64_t batch = 0;
  Results results;
};

// A file that was written, or what standard output is to hold.
struct Exported {
  std::vector<std::string> files;
  std::string text;  // for people
  std::string next;  // command
};

// The inference for `batch` rows, its weights as constants.
std::shared_ptr<const Graph> inference(LoadedModel& model, int64_t batch) {
  const TracedModel traced = trace_for_export(model, batch);
  return optimize(bind_variables(*traced.graph, values_of(traced.variables)));
}

// Which cells hold no value.
std::string missing_note(const ColumnProgram& columns) {
  std::string words;
  for (const std::string& word : columns.missing_words())
    words += cat(words.empty() ? "" : ", ", c_quoted(word));
  std::string values;
  for (const auto& [column, its] : columns.value_words()) {
    for (const std::string& word : its)
      values += cat(values.empty() ? "" : ", ", c_quoted(word), " of ", c_quoted(column));
  }
  if (!values.empty()) words += cat(" (but ", values, ")");
  return cat("Blanks around a cell are no part of it. Missing are ", words, words.empty() ? "" : ", and ",
             "what is no number, date or truth value where the column holds them; "
             "truth values are read in any case.");
}

// How a class is chosen that need not be the likeliest; empty for a model without a threshold.
std::string decision_note(const LoadedModel& model, const ColumnProgram& columns, const std::string& path) {
  const std::string decided = text_of(decision_of(model, columns, path), columns);
  return decided.empty() ? "" : cat("`espalier predict` does not take the likeliest class: ", decided);
}

// What `espalier predict` makes of outputs y of a regression, beyond their unit.
std::string limits_note(const ColumnProgram& columns) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<double> limits = columns.predicted_values(std::vector<float>{-kInfinity, kInfinity});
  return cat(", which `espalier predict` keeps within the labels of the training rows, ", shortest(limits[0]),
             " to ", shortest(limits[1]));
}

// A line for each class, its name in quotes where it cannot be read without.
void add_classes(std::vector<std::string>& notes, const std::vector<std::string>& classes) {
  notes.emplace_back("The output has a number for each class, of which softmax makes probabilities:");
  for (size_t i = 0; i < classes.size(); ++i) {
    const std::string quoted = c_quoted(classes[i]);
    const bool plain = quoted.size() == classes[i].size() + 2;
    notes.push_back(cat("  ", i, " ", plain ? classes[i] : quoted));
  }
}

// How a file becomes what a model of images takes: read_images.
std::vector<std::string> image_notes(LoadedModel& model, const std::string& path) {
  const TensorType row = model.input_rows()[0];
  const bool colours = row.rank() == 3 && row.shape[2] == 3;
  std::vector<std::string> out = {
      cat("The input is an image of ", row.shape[0], "x", row.shape[1],
          ": rows from the top, of each its pixels from the left, of each pixel its ",
          colours ? "red, green and blue" : "grey", ", each from 0 to 1: a byte divided by 255."),
      cat("Of a JPEG or PNG file `espalier predict` leaves out alpha, profile and orientation",
          colours ? "."
                  : "; of colours the grey is 0.299 red + 0.587 green + 0.114 blue, rounded to a byte."),
      "A file of another height or width is resized along that axis: each new pixel i is a mean of the old "
      "pixels j,",
      "with weights max(0, 1 - |j - c| / r) divided by their sum, where c is (i + 0.5) s - 0.5, s the old "
      "size "
      "divided by the new one, r s or 1, whichever is more."};
  add_classes(out, image_classes(model, path));
  return out;
}

// What the numbers of a row and of a result are, where a table or images say it.
std::vector<std::string> notes_of(LoadedModel& model, const std::string& path) {
  if (takes_images(model) && model.has_file(kImagesFile)) return image_notes(model, path);
  if (!model.has_file(kColumnsFile)) return {};
  const ColumnProgram columns = columns_of(model, path);
  std::vector<std::string> out = {"The input is what the column program of the model makes of a row:"};
  const std::vector<std::string> features = columns.feature_names(), formulas = columns.feature_formulas();
  for (size_t i = 0; i < features.size(); ++i)
    out.push_back(cat("  ", i, " ", features[i], ": ", formulas[i]));
  out.push_back(missing_note(columns));
  if (columns.classification()) {
    add_classes(out, columns.classes());
    if (const std::string decided = decision_note(model, columns, path); !decided.empty())
      out.push_back(decided);
  } else {
    out.push_back(cat("The output y means ", columns.label_log() ? "exp(" : "",
                      shortest(columns.label_mean()), " + ", shortest(columns.label_scale()), " y",
                      columns.label_log() ? ") - 1" : "", " of ", columns.label(), limits_note(columns)));
  }
  return out;
}

// What C's names begin with: as told, else after the file, so that two models can be in one program.
std::string c_name(const ExportRun& run) {
  if (!run.name.empty()) return run.name;
  std::string out = std::filesystem::path(run.out).stem().string();
  for (char& c : out) {
    if (static_cast<unsigned char>(c) > 127 || !std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "model_" + out : out;
}

Exported export_c(LoadedModel& model, const ExportRun& run) {
  const std::string name = c_name(run);
  const int64_t batch = model.fixed_batch() ? model.fixed_batch() : 1;
  const CExport code =
      print_c(*inference(model, batch), {},
              {.name = name, .caller_scratch = run.caller_scratch, .notes = notes_of(model, run.model)});
  if (run.out == "-")
    throw ValueError("export.out", "C is two files, which standard output cannot be", "--out net.c");
  const bool bare = !std::filesystem::path(run.out).has_extension();
  const std::string source = bare ? run.out + ".c" : run.out;
  const std::string header = std::filesystem::path(source).replace_extension(".h").string();
  if (header == source)
    throw ValueError("export.out", cat("the file ", source, " would be its own header; name it .c"));
  posix_env().write_file(source, code.source);
  posix_env().write_file(header, code.header);
  return {{source, header},
          cat("for ", batch, batch == 1 ? " row" : " rows", " a call of ", name, "_predict\n"),
          shell_words(source.ends_with(".c")
                          ? std::vector<std::string>{"cc", "-std=c99", "-O2", "-c", source}
                          : std::vector<std::string>{"cc", "-std=c99", "-O2", "-x", "c", "-c", source})};
}

// How rows and images are read, for `import`: files of the model under keys that begin with espalier.
std::map<std::string, std::string> files_for_import(const LoadedModel& model) {
  std::map<std::string, std::string> out;
  for (const char* name : kReadingFiles) {
    if (model.has_file(name)) out[cat(kMetadataPrefix, name)] = model.file(name);
  }
  return out;
}

Exported export_onnx(LoadedModel& model, const ExportRun& run) {
  std::string doc;
  for (const std::string& note : notes_of(model, run.model)) doc += cat(doc.empty() ? "" : "\n", note);
  Results{.out = run.out}.write(model_onnx(model, run.batch, doc, files_for_import(model)));
  const int64_t batch = run.batch ? run.batch : model.fixed_batch();
  const std::vector<std::string> given = model.input_names();
  std::string names;
  for (size_t i = 0; i < model.input_rows().size(); ++i)
    names += cat(i ? ", " : "", given.empty() ? cat("x", i) : given[i]);
  return {{run.out},
          cat("for ", batch ? std::to_string(batch) : "any number of", batch == 1 ? " row" : " rows",
              model.input_rows().size() > 1 ? ", inputs " : ", input ", names,
              "; onnxruntime runs it, and `espalier import` reads it\n"),
          command({"info", run.model})};
}

Exported export_stablehlo(LoadedModel& model, const ExportRun& run) {
  const int64_t batch = run.batch ? run.batch : std::max<int64_t>(model.fixed_batch(), 1);
  Results{.out = run.out}.write(
      model_stablehlo(model, {.batch = batch, .weights_as_arguments = run.weights_as_arguments}));
  return {
      {run.out}, cat("a module for ", batch, batch == 1 ? " row\n" : " rows\n"), command({"graph", run.out})};
}

struct Format {
  const char *name, *what;
  Exported (*write)(LoadedModel& model, const ExportRun& run);
  // Whether it has --name and --caller-scratch, --batch, --weights-as-arguments.
  bool naming = false, batches = false, arguments = false;
};
constexpr Format kFormats[] = {
    {"c", "a C99 file and its header, without dependencies; not to standard output", export_c, true},
    {"onnx", "a model for onnxruntime", export_onnx, false, true},
    {"stablehlo", "a module of StableHLO ops, for JAX", export_stablehlo, false, true, true},
};

void check_options(const ExportRun& run, const Format& format) {
  const auto check = [&](bool given, bool taken, const char* option, const char* formats) {
    if (given && !taken)
      throw ValueError("export.option", cat(option, " is for --to ", formats, ", not for ", format.name),
                       "leave it out");
  };
  check(!run.name.empty(), format.naming, "--name", "c");
  check(run.caller_scratch, format.naming, "--caller-scratch", "c");
  check(run.batch > 0, format.batches, "--batch", "onnx and stablehlo");
  check(run.weights_as_arguments, format.arguments, "--weights-as-arguments", "stablehlo");
  if (run.out.ends_with('/') || std::filesystem::is_directory(run.out))
    throw ValueError("export.out", cat(run.out, " is a folder, and what is written a file"),
                     cat("--out ", (std::filesystem::path(run.out) / "model").string(), ".",
                         std::string_view(format.name) == "stablehlo" ? "mlir" : format.name));
}

void export_model(const ExportRun& run) {
  const Format& format = find_named("export.format", "format", run.format, kFormats);
  check_options(run, format);
  namespace fs = std::filesystem;
  std::error_code none;
  if (fs::equivalent(fs::absolute(run.out).parent_path(), run.model, none))
    throw ValueError("export.out", cat(run.out, " lies in the model's own folder; write it elsewhere"));
  LoadedModel model = load_model(run.model);
  if (run.out == "-" && run.results.json)
    throw ValueError("export.out", "--json and the program cannot both be on standard output", "--out FILE");
  const Exported exported = format.write(model, run);
  if (model.has_file(kColumnsFile)) {
    const std::string decided = decision_note(model, columns_of(model, run.model), run.model);
    if (!decided.empty()) std::fputs(cat("note: ", decided, "\n").c_str(), stderr);
  }
  if (run.out == "-") return;
  if (run.results.json) {
    return run.results.write_json("export",
                                  {{"model", run.model}, {"format", run.format}, {"files", exported.files}});
  }
  std::string text = "wrote";
  for (const std::string& file : exported.files) text += " " + file;
  run.results.write(cat(text, ": ", exported.text, "next: ", exported.next, "\n"));
}

constexpr const char* kExportExamples =
    R"(Examples:
  espalier export model/ --to c --out income.c
      Write income.c and income.h; a comment explains how to encode a row.
  espalier export model/ --to onnx --out model.onnx
  espalier export model/ --to stablehlo --batch 1 --out program.mlir

Exit codes: 0 done, 2 usage error or bad input.)";

}  // namespace

void add_export(CLI::App& app) {
  auto run = std::make_shared<ExportRun>();
  std::string formats;
  for (const Format& format : kFormats)
    formats += cat(formats.empty() ? "" : ", ", format.name, " (", format.what, ")");
  CLI::App* verb = app.add_subcommand("export", "Export a saved model to another format");
  verb->add_option("model", run->model,
                   "Model folder, as written by `espalier train`, `import` or `quantize`")
      ->option_text("FOLDER")
      ->required();
  verb->add_option("--to", run->format, "Format to write: " + formats)
      ->transform([](const std::string& word) { return CLI::detail::to_lower(word); }, "", "")
      ->option_text("FORMAT")
      ->required();
  verb->add_option(
          "--out", run->out,
          "File to write (- for standard output); with --to c, its header is written beside it, with the "
          "ending .h")
      ->option_text("FILE")
      ->check(a_name())
      ->required();
  verb->add_option("--name", run->name,
                   "With --to c: prefix of the C identifiers (default: from the name of the file of --out)")
      ->option_text("NAME");
  verb->add_flag("--caller-scratch", run->caller_scratch,
                 "With --to c: let the caller pass the scratch memory of each call");
  verb->add_option("--batch", run->batch,
                   "With --to onnx or stablehlo: fix the number of rows of a call (default: onnx any number, "
                   "stablehlo 1, "
                   "or that of the model if it is fixed)")
      ->check(number_from(int64_t{1}, 1 << 30))
      ->option_text("N");
  verb->add_flag("--weights-as-arguments", run->weights_as_arguments,
                 "With --to stablehlo: make the weights arguments, not constants");
  run->results.add_json(*verb);
  verb->footer(kExportExamples);
  verb->callback([run] { export_model(*run); });
}

}  // namespace espalier::cli
