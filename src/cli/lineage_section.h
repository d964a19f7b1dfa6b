// The files behind a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/page.h"
#include "tables/provenance.h"

namespace espalier::cli {

struct NamedFile {
  std::string what;  // "evaluated"
  std::string path;  // of a stream nothing more is known
};
// A table of these files by content, and of those that the model at `model` ("" for none) comes from.
PageSection lineage_section(const std::vector<NamedFile>& files, const std::string& model);

}  // namespace espalier::cli
