// Rows that are on their way to a model, one by one, held against a schema: what a server asks of a request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/error.h"

namespace espalier {

// What becomes of a row, the worst of what its faults make of it: it goes on as it is; it goes on with
// defaults in place of some values; it is set aside; it is refused.
enum class RowOutcome : uint8_t { kGood, kReplaced, kSetAside, kRefused };
inline constexpr std::string_view kRowOutcomes[] = {"good", "replaced", "set_aside", "refused"};
inline std::string_view name(RowOutcome outcome) { return kRowOutcomes[static_cast<size_t>(outcome)]; }

// One way in which a row is not as the schema says.
struct RowFault {
  std::string column = {};  // "" of a rule
  std::string rule =
      {};  // missing, no_whole_number, no_number, nan, infinite, below, above, category; rule, warning
  std::string text = {};                      // "above 90", or the condition that is false
  RowOutcome outcome = RowOutcome::kRefused;  // what it makes of the row; kGood of a warning
};

struct RowVerdict {
  RowOutcome outcome = RowOutcome::kGood;
  std::vector<RowFault> faults = {};     // of columns in the order of the schema, then of rules
  std::vector<std::string> values = {};  // all of the row with defaults in place; empty unless kReplaced
};

struct RowGuardOptions {
  std::string environment = {};               // one of the schema's; "": of none in particular
  std::vector<std::string> missing = {""};    // words that mean that a value is missing
  std::vector<std::string> passed_over = {};  // features of which nothing is asked, as the label
  bool set_aside = false;  // bad rows, where neither feature nor schema has a policy; else they are refused
};

// A schema (docs/rows.md), compiled once for rows of given columns. Immutable, copies share, any number of
// threads may ask at one time. A row is judged as `espalier predict --schema` judges a table that has it
// alone; a rule on a column of which the schema says no type takes the value for what it is.
class RowGuard {
 public:
  // `columns`: the names of the values of a row, in their order; those that the schema does not know are
  // passed over. Raises IoError; FormatError for a schema that cannot be read; ValueError:
  // validate.environment; rows.column for a feature that must be there and has no column, rows.feature for
  // one of several values, rows.default for a default that its own feature refuses, csv.names for a name
  // that is empty or there twice.
  static RowGuard load(const std::string& schema_file, const std::vector<std::string>& columns,
                       const RowGuardOptions& options = {});
  // The same of a schema's content: protobuf as text or bytes.
  static RowGuard parse(const std::string& schema, const std::vector<std::string>& columns,
                        const RowGuardOptions& options = {});

  const std::vector<std::string>& columns() const;
  // `values`: one for each column, as text. Raises ValueError: rows.values for another number of them,
  // expression.* for a rule that these values do not fit, [expression.date] where it compares dates whose
  // order nobody knows; of a warning that is a fault with what is not known.
  RowVerdict judge(std::span<const std::string_view> values) const;

 private:
  struct Compiled;
  explicit RowGuard(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace espalier
