// Mutated conditions: refused with an error of their own, or ones whose canonical text reads back to itself
// and says the same of every row.
#include "format/expression.h"

#include "fuzz/mutate.h"

using namespace espalier;

namespace {

const CsvTable& table() {
  static const CsvTable out = parse_csv(
      "age,sex,hours per "
      "week,zip,none\n39,Female,40,02138,\n?,Male,20,10001,\n60,?,?,abc,\n17,Female,1e3,9,\n",
      {.delimiter = ',', .header = CsvHeader::kYes});
  return out;
}

std::vector<Truth> truths_of(const Expression& expression) {
  return truths(expression, table(),
                [](std::string_view cell, const std::string&) { return cell.empty() || cell == "?"; });
}

bool accept(const std::string& text) {
  std::string canonical;
  try {
    const Expression expression(text);
    canonical = expression.canonical();
    if (Expression(canonical).canonical() != canonical)
      throw InternalError("canonical text of another meaning");
    const std::vector<Truth> found = truths_of(expression);
    if (static_cast<int64_t>(found.size()) != table().rows()) throw InternalError("a row without a truth");
    if (truths_of(Expression(canonical)) != found) throw InternalError("canonical text of other rows");
  } catch (const FormatError&) {
    if (!canonical.empty()) throw InternalError("canonical text that is refused");
    return false;
  } catch (const ValueError&) {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(
      argc, argv, "fuzz_expression",
      {"age >= 40 and sex = \"Female\"", "not (age in [1, 2.5e1, -3] or sex not in ['Male', \"a\"\"b\"])",
       "`hours per week` * 2 - age / 3 % 7 <> -(age + 1)",
       "age not between 17 and 39 or sex is not missing and none is missing",
       "coalesce(number(zip), abs(age)) < max(3, floor(sqrt(age))) and len(lower(sex)) = 6",
       "(age > 20) = (contains(text(zip), \"1\") or starts_with(upper(sex), \"F\")) and true",
       "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 = ((((((((((10))))))))))"},
      {" and ",
       " or ",
       " not ",
       "not not ",
       " in [",
       "]",
       "(",
       ")",
       "((((((((((((((((",
       "))))))))))))))))",
       " between ",
       " is missing",
       " is not missing",
       "true",
       "false",
       "-",
       "--",
       "+",
       "*",
       "/",
       "%",
       "=",
       "!=",
       "<=",
       "\"",
       "'",
       "`",
       "``",
       "\"\"",
       "1e308",
       "1e-308",
       "0",
       "-0",
       ".5",
       "5.",
       "age",
       "sex",
       "none",
       "`hours per week`",
       "coalesce(",
       "number(",
       "text(",
       "min(",
       "\xc3\xa9",
       "\xff",
       "\n",
       ","},
      accept, fuzz::kTenfold);
}
