// Calling `evaluate` in a folder of the test's own.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/verb_test.h"

namespace espalier::cli {

struct EvaluateTest : FolderTest {
  using Json = nlohmann::json;
  using Words = std::vector<std::string>;

  std::string progress;

  std::string file(const std::string& text, const std::string& name = "scores.csv") const {
    return write_file(cat(folder, "/", name), text);
  }
  std::string text_of(Words arguments, const Words& more = {}) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call_verb(add_evaluate, arguments, "", &progress);
  }
  Json json(Words arguments, Words more = {}) {
    more.push_back("--json");
    return Json::parse(text_of(std::move(arguments), more));
  }
};

}  // namespace espalier::cli
