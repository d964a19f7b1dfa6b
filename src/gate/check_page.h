// The page of a release check, and whether one says what its data gives.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fairness/rare_slices.h"
#include "gate/verdict.h"
#include "report/page.h"

namespace espalier {

struct CheckPage {
  std::string subject;  // what was evaluated
  std::string next;     // the command after this; "": none
  std::vector<PageSection> sections = {};
  int64_t k = kRareRows;  // that a value needs to be named
  int64_t rows = 0;       // that `sections` show
  // The command that looks closer at what a gate found, if there is one.
  std::function<std::string(const Gate&)> closer;
};
std::string check_page(const Verdict& verdict, const Assessment& assessment, const CheckPage& about);

// What one page says in a place where the other says something else, with what that is; at most `most` such,
// and none for equal pages.
std::vector<std::string> page_differences(const std::string& page, const std::string& now, size_t most);

}  // namespace espalier
