#include "validate/table_rows.h"

#include "base/format.h"
#include "format/byte_source.h"
#include "format/tfrecord.h"
#include "validate/table_csv.h"
#include "validate/table_examples.h"
#include "validate/table_json.h"

namespace espalier {

namespace {

// `open` opens the bytes of what is called `name`, from their beginning.
template <class Open>
TableForm form_of(const std::string& name, Open open) {
  std::string first(1 << 12, '\0');
  first.resize(open()->read(first.data(), first.size()));
  if (is_records(first)) return holds_examples(open()) ? TableForm::kExamples : TableForm::kCsv;
  for (const char* ending : {".jsonl", ".ndjson", ".json"}) {
    if (name.ends_with(ending) || name.ends_with(cat(ending, ".gz"))) return TableForm::kJsonLines;
  }
  first.resize(as_text(open())->read(first.data(), first.size()));
  const size_t begin = first.find_first_not_of(" \t\r\n");
  return begin != first.npos && first[begin] == '{' ? TableForm::kJsonLines : TableForm::kCsv;
}

}  // namespace

TableForm table_form(const std::string& path) {
  return form_of(path, [&] { return open_unpacked(path); });
}

TableForm table_form(const std::string& name, std::string_view bytes) {
  return form_of(name, [&] { return std::make_unique<TextView>(bytes); });
}

std::unique_ptr<TableBlocks> open_table(const std::string& path, TableForm form,
                                        const TableOptions& options) {
  if (form == TableForm::kExamples) return open_examples(open_unpacked(path), options.block);
  if (form == TableForm::kJsonLines) return open_json_lines(open_text(path), options.block);
  return open_csv(path, options);
}

}  // namespace espalier
