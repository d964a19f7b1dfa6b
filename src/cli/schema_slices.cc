#include "cli/schema_slices.h"

#include "base/format.h"
#include "espalier/error.h"
#include "validate/schema_parts.h"
#include "validate/schema_tags.h"

namespace espalier::cli {

void add_schema(CLI::App& verb, std::string& path) {
  const char* const of_train =
      verb.get_option_no_throw("--train")
          ? ". --train validates the rows against this schema, instead of one inferred from the training rows"
          : "";
  verb.add_option(
          "--schema", path,
          cat("Schema (.pbtxt or .pb) whose tags name sensitive columns, their buckets and the "
              "favourable label; flags override tags. Words in its domains are values, not missing cells",
              of_train))
      ->option_text("FILE");
}

SlicingSchema SlicingSchema::read(const std::string& path, bool needed) {
  SlicingSchema out;
  if (path.empty()) return out;
  read_metadata(path, out.schema);
  for (const tfmd::Feature& feature : out.schema.feature()) {
    const FeatureTags tags = tags_of(feature);
    if (tags.sensitive) out.sensitive.push_back(feature.name());
    if (!tags.favourable.empty()) out.favourable.emplace(feature.name(), tags.favourable);
    const std::string buckets = tags.buckets.empty() && tags.monk ? "monk" : tags.buckets;
    if (!buckets.empty())
      out.buckets.emplace(feature.name(), read_buckets(buckets, cat("buckets of ", feature.name())));
  }
  const bool has_words = !with_domains(ColumnOptions().missing, out.schema).values().empty();
  if (needed && !out.any() && !has_words) {
    throw ValueError(
        "schema.tag",
        cat(source_name(path), " has no tag of how a model is evaluated: role, favourable, buckets, scale"),
        command({"data", "schema", path, "--set", "COLUMN.role=sensitive", "--out", "new.pbtxt"}));
  }
  return out;
}

void SlicingSchema::fill(SliceFlags& slicing) const {
  slicing.usual_buckets = buckets;
  if (!slicing.any()) slicing.slices = sensitive;
}

void SlicingSchema::fill(ScoredColumns& scored) const {
  if (scored.task != ScoreTask::kTwoClasses) return;
  if (scored.label.empty() && favourable.size() > 1) {
    std::string names;
    for (const auto& [label, value] : favourable) names += cat(names.empty() ? "" : " or ", label);
    throw ValueError("schema.favourable",
                     cat("the schema knows a favourable value of several labels: ", names),
                     cat("--label ", favourable.begin()->first));
  }
  if (scored.label.empty() && !favourable.empty()) scored.label = favourable.begin()->first;
  scored.favourable = of_label(scored.label);
}

std::string SlicingSchema::of_label(const std::string& label) const {
  const auto found = favourable.find(label);
  return found == favourable.end() ? "" : found->second;
}

}  // namespace espalier::cli
