// What the tags of a schema say of how a model is evaluated, where no flag does: --schema.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/slice_flags.h"
#include "tables/scored_table.h"
#include "validate/metadata_files.h"

namespace espalier::cli {

// --schema.
void add_schema(CLI::App& verb, std::string& path);

struct SlicingSchema {
  std::vector<std::string> sensitive = {};             // features whose values rows are parted by
  std::map<std::string, Buckets> buckets = {};         // by feature, how
  std::map<std::string, std::string> favourable = {};  // by label, its value that scores stand for
  tfmd::Schema schema = {};                            // which says so

  // Of the file at `path`, unless it is "". Raises as read_metadata(), and FormatError[schema.tag]; with
  // `needed` ValueError[schema.tag] where no tag says anything of this.
  static SlicingSchema read(const std::string& path, bool needed);
  // Whether a tag says anything.
  bool any() const { return !sensitive.empty() || !buckets.empty() || !favourable.empty(); }
  // Where no flag asks for slices, the sensitive features are.
  void fill(SliceFlags& slicing) const;
  // Where no flag names them, the label and its favourable value; not of other tasks. Raises
  // ValueError[schema.favourable] where several labels have one and no flag says which is meant.
  void fill(ScoredColumns& scored) const;
  // Of the model's label the favourable value, or "".
  std::string of_label(const std::string& label) const;
};

}  // namespace espalier::cli
