#include "tables/replaced_model.h"

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "tables/image_model.h"
#include "tables/provenance.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

Json json_at(const std::string& file) { return Json::parse(posix_env().read_file(file), nullptr, false); }

// Whether the model at `path` has had epochs; where nobody knows, it had.
bool learned(const std::string& path) {
  const Json history = history_at(path);
  return !history.is_object() || history.value("epochs", Json()) != 0;
}

// Of the model at `path`; empty where that is none, or of no use to anybody.
std::string question_at(const std::string& path) {
  const std::string columns = path + "/" + kColumnsFile, images = path + "/" + kImagesFile;
  try {
    if (posix_env().exists(columns))
      return question_of(ColumnProgram::from_json(posix_env().read_file(columns)));
    if (posix_env().exists(images))
      return question_of(json_at(images).at("classes").get<std::vector<std::string>>());
  } catch (const FormatError&) {
  } catch (const nlohmann::json::exception&) {
  }
  return "";
}

}  // namespace

Json history_at(const std::string& path) {
  const std::string file = path + "/" + kHistoryFile;
  return posix_env().exists(file) ? json_at(file) : Json();
}

std::string question_of(const std::vector<std::string>& image_classes) {
  std::string out;
  for (const std::string& name : image_classes) out += cat(out.empty() ? "images of " : ", ", name);
  return out;
}

std::string question_of(const ColumnProgram& columns) { return cat("\"", columns.label(), "\""); }

void check_replaced(const std::string& path, const std::string& question, int epochs, bool force) {
  if (force) return;
  const char* other = "name another folder with --model, or replace that one with --force";
  const std::string now = question_at(path);
  if (now.empty()) return;
  if (epochs == 0 && learned(path)) {
    throw ValueError("train.model", cat("with 0 epochs an untrained model would take the place of ", path),
                     other);
  }
  if (now != question) {
    throw ValueError(
        "train.model",
        cat(path, " holds a model of ", shortened(now), ", and this one is of ", shortened(question)), other);
  }
}

}  // namespace espalier
