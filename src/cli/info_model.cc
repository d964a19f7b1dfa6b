#include "cli/info_model.h"

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "cli/train_images.h"
#include "eager/generator.h"
#include "report/table.h"
#include "tables/provenance_text.h"
#include "tables/scores.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

Json variables_json(const Model& model) {
  Json out = Json::array();
  for (const Variable& variable : model.variables()) {
    out.push_back({{"name", variable.path()},
                   {"type", to_string(variable.type())},
                   {"elements", variable.type().elements()},
                   {"bytes", variable.type().bytes()},
                   {"trainable", variable.trainable()}});
  }
  return out;
}

Json columns_json(const ColumnProgram& columns, const Decision& decision) {
  Json out = {{"label", columns.label()},
              {"task", columns.classification() ? "classification" : "regression"},
              {"features", columns.feature_names()},
              {"notes", json_of_notes(columns)}};
  if (columns.classification()) out["classes"] = columns.classes();
  if (columns.classes().size() == 2) {
    out["positive"] =
        decision.positive ? Json(columns.classes()[static_cast<size_t>(*decision.positive)]) : Json();
    out["positive_because"] = decision.because.empty() ? Json() : Json(decision.because);
  }
  if (decision.threshold) out["threshold"] = *decision.threshold;
  return out;
}

std::string training_text(const Json& training, const char* rows) {
  const auto text = [&](const char* key) {
    const auto it = training.find(key);
    return it == training.end() ? std::string("?") : it->is_string() ? it->get<std::string>() : it->dump();
  };
  std::string out =
      headed_line("trained", cat("on ", text("train_rows"), " ", rows, " of ",
                                 text("data") == "-" ? source_name("-") : text("data"), ", ", text("epochs"),
                                 text("epochs") == "1" ? " epoch" : " epochs", ", seed ", text("seed")));
  if (const auto linear = training.find("linear");
      linear != training.end() && linear->is_object() && linear->value("linear_kept", Json()) == true)
    out += headed_line("", "a linear model, which was better than layers: the epochs are its own");
  const auto test = training.find("test");
  if (test == training.end() || !test->is_object()) return out;
  if (const auto quantized = training.find("quantized");
      quantized != training.end() && quantized->is_object())
    out += headed_line("quantised", cat(quantized->value("products", Json()).dump(),
                                        " products on 8-bit integers, whose weights are no variables; the "
                                        "test is of the model before"));
  std::string scores;
  for (const auto& [name, value] : test->items()) {
    if (value.is_number_float())
      scores += cat(scores.empty() ? "" : ", ", name, " ", fixed(value.get<double>(), 4));
  }
  return out + headed_line("test", scores);
}

// How many numbers training changes; of a quantised model, that those it would change are constants.
std::string parameters_text(int64_t parameters, bool quantized) {
  const std::string out = cat(parameters, parameters == 1 ? " parameter" : " parameters");
  return quantized
             ? cat(parameters ? cat(out, " and ") : "", "weights in 8-bit integers, which are no parameters")
             : out;
}

std::string variables_text(const Model& model, const Terminal& terminal) {
  Table table({"variable", "type", "elements", "bytes"});
  bool any = false;
  for (const Variable& variable : model.variables()) {
    if (is_random_state(variable)) continue;
    any = true;
    table.row({variable.path(), to_string(variable.type()), variable.type().elements(),
               static_cast<int64_t>(variable.type().bytes())});
  }
  return any ? table.text(terminal) : "";
}

}  // namespace

int64_t trainable_parameters(const Model& model) {
  int64_t out = 0;
  for (const Variable& variable : model.trainable_variables()) out += variable.type().elements();
  return out;
}

void info_model(const std::string& path, const Results& results) {
  LoadedModel model = load_model(path);
  const Json training = model.has_file(kHistoryFile) ? json_file(model, kHistoryFile, path) : Json();
  const int64_t parameters = trainable_parameters(model);
  const bool table = model.has_file(kColumnsFile),
             images = takes_images(model) && model.has_file(kImagesFile);
  const bool quantized = training.is_object() && training.contains("quantized");
  if (results.json) {
    Json body = {{"model", path}, {"parameters", parameters}, {"variables", variables_json(model)}};
    body["inputs"] = Json::array();
    for (const TensorType& type : model.input_rows()) body["inputs"].push_back(to_string(type));
    if (const auto names = model.output_names(); !names.empty()) body["outputs"] = names;
    if (model.fixed_batch()) body["batch"] = model.fixed_batch();
    if (table) {
      const ColumnProgram columns = columns_of(model, path);
      body["columns"] = columns_json(columns, decision_of(model, columns, path));
    }
    if (images) body["classes"] = image_classes(model, path);
    if (training.is_object()) body["training"] = training;
    return results.write_json("info", body);
  }
  const Terminal terminal = results.terminal();
  std::string rows;
  for (const TensorType& type : model.input_rows()) rows += cat(rows.empty() ? "" : ", ", type);
  std::string text =
      headed_line("model", cat(path, ": ", parameters_text(parameters, quantized), "; a row is ", rows,
                               model.fixed_batch() ? cat(", always ", model.fixed_batch(), " of them") : ""));
  bool is_counted = true;  // whether a class is known that `check` counts from
  if (table) {
    const ColumnProgram columns = columns_of(model, path);
    text += headed_line("learned",
                        cat(columns.label(), " as ", columns.classification() ? "a class" : "a number"));
    const Decision decision = decision_of(model, columns, path);
    is_counted = columns.classes().size() != 2 || decision.positive;
    if (decision.positive)
      text += headed_line("positive", columns.classes()[static_cast<size_t>(*decision.positive)]);
    if (const std::string decided = text_of(decision, columns); !decided.empty())
      text += headed_line("decided", decided);
    if (training.is_object()) text += training_text(training, "rows");
    text += "\n";
    for (const Note& note : columns.notes())
      text += terminal.paint(note.warning ? Ink::kBold : Ink::kPlain, to_string(note)) + "\n";
    text += "\n";
  }
  if (images) {
    const std::vector<std::string> classes = image_classes(model, path);
    std::string names;
    for (const std::string& name : classes) names += cat(names.empty() ? "" : ", ", name);
    text += headed_line("learned", cat(classes.size(), " classes of images: ", names));
    if (training.is_object()) text += training_text(training, "images");
    text += "\n";
  }
  const std::string variables = variables_text(model, terminal);
  if (!table && !images && !variables.empty()) text += "\n";
  results.write(text + variables);
  const Json said = training.is_object() ? training.value("data", Json()) : Json();
  const std::string data = said.is_string() ? said.get<std::string>() : "";
  if ((table || images) && !data.empty() && posix_env().exists(data))
    // An evaluation that cannot lead to gates leads here.
    return results.suggest({is_counted ? "evaluate" : "predict", path, data});
  if (table) return results.suggest({"predict", path, "YOUR_ROWS.csv"});
  if (images) return results.suggest({"predict", path, "YOUR_IMAGE.png"});
  results.suggest({"export", path, "--to", "c", "--out", "model.c"});
}

}  // namespace espalier::cli
