#include "validate/table_rows.h"

#include "base/format.h"
#include "format/byte_source.h"
#include "format/tfrecord.h"
#include "validate/table_csv.h"
#include "validate/table_examples.h"
#include "validate/table_json.h"

namespace espalier {

std::optional<TableForm> form_of_name(const std::string& name) {
  std::string small = name;
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c;
  const auto ends = [&](const char* ending) {
    return small.ends_with(ending) || small.ends_with(cat(ending, ".gz"));
  };
  if (ends(".jsonl") || ends(".ndjson") || ends(".json")) return TableForm::kJsonLines;
  if (ends(".tfrecord")) return TableForm::kExamples;
  if (ends(".csv") || ends(".tsv")) return TableForm::kCsv;
  return std::nullopt;
}

namespace {

// `open` opens the bytes of what is called `name`, from their beginning.
template <class Open>
TableForm form_of(const std::string& name, Open open) {
  std::string first(1 << 12, '\0');
  first.resize(open()->read(first.data(), first.size()));
  if (is_records(first)) return holds_examples(open()) ? TableForm::kExamples : TableForm::kCsv;
  const std::optional<TableForm> named = form_of_name(name);
  if (named == TableForm::kJsonLines || named == TableForm::kCsv) return *named;
  first.resize(as_text(open())->read(first.data(), first.size()));
  constexpr const char* kBlanks = " \t\r\n";
  size_t begin = first.find_first_not_of(kBlanks);
  // An array of objects is no JSON Lines, which then say so.
  if (begin != first.npos && first[begin] == '[') begin = first.find_first_not_of(kBlanks, begin + 1);
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
                                        const TableBlockOptions& options) {
  if (form == TableForm::kExamples) return open_examples(open_unpacked(path), options.block);
  if (form == TableForm::kJsonLines) return open_json_lines(open_text(path), options.block);
  return open_csv(path, options);
}

}  // namespace espalier
