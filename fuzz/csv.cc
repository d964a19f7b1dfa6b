// Mutated tables: refused with an error of their own, or cells that come back when they are written in
// quotes.
#include "espalier/csv.h"

#include "fuzz/mutate.h"

using namespace espalier;

namespace {

std::string quoted(std::string_view cell) {
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string written(const CsvTable& table) {
  std::string out;
  for (int64_t row = 0; row < table.rows(); ++row) {
    for (int64_t column = 0; column < table.columns(); ++column)
      out += quoted(table.cell(row, column)) + (column + 1 < table.columns() ? "," : "\n");
  }
  return out;
}

bool accept(const std::string& bytes) {
  std::string first;
  try {
    const CsvTable table = parse_csv(bytes);
    for (int64_t row = 0; row < table.rows(); ++row) {
      for (int64_t column = 0; column < table.columns(); ++column) table.number(row, column);
    }
    first = written(table);
  } catch (const FormatError&) {
    return false;
  }
  if (!first.empty() && written(parse_csv(first, {.delimiter = ',', .header = CsvHeader::kNo})) != first)
    throw InternalError("written and read it is another table");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds{
      "name,age,income\nann, 39, <=50K\nbob, 50, >50K\n",
      "39, State-gov, 77516\r\n50, ?, 83311\r\n\r\n",
      "a;b\n\"x;y\";\"1,5\"\n\"two\nlines\";\"a \"\"word\"\"\"\n",
      "\xef\xbb\xbfx\ty\n1e5\t-.5\n007\t1234567890123456789012\n",
      "caf\xe9|\xc3\xa9\n1|2\n",
      "Report 2024\n\"of, all\"\n\na,b,\n1,x,\n2,y,\n",
      {"a\0,\0b\0\n\0001\0,\0002\0\n\0", 16},
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,b\n\"q\",2\n"};
  return fuzz::run(argc, argv, "fuzz_csv", seeds,
                   {"\"", "\"\"", "\",\"", ",", ";", "\t", "|", "\n", "\r\n", " ", "\n\n", "\xef\xbb\xbf",
                    "PK\x03\x04", "sep=;\n", "1e999", "-", "0.1", "?",
                    ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,"},
                   accept, fuzz::kTenfold);
}
