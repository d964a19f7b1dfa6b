// Words for cells that hold no value, besides those that any table may use.
#pragma once

#include <string>
#include <vector>

#include "cli/common.h"

namespace espalier::cli {

struct MissingFlag {
  std::vector<std::string> more = {}, fewer = {};

  // --missing and --not-missing.
  void add(CLI::App& verb);
  // These words with `more` and without `fewer`. Raises ValueError[missing.word] for one to be without that
  // is none of them.
  std::vector<std::string> changed(std::vector<std::string> words) const;
  // Those of ColumnOptions, changed.
  std::vector<std::string> all() const;
  // The flags as they were given.
  std::vector<std::string> words() const;
};

}  // namespace espalier::cli
