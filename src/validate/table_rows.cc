#include "validate/table_rows.h"

#include "base/format.h"
#include "format/byte_source.h"
#include "format/tfrecord.h"
#include "validate/table_csv.h"
#include "validate/table_examples.h"
#include "validate/table_json.h"

namespace espalier {

TableForm table_form(const std::string& path) {
  std::string first(1 << 12, '\0');
  first.resize(open_unpacked(path)->read(first.data(), first.size()));
  if (is_records(first)) return holds_examples(path) ? TableForm::kExamples : TableForm::kCsv;
  for (const char* ending : {".jsonl", ".ndjson", ".json"}) {
    if (path.ends_with(ending) || path.ends_with(cat(ending, ".gz"))) return TableForm::kJsonLines;
  }
  first.resize(open_text(path)->read(first.data(), first.size()));
  const size_t begin = first.find_first_not_of(" \t\r\n");
  return begin != first.npos && first[begin] == '{' ? TableForm::kJsonLines : TableForm::kCsv;
}

std::unique_ptr<TableBlocks> open_table(const std::string& path, TableForm form,
                                        const TableOptions& options) {
  return form == TableForm::kExamples    ? open_examples(path, options)
         : form == TableForm::kJsonLines ? open_json_lines(path, options)
                                         : open_csv(path, options);
}

}  // namespace espalier
