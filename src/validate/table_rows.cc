#include "validate/table_rows.h"

#include "base/format.h"
#include "espalier/error.h"
#include "format/byte_source.h"
#include "format/tfrecord.h"
#include "validate/table_csv.h"
#include "validate/table_examples.h"

namespace espalier {

TableForm table_form(const std::string& path) {
  std::string first(1 << 12, '\0');
  first.resize(open_unpacked(path)->read(first.data(), first.size()));
  return is_records(first) && holds_examples(path) ? TableForm::kExamples : TableForm::kCsv;
}

std::unique_ptr<TableBlocks> open_table(const std::string& path, TableForm form,
                                        const TableOptions& options) {
  return form == TableForm::kExamples ? open_examples(path, options) : open_csv(path, options);
}

}  // namespace espalier
