// What versions before called the variables of functional models.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "espalier/variable.h"

namespace espalier {

// Layers are numbered as they run: dense, dense_1. Versions before ran the layers of a Functional in another
// order, so in their files dense may be what is dense_1 now. A variable keeps its path in those; files of
// this version say so of each that had another one, which tells the two kinds apart.
//
// The path of a variable in such a file; its own where nothing else is kept.
std::string earlier_path(const Variable& variable);
void keep_earlier_path(const Variable& variable, const std::string& path);

// What a file says, in its metadata: by "earlier/NAME" the earlier path of each variable that had another
// one, under its name in the file.
std::map<std::string, std::string> earlier_paths(std::span<const std::pair<std::string, Variable>> variables);
// The earlier path of the variable NAME; empty where the file says none.
std::string earlier_path_in(const std::map<std::string, std::string>& said, const std::string& name);
// Whether it says any.
bool tells_earlier_paths(const std::map<std::string, std::string>& said);

}  // namespace espalier
