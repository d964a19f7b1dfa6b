// What may be put in the place of a saved model.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "espalier/columns.h"

namespace espalier {

// What the training.json of the model at `path` says: null where there is none, discarded where it is no
// JSON.
nlohmann::ordered_json history_at(const std::string& path);

// What a model of images or of a table answers, as a message says it.
std::string question_of(const std::vector<std::string>& image_classes);
std::string question_of(const ColumnProgram& columns);

// Unless it is forced, raises ValueError[train.model] where the model saved at `path` answers another
// question: `model`, the folder of who names none, is soon met again; and where it learned and one of 0
// `epochs` would follow it.
void check_replaced(const std::string& path, const std::string& question, int epochs, bool force);

}  // namespace espalier
