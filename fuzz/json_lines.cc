// Mutated JSON Lines: refused with an error, or read, and then every line is JSON and the statistics are the
// same in one block and in many.
#include <sstream>

#include <nlohmann/json.hpp>

#include "espalier/error.h"
#include "fuzz/cells.h"
#include "fuzz/mutate.h"
#include "validate/statistics.h"

using namespace espalier;

namespace {

std::string statistics_of(const std::string& path, size_t block) {
  StatisticsOptions options;
  options.block = block;
  return metadata_bytes(statistics_of_tables({{path, "file"}}, options).list(), MetadataForm::kBinary);
}

bool is_json(const std::string& bytes) {
  std::istringstream lines(bytes);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") != line.npos && !nlohmann::json::accept(line)) return false;
  }
  return true;
}

bool accept(const std::string& bytes) {
  const std::string path = fuzz::file_with(bytes);
  std::string whole;
  bool accepted = true;
  try {
    if (table_form(path) != TableForm::kJsonLines) return false;
    whole = statistics_of(path, size_t{1} << 14);
    // UTF-16 is read as what it says.
    if (bytes.find('\0') == bytes.npos && !bytes.starts_with("\xff\xfe") && !bytes.starts_with("\xfe\xff") &&
        !bytes.starts_with("\xef\xbb\xbf") && !is_json(bytes))
      throw InternalError("what is no JSON is accepted");
  } catch (const FormatError&) {
    accepted = false;
  }
  try {
    if (statistics_of(path, 1 + bytes.size() % 40) != whole)
      throw InternalError("statistics of small blocks are others");
  } catch (const FormatError&) {
    if (accepted) throw InternalError("a file that is accepted as a whole is refused in blocks");
  }
  fuzz::read_cells(path);
  return accepted;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds{
      "{\"a\": 1, \"b\": [1.5, -2e3, null], \"c\": \"x\\u00e9\\n\"}\n{\"a\": null, \"d\": {\"e\": true, "
      "\"f\": {\"g\": \"\"}}}\n",
      "\n {\"a\": []}\r\n\r\n{\"a\": [\"x\", \"y\"]}",
      "{}\n{\"\": 18446744073709551615}\n{\"a\": -9223372036854775808}\n"};
  return fuzz::run(argc, argv, "fuzz_json_lines", seeds,
                   {"{", "}", "[", "]", "\"", "\\u", "\\ud83c\\udf32", "\n", ":", ",", "null", "true",
                    "1e400", "-0", "{\"a\":", "\"a\":1,"},
                   accept);
}
