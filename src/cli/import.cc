// espalier import: a model that others wrote, as a saved model.
#include <charconv>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/common.h"
#include "cli/info_model.h"
#include "cli/reading_files.h"
#include "espalier/error.h"
#include "espalier/onnx.h"
#include "espalier/saved_model.h"

namespace espalier::cli {
namespace {

struct ImportRun {
  std::string file, out;
  std::vector<std::string> sizes;
  Results results;
};

// "length=128".
std::map<std::string, int64_t> sizes_of(const std::vector<std::string>& texts) {
  std::map<std::string, int64_t> out;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    int64_t size = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + std::min(at, text.size() - 1) + 1, end, size);
    if (at == std::string::npos || at == 0 || read.ec != std::errc() || read.ptr != end || size < 1)
      throw ValueError("import.size",
                       cat("a size is NAME=N with a whole number from 1 on, not \"", text, "\""));
    out[text.substr(0, at)] = size;
  }
  return out;
}

// What an export of ours says of how rows and images are read. Raises FormatError[import.columns] where that
// is of another program.
std::map<std::string, std::string> reading_files(const OnnxModel& model, const std::string& file) {
  std::map<std::string, std::string> out;
  for (const char* name : kReadingFiles) {
    if (const auto found = model.metadata().find(cat(kMetadataPrefix, name)); found != model.metadata().end())
      out[name] = found->second;
  }
  if (const auto columns = out.find(kColumnsFile); columns != out.end()) {
    const auto refuse = [&](const std::string& why) {
      throw FormatError("import.columns", cat(file, ": ", kMetadataPrefix, kColumnsFile, ": ", why),
                        "export the model again");
    };
    int64_t width = 0;
    try {
      width = ColumnProgram::from_json(columns->second).width();
    } catch (const FormatError& error) {
      refuse(error.message());
    }
    const TensorType row{DType::kF32, {width}};
    if (model.input_rows() != std::vector{row})
      refuse(cat("a row becomes ", row, ", and the model takes ", model.input_rows()[0]));
  }
  return out;
}

std::string reading_text(const std::map<std::string, std::string>& files) {
  if (files.contains(kColumnsFile))
    return "  a row of the table is read as before the export; from which it learned is not known\n";
  if (files.contains(kImagesFile))
    return "  an image is read as before the export; from which it learned is not known\n";
  return "  the file does not say how a row of a table or an image becomes these: predict and evaluate, "
         "which "
         "read such, do not take the model\n";
}

void import_model(const ImportRun& run) {
  OnnxModel model = load_onnx(run.file, {.sizes = sizes_of(run.sizes)});
  const std::map<std::string, std::string> files = reading_files(model, run.file);
  model.save(run.out, {.files = files});
  // Not every program follows from the batch in a way that a folder can hold.
  const int64_t batch = load_model(run.out).fixed_batch();
  const auto& rows = model.input_rows();
  const int64_t parameters = trainable_parameters(model);
  if (run.results.json) {
    nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
    for (size_t i = 0; i < rows.size(); ++i)
      inputs.push_back({{"name", model.input_names()[i]}, {"row", to_string(rows[i])}});
    nlohmann::ordered_json read = nlohmann::ordered_json::array();
    for (const auto& [name, text] : files) read.push_back(name);
    return run.results.write_json("import", {{"file", run.file},
                                             {"out", run.out},
                                             {"parameters", parameters},
                                             {"batch", batch},
                                             {"inputs", inputs},
                                             {"files", read}});
  }
  std::string text = cat("wrote ", run.out, ": ", parameters, " parameters, ",
                         batch ? cat("batches of ", batch) : "any number of rows", "\n");
  for (size_t i = 0; i < rows.size(); ++i)
    text += cat("  input ", model.input_names()[i], " ", rows[i], "\n");
  run.results.write(text + reading_text(files));
  run.results.suggest({"info", run.out});
}

}  // namespace

void add_import(CLI::App& app) {
  auto run = std::make_shared<ImportRun>();
  CLI::App* verb = app.add_subcommand("import", "Import an ONNX model as a saved model");
  verb->add_option("file", run->file, "ONNX file, of operator set (opset) 11 to 28")
      ->option_text("FILE")
      ->required();
  verb->add_option("--out", run->out, "Folder to save the model in")
      ->option_text("FOLDER")
      ->check(a_name())
      ->required();
  verb->add_option("--size", run->sizes,
                   "Size of a symbolic dimension of the inputs, e.g. length=128; several, or repeat --size "
                   "(default: 1; "
                   "batch dimension: any size)")
      ->option_text("NAME=N");
  run->results.add_json(*verb);
  verb->footer(
      "Examples:\n"
      "  espalier import net.onnx --out net\n"
      "  espalier import text.onnx --size length=128 --out text\n"
      "\n"
      "Exit codes: 0 done, 2 usage error or bad input.");
  verb->callback([run] { import_model(*run); });
}

}  // namespace espalier::cli
