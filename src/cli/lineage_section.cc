#include "cli/lineage_section.h"

#include "base/format.h"
#include "base/input_file.h"
#include "base/sha256.h"
#include "base/version.h"
#include "cli/common.h"
#include "report/html_table.h"

namespace espalier::cli {
namespace {

HtmlCell count(uint64_t number) {
  return {.content = grouped(static_cast<int64_t>(number)), .number = static_cast<double>(number)};
}

// Its first digits; all of them are told by the cell's title and in the table's CSV.
HtmlCell digest(const std::string& sha256) {
  if (sha256.empty()) return {.content = "not known"};
  constexpr size_t kShown = 12;
  return {.content = element("code", sha256.substr(0, kShown) + "..."), .text = sha256, .title = sha256};
}

}  // namespace

PageSection lineage_section(const std::vector<NamedFile>& files, const std::string& model) {
  HtmlTable table{.id = "files",
                  .caption = "Files, by content",
                  .columns = {{.name = "what"},
                              {.name = "file"},
                              {.name = "bytes", .numbers = true},
                              {.name = "SHA-256"},
                              {.name = "licence"},
                              {.name = "origin"}}};
  const auto add = [&](const std::string& what, const FileSource& source) {
    const bool known = !source.sha256.empty();
    table.rows.push_back({{.content = what},
                          {.content = source_name(source.file)},
                          known ? count(source.bytes) : HtmlCell{.content = "?"},
                          digest(source.sha256),
                          {.content = source.licence},
                          {.content = source.origin}});
  };
  for (const NamedFile& file : files) {
    FileSource source{.file = file.path, .sha256 = {}, .licence = {}, .origin = {}};
    if (!is_stream(file.path)) {
      const FileDigest digest = digest_file(file.path);
      source.sha256 = digest.sha256;
      source.bytes = digest.bytes;
    }
    add(file.what, source);
  }
  Html facts = element("p", cat("Espalier ", kVersion, "."));
  if (!model.empty()) {
    if (const std::optional<Lineage> lineage = read_lineage(load_model(model), model)) {
      add("training data", lineage->data);
      if (lineage->test) add("test data of the training", *lineage->test);
      if (lineage->schema) add("schema of the training", *lineage->schema);
      facts +=
          element("p", cat("Of the training data, ", grouped(*lineage->data.rows),
                           " rows: ", grouped(lineage->train_rows), " training, ",
                           grouped(lineage->validation_rows), " validation and ", grouped(lineage->test_rows),
                           " test rows; split: ", lineage->split, ", seed ", lineage->seed, "."));
    } else {
      facts += element("p", "The model says nothing of the data that it was trained on.");
    }
  }
  return {"lineage", "Lineage", drawn(table) + facts};
}

}  // namespace espalier::cli
