// Mutated column programs: refused with a FormatError, or a program that is written and read as itself and
// gives numbers for a table.
#include "espalier/columns.h"

#include <cmath>

#include "fuzz/mutate.h"

using namespace espalier;

namespace {

const CsvTable& table() {
  static const CsvTable kTable = parse_csv(
      "size,colour,kind,day,ok,price,weight\n"
      "1.5,red,a,2024-02-29,yes,3,1'200 kg\n-1e300,green,b,1999-12-31T23:59:59Z,no,4,(2) kg\n"
      "?,,c,x,maybe,,3\n\"1,234\",blue,B,20240101,no,-5,\xe2\x88\x92 4 \xc2\xa0kg\n"
      "12,red,a,2024-05-05,yes,1e30,(((\n");
  return kTable;
}

bool accept(const std::string& text) {
  std::optional<ColumnProgram> program;
  try {
    program = ColumnProgram::from_json(text);
  } catch (const FormatError&) {
    return false;
  }
  const std::string written = program->to_json();
  if (ColumnProgram::from_json(written).to_json() != written)
    throw InternalError("written and read it is another program");
  if (static_cast<int64_t>(program->feature_names().size()) != program->width())
    throw InternalError("not every input has a name");
  try {
    ColumnReport report;
    const Tensor inputs = program->inputs(table(), {}, &report);
    for (const float x : inputs.data<float>()) {
      if (!std::isfinite(x)) throw InternalError("an input is not finite");
    }
    program->labels(table());
  } catch (const ValueError&) {
  }
  return true;
}

std::string fitted(const std::string& label, ColumnTask task) {
  const std::vector<int64_t> rows{0, 1, 3};
  return ColumnProgram::fit(table(), rows,
                            {.label = label, .kinds = {{"day", ColumnKind::kDate}}, .task = task})
      .to_json();
}

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(argc, argv, "fuzz_columns",
                   {fitted("kind", ColumnTask::kGuess), fitted("price", ColumnTask::kRegression)},
                   {"\"merge\": true",
                    "\"rare\": \"0123456789abcdeffedcba9876543210\"",
                    "\"spaces\"",
                    "\"apostrophes, decimal comma\"",
                    "\"first_day\"",
                    "null",
                    "true",
                    "false",
                    "[]",
                    "{}",
                    "[",
                    "{",
                    "}",
                    "]",
                    "\"numeric\"",
                    "\"category\"",
                    "\"date\"",
                    "\"thousands\"",
                    "\"seconds\"",
                    "\"column\"",
                    "-1",
                    "0",
                    "1e308",
                    "1e-320",
                    "1e999",
                    "[[[[[[[[[[",
                    "\"\"",
                    "\"size\"",
                    "\"\\ud800\"",
                    "\xff"},
                   accept);
}
