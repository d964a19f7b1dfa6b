// Mutated schemas with tags and rules, and tables, one below the other: refused with an error, or judged so
// that each row is kept, set aside or refused, and a table whose findings are mended has none of them.
#include "espalier/error.h"
#include "fuzz/mutate.h"
#include "validate/row_judgement.h"

using namespace espalier;

namespace {

const char* const kSeed =
    R"(feature { name: "age" type: INT presence { min_fraction: 1.0 min_count: 1 } int_domain { min: 0 max: 90 }
  annotation { tag: "espalier.policy=default" tag: "espalier.default=35" tag: "mine" } }
feature { name: "fare" type: FLOAT float_domain { min: -0.5 max: 100 disallow_nan: true disallow_inf: true }
  annotation { tag: "espalier.policy=quarantine" tag: "espalier.max_mean=7" } }
feature { name: "job" type: BYTES domain: "job" shape { dim { size: 1 } } not_in_environment: "serving" }
feature { name: "paid" type: BYTES bool_domain { true_value: "yes" false_value: "no" } }
feature { name: "code" type: BYTES int_domain { max: 7 } }
feature { name: "old" type: FLOAT lifecycle_stage: DEPRECATED }
string_domain { name: "job" value: "clerk" value: "?" } default_environment: "serving"
annotation { tag: "espalier.rule=age >= 18 or job = \"clerk\"" tag: "espalier.warning=fare < age"
  tag: "espalier.policy=quarantine" }
---
age,fare,job,paid,code,old
40,7.25,clerk,yes,1,x
,nan,?,no,9,
200,1e9,"a ""b"",
c",maybe,x,1
12,,smith,,,
)";

bool accept(const std::string& bytes) {
  const std::string between = "\n---\n";
  const size_t at = bytes.find(between);
  if (at == std::string::npos) return false;
  try {
    tfmd::Schema schema;
    parse_metadata(bytes.substr(0, at), schema);
    const CsvTable table = parse_csv(bytes.substr(at + between.size()));
    const RowOptions options{.missing = {"", "?", "NA"}};
    const RowValidator validator(schema, table.names(), options);
    const RowJudgement found = judge_rows(validator, table);
    if (found.kept.size() + found.set_aside.size() != static_cast<size_t>(table.rows()))
      throw InternalError("a row is neither kept nor set aside");
    if (found.table.lines() != table.lines()) throw InternalError("a default moves lines");
    const RowGuard guard =
        RowGuard::parse(bytes.substr(0, at), table.names(), {.missing = options.missing.words()});
    for (int64_t row = 0; row < table.rows(); ++row) {
      std::vector<std::string_view> values;
      for (int64_t c = 0; c < table.columns(); ++c) values.push_back(table.cell(row, c));
      guard.judge(values);
    }
    for (const RowFinding& again : judge_rows(validator, found.table).findings) {
      if (!again.column.empty() && again.policy == RowPolicy::kDefault && found.refused == 0 &&
          found.set_aside.empty())
        throw InternalError("a default that is no better than what it stands for");
    }
    return true;
  } catch (const FormatError&) {
    return false;
  } catch (const ValueError&) {
    return false;
  } catch (const UnsupportedError&) {
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(argc, argv, "fuzz_rows", {kSeed},
                   {"---",
                    "espalier.rule=",
                    "espalier.warning=",
                    "espalier.default=",
                    "espalier.policy=refuse",
                    "espalier.min_zeros=0.5",
                    "espalier.buckets=1,2.5",
                    "espalier.role=sensitive",
                    "annotation {",
                    "tag: \"",
                    "\"",
                    "'",
                    "\\\"",
                    "\n",
                    ",",
                    ",,",
                    "type: BYTES",
                    "type: INT",
                    "type: FLOAT",
                    "type: STRUCT",
                    "min_fraction: 1",
                    "nan",
                    "inf",
                    "-1e300",
                    "18446744073709551615",
                    "0.1",
                    "yes",
                    "age",
                    " is missing",
                    " in [1, 2]",
                    "`"},
                   accept);
}
