#include "text/c_functions.h"

#include "espalier/error.h"
#include "text/c_function.h"

namespace espalier::c_text {

std::string functions(const std::set<std::string>& names) {
  std::vector<const Function*> all;
  for (const auto list : {exponential_functions(), angle_functions(), special_functions()}) {
    for (const Function& function : list) all.push_back(&function);
  }
  std::set<std::string> wanted = names;
  for (size_t i = all.size(); i-- > 0;) {
    if (wanted.contains(all[i]->name)) wanted.insert(all[i]->calls.begin(), all[i]->calls.end());
  }
  std::string out;
  for (const Function* function : all) {
    if (wanted.erase(function->name)) out += std::string(function->text) + "\n";
  }
  if (!wanted.empty()) throw InternalError("no C text for the function " + *wanted.begin());
  return out;
}

}  // namespace espalier::c_text
