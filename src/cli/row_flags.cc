#include "cli/row_flags.h"

#include "cli/common.h"
#include "tables/row_checks.h"

namespace espalier::cli {

void add_row_checks(CLI::App& verb, RowCheckOptions& options) {
  verb.add_option("--schema", options.schema,
                  "Validate rows against this schema (.pbtxt, .pb or .tfrecord; default: that of the model)")
      ->option_text("FILE");
  verb.add_flag("--no-schema", options.none,
                "Do not validate rows, even if the model was saved with a schema (not with --schema)")
      ->excludes("--schema");
  verb.add_option("--environment", options.environment,
                  "With a schema: environment of the rows, e.g. SERVING")
      ->option_text("NAME");
  verb.add_option(
          "--quarantine", options.quarantine,
          "With a schema: leave out invalid rows, and write them to this CSV file, each with a reason")
      ->option_text("FILE")
      ->check(a_name());
  verb.add_option("--slice", options.slice, "With a schema: count invalid rows by the values of this column")
      ->option_text("COLUMN")
      ->transform(a_column());
}

}  // namespace espalier::cli
