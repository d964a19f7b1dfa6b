#include "cli/missing_flag.h"

#include "base/format.h"
#include "base/listed_names.h"
#include "espalier/columns.h"

namespace espalier::cli {

void MissingFlag::add(CLI::App& verb) {
  verb.add_option_function<std::vector<std::string>>(
          "--missing", [this](const std::vector<std::string>& given) { more = comma_separated(given); },
          "More words for cells that hold no value, besides ?, NA, null ...")
      ->allow_extra_args(false)
      ->option_text("WORD,...");
}

std::vector<std::string> MissingFlag::all() const {
  std::vector<std::string> out = ColumnOptions().missing;
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::vector<std::string> MissingFlag::words() const {
  if (more.empty()) return {};
  return {"--missing", names_in_list(more)};
}

}  // namespace espalier::cli
